/** Misspelt options of the calls of databases and tables. */
import t from 'tap'
import {
  BulkWriter,
  ColumnRangeFilter,
  Database,
  DependentColumnFilter,
  KeyOnlyFilter,
  MultiRowRangeFilter,
  countRows,
  defineTable,
  deleteRange,
  readPage,
  transaction,
  SingleColumnValueFilter,
} from '../../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { checkTypos, type CallWith } from '../../../helpers/typos.js'
import { TestDatabase } from '../../../helpers/test-database.js'

void t.test('every option of every call is named when it is misspelt', async (t) => {
  const test = await TestDatabase.open()
  t.teardown(() => test.close())
  const { database: db, fileSystem } = test
  const table = await db.createTable('t', { families: { f: {} } })
  const users = await defineTable({ name: 't', key: { id: 'utf8' }, columns: { v: 'utf8' } }).open(
    db,
  )
  const row = 'r'
  const put = { row, cells: { 'f:v': 'v' } }
  const check = { row, column: 'f:v', equals: 'v' }
  const mutation = { put: { cells: { 'f:v': 'v' } } }
  const { admin } = db
  const as = <T>(value: unknown): T => value as T
  const calls: Record<string, CallWith> = {
    open: (more) => Database.open('/new', { fileSystem, ...more }),
    restore: (more) => Database.restore('/b', '/r', { fileSystem, ...more }),
    backup: (more) => db.backup('/backup', more),
    compact: (more) => db.compact('t', more),
    changes: (more) => db.changes(more).next(),
    createTable: (more) => db.createTable('u', { families: { f: {} }, ...more }),
    'a family': (more) => db.createTable('u', { families: { f: more } }),
    ensureTable: (more) => db.ensureTable('t', { families: { f: {} }, ...more }),
    'a family that is there': (more) => db.ensureTable('t', { families: { f: more } }),
    alterTable: (more) => db.alterTable('t', more),
    atomic: (more) => db.atomic({ mutations: [{ table, row, mutations: [mutation] }], ...more }),
    snapshot: (more) => admin.snapshot('s', 't', more),
    bulkLoad: (more) => admin.bulkLoad('t', '/bulk', more),
    majorCompact: (more) => admin.majorCompact('t', undefined, more),
    exportTable: (more) => admin.exportTable('t', more).next(),
    importTable: (more) => admin.importTable([], more),
    registerCoprocessor: (more) => db.registerCoprocessor({ name: 'c', ...more }),
    get: (more) => table.get({ row, ...more }),
    getSync: (more) => table.getSync({ row, ...more }),
    getList: (more) => table.getList([{ row, ...more }]),
    exists: (more) => table.exists({ row, ...more }),
    scan: (more) => table.scan(more).next(),
    scanSync: (more) => table.scanSync(more),
    put: (more) => table.put({ ...put, ...more }),
    putSync: (more) => table.putSync({ ...put, ...more }),
    'a cell': (more) => table.put({ row, cells: [{ column: 'f:v', ...more }] }),
    'a value': (more) => table.put({ row, cells: { 'f:v': { value: 'v', ...more } } }),
    delete: (more) => table.delete({ row, ...more }),
    increment: (more) => table.increment({ row, columns: { 'f:n': 1 }, ...more }),
    append: (more) => table.append({ row, columns: { 'f:a': 'a' }, ...more }),
    checkAndMutate: (more) => table.checkAndMutate(as({ ...check, ...more }), mutation),
    mutateRow: (more) => table.mutateRow({ row, mutations: [mutation], ...more }),
    mutateRows: (more) => table.mutateRows({ rows: [{ row, mutations: [mutation] }], ...more }),
    'a row of mutateRows': (more) =>
      table.mutateRows({ rows: [{ row, mutations: [mutation], ...more }] }),
    'typed put': (more) => users.put({ id: row, v: 'v' }, more),
    'typed get': (more) => users.get(row, more),
    'typed scan': (more) => users.scan(more).next(),
    'typed putSync': (more) => users.putSync({ id: row, v: 'v' }, more),
    'typed column': (more) =>
      defineTable({ name: 't', key: { id: 'utf8' }, columns: { v: { column: 'f:v', ...more } } }),
    'typed definition': (more) =>
      defineTable({ name: 't', key: { id: 'utf8' }, columns: { v: 'utf8' }, ...more }),
    'typed range': (more) => users.count(more),
    'typed page': (more) => users.page({ limit: 1, ...more }),
    transaction: (more) => transaction(db, () => 1, more),
    deleteRange: (more) => deleteRange(table, { prefix: 'none', ...more }),
    countRows: (more) => countRows(table, more),
    readPage: (more) => readPage(table, { limit: 1, ...more }),
    BulkWriter: (more) => BulkWriter.create('/bulk', { families: { f: {} }, fileSystem, ...more }),
    KeyOnlyFilter: (more) => new KeyOnlyFilter(more),
    ColumnRangeFilter: (more) => new ColumnRangeFilter(more),
    MultiRowRangeFilter: (more) => new MultiRowRangeFilter([as(more)]),
    SingleColumnValueFilter: (more) =>
      new SingleColumnValueFilter({ column: 'f:v', operator: 'EQUAL', value: 'v', ...more }),
    DependentColumnFilter: (more) => new DependentColumnFilter(as({ column: 'f:v', ...more })),
    MemoryDatabase: (more) => openMemoryDatabase(more),
  }
  const options = await checkTypos(t, calls)
  t.ok(options > 150, `${options} options`)
  t.same(await table.scan().all(), [], 'nothing was written')
  t.same(db.listTables(), ['t'], 'nothing was made')
})
