import { createHash } from 'node:crypto'
import { ClassicLevel } from 'classic-level'

const db = new ClassicLevel('./data')
const files = db.sublevel('files', { valueEncoding: 'json' })
const contents = db.sublevel('contents', { valueEncoding: 'buffer' })

async function upload(owner, path, type, content) {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 8)
  const key = `${owner}!${path}`
  await db.batch([
    { type: 'put', sublevel: files, key, value: { type, size: content.length, digest } },
    { type: 'put', sublevel: contents, key, value: content },
  ])
}

async function removeFolder(owner, folder) {
  const range = { gte: `${owner}!${folder}`, lt: `${owner}!${folder}\uffff` }
  const keys = await files.keys(range).all()
  await db.batch(
    keys.flatMap((key) => [
      { type: 'del', sublevel: files, key },
      { type: 'del', sublevel: contents, key },
    ]),
  )
  return keys.length
}

await upload('ada', 'notes/first.txt', 'text/plain', Buffer.from('a first note'))
await upload('ada', 'notes/second.txt', 'text/plain', Buffer.from('a second note'))
await upload('ada', 'picture.raw', 'image/raw', Buffer.alloc(1_000_000, 7))
await upload('bob', 'notes/first.txt', 'text/plain', Buffer.from('hello'))

for await (const [key, { type, size }] of files.iterator({ gt: 'ada!', lt: 'ada"' })) {
  console.log(key.split('!')[1], type, size)
}
const key = 'ada!picture.raw'
console.log((await files.get(key))?.digest, (await contents.get(key))?.subarray(0, 3))
console.log(await removeFolder('ada', 'notes/'))
console.log((await files.keys().all()).length)
await db.close()
