/** A scan that fails half-way hands out the rows before the failure, then the failure. */
import t from 'tap'
import {
  ErrorCode,
  FilterBase,
  FilterCode,
  type EmbeddedTable,
  type Filter,
  type Result,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

/** Fails at the row with that number, counted from 0. */
class FailingFilter extends FilterBase {
  private rows = 0
  private readonly failAt: number

  constructor(failAt: number) {
    super()
    this.failAt = failAt
  }

  override filterRowKey(): boolean {
    if (this.rows++ === this.failAt) throw new Error('the filter gave up')
    return false
  }

  override filterCell(): FilterCode {
    return FilterCode.include
  }
}

async function openRows(count: number): Promise<TestDatabase> {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < count; i++) table.putSync({ row: `r${i}`, cells: { 'f:q': `${i}` } })
  return test
}

function fail(): never {
  throw new Error('the filter gave up')
}

/** A table with two files and a memtable. */
async function openFlushed(
  isObserved: boolean,
): Promise<{ test: TestDatabase; table: EmbeddedTable }> {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  if (isObserved) {
    await database.registerCoprocessor({
      name: 'o',
      observer: { preScannerClose: () => undefined },
    })
  }
  for (let round = 0; round < 3; round++) {
    if (round > 0) await test.flush()
    for (let i = 0; i < 9; i++) table.putSync({ row: `r${i}`, cells: { 'f:q': `${round}` } })
  }
  return { test, table }
}

function rowsOf(results: readonly Result[]): (string | undefined)[] {
  return results.map(({ row }) => row?.toString())
}

void t.test('an awaited scan gives the rows before the failure, then the failure', async (t) => {
  const test = await openRows(9)
  const table = test.database.table('t')
  const scanner = table.scan({ filter: new FailingFilter(5) })
  const seen: Result[] = []
  await t.rejects(
    async () => {
      for await (const result of scanner) seen.push(result)
    },
    { message: 'the filter gave up' },
  )
  t.strictSame(rowsOf(seen), ['r0', 'r1', 'r2', 'r3', 'r4'])
  t.strictSame(await scanner.next(), { done: true, value: undefined }, 'it is told once')
  await test.close()
})

void t.test('a batch of an awaited scan holds the rows before the failure', async (t) => {
  const test = await openRows(9)
  const table = test.database.table('t')
  for (const count of [3, 5, 7, 1000]) {
    const scanner = table.scan({ filter: new FailingFilter(5) })
    const seen: Result[] = []
    while (seen.length < 5) seen.push(...(await scanner.nextBatch(count)))
    t.strictSame(rowsOf(seen), ['r0', 'r1', 'r2', 'r3', 'r4'], `in batches of ${count}`)
    await t.rejects(scanner.nextBatch(count), { message: 'the filter gave up' })
    t.strictSame(await scanner.nextBatch(count), [])
  }
  await test.close()
})

void t.test('a batch of a synchronous scan holds the rows before the failure', async (t) => {
  const test = await openRows(9)
  const table = test.database.table('t')
  for (const count of [3, 5, 7, 1000]) {
    const scanner = table.scanSync({ filter: new FailingFilter(5) })
    const seen: Result[] = []
    while (seen.length < 5) seen.push(...scanner.nextBatch(count))
    t.strictSame(rowsOf(seen), ['r0', 'r1', 'r2', 'r3', 'r4'], `in batches of ${count}`)
    t.throws(() => scanner.nextBatch(count), { message: 'the filter gave up' })
    t.strictSame(scanner.nextBatch(count), [])
  }
  await test.close()
})

void t.test('a scan that was closed before its failure was told says nothing more', async (t) => {
  const test = await openRows(9)
  const scanner = test.database.table('t').scan({ filter: new FailingFilter(5) })
  t.equal((await scanner.nextBatch(2)).length, 2)
  scanner.close()
  t.strictSame(await scanner.next(), { done: true, value: undefined })
  await test.close()
})

void t.test('a scan whose filter fails at its start keeps no file and no snapshot', async (t) => {
  const failing: [string, (filter: FilterBase & Filter) => void][] = [
    ['isFamilyEssential', (filter) => (filter.isFamilyEssential = fail)],
    ['setReversed', (filter) => (filter.setReversed = fail)],
  ]
  for (const isObserved of [false, true]) {
    for (const [method, spoil] of failing) {
      const { test, table } = await openFlushed(isObserved)
      const snapshot = test.database.snapshot()
      const filter: Filter = new FailingFilter(-1)
      spoil(filter as FilterBase & Filter)
      const scan = { filter, loadFamiliesOnDemand: true, snapshot }
      t.throws(() => table.scanSync(scan), { message: 'the filter gave up' }, method)
      await t.rejects(async () => table.scan(scan).next(), { message: 'the filter gave up' })
      snapshot.close()
      await test.flush()
      await test.database.compact('t', { major: true })
      const files = test.fileSystem.listSync(test.directory).filter((name) => name.endsWith('.sst'))
      t.equal(files.length, 1, 'the compacted files are removed')
      t.equal(test.database.statistics().pinnedMemtableBytes, 0)
      await test.close()
    }
  }
})

void t.test('an abort ends the scan, synchronous or not', async (t) => {
  const test = await openRows(50)
  const table = test.database.table('t')
  const aborted = { code: ErrorCode.aborted }
  const signal = AbortSignal.abort()
  await t.rejects(table.scan({ signal }).all(), aborted)
  t.throws(() => table.scanSync({ signal }).toArray(), aborted)
  const controller = new AbortController()
  const scanner = table.scanSync({ signal: controller.signal, batch: 1 })
  t.equal(scanner.nextBatch(3).length, 3)
  controller.abort()
  t.throws(() => scanner.toArray(), aborted, 'also between two calls')
  t.equal(scanner.next().done, true, 'the scan is closed')
  await test.close()
})
