import Database from 'better-sqlite3'

const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS stock (
    article TEXT PRIMARY KEY, count INTEGER NOT NULL CHECK (count >= 0)
  );
  CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, lines TEXT);
`)
const addStock = db.prepare('INSERT INTO stock VALUES (?, ?)')
const take = db.prepare('UPDATE stock SET count = count - ? WHERE article = ?')
const addOrder = db.prepare('INSERT INTO orders VALUES (?, ?)')
const removeOrder = db.prepare('DELETE FROM orders WHERE id = ? RETURNING lines').pluck()
const firstOrder = db.prepare('SELECT id FROM orders ORDER BY id').pluck()
const countOrders = db.prepare('SELECT count(*) FROM orders').pluck()
const listStock = db.prepare('SELECT * FROM stock ORDER BY article')

const place = db.transaction((id, lines) => {
  for (const [article, wanted] of Object.entries(lines)) take.run(wanted, article)
  addOrder.run(id, JSON.stringify(lines))
})

const cancel = db.transaction((id) => {
  const lines = JSON.parse(removeOrder.get(id) ?? '{}')
  for (const [article, wanted] of Object.entries(lines)) take.run(-wanted, article)
})

addStock.run('chair', 10)
addStock.run('table', 2)
const wanted = { chair: 4, table: 1 }
const placed = await Promise.allSettled(['a', 'b', 'c'].map(async (id) => place(id, wanted)))
console.log(
  placed
    .map(({ status }) => status)
    .sort()
    .join(),
)
const id = firstOrder.get()
cancel(id)
cancel(id)
for (const { article, count } of listStock.iterate()) console.log(article, count)
console.log(countOrders.get())
db.close()
