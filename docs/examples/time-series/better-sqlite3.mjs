import Database from 'better-sqlite3'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS measurements (
    sensor TEXT, at INTEGER, value REAL, PRIMARY KEY (sensor, at)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS hours (
    sensor TEXT, hour INTEGER, mean REAL, greatest REAL, PRIMARY KEY (sensor, hour)
  ) WITHOUT ROWID;
`)
const insert = db.prepare('INSERT INTO measurements VALUES (?, ?, ?)')
const insertAll = db.transaction((sensor, rows) => {
  for (const { at, value } of rows) insert.run(sensor, at, value)
})
const rollUp = db.prepare(`
  INSERT OR REPLACE INTO hours
  SELECT sensor, @from, avg(value), max(value) FROM measurements
  WHERE sensor = @sensor AND at >= @from AND at < @from + 3600000
`)
/** Old measurements must be removed now and then. */
const removeOld = db.prepare('DELETE FROM measurements WHERE sensor = ? AND at < ?')
const count = db.prepare('SELECT count(*) FROM measurements WHERE sensor = ?').pluck()
const list = db.prepare('SELECT * FROM hours WHERE sensor = ? ORDER BY hour')

const start = Math.floor(Date.now() / hour) * hour - day
const minutes = Array.from({ length: 120 }, (_, n) => ({ at: start + n * minute, value: n % 50 }))
const old = { at: start - 30 * day, value: 99 }
insertAll('roof', [old, ...minutes])
removeOld.run('roof', Date.now() - 30 * day)
for (const from of [start, start + hour]) rollUp.run({ sensor: 'roof', from })
console.log(count.get('roof'))
for (const { mean, greatest } of list.iterate('roof')) console.log(mean.toFixed(2), greatest)
db.close()
