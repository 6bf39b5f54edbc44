/**
 * The entries of the engine with values that no caller should give: see hostile-calls.ts.
 *
 * @runs campaign
 */
import t from 'tap'
import * as cellar from '../../../src/entries/index.js'
import * as level from '../../../src/entries/level.js'
import * as memory from '../../../src/entries/memory.js'
import * as metrics from '../../../src/metrics/index.js'
import * as testing from '../../doubles/testing.js'
import { checkEntry, isCellarError, isOfCalledClass } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'

t.setTimeout(1_800_000)

async function openEngine(): Promise<LiveObjects> {
  const fileSystem = new cellar.MemoryFileSystem()
  const db = await cellar.Database.open('/db', { fileSystem, executor: 'inline' })
  const table = await db.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 5; i++) await table.put({ row: `r${i}`, cells: { 'f:q': 'v' } })
  const result = await table.get({ row: 'r1' })
  const objects = {
    database: db,
    admin: db.admin,
    table,
    typed: await cellar
      .defineTable({ name: 't', key: { id: 'utf8' }, columns: { q: 'utf8' } })
      .open(db),
    definition: cellar.defineTable({ name: 't', key: { id: 'utf8' }, columns: { q: 'utf8' } }),
    key: cellar.defineKey({ id: 'utf8', at: { descending: 'date' } }),
    result,
    'result of cells': cellar.Result.of(result.cells()),
    cell: result.cells()[0],
    scanner: table.scan(),
    'synchronous scanner': table.scanSync(),
    rows: table.scan().map((row) => row),
    'synchronous rows': table.scanSync().map((row) => row),
    snapshot: db.snapshot(),
    changes: db.changes(),
    writer: await cellar.BulkWriter.create('/bulk', { families: { f: {} }, fileSystem }),
    encodings: cellar.encodings,
    utf8: cellar.encodings.utf8,
    int64: cellar.encodings.int64,
    bytes: cellar.encodings.bytes,
    json: cellar.encodings.json(),
    integer: cellar.encodings.integer,
    double: cellar.encodings.double,
    boolean: cellar.encodings.boolean,
    date: cellar.encodings.date,
    export: db.admin.exportTable('t'),
  }
  return { objects, close: () => db.close() }
}

async function openLevel(): Promise<LiveObjects> {
  const db = await memory.openMemoryDatabase()
  const opened = new level.CellarLevel(db)
  await opened.put('a', '1')
  const objects = {
    level: opened,
    iterator: opened.iterator(),
    keys: opened.keys(),
    values: opened.values(),
    snapshot: opened.snapshot(),
    chained: opened.batch(),
    sublevel: opened.sublevel('s'),
  }
  return { objects, close: () => db.close() }
}

/** What abstract-level itself refuses: by codes, or by TypeErrors that it documents. */
function isOfLevel(error: unknown): boolean {
  if (isCellarError(error)) return true
  if (!(error instanceof Error)) return false
  const { code } = error as { readonly code?: unknown }
  if (typeof code === 'string' && code.startsWith('LEVEL_')) return true
  const thrower = error.stack?.split('\n').find((line) => line.includes('/'))
  return /abstract-level|level-transcoder/.test(thrower ?? '')
}

void t.test('the engine', (t) =>
  checkEntry(
    t,
    {
      exports: cellar,
      open: openEngine,
      except: {
        'new BulkWriter': 'is private; BulkWriter.create checks what it gets',
        'new Transaction': 'is private; transaction makes them',
        'new TypedTable': 'is private; TableDefinition.open checks what it gets',
        'new SyncTypedTable': 'is private; TableDefinition.open checks what it gets',
        'table.Symbol(getByKeys)': 'has a symbol of its own; getList checks what it gets',
      },
    },
    (error) => isCellarError(error) || isOfCalledClass(error),
  ),
)
void t.test('a Level', (t) => checkEntry(t, { exports: level, open: openLevel }, isOfLevel))
void t.test('in memory', (t) => checkEntry(t, { exports: memory }))
void t.test('metrics', (t) => checkEntry(t, { exports: metrics }))
void t.test('testing', (t) => checkEntry(t, { exports: testing }))
