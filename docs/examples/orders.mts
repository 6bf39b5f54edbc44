/**
 * A shop: orders and the stock, always in agreement, and mails for what was committed.
 *
 * Shows transactions over several tables, keys of several parts, pages, and the change feed as an
 * outbox: mails are sent for what was committed, and for nothing else.
 */
import { Database, defineTable, encodings } from 'cellardb'

interface Line {
  readonly article: string
  readonly count: number
}

const db = await Database.open('./shop')
const stock = await defineTable({ name: 'stock', columns: { count: 'integer' } }).open(db)
const orders = await defineTable({
  name: 'orders',
  key: { customer: 'utf8', order: 'integer' },
  columns: { lines: encodings.json<readonly Line[]>(), mail: 'utf8' },
}).open(db)

/** Places an order if the stock has enough and the order is new; tells whether it did. */
function place(customer: string, order: number, line: Line): Promise<boolean> {
  return db.transaction(async (tx) => {
    const left = ((await tx.get(stock, line.article))?.count ?? 0) - line.count
    if (left < 0 || (await tx.get(orders, { customer, order }))) return false
    tx.put(stock, { id: line.article, count: left })
    tx.put(orders, { customer, order, lines: [line], mail: `${customer}@example.org` })
    return true
  })
}

await stock.put({ id: 'chair', count: 5 })
const feed = db.changes({ table: 'orders' })
const mail = feed.next()
const wanted = [1, 2, 3, 4].map((order) => place('ada', order, { article: 'chair', count: 2 }))
const placed = (await Promise.all(wanted)).filter(Boolean).length
console.log(placed, (await stock.get('chair'))?.count) // prints 2 1

const page = await orders.page({ prefix: { customer: 'ada' }, limit: 10 })
for (const { customer, lines } of page.rows) {
  console.log(customer, lines) // prints ada [ { article: 'chair', count: 2 } ]
}

const { value: change } = await mail
const address = change?.cells.find(({ qualifier }) => String(qualifier) === 'mail')?.value
console.log(`a mail to ${String(address)}`) // prints a mail to ada@example.org
await feed.return()
await db.close()
