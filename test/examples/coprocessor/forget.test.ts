/**
 * An example of a coprocessor with all its parts: customers are forgotten, new orders of them are
 * refused, and the next compaction removes the old ones. `docs/coprocessors.md` explains how. By
 * hand:
 *
 *   npm run build && node build/test/examples/coprocessor/forget.test.js
 */
import t from 'tap'
import {
  CellarError,
  Database,
  type Coprocessor,
  type StoreJob,
  type StoreJobOutcome,
} from '../../../src/entries/index.js'
import type { ForgetContext } from './forget-hook.js'

function forgetting(onRemoved: (rows: number) => void): Coprocessor {
  const forgotten = new Set<string>()
  const customerOf = (row: string | Uint8Array): string => Buffer.from(row).toString().split('/')[0]
  const removed = (_job: StoreJob, { reports }: StoreJobOutcome): void => {
    for (const report of reports as readonly { readonly rows: number }[]) onRemoved(report.rows)
  }
  return {
    name: 'forgetting',
    tables: ['orders'],
    observer: {
      prePut: (_context, { row }) => {
        if (!forgotten.has(customerOf(row))) return
        throw new CellarError('ERR_INVALID_ARGUMENT', `${customerOf(row)} is forgotten`)
      },
      jobContext: (): ForgetContext => ({ customers: [...forgotten] }),
      postFlush: removed,
      postCompact: removed,
    },
    cellHook: { module: new URL('./forget-hook.js', import.meta.url).href },
    endpoints: {
      forget: (_table, customer) => void forgotten.add(String(customer)),
    },
  }
}

void t.test('a forgotten customer is gone after the next compaction', async (t) => {
  let rowsRemoved = 0
  const database = await Database.open(t.testdir(), {
    coprocessors: [forgetting((rows) => (rowsRemoved += rows))],
  })
  const orders = await database.createTable('orders', { families: { f: {} } })
  for (const row of ['ann/1', 'ann/2', 'bob/1']) await orders.put({ row, cells: { 'f:item': 'x' } })
  await database.flush()

  await orders.callEndpoint('forget', 'ann')
  await t.rejects(orders.put({ row: 'ann/3', cells: { 'f:item': 'x' } }), /ann is forgotten/)
  t.equal(await orders.callEndpoint('rowCount'), 3, 'nothing was rewritten yet')

  await database.compact('orders')
  t.equal(await orders.callEndpoint('rowCount'), 1)
  t.equal(rowsRemoved, 2)
  t.same(database.statistics().tables['orders'].hooks, { forgetting: { dropped: 2, replaced: 0 } })
  await database.close()
})
