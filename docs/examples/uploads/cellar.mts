/** Files of users, with metadata: upload, listing without the contents, removal of a folder. */
import { createHash } from 'node:crypto'
import { Database, defineTable } from 'cellardb'

const db = await Database.open('./data')
const files = await defineTable({
  name: 'files',
  key: { owner: 'utf8', path: 'utf8' },
  columns: { type: 'utf8', size: 'integer', digest: 'utf8', content: 'bytes' },
}).open(db)

async function upload(owner: string, path: string, type: string, content: Uint8Array) {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 8)
  await files.put({ owner, path, type, size: content.length, digest, content })
}

await upload('ada', 'notes/first.txt', 'text/plain', Buffer.from('a first note'))
await upload('ada', 'notes/second.txt', 'text/plain', Buffer.from('a second note'))
await upload('ada', 'picture.raw', 'image/raw', Buffer.alloc(1_000_000, 7))
await upload('bob', 'notes/first.txt', 'text/plain', Buffer.from('hello'))

const columns = ['type', 'size'] as const
for await (const { path, type, size } of files.scan({ prefix: { owner: 'ada' }, columns })) {
  console.log(path, type, size)
}
// prints notes/first.txt text/plain 12
// prints notes/second.txt text/plain 13
// prints picture.raw image/raw 1000000
const picture = await files.get({ owner: 'ada', path: 'picture.raw' })
console.log(picture?.digest, picture?.content?.subarray(0, 3)) // prints 30bd6d97 <Buffer 07 07 07>
console.log(await files.deleteRange({ startsWith: { owner: 'ada', path: 'notes/' } })) // prints 2
console.log(await files.count()) // prints 2
await db.close()
