import Database from 'better-sqlite3'

const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS people (id TEXT PRIMARY KEY, person TEXT);
  CREATE INDEX IF NOT EXISTS byCity ON people (person ->> '$.address.city', person ->> '$.born');
  CREATE UNIQUE INDEX IF NOT EXISTS byMail ON people (person ->> '$.mail');
`)
const insert = db.prepare(`
  INSERT INTO people VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET person = excluded.person
`)
const put = (id, person) => insert.run(id, JSON.stringify(person))
const remove = db.prepare('DELETE FROM people WHERE id = ?')
const inCity = db.prepare(`
  SELECT group_concat(name) FROM (
    SELECT person ->> '$.name' AS name FROM people
    WHERE person ->> '$.address.city' = ? AND person ->> '$.born' < ?
    ORDER BY person ->> '$.born'
  )
`)
const byMail = db.prepare("SELECT person ->> '$.name' FROM people WHERE person ->> '$.mail' = ?")

const london = { city: 'London', street: 'Main Street' }
const emmy = { name: 'Emmy', mail: 'emmy@x', born: 1882, address: { city: 'Erlangen' } }
put('p1', { name: 'Ada', mail: 'ada@x', born: 1815, address: london })
put('p2', { name: 'Alan', mail: 'alan@x', born: 1912, address: london })
put('p3', emmy)
put('p4', { name: 'Tim', mail: 'tim@x', born: 1955, address: london })
console.log(inCity.pluck().get('London', 1950))
put('p3', { ...emmy, address: london })
remove.run('p1')
console.log(inCity.pluck().get('London', 1950))
console.log(byMail.pluck().get('tim@x'))
try {
  put('p5', { name: 'Tom', mail: 'tim@x', born: 2000, address: london })
} catch {
  console.log('this mail is taken')
}
db.close()
