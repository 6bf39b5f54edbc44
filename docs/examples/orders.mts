/**
 * A shop: orders, the stock, and an index by customer, always in agreement.
 *
 * Shows atomic batches with checks over several tables, typed tables, pages, and the change feed as
 * an outbox: mails are sent for what was committed, and for nothing else.
 */
import { Database, encodings, readPage, typedTable } from 'cellardb'

interface Line {
  readonly article: string
  readonly count: number
}

const db = await Database.open('./shop')
const families = { f: {} }
const orders = await db.ensureTable('orders', { families })
const stock = await db.ensureTable('stock', { families })
const byCustomer = await db.ensureTable('orders-by-customer', { families })
const typedOrders = typedTable(orders, {
  customer: 'f:customer',
  lines: { column: 'f:lines', encoding: encodings.json<readonly Line[]>() },
})
const int64 = encodings.int64

/** Places an order if the stock has enough; tells whether it did. */
async function place(id: string, customer: string, line: Line): Promise<boolean> {
  for (;;) {
    const found = await stock.get({ row: line.article })
    const before = found.value('f:count', 'int64') ?? 0n
    if (before < BigInt(line.count)) return false
    const left = int64.encode(before - BigInt(line.count))
    const { success } = await db.atomic({
      // Nobody has taken of the stock since it was read, and the order is new.
      checks: [
        { table: stock, row: line.article, column: 'f:count', equals: int64.encode(before) },
        { table: orders, row: id, column: 'f:customer', notExists: true },
      ],
      mutations: [
        { table: stock, row: line.article, mutations: [{ put: { cells: { 'f:count': left } } }] },
        {
          table: orders,
          row: id,
          mutations: [
            { put: { cells: { 'f:customer': customer, 'f:lines': JSON.stringify([line]) } } },
          ],
        },
        {
          table: byCustomer,
          row: `${customer}/${id}`,
          mutations: [{ put: { cells: { 'f:id': id } } }],
        },
      ],
    })
    if (success) return true
    if (await orders.exists({ row: id })) return false
  }
}

await stock.put({ row: 'chair', cells: { 'f:count': int64.encode(5n) } })
const feed = db.changes({ table: 'orders' })
const mail = feed.next()
const wanted = Array.from({ length: 4 }, (_, i) =>
  place(`o${i}`, 'ada', { article: 'chair', count: 2 }),
)
const placed = (await Promise.all(wanted)).filter(Boolean).length
console.log(placed, (await stock.get({ row: 'chair' })).value('f:count', 'int64')) // prints 2 1n

const page = await readPage(byCustomer, { prefix: 'ada/', limit: 10 })
for (const entry of page.rows) {
  const order = await typedOrders.get(entry.value('f:id')!)
  console.log(order?.customer, order?.lines) // prints ada [ { article: 'chair', count: 2 } ]
}

const { value: change } = await mail
console.log(`a mail to ${String(change?.cells[0]?.value)}`) // prints a mail to ada
await feed.return()
await db.close()
