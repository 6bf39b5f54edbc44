import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'

const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS files (
    owner TEXT, path TEXT, type TEXT, size INTEGER, digest TEXT, content BLOB,
    PRIMARY KEY (owner, path)
  )
`)
const insert = db.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)')
const list = db.prepare('SELECT path, type, size FROM files WHERE owner = ? ORDER BY path')
const get = db.prepare('SELECT * FROM files WHERE owner = ? AND path = ?')
const removeFolder = db.prepare("DELETE FROM files WHERE owner = ? AND path GLOB ? || '*'")
const count = db.prepare('SELECT count(*) FROM files').pluck()

function upload(owner, path, type, content) {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 8)
  insert.run(owner, path, type, content.length, digest, content)
}

upload('ada', 'notes/first.txt', 'text/plain', Buffer.from('a first note'))
upload('ada', 'notes/second.txt', 'text/plain', Buffer.from('a second note'))
upload('ada', 'picture.raw', 'image/raw', Buffer.alloc(1_000_000, 7))
upload('bob', 'notes/first.txt', 'text/plain', Buffer.from('hello'))

for (const { path, type, size } of list.iterate('ada')) console.log(path, type, size)
const picture = get.get('ada', 'picture.raw')
console.log(picture?.digest, picture?.content.subarray(0, 3))
console.log(removeFolder.run('ada', 'notes/').changes)
console.log(count.get())
db.close()
