import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'

const minute = 60_000
const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS sessions (
    user TEXT, token TEXT, address TEXT, endsAt INTEGER, PRIMARY KEY (user, token)
  ) WITHOUT ROWID
`)
const put = db.prepare('INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)')
const get = db.prepare('SELECT * FROM sessions WHERE user = ? AND token = ? AND endsAt > ?')
const count = db.prepare('SELECT count(*) FROM sessions WHERE user = ? AND endsAt > ?').pluck()
const countAll = db.prepare('SELECT count(*) FROM sessions').pluck()
const endAll = db.prepare('DELETE FROM sessions WHERE user = ?')
/** Ended sessions must be removed now and then. */
const removeEnded = db.prepare('DELETE FROM sessions WHERE endsAt <= ?')

function use(user, token, address, at = Date.now()) {
  put.run(user, token, address, at + 30 * minute)
  return token
}

const phone = use('ada', randomUUID(), 'phone')
use('ada', randomUUID(), 'laptop', Date.now() - 29 * minute)
use('ada', randomUUID(), 'library', Date.now() - 31 * minute)
use('bob', randomUUID(), 'office')
removeEnded.run(Date.now())
console.log(get.get('ada', phone, Date.now())?.address)
console.log(get.get('ada', 'guessed', Date.now()))
console.log(count.get('ada', Date.now()))
console.log(endAll.run('ada').changes)
console.log(countAll.get())
db.close()
