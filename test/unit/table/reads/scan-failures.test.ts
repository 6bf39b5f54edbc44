/** A scan that fails half-way hands out the rows before the failure, then the failure. */
import t from 'tap'
import { FilterBase, FilterCode, type Result } from '../../../../src/entries/index.js'
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
