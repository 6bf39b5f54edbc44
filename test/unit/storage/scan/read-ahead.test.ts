/**
 * Scans read rows ahead where nobody can tell. These tests try to: rows that are plain beside rows
 * that are not, limits, ends, writes and damage behind what was handed out.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  Database,
  MemoryFileSystem,
  type EmbeddedTable,
  type Result,
  type Scan,
  type SyncResultScanner,
} from '../../../../src/entries/index.js'

const rowCount = 700

const rowOf = (i: number): string => `row${String(i).padStart(5, '0')}`

const valueOf = (i: number): string => `${i} `.repeat(1 + (i % 17))

/** Mostly rows of one to three plain cells, and some of every other kind. */
function fill(table: EmbeddedTable, from: number, to: number): void {
  for (let i = from; i < to; i++) {
    const row = rowOf(i)
    const cells = { 'f:a': valueOf(i), ...(i % 3 === 0 ? { 'f:b': 'b', 'f:': 'empty' } : {}) }
    table.putSync({ row, cells })
    if (i % 11 === 0) for (let n = 0; n < 9; n++) table.putSync({ row, cells: { 'f:a': `${n}` } })
    if (i % 13 === 0) table.deleteSync({ row, columns: ['f:b'] })
    if (i % 17 === 0) table.putSync({ row, cells: { 'f:c': 'long' }, ttlMilliseconds: 1e9 })
    if (i % 19 === 0) table.deleteSync({ row })
    if (i % 38 === 0) table.putSync({ row, cells: { 'f:d': 'again' } })
    if (i % 23 === 0) table.deleteSync({ row, columns: ['f:a'] })
  }
}

const textOf = (result: Result): string => {
  return result
    .cells()
    .map(({ row, qualifier, timestampExact, value, sequence }) => {
      return [row, qualifier, timestampExact, value, sequence].map(String).join('/')
    })
    .join(' ')
}

function firstOf(scanner: SyncResultScanner): Result {
  const step = scanner.next()
  if (step.done === true) throw new Error('the scan has ended')
  return step.value
}

/** The rows as gets see them, one by one. */
function rowsByGets(table: EmbeddedTable): string[] {
  const rows: string[] = []
  for (let i = 0; i < rowCount; i++) {
    const result = table.getSync({ row: rowOf(i) })
    if (!result.isEmpty) rows.push(textOf(result))
  }
  return rows
}

async function rowsByScan(table: EmbeddedTable, scan: Scan): Promise<string[]> {
  const rows: string[] = []
  for await (const result of table.scan(scan)) rows.push(textOf(result))
  return rows
}

const layouts = ['memtable', 'files and memtable', 'files', 'compacted'] as const

for (const layout of layouts) {
  void t.test(`scans give what gets give: ${layout}`, async (t) => {
    const fileSystem = new MemoryFileSystem()
    const database = await Database.open('/db', { fileSystem, blockCacheBytesMax: 0 })
    const table = await database.createTable('t', {
      families: { f: { versions: 20, blockBytes: 1024 } },
    })
    fill(table, 0, rowCount)
    if (layout !== 'memtable') {
      await database.flush()
      fill(table, 200, 500)
    }
    if (layout === 'files' || layout === 'compacted') await database.flush()
    if (layout === 'compacted') await database.compact()
    const rows = rowsByGets(table)
    t.ok(rows.length > rowCount / 2)
    t.same([...table.scanSync()].map(textOf), rows)
    t.same(await rowsByScan(table, {}), rows, 'asynchronous')
    t.same([...table.scanSync({ reversed: true })].map(textOf), rows.toReversed())
    for (const limit of [1, 2, 7, 8, 9, 63, 64, 65, 300]) {
      t.same([...table.scanSync({ limit })].map(textOf), rows.slice(0, limit), `limit ${limit}`)
    }
    const between = rows.filter((row) => row >= rowOf(123) && row < rowOf(456))
    const bounds = { startRow: rowOf(123), stopRow: rowOf(456) }
    t.same([...table.scanSync(bounds)].map(textOf), between)
    t.same(await rowsByScan(table, bounds), between)
    await database.close()
  })
}

void t.test('what is written after a scan was opened is not in it', async (t) => {
  const database = await Database.open('/db', { fileSystem: new MemoryFileSystem() })
  const table = await database.createTable('t', { families: { f: {} } })
  fill(table, 0, rowCount)
  const rows = rowsByGets(table)
  const found: string[] = []
  let i = 0
  for (const result of table.scanSync()) {
    found.push(textOf(result))
    fill(table, i, i + 1)
    table.putSync({ row: `${rowOf(i + 5)}x`, cells: { 'f:a': 'new' } })
    i++
  }
  t.same(found, rows)
  await database.close()
})

void t.test('metrics count what was handed out', async (t) => {
  const database = await Database.open('/db', { fileSystem: new MemoryFileSystem() })
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 100; i++) table.putSync({ row: rowOf(i), cells: { 'f:a': 'x', 'f:b': 'y' } })
  const scanner = table.scanSync()
  let bytes = 0
  for (let i = 1; i <= 30; i++) {
    scanner.next()
    const { rowsScanned, results, cells, bytes: sum } = scanner.metrics
    t.same({ rowsScanned, results, cells }, { rowsScanned: i, results: i, cells: 2 * i })
    if (i === 1) bytes = sum
    t.equal(sum, i * bytes)
  }
  const before = scanner.metrics
  scanner.close()
  t.same(scanner.metrics, before)
  t.same(scanner.next(), { done: true, value: undefined })
  await database.close()
})

void t.test('rows in front of a damaged block come before its error', async (t) => {
  const directory = t.testdir()
  let database = await Database.open(directory)
  let table = await database.createTable('t', { families: { f: { blockBytes: 1024 } } })
  for (let i = 0; i < rowCount; i++) table.putSync({ row: rowOf(i), cells: { 'f:a': valueOf(i) } })
  await database.flush()
  await database.close()
  const name = readdirSync(directory).find((name) => name.endsWith('.sst'))!
  const bytes = readFileSync(join(directory, name))
  bytes[bytes.length >> 1] ^= 1
  writeFileSync(join(directory, name), bytes)
  database = await Database.open(directory)
  table = database.table('t')
  const found: string[] = []
  const scan = (): void => {
    for (const result of table.scanSync()) found.push(result.row!.toString())
  }
  t.throws(scan, { code: 'ERR_CORRUPTION' })
  t.same(
    found,
    Array.from({ length: found.length }, (_, i) => rowOf(i)),
  )
  t.ok(found.length > 0)
  t.equal(table.getSync({ row: rowOf(found.length - 1) }).isEmpty, false)
  const scanner = table.scanSync()
  for (const row of found) t.equal(firstOf(scanner).row!.toString(), row)
  t.throws(() => scanner.next(), { code: 'ERR_CORRUPTION' })
  t.same(scanner.next(), { done: true, value: undefined }, 'which ends the scan')
  await t.rejects(rowsByScan(table, {}), { code: 'ERR_CORRUPTION' })
  await database.close()
})
