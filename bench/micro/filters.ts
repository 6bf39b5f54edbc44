/**
 * Micro-benchmarks of seeking filters: what a filter that skips most of a table takes, against a
 * scan of all of it. Two flushed and compacted tables in memory, one of narrow and one of wide rows
 * and otherwise the same cells, read with the synchronous scan.
 *
 * The rate is that of rows of the table, skipped ones too, so that a filter which seeks is faster
 * than the full scan by about the part it skips. `ValueFilter`, which cannot seek, is there to
 * compare. Each scan checks how many rows and cells came.
 */
import type Benchmark from 'benchmark'
import assert from 'node:assert/strict'
import { ColumnRangeFilter } from '../../src/storage/filter/column-range-filters.js'
import { ValueFilter } from '../../src/storage/filter/compare-filters.js'
import type { Filter } from '../../src/storage/filter/filter.js'
import { FuzzyRowFilter } from '../../src/storage/filter/fuzzy-row-filter.js'
import { MultiRowRangeFilter } from '../../src/storage/filter/multi-row-range-filter.js'
import { PrefixFilter } from '../../src/storage/filter/row-filters.js'
import { MemoryFileSystem } from '../../src/storage/fs/memory-fs.js'
import { Database, type EmbeddedTable } from '../../src/entries/index.js'

/** Rows are `GGG-NNN`: a group and a number in it. */
const groups = 100
const rowsPerGroup = 200
const rows = groups * rowsPerGroup
const columnsPerRow = 16
const wideRows = 200
const columnsPerWideRow = (rows * columnsPerRow) / wideRows
const valueBytes = 50
const mebibyte = 1024 * 1024

function digits(number: number, length: number): string {
  return String(number).padStart(length, '0')
}

let database: Database
let narrow: EmbeddedTable
let wide: EmbeddedTable

/** Writes each table into one SSTable; all of its blocks fit into the cache. */
export async function prepare(): Promise<void> {
  database = await Database.open('/database', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    blockCacheBytesMax: 128 * mebibyte,
  })
  narrow = await database.createTable('narrow', { families: { f: {} } })
  wide = await database.createTable('wide', { families: { f: {} } })
  for (let group = 0; group < groups; group++) {
    for (let number = 0; number < rowsPerGroup; number++) {
      await putRow(narrow, `${digits(group, 3)}-${digits(number, 3)}`, columnsPerRow)
    }
  }
  for (let row = 0; row < wideRows; row++) await putRow(wide, digits(row, 3), columnsPerWideRow)
  await database.flush()
  for (const name of ['narrow', 'wide']) await database.compact(name, { major: true })
}

async function putRow(table: EmbeddedTable, row: string, columns: number): Promise<void> {
  const value = 'x'.repeat(valueBytes)
  const cells = Array.from({ length: columns }, (_, i) => [`f:c${digits(i, 4)}`, value])
  await table.put({ row, cells: Object.fromEntries(cells) as Record<string, string> })
}

function read(
  table: EmbeddedTable,
  filter: Filter | undefined,
  rowsWanted: number,
  cellsWanted: number,
): void {
  let found = 0
  let cells = 0
  for (const result of table.scanSync({ filter })) {
    found++
    cells += result.size
  }
  assert.equal(found, rowsWanted)
  assert.equal(cells, cellsWanted)
}

/** Adds the benchmarks. */
export function addTo(suite: Benchmark.Suite): void {
  const add = (name: string, filter: Filter | undefined, found: number, columns: number): void => {
    suite.add(`${name} (x ${rows})`, () => read(narrow, filter, found, found * columns))
  }
  add('full scan', undefined, rows, columnsPerRow)
  add('a filter that looks at every cell and keeps none', new ValueFilter('EQUAL', 'y'), 0, 0)
  add('prefix, 1 % of the rows', new PrefixFilter('050'), rowsPerGroup, columnsPerRow)
  const mask = [1, 1, 1, 0, 0, 0, 0]
  const fuzzy = new FuzzyRowFilter([{ key: '???-100', mask }])
  add('fuzzy row, 0.5 % of the rows', fuzzy, groups, columnsPerRow)
  const ranges = Array.from({ length: 10 }, (_, i) => {
    const group = digits(10 * i, 3)
    return { start: `${group}-100`, stop: `${group}-120` }
  })
  add('10 ranges of rows, 1 % of the rows', new MultiRowRangeFilter(ranges), 200, columnsPerRow)
  const columns = new ColumnRangeFilter({ min: 'c0003', max: 'c0005' })
  add('column range, 2 of 16 columns', columns, rows, 2)
  suite.add(`wide rows, full scan (x ${wideRows})`, () => {
    read(wide, undefined, wideRows, wideRows * columnsPerWideRow)
  })
  suite.add(`wide rows, column range, 2 of ${columnsPerWideRow} columns (x ${wideRows})`, () => {
    read(wide, columns, wideRows, wideRows * 2)
  })
  suite.on('complete', () => void database.close())
}
