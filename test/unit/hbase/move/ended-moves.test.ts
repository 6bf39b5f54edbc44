/** What is left of a move that has ended, and how a signal ends its comparison. */
import t from 'tap'
import type { Database, Scan } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { moveDatabase } from '../../../../src/hbase/move/move-database.js'

type Embedded = Awaited<ReturnType<typeof openMemoryDatabase>>

/** A source with one table. */
async function sourceOf(rows: number): Promise<Embedded> {
  const source = await openMemoryDatabase()
  const table = await source.createTable('a', { families: { f: {} } })
  for (let i = 0; i < rows; i++) table.putSync({ row: `r${i}`, cells: { 'f:q': 'v' } })
  return source
}

/** The database, whose tables answer scans after a call of `before`. */
function scanning(database: Embedded, before: (scan: Scan) => void): Database {
  return new Proxy<Database>(database, {
    get: (inner, name) => {
      const value: unknown = Reflect.get(inner, name, inner)
      if (name !== 'table') {
        return typeof value === 'function' ? (value.bind(inner) as unknown) : value
      }
      return (of: string) =>
        new Proxy(inner.table(of), {
          get: (table, method) => {
            const found: unknown = Reflect.get(table, method, table)
            if (typeof found !== 'function') return found
            return (...given: unknown[]) => {
              if (method === 'scan') before(given[0] as Scan)
              return (found as (...all: unknown[]) => unknown).apply(table, given)
            }
          },
        })
    },
  })
}

void t.test('a move that has ended keeps no log of its source', async (t) => {
  for (const outcome of ['done', 'stopped'] as const) {
    const source = await sourceOf(10)
    const target = await openMemoryDatabase()
    const stopWrites = (): void => {
      if (outcome === 'stopped') throw new Error(outcome)
    }
    const moving = moveDatabase(source, target, { stopWrites }).then(
      () => 'done',
      (error: unknown) => (error as Error).message,
    )
    t.equal(await moving, outcome)
    for (let i = 0; i < 5; i++) {
      await source.table('a').put({ row: 'r', cells: { 'f:q': Buffer.alloc(5_000_000) } })
      await source.flush()
    }
    const old = source.changes({ fromSequence: 1 })
    await t.rejects(old.next(), { code: 'ERR_CHANGES_GONE' }, outcome)
    for (const each of [source, target]) await each.close()
  }
})

void t.test('a signal ends the last comparison of a move', async (t) => {
  const source = await sourceOf(100)
  const store = await openMemoryDatabase()
  const abort = new AbortController()
  let isStopped = false
  const stopWrites = (): void => {
    isStopped = true
    // No read shows this put, but the whole table is compared again because of it.
    const old = { row: 'r1', cells: { 'f:q': 'old' }, timestamp: 1 }
    source.table('a').putSync({ ...old, durability: 'SKIP_WAL' })
  }
  const target = scanning(store, ({ versions }) => {
    if (versions === 'all' && isStopped) abort.abort()
  })
  const moving = moveDatabase(source, target, { stopWrites, signal: abort.signal })
  await t.rejects(moving, { code: 'ERR_ABORTED' })
  for (const each of [source, store]) await each.close()
})

void t.test('a signal ends the inspection of cells', async (t) => {
  const source = await sourceOf(100)
  const target = await openMemoryDatabase({ cellBytesMax: 1_000 })
  const moving = moveDatabase(source, target, { signal: AbortSignal.abort() })
  await t.rejects(moving, { code: 'ERR_ABORTED' })
  t.strictSame(target.admin.listTableNames(), [], 'nothing was made')
  for (const each of [source, target]) await each.close()
})
