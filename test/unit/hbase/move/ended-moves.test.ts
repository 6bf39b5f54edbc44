/**
 * What is left of a move that has ended, and how a signal ends its comparison.
 *
 * @runs long
 */
import t from 'tap'
import type { Database, Scan } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { Database as Cellar } from '../../../../src/entries/index.js'
import { moveDatabase } from '../../../../src/hbase/move/move-database.js'
import { SimulatedDisk } from '../../../doubles/testing.js'

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

void t.test('a kill after a move loses no row, whatever the durability of the table', async (t) => {
  for (const durability of ['SKIP_WAL', 'ASYNC_WAL'] as const) {
    const source = await openMemoryDatabase()
    const table = await source.createTable('a', { families: { f: {} }, durability })
    for (let i = 0; i < 10; i++) table.putSync({ row: `r${i}`, cells: { 'f:q': 'v' } })
    const disk = new SimulatedDisk()
    const options = { executor: 'inline', compactionEnabled: false } as const
    const target = await Cellar.open('/target', { fileSystem: disk, ...options })
    await moveDatabase(source, target)
    for (const fileSystem of [disk.kill(), disk.crash('dropUnsynced', () => 0)]) {
      const left = await Cellar.open('/target', { fileSystem, ...options })
      t.equal((await left.table('a').scan().toArray()).length, 10, durability)
      t.equal(left.admin.getDescriptor('a').durability, durability)
      const again = await moveDatabase(source, left)
      t.equal(again.writtenCells, 0, 'nothing was left to do')
      await left.close()
    }
    for (const each of [source, target]) await each.close()
  }
})
