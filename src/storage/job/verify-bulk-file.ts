/**
 * Checks an SSTable from outside before it becomes part of a store. Every checksum and the order of
 * keys must be right. Each entry must be a cell that the store itself could have written.
 * Properties and filter must agree with the cells. So reads can rely on the file.
 */
import { corruption, type CellarError } from '../../base/errors.js'
import { Hash64, hashRange } from '../../base/hash.js'
import { isFamilyMarker, isWellFormedKey } from '../cell/cell-key.js'
import { CellView } from '../cell/cell-view.js'
import type { SsTableReader } from '../sstable/reader.js'
import { findCellFault } from './cell-check.js'
import { CellStatisticsCollector } from './cell-statistics.js'
import { escapedPrefixEnd, FilterKind, filterPrefixBytes } from '../cell/row-filter.js'

/** Entries handled between two yields. */
const entriesPerSlice = 1024

/**
 * Verifies a file. Yields after each slice of work; throws `ERR_CORRUPTION` at the first
 * contradiction.
 */
export function* verifyBulkFile(reader: SsTableReader): Generator<void, void> {
  yield* reader.verify()
  const statistics = new CellStatisticsCollector()
  const cell = new CellView()
  const hash = new Hash64()
  const cursor = reader.cursor()
  cursor.mayBlock = true
  cursor.cacheBlocks = false
  let done = 0
  cursor.seek(Buffer.alloc(0), 0)
  while (cursor.valid) {
    if (!isWellFormedKey(cursor.buffer, cursor.keyStart, cursor.keyEnd)) {
      throw wrong(reader, done, 'a cell key', 'something else')
    }
    cell.set(cursor)
    checkCell(reader, done, cell)
    checkFilter(reader, done, cell, hash)
    statistics.add(cell)
    cursor.next()
    if (++done % entriesPerSlice === 0) yield
  }
  checkStatistics(reader, statistics)
}

function checkCell(reader: SsTableReader, entry: number, cell: CellView): void {
  const fault = findCellFault(cell)
  if (fault !== undefined) throw wrong(reader, entry, fault.expected, fault.found)
}

/** Throws `ERR_CORRUPTION` unless the filter of the file lets a read of the cell pass. */
export function checkFilter(
  reader: SsTableReader,
  entry: number,
  cell: CellView,
  hash: Hash64,
): void {
  const kind = reader.properties.filterKind
  if (kind === FilterKind.none) return
  const { buffer, keyStart, rowEnd, qualifierEnd } = cell
  const prefixBytes = filterPrefixBytes(kind)
  if (prefixBytes > 0) {
    hashRange(buffer, keyStart, escapedPrefixEnd(buffer, keyStart, rowEnd, prefixBytes), hash)
    if (!reader.mayContain(hash)) throw wrong(reader, entry, 'the row prefix in the filter', 'none')
    return
  }
  const marker = isFamilyMarker(cell.type)
  if (kind === FilterKind.row || marker) {
    hashRange(buffer, keyStart, rowEnd, hash)
    if (!reader.mayContain(hash)) throw wrong(reader, entry, 'the row in the filter', 'none')
  }
  if (kind === FilterKind.row) return
  if (kind !== FilterKind.rowColumn) throw wrong(reader, entry, 'a known filter', `${kind}`)
  hashRange(buffer, keyStart, qualifierEnd, hash)
  if (!reader.mayContain(hash)) throw wrong(reader, entry, 'the column in the filter', 'none')
}

/** Throws `ERR_CORRUPTION` unless the properties are the statistics of the cells. */
export function checkStatistics(reader: SsTableReader, collector: CellStatisticsCollector): void {
  const { properties } = reader
  for (const [name, value] of Object.entries(collector.finish())) {
    const claimed = properties[name as keyof typeof properties]
    if (claimed === value) continue
    throw wrong(reader, properties.entryCount, `${name} ${value}`, `${String(claimed)}`)
  }
}

function wrong(reader: SsTableReader, entry: number, expected: string, found: string): CellarError {
  return corruption(`SSTable with a wrong cell (number ${entry})`, {
    file: reader.path,
    offset: 0,
    expected,
    found,
  })
}
