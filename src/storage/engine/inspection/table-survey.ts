/**
 * Reads one SSTable to the last cell: which cells are sound, and which rows are lost.
 *
 * A sound file passes {@link checkTable}: checksums, order and counts are right, the store could
 * have written every cell, every value can be read, filter and properties agree with the cells. Of
 * another file {@link surveyTable} finds every cell that can still be read, block by block.
 */
import { compareBytes } from '../../../base/bytes.js'
import { corruption, type CellarError } from '../../../base/errors.js'
import { isWellFormedKey, rowEndOf, unescape } from '../../cell/cell-key.js'
import { CellView } from '../../cell/cell-view.js'
import type { ValueFiles } from '../../files/value-files.js'
import { findStoredFault } from '../../job/cell-check.js'
import { CellStatisticsCollector } from '../../job/cell-statistics.js'
import { metadataOf } from '../../job/sstable-output.js'
import { checkFilter, checkStatistics } from '../../job/verify-bulk-file.js'
import { entryOffset, type Block } from '../../sstable/blocks/block.js'
import { EntryReader } from '../../sstable/rows/entry-reader.js'
import type { SsTableReader } from '../../sstable/reader.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import { isDamage, type LostRows } from './findings.js'

/** Receives a cell that can be read, with its value; borrowed during the call. */
export type OnCell = (cell: CellView) => void

/** Cells of a file that can be read, and rows that lost some. */
export interface TableSurvey {
  readonly entriesRead: number
  readonly lost: readonly LostRows[]
}

/**
 * Checks a whole file, and yields after each block, twice for each. Throws `ERR_CORRUPTION` or
 * `ERR_IO` at the first fault.
 */
export function* checkTable(
  reader: SsTableReader,
  values: ValueFiles,
  file: FileMetadata,
): Generator<void, void> {
  checkMetadata(reader, file)
  yield* reader.verify()
  const statistics = new CellStatisticsCollector()
  const hash = { high: 0, low: 0 }
  const resolved = new CellView()
  let done = 0
  const check = (cell: CellView): void => {
    checkFilter(reader, done++, cell, hash)
    statistics.add(cell)
    if (!cell.isReference) return
    resolved.set(cell)
    values.resolve(resolved, true)
  }
  for (let index = 0; index < reader.index.blockCount; index++) {
    const fault = forEachCell(reader.readBlockSync(index), check)
    if (fault !== undefined) throw fault
    yield
    reader.throwIfClosed()
  }
  checkStatistics(reader, statistics)
}

/** Compares the manifest's description of a file with its properties. */
function checkMetadata({ properties, path }: SsTableReader, file: FileMetadata): void {
  const described: Readonly<Record<string, unknown>> = { ...file }
  for (const [name, value] of Object.entries(metadataOf(properties, file))) {
    const claimed = described[name]
    const isSame = Buffer.isBuffer(value) ? value.equals(claimed as Buffer) : value === claimed
    if (isSame) continue
    const expected = `${name} ${String(claimed)}, as the manifest says`
    throw corruption('SSTable and manifest disagree', {
      ...{ file: path, offset: 0, expected, found: String(value) },
    })
  }
}

/**
 * Calls `onCell` for the cells of a block in order, up to the first that is none. Returns the fault
 * of that one. Throws what `onCell` throws.
 */
export function forEachCell(block: Block, onCell: OnCell): CellarError | undefined {
  const place = new EntryReader()
  const cell = new CellView()
  let at = 0
  for (let slot = 0; slot < block.count; slot++) {
    const fault = readCell(block, slot, at, place, cell)
    if (fault !== undefined) return fault
    onCell(cell)
    at = place.end
  }
  return undefined
}

/** Sets `cell` to the entry at an offset. Returns the fault if that is no cell. */
function readCell(
  block: Block,
  slot: number,
  at: number,
  place: EntryReader,
  cell: CellView,
): CellarError | undefined {
  try {
    if (entryOffset(block, slot) !== at) return faultOf(block, `slot ${slot} ${at}`, 'another')
    place.read(block, slot)
    const { buffer, keyStart, keyEnd, valueEnd } = place
    if (!isWellFormedKey(buffer, keyStart, keyEnd)) return faultOf(block, 'a key', 'none')
    cell.setCell(buffer, keyStart, keyEnd, valueEnd)
    const fault = findStoredFault(cell)
    return fault && faultOf(block, fault.expected, fault.found)
  } catch (error) {
    if (isDamage(error)) return error
    throw error
  }
}

function faultOf(block: Block, expected: string, found: string): CellarError {
  return block.owner.damagedBlock(block.index, expected, found)
}

/** The row of a key. */
export function rowOfKey(key: Buffer): Buffer {
  return unescape(key, 0, rowEndOf(key, 0, key.length))
}

/** The rows of a file of which nothing can be read. */
export function allRowsOf({ firstKey, lastKey, fileBytes }: FileMetadata): LostRows {
  return { firstRow: rowOfKey(firstKey), lastRow: rowOfKey(lastKey), offset: 0, bytes: fileBytes }
}

/** Collects the rows between the cells that can be read. */
class LostRuns {
  readonly lost: LostRows[] = []
  entriesRead = 0
  private readonly file: FileMetadata
  private lastKey: Buffer | undefined = undefined
  private run: { firstRow: Buffer; offset: number; end: number } | undefined = undefined

  constructor(file: FileMetadata) {
    this.file = file
  }

  /** Whether a key may follow the last one. */
  isAbove({ buffer, keyStart, keyEnd }: CellView): boolean {
    const { lastKey } = this
    if (lastKey === undefined) return true
    return compareBytes(lastKey, 0, lastKey.length, buffer, keyStart, keyEnd) < 0
  }

  read({ buffer, keyStart, keyEnd }: CellView): void {
    this.entriesRead++
    this.lastKey = Buffer.from(buffer.subarray(keyStart, keyEnd))
    this.endRun(this.lastKey)
  }

  miss(offset: number, end: number): void {
    if (this.run === undefined) {
      const firstRow = rowOfKey(this.lastKey ?? this.file.firstKey)
      this.run = { firstRow, offset, end }
    }
    this.run.end = Math.max(this.run.end, end)
  }

  endRun(nextKey: Buffer): void {
    const { run } = this
    if (run === undefined) return
    const { firstRow, offset, end } = run
    this.lost.push({ firstRow, lastRow: rowOfKey(nextKey), offset, bytes: end - offset })
    this.run = undefined
  }
}

/**
 * Finds every cell of a damaged file that can be read, in order, and yields after each block.
 * Throws what `onCell` throws.
 */
export function* surveyTable(
  reader: SsTableReader,
  values: ValueFiles,
  file: FileMetadata,
  onCell: OnCell,
): Generator<void, TableSurvey> {
  const { offsets, blockCount } = reader.index
  const runs = new LostRuns(file)
  const resolved = new CellView()
  for (let index = 0; index < blockCount; index++) {
    const [start, end] = [offsets[index], offsets[index + 1]]
    const take = (cell: CellView): void => {
      resolved.set(cell)
      if (!runs.isAbove(cell) || !isResolved(resolved, values)) {
        runs.miss(start, end)
        return
      }
      onCell(resolved)
      runs.read(resolved)
    }
    const block = readBlock(reader, index)
    // An error of `onCell` is no damage of the file: it ends the survey.
    if (block === undefined || forEachCell(block, take) !== undefined) runs.miss(start, end)
    yield
  }
  runs.endRun(file.lastKey)
  return { entriesRead: runs.entriesRead, lost: runs.lost }
}

/** Reads a block; undefined if it is damaged. */
function readBlock(reader: SsTableReader, index: number): Block | undefined {
  try {
    return reader.readBlockSync(index)
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** Puts the value of a value file into the cell. False if it cannot be read. */
function isResolved(cell: CellView, values: ValueFiles): boolean {
  if (!cell.isReference) return true
  try {
    values.resolve(cell, true)
    return true
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}
