import Database from 'better-sqlite3'

const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, account TEXT, amount INTEGER);
  CREATE TABLE IF NOT EXISTS balances (id TEXT PRIMARY KEY, sum INTEGER);
  CREATE TABLE IF NOT EXISTS positions (id TEXT PRIMARY KEY, number INTEGER);
`)
const append = db.prepare('INSERT INTO log (account, amount) VALUES (@account, @amount)')
const getPosition = db.prepare("SELECT number FROM positions WHERE id = 'balances'").pluck()
const setPosition = db.prepare(
  "INSERT OR REPLACE INTO positions SELECT 'balances', max(number) FROM log",
)
const addUp = db.prepare(`
  INSERT INTO balances
  SELECT account, sum(amount) FROM log WHERE number > ? GROUP BY account
  ON CONFLICT DO UPDATE SET sum = sum + excluded.sum
`)
const project = db.transaction(() => {
  addUp.run(getPosition.get() ?? 0)
  setPosition.run()
})
const list = db.prepare('SELECT * FROM balances ORDER BY id')
const sumOf = db.prepare('SELECT sum FROM balances WHERE id = ?').pluck()
const count = db.prepare('SELECT count(*) FROM log').pluck()

const deposits = [10, 20, 30, -5].map((amount, n) => ({ account: n % 2 ? 'bob' : 'ada', amount }))
for (const deposit of deposits) append.run(deposit)
project()
append.run({ account: 'ada', amount: 2 })
project()
project()
for (const { id, sum } of list.iterate()) console.log(id, sum)
db.exec('DELETE FROM balances; DELETE FROM positions')
project()
console.log(sumOf.get('ada'), count.get())
db.close()
