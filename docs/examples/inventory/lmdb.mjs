import { open } from 'lmdb'

const db = open({ path: './data' })
const stock = db.openDB('stock')
const orders = db.openDB('orders')

const place = (id, lines) =>
  db.childTransaction(() => {
    for (const [article, wanted] of Object.entries(lines)) {
      const count = stock.get(article) ?? 0
      if (count < wanted) throw new Error(`too few: ${article}`)
      stock.put(article, count - wanted)
    }
    orders.put(id, lines)
  })

const cancel = (id) =>
  db.transaction(() => {
    for (const [article, wanted] of Object.entries(orders.get(id) ?? {})) {
      stock.put(article, (stock.get(article) ?? 0) + wanted)
    }
    orders.remove(id)
  })

await stock.transaction(() => {
  stock.put('chair', 10)
  stock.put('table', 2)
})
const wanted = { chair: 4, table: 1 }
const placed = await Promise.allSettled(['a', 'b', 'c'].map((id) => place(id, wanted)))
console.log(
  placed
    .map(({ status }) => status)
    .sort()
    .join(),
)
const [id] = orders.getKeys()
await Promise.all([cancel(id), cancel(id)])
for (const { key, value } of stock.getRange()) console.log(key, value)
console.log(orders.getKeysCount())
await db.close()
