/**
 * Collects the statistics of an SSTable's cells, which its footer and the manifest record.
 *
 * Works on numbers; the bigints of the result are made once, at the end.
 */
import { CellType, isDeleteMarker } from '../cell/cell-type.js'
import { isFamilyMarker, sequenceOf, timestampHighOf, timestampLowOf } from '../cell/cell-key.js'
import { plainValueFlags } from '../cell/cell-value.js'
import type { CellView } from '../cell/cell-view.js'
import { compareTimestamps, joinTimestamp, latestHigh, latestLow } from '../cell/timestamp.js'
import type { RowEntries } from '../sstable/rows/row-entries.js'
import type { CellStatistics } from '../sstable/properties.js'

export class CellStatisticsCollector {
  /** Whether all cells are puts without TTL, with their values in the cells. */
  holdsPlainPuts = true
  private deleteCount = 0
  private familyDeleteCount = 0
  private minHigh = latestHigh
  private minLow = latestLow
  private maxHigh = 0
  private maxLow = 0
  private earliestPutHigh = latestHigh
  private earliestPutLow = latestLow
  private minSequence = Number.MAX_SAFE_INTEGER
  private maxSequence = 0

  /** Counts a cell. */
  add(cell: CellView): void {
    const high = cell.timestampHigh
    const low = cell.timestampLow
    if (isDeleteMarker(cell.type)) {
      this.deleteCount++
      if (isFamilyMarker(cell.type)) this.familyDeleteCount++
    }
    if (cell.type !== CellType.put) {
      this.holdsPlainPuts = false
      this.addTimestamp(high, low)
    } else {
      if (cell.buffer[cell.valueStart] !== plainValueFlags) this.holdsPlainPuts = false
      this.addPut(high, low)
    }
    this.addSequence(cell.sequence)
  }

  /** Counts the cells of a plain row. */
  addRow({ buffer, count, suffixEnds }: RowEntries): void {
    for (let i = 0; i < count; i++) {
      const keyEnd = suffixEnds[i]
      if (i > 0 && keyEnd === suffixEnds[0]) continue
      this.addPut(timestampHighOf(buffer, keyEnd), timestampLowOf(buffer, keyEnd))
      this.addSequence(sequenceOf(buffer, keyEnd))
    }
  }

  private addPut(high: number, low: number): void {
    this.addTimestamp(high, low)
    if (compareTimestamps(high, low, this.earliestPutHigh, this.earliestPutLow) < 0) {
      this.earliestPutHigh = high
      this.earliestPutLow = low
    }
  }

  private addTimestamp(high: number, low: number): void {
    if (compareTimestamps(high, low, this.minHigh, this.minLow) < 0) {
      this.minHigh = high
      this.minLow = low
    }
    if (compareTimestamps(high, low, this.maxHigh, this.maxLow) > 0) {
      this.maxHigh = high
      this.maxLow = low
    }
  }

  private addSequence(sequence: number): void {
    if (sequence < this.minSequence) this.minSequence = sequence
    if (sequence > this.maxSequence) this.maxSequence = sequence
  }

  /** The statistics so far. `earliestPutTimestamp` is 2^63-1 if there was no put. */
  finish(): Omit<CellStatistics, 'filterKind'> {
    return {
      deleteCount: this.deleteCount,
      familyDeleteCount: this.familyDeleteCount,
      minTimestamp: joinTimestamp(this.minHigh, this.minLow),
      maxTimestamp: joinTimestamp(this.maxHigh, this.maxLow),
      earliestPutTimestamp: joinTimestamp(this.earliestPutHigh, this.earliestPutLow),
      minSequence: Math.min(this.minSequence, this.maxSequence),
      maxSequence: this.maxSequence,
    }
  }
}
