/**
 * The model as a database: tables, atomic batches, snapshots, changes, capabilities.
 *
 * @runs alone
 */
import t from 'tap'
import { ManualClock } from '../../src/base/clock.js'
import { CellarError } from '../../src/api/index.js'
import type { Change, Database, Table } from '../../src/api/index.js'
import { ModelDatabase } from './reference/model-database.js'
import { TestDatabase } from '../helpers/test-database.js'

const clock = new ManualClock()

async function open(): Promise<ModelDatabase> {
  const database = await ModelDatabase.open({ clock })
  await database.createTable('a', { families: { f: { versions: 3 }, g: {} } })
  await database.createTable('b', { families: { f: {} } })
  return database
}

function text(table: { getSync: MemoryTableGet }, row: string, column = 'f:q'): string | undefined {
  return table.getSync({ row }).value(column)?.toString()
}
type MemoryTableGet = (get: { row: string }) => {
  value(column: string): Buffer | undefined
}

void t.test('rows, versions, checks, counters and scans', async (t) => {
  const database = await open()
  const table = database.table('a')
  await table.put({ row: 'r', cells: { 'f:q': 'one', 'g:x': 'x' } })
  await table.put({ row: 'r', cells: { 'f:q': 'two' } })
  t.equal(text(table, 'r'), 'two')
  t.equal(table.getSync({ row: 'r', versions: 3, columns: ['f'] }).size, 2)
  const check = { row: 'r', column: 'f:q', equals: 'one' }
  t.equal((await table.checkAndMutate(check, { put: { cells: { 'f:q': 'no' } } })).success, false)
  t.equal(await table.incrementColumnValue('n', 'f:c', 5), 5n)
  t.equal(table.incrementColumnValueSync('n', 'f:c'), 6n)
  await table.delete({ row: 'r', columns: ['f:q'] })
  t.equal(text(table, 'r'), undefined)
  await table.put({ row: 'r', cells: { 'f:q': 'three' } })
  t.equal(text(table, 'r'), 'three', 'a put behind a delete in the same millisecond is seen')
  const rows = []
  for await (const result of table.scan({ reversed: true })) rows.push(result.row!.toString())
  t.strictSame(rows, ['r', 'n'])
  await database.close()
  t.throws(() => table.getSync({ row: 'r' }), { code: 'ERR_CLOSED' })
})

void t.test('atomic batches are all or nothing, over tables', async (t) => {
  const database = await open()
  const [a, b] = [database.table('a'), database.table('b')]
  const mutations = [
    { table: 'a', row: 'r', mutations: [{ put: { cells: { 'f:q': '1' } } }] },
    { table: b, row: 's', mutations: [{ put: { cells: { 'f:q': '2' } } }] },
  ]
  const checks = [{ table: b, row: 's', column: 'f:q', notExists: true as const }]
  t.match(await database.atomic({ checks, mutations }), { success: true, failedCheck: undefined })
  t.strictSame([text(a, 'r'), text(b, 's')], ['1', '2'])
  const cells = [a.getSync({ row: 'r' }).cells(), b.getSync({ row: 's' }).cells()].flat()
  t.equal(new Set(cells.map(({ sequence }) => sequence)).size, 1, 'one sequence')
  t.match(await database.atomic({ checks, mutations }), { success: false, failedCheck: 0 })
  const wrong = { table: 'b', row: 't', mutations: [{ put: { cells: { 'nope:q': '3' } } }] }
  await t.rejects(database.atomic({ mutations: [...mutations, wrong] }), {
    code: 'ERR_NO_SUCH_COLUMN_FAMILY',
  })
  await t.rejects(database.atomic({ mutations: [] }), { code: 'ERR_INVALID_ARGUMENT' })
  const other = await open()
  const foreign = { ...mutations[0], table: other.table('a') }
  await t.rejects(database.atomic({ mutations: [foreign] }), { code: 'ERR_INVALID_ARGUMENT' })
  t.equal(text(a, 'r'), '1', 'nothing was applied')
  t.end()
})

void t.test('snapshots and open scans do not change', async (t) => {
  const database = await open()
  const table = database.table('a')
  for (const row of ['a', 'b']) table.putSync({ row, cells: { 'f:q': 'old' } })
  const snapshot = database.snapshot()
  const scan = table.scanSync()
  for (let i = 0; i < 3000; i++) table.putSync({ row: 'b', cells: { 'f:q': `${i}` } })
  table.putSync({ row: 'c', cells: { 'f:q': 'new' } })
  await database.admin.majorCompact()
  const seen = (results: Iterable<{ toObject(): object }>): object[] => {
    return [...results].map((result) => result.toObject())
  }
  const old = [{ 'f:q': 'old' }, { 'f:q': 'old' }]
  t.strictSame(seen(scan), old)
  t.strictSame(seen(table.scanSync({ snapshot })), old)
  t.equal(text(table, 'b'), '2999')
  const raw = [...table.scanSync({ raw: true, versions: 'all', startRow: 'b', stopRow: 'c' })]
  t.equal(raw[0].size, 3, 'what nobody can see is dropped')
  snapshot.close()
  t.throws(() => table.getSync({ row: 'a', snapshot }), { code: 'ERR_CLOSED' })
  t.end()
})

void t.test('the change feed has every mutation once, whole and in order', async (t) => {
  const database = await ModelDatabase.open({ clock, changesMax: 10 })
  const a = await database.createTable('a', { families: { f: {} } })
  const b = await database.createTable('b', { families: { f: {} } })
  const feed = database.changes({ fromSequence: 1 })
  const next = async (): Promise<Change> => (await feed.next()).value as Change
  const first = next()
  await a.put({ row: 'r', cells: { 'f:q': '1' }, timestamp: 7 })
  t.match(await first, { sequence: 1, timestamp: undefined, cells: [{ table: 'a', timestamp: 7 }] })
  await a.put({ row: 'r', cells: { 'f:q': '2' }, durability: 'SKIP_WAL' })
  await database.atomic({
    mutations: [
      { table: a, row: 'r', mutations: [{ delete: {} }] },
      { table: b, row: 's', mutations: [{ put: { cells: { 'f:q': '3' } } }] },
    ],
  })
  const { sequence, timestamp, cells } = await next()
  t.equal(sequence, 3, 'what is SKIP_WAL is not shown')
  t.ok(timestamp! >= clock.milliseconds)
  t.strictSame(
    cells.map(({ table, type }) => [table, type]),
    [
      ['a', 'DeleteFamily'],
      ['b', 'Put'],
    ],
  )
  const ended = database.changes({ fromSequence: 2, toSequence: 'now', table: 'b', family: 'f' })
  t.match((await ended.next()).value, { sequence: 3, cells: { length: 1 } })
  t.equal((await ended.next()).done, true)
  for (let i = 0; i < 100; i++) b.putSync({ row: 'x', cells: { 'f:q': `${i}` } })
  await t.rejects(database.changes({ fromSequence: 1 }).next(), { code: 'ERR_CHANGES_GONE' })
  await t.rejects(database.changes({ table: 'none' }).next(), { code: 'ERR_TABLE_NOT_FOUND' })
  const waiting = database.changes().next()
  await database.close()
  await t.rejects(waiting, { code: 'ERR_CLOSED' })
})

void t.test('tables are made, altered, truncated and dropped', async (t) => {
  const database = await open()
  const { admin } = database
  const table = database.table('a')
  table.putSync({ row: 'r', cells: { 'f:q': '1', 'g:q': '2' } })
  const snapshot = database.snapshot()
  await admin.modifyTable('a', { dropFamilies: ['g'], durability: 'SKIP_WAL' })
  await admin.modifyTable('a', { families: { g: {} } })
  t.equal(table.getSync({ row: 'r' }).size, 1)
  t.equal(
    table.getSync({ row: 'r', snapshot }).size,
    1,
    'nor does a snapshot show what was dropped',
  )
  t.equal(table.describe().durability, 'SKIP_WAL')
  await admin.truncateTable('a')
  t.ok(table.getSync({ row: 'r' }).isEmpty)
  t.ok(table.getSync({ row: 'r', snapshot }).isEmpty)
  await admin.deleteTable('a')
  await database.createTable('a', { families: { f: {} } })
  t.throws(() => table.getSync({ row: 'r' }), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(database.createTable('a', { families: { f: {} } }), { code: 'ERR_TABLE_EXISTS' })
  const coprocessors = [{ module: '/nowhere.js' }]
  await t.rejects(database.createTable('c', { families: { f: {} }, coprocessors }), {
    code: 'ERR_UNSUPPORTED',
  })
  t.strictSame(admin.listTableNames(), ['a', 'b'])
})

/** Calls that a backend must refuse, each by itself. */
const refused: Readonly<Record<string, (database: Database, table: Table) => unknown>> = {
  'an empty row': (_, table) => table.put({ row: '', cells: { 'f:q': 'v' } }),
  'a long row': (_, table) => table.get({ row: 'x'.repeat(32_768) }),
  'no cells': (_, table) => table.put({ row: 'r', cells: {} }),
  'an unknown family': (_, table) => table.put({ row: 'r', cells: { 'x:q': 'v' } }),
  'an unknown family of a get': (_, table) => table.get({ row: 'r', columns: ['x'] }),
  'an unknown option': (_, table) => table.get({ row: 'r', version: 1 } as never),
  'an unknown option of a scan': (_, table) => table.scan({ start: 'r' } as never).next(),
  'a negative timestamp': (_, table) => table.delete({ row: 'r', timestamp: -1 }),
  'a ttl of none': (_, table) => table.put({ row: 'r', cells: { 'f:q': 'v' }, ttlMilliseconds: 0 }),
  'a large cell': (_, table) => table.put({ row: 'r', cells: { 'f:q': Buffer.alloc(11 << 20) } }),
  'an amount': (_, table) => table.increment({ row: 'r', columns: { 'f:q': 1.5 } }),
  'no counter': (_, table) => table.increment({ row: 'r', columns: { 'f:text': 1 } }),
  'another row': (_, table) =>
    table.mutateRow({ row: 'r', mutations: [{ put: { row: 's', cells: { 'f:q': 'v' } } }] }),
  'two conditions': (_, table) =>
    table.checkAndMutate({ row: 'r', column: 'f:q', equals: 'v', notExists: true } as never, {
      delete: {},
    }),
  'an increment over rows': (_, table) =>
    table.mutateRows({
      rows: [{ row: 'r', mutations: [{ increment: { columns: { 'f:q': 1 } } }] }],
    }),
  'some puts': (_, table) =>
    table.putList([
      { row: 'r', cells: { 'f:ok': 'v' } },
      { row: 'r', cells: { 'x:q': 'v' } },
    ]),
  'a batch of two kinds': (_, table) => table.batch(['nonsense'] as never),
  'an unknown durability': (_, table) =>
    table.put({ row: 'r', cells: { 'f:q': 'v' }, durability: 'NONE' as never }),
  'a range upside down': (_, table) => table.get({ row: 'r', timeRange: [2, 1] }),
  'a raw scan of a column': (_, table) => table.scan({ raw: true, columns: ['f:q'] }).next(),
  'a table name': (database) => database.createTable('no name', { families: { f: {} } }),
  'no families': (database) => database.createTable('n', { families: {} }),
  'a namespace': (database) => database.createTable('n:t', { families: { f: {} } }),
  'an unknown compression': (database) =>
    database.createTable('n', { families: { f: { compression: 'LZ5' as never } } }),
  'versions below their minimum': (database) =>
    database.createTable('n', { families: { f: { minVersions: 2 } } }),
  'an absent table': (database) => database.table('absent').get({ row: 'r' }),
  'a family to drop': (database) => database.admin.modifyTable('t', { dropFamilies: ['x'] }),
  'a feed': (database) => database.changes({ fromSequence: 0.5 }).next(),
  'an atomic increment': (database) =>
    database.atomic({
      mutations: [{ table: 't', row: 'r', mutations: [{ increment: { columns: { 'f:q': 1 } } }] }],
    }),
}

async function outcome(run: () => unknown): Promise<unknown> {
  try {
    const value = await run()
    const failures = Array.isArray(value) ? value.filter(({ ok }: { ok?: boolean }) => !ok) : []
    return failures.map(({ error }: { error: CellarError }) => error.code)
  } catch (error) {
    if (error instanceof CellarError) return `${error.code}: ${error.message}`
    throw error
  }
}

void t.test('both backends refuse the same calls with the same words', async (t) => {
  const { database: embedded } = await TestDatabase.open({ clock })
  const memory = await ModelDatabase.open({ clock })
  for (const database of [embedded, memory]) {
    const table: Table = await database.createTable('t', { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:text': 'text' } })
  }
  for (const [name, call] of Object.entries(refused)) {
    const expected = await outcome(() => call(embedded, embedded.table('t')))
    const found = await outcome(() => call(memory, memory.table('t')))
    t.strictSame(found, expected, name)
    t.not(expected, '', name)
  }
  const schema = (database: Database): unknown => database.admin.getDescriptor('t')
  t.strictSame(schema(memory), schema(embedded), 'defaults')
  await embedded.close()
})
