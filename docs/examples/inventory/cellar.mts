/**
 * A shop: an order takes its articles from the stock, all or none, however many customers order at
 * once; a cancelled order gives them back.
 */
import { Database, defineTable, encodings } from 'cellardb'

const db = await Database.open('./data')
const lines = encodings.json<Record<string, number>>()
const orders = await defineTable({ name: 'orders', columns: { lines } }).open(db)
const stock = await defineTable({ name: 'stock', columns: { count: 'integer' } }).open(db)

const place = (id: string, lines: Record<string, number>) =>
  db.transaction(async (tx) => {
    for (const [article, wanted] of Object.entries(lines)) {
      const left = await tx.increment(stock, article, 'count', -wanted)
      if (left < 0) throw new Error(`too few: ${article}`)
    }
    tx.put(orders, { id, lines })
  })

const cancel = (id: string) =>
  db.transaction(async (tx) => {
    for (const [article, count] of Object.entries((await tx.get(orders, id))?.lines ?? {})) {
      await tx.increment(stock, article, 'count', count)
    }
    tx.delete(orders, id)
  })

await stock.putList([
  { id: 'chair', count: 10 },
  { id: 'table', count: 2 },
])
const wanted = { chair: 4, table: 1 }
const placed = await Promise.allSettled(['a', 'b', 'c'].map((id) => place(id, wanted)))
console.log(
  placed
    .map(({ status }) => status)
    .sort()
    .join(),
) // prints fulfilled,fulfilled,rejected
const [open] = await orders.scan().all()
await Promise.all([cancel(open!.id), cancel(open!.id)])
for await (const { id, count } of stock.scan()) console.log(id, count)
// prints chair 6
// prints table 1
console.log(await orders.count()) // prints 1
await db.close()
