/**
 * A major compaction of a single file that this process wrote, and in which everything must stay,
 * writes nothing. Every reason to write nevertheless has its case.
 */
import t from 'tap'
import { ManualClock } from '../../../../../src/base/clock.js'
import { Database, MemoryFileSystem, type EmbeddedTable } from '../../../../../src/entries/index.js'
import type { FamilyOptions } from '../../../../../src/api/index.js'

const options = { compactionEnabled: false, executor: 'inline' as const }

async function open(family: FamilyOptions = {}, clock = new ManualClock(1_000_000)) {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { ...options, fileSystem, clock })
  const table = await database.createTable('t', { families: { f: family } })
  return { database, table, fileSystem, clock }
}

/** Rows a to c, of which b is written twice. */
async function write(table: EmbeddedTable): Promise<void> {
  for (const row of ['a', 'b', 'c', 'b']) await table.put({ row, cells: { 'f:v': row } })
}

/** Entries that `compact` reads, and those left in the files. */
async function compact(database: Database): Promise<{ read: number; left: number }> {
  const before = database.statistics().compactionEntriesRead
  await database.compact('t')
  const { compactionEntriesRead, tables } = database.statistics()
  const left = tables['t'].families['f'].entries
  return { read: compactionEntriesRead - before, left }
}

const rowsOf = (table: EmbeddedTable): string[] =>
  [...table.scanSync({ versions: 'all' })].flatMap((row) =>
    row.cells().map((cell) => `${cell.row.toString()}=${cell.value.toString()}`),
  )

void t.test('a file in which everything stays is moved, and then left alone', async (t) => {
  const { database, table } = await open()
  await write(table)
  await database.flush()
  const kinds: string[] = []
  database.on('compaction', ({ kind }) => kinds.push(kind))
  const parts: number[] = []
  t.same(await compact(database), { read: 0, left: 3 })
  await database.compact('t', { onProgress: (part) => parts.push(part) })
  t.same(kinds, ['move'])
  t.same(parts, [1], 'progress ends at one')
  t.equal(database.statistics().compactionMoves, 1)
  t.same(rowsOf(table), ['a=a', 'b=b', 'c=c'])

  await write(table)
  await database.flush()
  t.same(await compact(database), { read: 6, left: 3 }, 'two files are merged')
  t.same(await compact(database), { read: 0, left: 3 }, 'the output of a merge stays too')
  await database.close()
})

void t.test('a file is merged alone if its cells may change', async (t) => {
  void t.test('a delete marker', async (t) => {
    const { database, table } = await open()
    await write(table)
    await table.delete({ row: 'a' })
    await database.flush()
    t.same(await compact(database), { read: 3, left: 2 })
    await database.close()
  })

  void t.test('versions that an open snapshot has kept', async (t) => {
    const { database, table, clock } = await open()
    await write(table)
    const snapshot = database.snapshot()
    clock.milliseconds += 10
    await write(table)
    await database.flush()
    snapshot.close()
    t.same(await compact(database), { read: 6, left: 3 })
    t.same(await compact(database), { read: 0, left: 3 })
    await database.close()
  })

  void t.test('a time to live of a cell', async (t) => {
    const { database, table, clock } = await open()
    await write(table)
    await table.put({ row: 'd', cells: { 'f:v': 'd' }, ttlMilliseconds: 1000 })
    await database.flush()
    clock.milliseconds += 10_000
    t.same(await compact(database), { read: 4, left: 3 })
    await database.close()
  })

  void t.test('a time to live of the family', async (t) => {
    const { database, table, clock } = await open({ ttlMilliseconds: 5000 })
    await write(table)
    await database.flush()
    clock.milliseconds += 10_000
    t.same(await compact(database), { read: 3, left: 0 })
    await database.close()
  })

  void t.test('other settings of the family', async (t) => {
    const { database, table, clock } = await open({ versions: 5 })
    await write(table)
    clock.milliseconds += 10
    await write(table)
    await database.flush()
    const { left } = await compact(database)
    await database.alterTable('t', { families: { f: { versions: 1 } } })
    t.same(await compact(database), { read: left, left: 3 })
    await database.close()
  })

  void t.test('large values in value files', async (t) => {
    const { database, table } = await open({ mob: true, mobThreshold: 8 })
    await table.put({ row: 'a', cells: { 'f:v': 'a value of more than eight bytes' } })
    await database.flush()
    t.same(await compact(database), { read: 1, left: 1 })
    await database.close()
  })

  void t.test('a file of an earlier open', async (t) => {
    const { database, table, fileSystem } = await open()
    await write(table)
    await database.flush()
    await database.close()
    const again = await Database.open('/db', { ...options, fileSystem })
    t.same(await compact(again), { read: 3, left: 3 })
    await again.close()
  })

  void t.test('a coprocessor, at the flush or at the compaction', async (t) => {
    const { database, table } = await open()
    const observer = await database.registerCoprocessor({ name: 'watches', observer: {} })
    await write(table)
    await database.flush()
    observer.remove()
    t.same(await compact(database), { read: 3, left: 3 })
    t.same(await compact(database), { read: 0, left: 3 })
    await database.registerCoprocessor({ name: 'watches', observer: {} })
    t.same(await compact(database), { read: 3, left: 3 })
    await database.close()
  })
  t.end()
})
