/** A name that an object of options does not have is refused, and the nearest one is told. */
import t from 'tap'
import {
  BulkWriter,
  Database,
  KeyOnlyFilter,
  MemoryFileSystem,
  SingleColumnValueFilter,
  type EmbeddedTable,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

type Loose = Record<string, (...values: unknown[]) => unknown>

function refusal(wrong: string, meant: string): { code: string; message: RegExp } {
  const message = new RegExp(`^unknown option '${wrong}' of .*; did you mean '${meant}'\\?$`)
  return { code: 'ERR_INVALID_ARGUMENT', message }
}

async function open(): Promise<{ test: TestDatabase; table: EmbeddedTable; loose: Loose }> {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: {} } })
  table.putSync({ row: 'r', cells: { 'f:q': 'v' } })
  return { test, table, loose: table as unknown as Loose }
}

void t.test('operations of a table name the option that was meant', async (t) => {
  const { test, loose } = await open()
  const cells = { 'f:q': 'v' }
  const wrong: [name: string, given: unknown, wrong: string, meant: string][] = [
    ['get', { row: 'r', verions: 2 }, 'verions', 'versions'],
    ['get', { row: 'r', columns: ['f:q'], fitler: 1 }, 'fitler', 'filter'],
    ['exists', { row: 'r', timestmap: 1 }, 'timestmap', 'timestamp'],
    ['put', { row: 'r', cells, tllMilliseconds: 5 }, 'tllMilliseconds', 'ttlMilliseconds'],
    ['put', { row: 'r', cell: cells }, 'cell', 'cells'],
    ['put', { row: 'r', cells: { 'f:q': { value: 'v', timestmap: 1 } } }, 'timestmap', 'timestamp'],
    ['get', { row: 'r', columns: [{ familly: 'f' }] }, 'familly', 'family'],
    ['put', { row: 'r', cells: [{ column: 'f:q', valu: 'v' }] }, 'valu', 'value'],
    ['delete', { row: 'r', colums: ['f:q'] }, 'colums', 'columns'],
    [
      'increment',
      { row: 'r', columns: { 'f:n': 1 }, returnResult: false },
      'returnResult',
      'returnResults',
    ],
    ['append', { row: 'r', columns: [{ column: 'f:a', vlaue: 'b' }] }, 'vlaue', 'value'],
    ['mutateRow', { row: 'r', mutation: [] }, 'mutation', 'mutations'],
    ['mutateRows', { rows: [], check: [] }, 'check', 'checks'],
  ]
  for (const [name, given, bad, meant] of wrong) {
    await t.rejects(async () => loose[name](given), refusal(bad, meant), name)
    t.throws(() => loose[`${name}Sync`](given), refusal(bad, meant), `${name}Sync`)
  }
  t.throws(() => loose['scan']({ startrow: 'a' }), refusal('startrow', 'startRow'))
  t.throws(() => loose['scanSync']({ limt: 1, startRow: 'a' }), refusal('limt', 'limit'))
  const check = { row: 'r', column: 'f:q', equal: 'v' }
  t.throws(() => loose['checkAndMutateSync'](check, { delete: {} }), refusal('equal', 'equals'))
  t.throws(() => loose['getSync']({ row: 'r', somethingElse: 1 }), {
    code: 'ERR_INVALID_ARGUMENT',
    message: /^unknown option 'somethingElse' of a get; it has: row, columns, versions/,
  })
  await test.close()
})

void t.test('calls about databases and schemas name the option that was meant', async (t) => {
  const { test } = await open()
  const fileSystem = new MemoryFileSystem()
  const options = { fileSystem, memtableByteMax: 1e6 }
  await t.rejects(Database.open('/d', options), refusal('memtableByteMax', 'memtableBytesMax'))
  t.equal(fileSystem.statSync('/d'), undefined, 'nothing was made')
  const { database } = test
  const admin = database.admin as unknown as Loose
  const families = { f: { version: 2 } }
  await t.rejects(database.createTable('u', { families }), refusal('version', 'versions'))
  const bare = { families: { f: {} }, readonly: true }
  await t.rejects(database.createTable('u', bare as never), refusal('readonly', 'readOnly'))
  await t.rejects(
    database.alterTable('t', { dropFamily: [] } as never),
    refusal('dropFamily', 'dropFamilies'),
  )
  await t.rejects(database.compact('t', { mayor: false } as never), refusal('mayor', 'major'))
  await t.rejects(async () => admin['snapshot']('s', 't', { flsh: true }), refusal('flsh', 'flush'))
  await t.rejects(async () => admin['bulkLoad']('t', '/b', { cpoy: true }), refusal('cpoy', 'copy'))
  await t.rejects(database.changes({ tabel: 't' } as never).next(), refusal('tabel', 'table'))
  const stream = database.admin.exportTable('t', { version: 1 } as never)
  await t.rejects(stream.next(), refusal('version', 'versions'))
  await t.rejects(async () => admin['importTable']([], { tabel: 'u' }), refusal('tabel', 'table'))
  const writer = BulkWriter.create('/b', { families: { f: {} }, fileBytes: 1 } as never)
  await t.rejects(writer, refusal('fileBytes', 'fileBytesMax'))
  t.throws(() => database.on('flsh' as never, () => undefined), {
    code: 'ERR_INVALID_ARGUMENT',
    message: /did you mean 'flush'\?$/,
  })
  t.throws(() => database.on('flush', 5 as never), { code: 'ERR_INVALID_ARGUMENT' })
  await test.close()
})

void t.test('filters name the option that was meant', async (t) => {
  t.throws(
    () => new KeyOnlyFilter({ lengthAsvalue: true } as never),
    refusal('lengthAsvalue', 'lengthAsValue'),
  )
  const condition = { column: 'f:q', operator: 'EQUAL', value: 'v', filterIfMising: true }
  t.throws(
    () => new SingleColumnValueFilter(condition as never),
    refusal('filterIfMising', 'filterIfMissing'),
  )
  const value = { regexString: 'a', ignorecase: true }
  const nested = { column: 'f:q', operator: 'EQUAL', value }
  t.throws(() => new SingleColumnValueFilter(nested as never), refusal('ignorecase', 'ignoreCase'))
})

void t.test('options that have no value are as if they were not there', async (t) => {
  const { test, table } = await open()
  const get = {
    row: 'r',
    columns: undefined,
    versions: undefined,
    filter: undefined,
    snapshot: undefined,
  }
  t.equal(
    table
      .getSync(get as never)
      .value('f:q')
      ?.toString(),
    'v',
  )
  t.equal((await table.get(get as never)).size, 1)
  const put = {
    row: 's',
    cells: { 'f:q': 'w' },
    timestamp: undefined,
    ttlMilliseconds: undefined,
    durability: undefined,
  }
  table.putSync(put)
  t.equal([...table.scanSync({ limit: undefined, startRow: 's' })].length, 1)
  await test.close()
})
