/**
 * Every public call with every hostile value in every place of its arguments: it works or fails
 * with a `CellarError` of a known code, and what fails has changed nothing.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import * as cellar from '../../../../src/entries/index.js'
import {
  CellarError,
  ErrorCode,
  type Database,
  type EmbeddedTable,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import {
  hostileValues,
  optionPathsOf,
  pathsOf,
  valueAt,
  withThrowingGetter,
  withValue,
  type Path,
} from './hostile-values.js'

type Arguments = readonly unknown[]

/** A public call: its name, arguments that are good, and how to make it. */
interface PublicCall {
  readonly name: string
  readonly good: Arguments
  readonly call: (given: never) => unknown
}

/** The methods of an object by name, to be called with anything. */
type Methods = Record<string, (...values: unknown[]) => unknown>

t.setTimeout(1_800_000)

/** Members whose names are data. */
const openMembers = new Set([
  'cells',
  'columns',
  'families',
  'metadata',
  'familyTimeRanges',
  'endpoints',
  'clock',
])
const codes: ReadonlySet<string> = new Set(Object.values(ErrorCode))
const cells = { 'f:q': 'v', 'f:x': { value: 'w', timestamp: 5 } }
const reads = {
  columns: ['f:q', { family: 'f', qualifier: 'x' }],
  versions: 2,
  timeRange: [0, 9e12],
  familyTimeRanges: { f: [0, 9e12] },
  filter: new cellar.PageFilter(3),
  cellsPerFamilyMax: 5,
  cellsPerFamilyOffset: 0,
  cacheBlocks: true,
  isolation: 'READ_COMMITTED',
  loadFamiliesOnDemand: false,
}
const get = { row: 'r', checkExistenceOnly: false, ...reads }
const put = { row: 'r', cells, timestamp: 7, ttlMilliseconds: 1e9, durability: 'SYNC_WAL' }
const deletion = {
  row: 'd',
  timestamp: 3,
  families: ['f', { family: 'f', timestamp: 2 }],
  familyVersions: [{ family: 'f', timestamp: 2 }],
  columns: ['f:q', { family: 'f', qualifier: 'q', timestamp: 1 }],
  columnVersions: ['f:q'],
  durability: 'SKIP_WAL',
}
const modify = { timestamp: 7, timeRange: [0, 9e12], ttlMilliseconds: 1e9, returnResults: true }
const increment = { row: 'n', columns: [{ column: 'f:n', amount: 2 }], ...modify }
const append = { row: 'a', columns: [{ column: 'f:a', value: 'b' }], ...modify }
const mutations = [{ put: { cells } }, { delete: { columns: ['f:z'] } }]
const check = { row: 'r', column: 'f:q', operator: 'EQUAL', value: 'v', timeRange: [0, 9e12] }
const operations = [
  { get },
  { put },
  { delete: deletion },
  { increment },
  { append },
  { mutateRow: { row: 'r', mutations } },
  { checkAndMutate: { check, action: { put: { cells } } } },
]
const condition = { column: 'f:q', operator: 'EQUAL', value: { regexString: 'v' } }

/** Operations of tables that exist in two forms. */
const tableCalls: readonly [name: string, good: Arguments][] = [
  ['get', [get]],
  ['getList', [[get]]],
  ['exists', [get]],
  ['existsList', [[get]]],
  ['put', [put]],
  ['put', [{ row: 'r', cells: [{ column: 'f:q', value: 'v', timestamp: 1, type: 'Put' }] }]],
  ['putList', [[put]]],
  ['delete', [deletion]],
  ['deleteList', [[deletion]]],
  ['increment', [increment]],
  ['increment', [{ row: 'n', columns: { 'f:n': 1 } }]],
  ['incrementColumnValue', ['n', 'f:n', 1, 'SYNC_WAL']],
  ['append', [append]],
  ['append', [{ row: 'a', columns: { 'f:a': 'b' } }]],
  ['checkAndMutate', [check, { put: { cells } }]],
  ['checkAndMutate', [{ row: 'r', column: 'f:q', equals: 'v' }, { mutations }]],
  ['checkAndMutate', [{ row: 'r', filter: new cellar.PageFilter(1) }, { delete: {} }]],
  ['checkAndMutateList', [[{ check, action: { append: { columns: { 'f:a': 'b' } } } }]]],
  ['mutateRow', [{ row: 'r', mutations, durability: 'ASYNC_WAL' }]],
  ['mutateRows', [{ rows: [{ row: 'r', mutations }], checks: [check], durability: 'SYNC_WAL' }]],
  ...operations.map((one): [string, Arguments] => ['batch', [[one], () => undefined]]),
]

const scan = {
  ...reads,
  startRow: 'a',
  startInclusive: true,
  stopRow: 'z',
  stopInclusive: false,
  reversed: false,
  limit: 9,
  maxResultBytes: 1e6,
  allowPartialResults: false,
  needCursorResult: false,
  caching: 1,
  readType: 'PREAD',
  asyncPrefetch: true,
  raw: false,
}

function callsOfTable(table: EmbeddedTable, observed: boolean): PublicCall[] {
  const methods = table as unknown as Methods
  const both = tableCalls.flatMap(([name, good]) => [
    { name, good, call: (given: Arguments) => methods[name](...given) },
    { name: `${name}Sync`, good, call: (given: Arguments) => methods[`${name}Sync`](...given) },
  ])
  return [
    ...(observed ? both.filter((_, i) => i % 2 === 0) : both),
    {
      name: 'scan',
      good: [{ ...scan, signal: new AbortController().signal }],
      call: async ([given]: [cellar.Scan]) => table.scan(given).nextBatch(10),
    },
    {
      name: 'scan',
      good: [{ prefix: 'r' }],
      call: ([given]: [cellar.Scan]) => table.scan(given).next(),
    },
    {
      name: 'scanSync',
      good: [scan],
      call: ([given]: [cellar.Scan]) => [...table.scanSync(given)],
    },
    { name: 'nextBatch', good: [2], call: ([n]: [number]) => table.scan().nextBatch(n) },
    { name: 'nextBatch', good: [2], call: ([n]: [number]) => table.scanSync().nextBatch(n) },
    {
      name: 'callEndpoint',
      good: ['sum', { columns: ['f:n'], startRow: 'a', stopRow: 'z' }],
      call: (given: Arguments) => methods['callEndpoint'](...given),
    },
  ]
}

function callsOfResult(table: EmbeddedTable): PublicCall[] {
  const result = table.getSync({ row: 'r' }) as unknown as Methods
  const named = ['value', 'cell', 'has', 'hasEmpty', 'hasNonEmpty', 'columnCells']
  return [
    ...named.map((name) => ({
      name: `Result.${name}`,
      good: [{ family: 'f', qualifier: 'q' }],
      call: (given: Arguments) => result[name](...given),
    })),
    ...['map', 'noVersionMap'].map((name) => ({
      name: `Result.${name}`,
      good: ['utf8'],
      call: (given: Arguments) => result[name](...given),
    })),
    {
      name: 'Result.familyMap',
      good: ['f', 'hex'],
      call: (given: Arguments) => result['familyMap'](...given),
    },
  ]
}

const tableOptions = {
  families: { f: { versions: 3, compaction: { policy: 'tiered' }, metadata: { a: 'b' } } },
  durability: 'SYNC_WAL',
  readOnly: false,
  flushBytes: 1e6,
  metadata: { a: 'b' },
}
const watch = { onProgress: () => undefined, signal: new AbortController().signal }

function callsOfDatabase(database: Database, bytes: Buffer): PublicCall[] {
  const own = database as unknown as Methods
  const admin = database.admin as unknown as Methods
  const ofDatabase: [string, Arguments][] = [
    ['on', ['poisoned', () => undefined]],
    ['once', ['poisoned', () => undefined]],
    ['off', ['flush', () => undefined]],
    ['table', ['t']],
    ['hasTable', ['t']],
    ['describeTable', ['t']],
    ['alterTable', ['t', { metadata: { a: 'b' } }]],
    [
      'atomicSync',
      [
        {
          checks: [{ table: 't', row: 'zz', column: 'f:q', notExists: true }],
          mutations: [{ table: 't', row: 'r', mutations }],
        },
      ],
    ],
    ['atomic', [{ mutations: [{ table: 't', row: 'r', mutations }], durability: 'SYNC_WAL' }]],
    ['flush', ['t']],
    ['compact', ['t', { major: true, family: 'f', startRow: 'a', stopRow: 'b', ...watch }]],
    ['limitCompaction', [1e9]],
    ['registerCoprocessor', [{ name: 'c', tables: ['none'], priority: 5, endpoints: {} }]],
  ]
  const ofAdmin: [string, Arguments][] = [
    ['createTable', ['t', tableOptions]],
    ['createTable', ['u', { families: [] }]],
    ['cloneTableSchema', ['t', 't']],
    ['tableExists', ['t']],
    ['listTableNames', [/t/]],
    ['listTableNamesByNamespace', ['default']],
    ['listTableDescriptors', [/t/]],
    ['getDescriptor', ['t']],
    ['modifyTable', ['t', { families: { f: { versions: 3 } }, dropFamilies: [], readOnly: false }]],
    ['addColumnFamily', ['t', 'f', { versions: 1 }]],
    ['modifyColumnFamily', ['t', 'f', { versions: 3 }]],
    ['deleteColumnFamily', ['t', 'none']],
    ['enableTable', ['t']],
    ['isTableEnabled', ['t']],
    ['isTableDisabled', ['t']],
    ['createNamespace', ['default', { a: 'b' }]],
    ['modifyNamespace', ['n', { a: 'b' }]],
    ['deleteNamespace', ['none']],
    ['getNamespaceDescriptor', ['n']],
    ['snapshot', ['s', 't', { flush: false }]],
    ['listSnapshots', [/s/]],
    ['listTableSnapshots', [/t/, /s/]],
    ['cloneSnapshot', ['none', 't']],
    ['restoreSnapshot', ['none']],
    ['deleteSnapshot', ['none']],
    ['deleteSnapshots', [/none/]],
    ['bulkLoad', ['t', ['/none'], { copy: true, ...watch }]],
    ['importTable', [[bytes], { table: 't', source: 'x', ...watch }]],
    ['flush', ['t', 'f']],
    ['compact', ['t', 'f', watch]],
    ['majorCompact', ['t', 'f', { startRow: 'a', stopRow: 'b', ...watch }]],
    ['compactionSwitch', [false]],
  ]
  return [
    ...ofDatabase.map(([name, good]) => ({
      name,
      good,
      call: (given: Arguments) => own[name](...given),
    })),
    ...ofAdmin.map(([name, good]) => ({
      name: `Admin.${name}`,
      good,
      call: (given: Arguments) => admin[name](...given),
    })),
    {
      name: 'changes',
      good: [
        { fromSequence: 1, table: ['t'], durability: 'SYNC_WAL', ...{ signal: watch.signal } },
      ],
      call: ([given]: [cellar.ChangeOptions]) => firstOf(database.changes(given)),
    },
    {
      name: 'Admin.exportTable',
      good: [
        't',
        {
          versions: 1,
          timeRange: [0, 9],
          startRow: 'a',
          columns: ['f'],
          raw: false,
          compression: 'LZ4',
          ...watch,
        },
      ],
      call: async ([name, given]: [string, cellar.ExportOptions]) => {
        for await (const piece of database.admin.exportTable(name, given))
          if (piece.length < 0) break
      },
    },
  ]
}

/** A feed from now on waits for what never comes, so nothing waits for it. */
async function firstOf(feed: AsyncGenerator<unknown>): Promise<unknown> {
  const next = feed.next()
  next.catch(() => undefined)
  return Promise.race([next, new Promise((resolve) => setTimeout(resolve, 5))])
}

function callsOfFilters(): PublicCall[] {
  const classes = cellar as unknown as Record<string, new (...values: unknown[]) => unknown>
  const made: [string, Arguments][] = [
    ['RowFilter', ['EQUAL', { binary: 'a' }]],
    ['FamilyFilter', ['EQUAL', { binaryPrefix: 'a' }]],
    ['QualifierFilter', ['EQUAL', { binaryComponent: 'a', offset: 1 }]],
    ['ValueFilter', ['EQUAL', { bit: 'a', operator: 'AND' }]],
    ['ValueFilter', ['EQUAL', { long: 5 }]],
    ['ValueFilter', ['EQUAL', { bigDecimal: '5.5' }]],
    ['ValueFilter', ['EQUAL', { null: true }]],
    ['ValueFilter', ['EQUAL', { regexString: 'a', charset: 'utf8', ignoreCase: true }]],
    ['ValueFilter', ['EQUAL', { substring: 'a' }]],
    ['SingleColumnValueFilter', [{ ...condition, filterIfMissing: true, latestVersionOnly: true }]],
    ['SingleColumnValueExcludeFilter', [condition]],
    ['ColumnValueFilter', [condition]],
    [
      'DependentColumnFilter',
      [{ column: 'f:q', dropDependentColumn: true, operator: 'EQUAL', value: 'v' }],
    ],
    ['InclusiveStopFilter', ['r']],
    ['PageFilter', [1]],
    ['PrefixFilter', ['r']],
    ['RandomRowFilter', [0.5, { random: () => 0.5 }]],
    ['FuzzyRowFilter', [[{ key: 'ab', mask: [0, 1] }]]],
    [
      'MultiRowRangeFilter',
      [[{ start: 'a', startInclusive: true, stop: 'b', stopInclusive: false }]],
    ],
    ['ColumnPrefixFilter', ['q']],
    ['ColumnRangeFilter', [{ min: 'a', minInclusive: true, max: 'b', maxInclusive: true }]],
    ['MultipleColumnPrefixFilter', [['a', 'b']]],
    ['ColumnCountGetFilter', [1]],
    ['ColumnPaginationFilter', [1, 'q']],
    ['FirstKeyValueMatchingQualifiersFilter', [['q']]],
    ['KeyOnlyFilter', [{ lengthAsValue: true }]],
    ['TimestampsFilter', [[1, 2n], { canHint: true }]],
    ['SkipFilter', [new cellar.PageFilter(1)]],
    ['WhileMatchFilter', [new cellar.PageFilter(1)]],
    ['FilterList', ['MUST_PASS_ALL', [new cellar.PageFilter(1)]]],
  ]
  return [
    ...made.map(([name, good]) => ({
      name: `new ${name}`,
      good,
      call: (given: Arguments) => new classes[name](...given),
    })),
    {
      name: 'parseFilter',
      good: ["PrefixFilter('a')"],
      call: ([text]: [string]) => cellar.parseFilter(text),
    },
    {
      name: 'encodeBigDecimal',
      good: ['1.5'],
      call: ([text]: [string]) => cellar.encodeBigDecimal(text),
    },
  ]
}

function callsThatOpen(fileSystem: cellar.FileSystem): PublicCall[] {
  const options = {
    createIfMissing: false,
    memtableBytesMax: 1e6,
    compactionEnabled: true,
    compactionRestMilliseconds: 5000,
    executor: 'inline',
    nativeFree: true,
    timestampSlopMilliseconds: 5,
    cellHookMillisecondsMax: 500,
    clock: { now: () => 1 },
    coprocessors: [],
    schemaCoprocessorsEnabled: true,
    fileSystem,
  }
  const settings = {
    families: { f: { versions: 3 } },
    timestamp: 1,
    cellBytesMax: 0,
    nativeFree: true,
    fileSystem,
  }
  return [
    {
      name: 'Database.open',
      good: ['/locked', options],
      call: async ([path, given]: [string, cellar.OpenOptions]) => {
        await (await cellar.Database.open(path, given)).close()
      },
    },
    {
      name: 'BulkWriter.create',
      good: ['/bulk', settings],
      call: async ([path, given]: [string, cellar.BulkWriterOptions]) => {
        ;(await cellar.BulkWriter.create(path, given)).abandon()
      },
    },
    {
      name: 'BulkWriter.add',
      good: [
        {
          row: 'r',
          cells: [{ column: 'f:q', value: 'v', timestamp: 1, type: 'Put' }],
          timestamp: 1,
          ttlMilliseconds: 5,
        },
      ],
      call: async ([given]: [cellar.Put]) => {
        const writer = await cellar.BulkWriter.create('/bulk2', { families: { f: {} }, fileSystem })
        try {
          writer.add(given)
        } finally {
          writer.abandon()
        }
      },
    },
  ]
}

async function openHostile(observed: boolean): Promise<TestDatabase> {
  const test = await TestDatabase.open()
  const { database } = test
  await database.createTable('t', { families: { f: { versions: 3 } } })
  await database.admin.createNamespace('n')
  const table = database.table('t')
  for (const row of ['a', 'd', 'r'])
    table.putSync({ row, cells: { 'f:q': 'v', 'f:x': 'w' }, timestamp: 1 })
  if (observed) {
    const observer = {
      prePut: () => undefined,
      preGet: () => undefined,
      preScannerOpen: () => undefined,
    }
    await database.registerCoprocessor({ name: 'watcher', tables: ['t'], observer })
  }
  return test
}

/** Every mutation takes a sequence, so the last one tells whether there was any. */
function stateOf(database: Database): string {
  const view = database.snapshot()
  view.close()
  const tables = database.admin.listTableDescriptors()
  const namespaces = database.admin.listNamespaceDescriptors()
  const snapshots = database.admin.listSnapshots()
  return JSON.stringify({ sequence: view.sequence, tables, namespaces, snapshots })
}

/** What became of a call: the code of its error, '' if it worked, or what is wrong with it. */
async function outcomeOf(call: () => unknown): Promise<string> {
  let value: unknown
  try {
    value = await call()
  } catch (error) {
    return describeError(error)
  }
  if (!Array.isArray(value)) return ''
  // The outcomes of a batch.
  for (const each of value as readonly unknown[]) {
    const { ok, error } = (each ?? {}) as { ok?: boolean; error?: CellarError }
    if (ok === false) return describeError(error)
  }
  return ''
}

function describeError(error: unknown): string {
  if (!(error instanceof CellarError)) return `no CellarError: ${String(error)}`
  if (!codes.has(error.code)) return `unknown code ${error.code}`
  return error.code === 'ERR_JOB_FAILED' ? `a fault of the engine: ${error.message}` : error.code
}

function show(path: Path): string {
  return path.map((name) => `[${name}]`).join('')
}

async function attackAll(t: Test, test: TestDatabase, calls: readonly PublicCall[]): Promise<void> {
  let before = stateOf(test.database)
  const attack = async (what: string, run: () => unknown): Promise<string> => {
    const outcome = await outcomeOf(run)
    const isCode = outcome === '' || codes.has(outcome)
    if (!isCode) t.fail(`${what}: ${outcome}`)
    const after = stateOf(test.database)
    if (outcome !== '' && after !== before)
      t.fail(`${what}: failed with ${outcome} and changed something`)
    before = after
    return outcome
  }
  let attacks = 0
  for (const { name, good, call } of calls) {
    const run = call as (given: Arguments) => unknown
    for (const path of pathsOf(good)) {
      // What a callback throws is what the call rejects with, and so are errors of a stream.
      const isCallback = typeof valueAt(good, path) === 'function'
      if (name === 'Admin.importTable' && path[0] === 0) continue
      for (const hostile of hostileValues) {
        if (isCallback && typeof hostile.make() === 'function') continue
        attacks++
        const what = `${name}${show(path)} = ${hostile.name}`
        await attack(what, () => run(withValue(good, path, hostile.make()) as Arguments))
      }
    }
    for (const path of optionPathsOf(good, openMembers)) {
      attacks++
      const options = valueAt(good, path) as object
      for (const member of Object.keys(options)) {
        const given = withValue(good, path, withThrowingGetter(options, member)) as Arguments
        await attack(`${name}${show(path)} with a getter ${member} that throws`, () => run(given))
      }
      const given = withValue(good, path, { ...options, verions: 1 }) as Arguments
      const outcome = await attack(`${name}${show(path)} with an unknown name`, () => run(given))
      if (outcome === '') t.fail(`${name}${show(path)} with an unknown name: it worked`)
    }
  }
  t.ok(attacks > calls.length, `${attacks} attacks`)
}

for (const observed of [false, true]) {
  const what = observed ? 'an observed table' : 'a table'
  void t.test(`hostile arguments of ${what} are refused with a code`, async (t) => {
    const test = await openHostile(observed)
    const table = test.database.table('t')
    await attackAll(t, test, [...callsOfTable(table, observed), ...callsOfResult(table)])
    await test.close()
  })
}

void t.test('hostile arguments of a database are refused with a code', async (t) => {
  const test = await openHostile(false)
  const pieces: Buffer[] = []
  for await (const piece of test.database.admin.exportTable('t')) pieces.push(piece)
  // Cut, so that it is never imported.
  const bytes = Buffer.concat(pieces).subarray(0, 100)
  await attackAll(t, test, callsOfDatabase(test.database, bytes))
  await test.close()
})

void t.test('hostile arguments of filters are refused with a code', async (t) => {
  const test = await openHostile(false)
  await attackAll(t, test, callsOfFilters())
  await test.close()
})

void t.test('hostile arguments of what opens are refused with a code', async (t) => {
  const test = await openHostile(false)
  await attackAll(t, test, callsThatOpen(test.fileSystem))
  await test.close()
})
