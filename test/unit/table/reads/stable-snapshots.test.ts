/** A snapshot gives the same answers whatever flushes and compactions run while it is open. */
import t, { type Test } from 'tap'
import type { FamilyOptions, Get, Scan, Snapshot } from '../../../../src/api/index.js'
import { FilterBase, FilterCode } from '../../../../src/entries/index.js'
import { showResult, plainResult } from '../../../helpers/cells/plain-cells.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const column = { family: 'f', qualifier: 'q' }

async function openWith(options: FamilyOptions): Promise<TestDatabase> {
  const test = await TestDatabase.open({})
  await test.database.createTable('table', { families: { f: options } })
  return test
}

function put(test: TestDatabase, timestamp: number, value = `v${timestamp}`): void {
  test.database.table('table').putSync({ row: 'r', cells: [{ column, timestamp, value }] })
}

function deleteVersion(test: TestDatabase, timestamp: number): void {
  const columnVersions = [{ ...column, timestamp }]
  test.database.table('table').deleteSync({ row: 'r', columnVersions })
}

type Question = Omit<Get, 'row' | 'snapshot'> & Pick<Scan, 'raw'>

/** Values and types of the row's cells. */
function ask(test: TestDatabase, snapshot: Snapshot | undefined, question: Question): string {
  const scan = { ...question, versions: question.versions ?? 'all', snapshot }
  const rows = [...test.database.table('table').scanSync(scan)]
  return rows.map((row) => showResult(plainResult(row))).join('; ')
}

const questions: readonly Question[] = [
  {},
  { versions: 1 },
  { timeRange: [0, 10] },
  { timeRange: [0, 21] },
  { timeRange: [4, 30] },
  { raw: true },
]

const jobs = {
  flush: (test: TestDatabase) => test.flush(),
  minor: (test: TestDatabase) => test.compact(false),
  major: (test: TestDatabase) => test.compact(true),
}

/** Asks before and after each job, with writes that hide what the snapshot shows. */
async function stays(t: Test, test: TestDatabase): Promise<void> {
  const snapshot = test.database.snapshot()
  const before = questions.map((question) => ask(test, snapshot, question))
  const check = (when: string): void => {
    const after = questions.map((question) => ask(test, snapshot, question))
    t.same(after, before, when)
  }
  for (const [name, job] of Object.entries(jobs)) {
    await job(test)
    check(`after a job: ${name}`)
    put(test, 40)
    test.database.table('table').deleteSync({ row: 'r', columns: [{ ...column, timestamp: 35 }] })
    check(`after writes behind: ${name}`)
  }
  for (const [name, job] of Object.entries(jobs)) {
    await job(test)
    check(`after another job: ${name}`)
  }
  snapshot.close()
}

const families: Readonly<Record<string, FamilyOptions>> = {
  'one version': {},
  'deleted cells are kept': { keepDeletedCells: true },
  'deleted cells are kept until the TTL': { keepDeletedCells: 'TTL', ttlMilliseconds: 100_000_000 },
  'a TTL': { ttlMilliseconds: 100_000_000, versions: 2 },
  'the order of writing counts': { newVersionBehavior: true, versions: 2 },
  'large values': { versions: 2, mob: true, mobThreshold: 1 },
}

for (const [name, options] of Object.entries(families)) {
  void t.test(`a snapshot stays as it is: ${name}`, async (t) => {
    const test = await openWith(options)
    put(test, 3)
    put(test, 20)
    await t.test('in memory', (t) => stays(t, test))
    await test.close()
    const flushed = await openWith(options)
    put(flushed, 3)
    await flushed.flush()
    put(flushed, 20)
    deleteVersion(flushed, 20)
    await t.test('partly flushed', (t) => stays(t, flushed))
    await flushed.close()
  })
}

void t.test('a version that is too many shows in a time range, as before the flush', async (t) => {
  const test = await openWith({})
  put(test, 3)
  put(test, 20)
  const snapshot = test.database.snapshot()
  await test.flush()
  const table = test.database.table('table')
  const old = { row: 'r', timeRange: [0, 10] } as const
  t.equal(
    table
      .getSync({ ...old, snapshot })
      .value('f:q')
      ?.toString(),
    'v3',
  )
  t.equal((await table.get({ ...old, snapshot })).value('f:q')?.toString(), 'v3')
  await test.compact(true)
  t.equal(
    table
      .getSync({ ...old, snapshot })
      .value('f:q')
      ?.toString(),
    'v3',
  )
  t.equal(table.getSync(old).value('f:q'), undefined, 'other reads see what the compaction left')
  const later = test.database.snapshot()
  t.equal(later.sequence, snapshot.sequence)
  t.equal(table.getSync({ ...old, snapshot: later }).value('f:q'), undefined)
  await test.close()
})

void t.test('cells do not expire in a snapshot', async (t) => {
  const test = await openWith({ ttlMilliseconds: 10_000 })
  put(test, test.clock.milliseconds)
  const snapshot = test.database.snapshot()
  test.clock.milliseconds += 20_000
  const table = test.database.table('table')
  for (const job of Object.values(jobs)) {
    t.equal(table.getSync({ row: 'r', snapshot }).size, 1)
    t.equal([...table.scanSync({ snapshot })].length, 1)
    t.equal(table.getSync({ row: 'r' }).isEmpty, true)
    await job(test)
  }
  t.equal((await table.get({ row: 'r', snapshot })).size, 1)
  snapshot.close()
  await test.close()
})

void t.test(
  'files that only a snapshot reads go with it, and with a scan through it',
  async (t) => {
    const test = await openWith({})
    const { database } = test
    for (let i = 1; i <= 3; i++) {
      put(test, i)
      await test.flush()
    }
    const files = (): number => {
      return test.fileSystem.listSync(test.directory).filter((name) => name.endsWith('.sst')).length
    }
    const snapshot = database.snapshot()
    const table = database.table('table')
    await test.compact(true)
    const held = files()
    t.ok(held > 1, `${held} files`)
    const scan = table.scanSync({ snapshot, versions: 'all', raw: true })
    snapshot.close()
    t.equal(files(), held, 'the scan holds them')
    t.equal([...scan][0].size, 3)
    await test.compact(true)
    await database.flush()
    t.equal(files(), 1)
    await test.close()
  },
)

/** Reads another row, as of now, for each cell. */
class ReadingFilter extends FilterBase {
  private readonly read: () => void

  constructor(read: () => void) {
    super()
    this.read = read
  }

  override filterCell(): FilterCode {
    this.read()
    return FilterCode.include
  }
}

void t.test('a filter that reads the table does not move the time of its get', async (t) => {
  const test = await TestDatabase.open({})
  const families = { f: { ttlMilliseconds: 1000 }, g: { ttlMilliseconds: 1000 } }
  const table = await test.database.createTable('t', { families })
  for (const row of ['r1', 'r2']) table.putSync({ row, cells: { 'f:q': 'v', 'g:q': 'w' } })
  const snapshot = test.database.snapshot()
  test.clock.milliseconds += 2000
  const past = new ReadingFilter(() => table.getSync({ row: 'r2' }))
  const now = new ReadingFilter(() => table.getSync({ row: 'r2', snapshot }))
  table.putSync({ row: 'r1', cells: { 'f:q': 'new' } })
  const shown = (get: Get): string => showResult(plainResult(table.getSync(get)))
  const whole = shown({ row: 'r1', snapshot })
  t.match(whole, /g:q/)
  t.equal(shown({ row: 'r1', snapshot, filter: past }), whole)
  t.equal(shown({ row: 'r1', filter: now }), shown({ row: 'r1' }))
  snapshot.close()
  await test.close()
})

void t.test('a close ends no read that was called before it', async (t) => {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
  const f = { mob: true, mobThreshold: 10 }
  const table = await test.database.createTable('table', { families: { f } })
  put(test, 20, 'a value of its own file')
  await test.flush()
  const snapshot = test.database.snapshot()
  put(test, 30, 'a later value')
  const get = { row: 'r', snapshot }
  const reads = [table.get(get), ...Array.from({ length: 2 }, () => table.getList([get]))]
  const exists = table.exists(get)
  snapshot.close()
  await test.compact(true)
  for (const result of (await Promise.all(reads)).flat()) {
    t.equal(result.value('f:q', 'utf8'), 'a value of its own file')
  }
  t.equal(await exists, true)
  await t.rejects(table.get(get), { code: 'ERR_CLOSED' })
  t.throws(() => table.getSync(get), { code: 'ERR_CLOSED' })
  await test.database.close()
})
