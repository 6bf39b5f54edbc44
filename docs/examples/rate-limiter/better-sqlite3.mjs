import Database from 'better-sqlite3'

const minute = 60_000
const requestsMax = 3
const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS requests (
    minute INTEGER, client TEXT, count INTEGER, PRIMARY KEY (minute, client)
  ) WITHOUT ROWID
`)
const increment = db
  .prepare(
    `INSERT INTO requests VALUES (?, ?, 1)
     ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count`,
  )
  .pluck()
const list = db.prepare('SELECT client, count FROM requests ORDER BY minute, client LIMIT 2')
/** Old counters must be removed now and then. */
const removeOld = db.prepare('DELETE FROM requests WHERE minute < ?')

function allow(client, now) {
  return increment.get(Math.floor(now / minute), client) <= requestsMax
}

const now = Date.now()
const bursts = Array.from({ length: 100 }, () => allow('crawler', now))
console.log(bursts.filter(Boolean).length)
console.log(allow('reader', now))
console.log(allow('crawler', now + minute))
removeOld.run(Math.floor(now / minute) - 10)
for (const { client, count } of list.iterate()) console.log(client, count)
db.close()
