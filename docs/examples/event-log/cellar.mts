/**
 * A log of events in one order, and the balances of accounts as a projection of it. The projection
 * goes on where it ended, applies each event once, and can be made again from the log.
 */
import { Database, defineTable } from 'cellardb'

const db = await Database.open('./data')
const columns = { account: 'utf8', amount: 'integer' } as const
const log = await defineTable({ name: 'log', key: { number: 'integer' }, columns }).open(db)
const balances = await defineTable({ name: 'balances', columns: { sum: 'integer' } }).open(db)
const positions = await defineTable({ name: 'positions', columns: { number: 'integer' } }).open(db)

const append = (event: { account: string; amount: number }) =>
  db.transaction(async (tx) => {
    tx.put(log, { number: await tx.increment(positions, 'end', 'number'), ...event })
  })

/** Applies the events behind the position, all or none. */
const project = () =>
  db.transaction(async (tx) => {
    const last = (await tx.get(positions, 'balances'))?.number ?? 0
    for await (const { number, account, amount } of log.scan({ startKey: { number: last + 1 } })) {
      await tx.increment(balances, account!, 'sum', amount)
      tx.put(positions, { id: 'balances', number })
    }
  })

const deposits = [10, 20, 30, -5].map((amount, n) => ({ account: n % 2 ? 'bob' : 'ada', amount }))
await Promise.all(deposits.map(append))
await project()
await append({ account: 'ada', amount: 2 })
await Promise.all([project(), project()])
for await (const { id, sum } of balances.scan()) console.log(id, sum)
// prints ada 42
// prints bob 15
await db.admin.truncateTable('balances')
await positions.delete('balances')
await project()
console.log((await balances.get('ada'))?.sum, await log.count()) // prints 42 5
await db.close()
