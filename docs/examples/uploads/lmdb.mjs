import { createHash } from 'node:crypto'
import { open } from 'lmdb'

const db = open({ path: './data' })
const files = db.openDB('files')
const contents = db.openDB('contents', { encoding: 'binary' })

async function upload(owner, path, type, content) {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 8)
  await db.transaction(() => {
    files.put([owner, path], { type, size: content.length, digest })
    contents.put([owner, path], content)
  })
}

const removeFolder = (owner, folder) =>
  db.transaction(() => {
    const keys = [...files.getKeys({ start: [owner, folder], end: [owner, `${folder}\uffff`] })]
    for (const key of keys) {
      files.remove(key)
      contents.remove(key)
    }
    return keys.length
  })

await upload('ada', 'notes/first.txt', 'text/plain', Buffer.from('a first note'))
await upload('ada', 'notes/second.txt', 'text/plain', Buffer.from('a second note'))
await upload('ada', 'picture.raw', 'image/raw', Buffer.alloc(1_000_000, 7))
await upload('bob', 'notes/first.txt', 'text/plain', Buffer.from('hello'))

for (const { key, value } of files.getRange({ start: ['ada'], end: ['ada', '\uffff'] })) {
  console.log(key[1], value.type, value.size)
}
const key = ['ada', 'picture.raw']
console.log(files.get(key)?.digest, contents.get(key)?.subarray(0, 3))
console.log(await removeFolder('ada', 'notes/'))
console.log(files.getKeysCount())
await db.close()
