/**
 * Remembers the delete markers of the current row and says which puts they mask, in
 * classic mode: masking goes by timestamp alone and ignores the order of writing.
 *
 * Cells come in store order: by qualifier, newest timestamp first, markers before puts of the same
 * timestamp. So one slot for the current column suffices: a version marker only concerns the puts
 * that follow at once, and a column marker everything that follows in the column.
 */
import type { CellView } from '../cell/cell-view.js'
import { CellType } from '../cell/cell-type.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { equalBytes } from '../../base/bytes.js'

/** What masks a put. */
export const Masking = {
  none: 0,
  /** This version only. */
  version: 1,
  /** This version and all older ones of the column. */
  column: 2,
} as const
export type Masking = (typeof Masking)[keyof typeof Masking]

export class DeleteTracker {
  /** True while no marker has been seen in the row: the common case, tested by callers first. */
  empty = true
  private hasFamilyMarker = false
  private familyHigh = 0
  private familyLow = 0
  private familyVersionCount = 0
  private readonly familyVersionHighs: number[] = []
  private readonly familyVersionLows: number[] = []
  /** Type of the marker in the column slot, 0 = none. */
  private columnType = 0
  private columnHigh = 0
  private columnLow = 0
  private columnBuffer: Buffer | undefined = undefined
  private columnStart = 0
  private columnEnd = 0

  /** Forgets everything: a new row begins. */
  reset(): void {
    this.empty = true
    this.hasFamilyMarker = false
    this.familyVersionCount = 0
    this.columnType = 0
  }

  /** Takes note of a marker. */
  add(cell: CellView): void {
    this.empty = false
    if (cell.type === CellType.deleteFamily) {
      // Markers of the family come newest first, so the first one covers the later ones.
      if (!this.hasFamilyMarker) {
        this.hasFamilyMarker = true
        this.familyHigh = cell.timestampHigh
        this.familyLow = cell.timestampLow
      }
      return
    }
    if (cell.type === CellType.deleteFamilyVersion) {
      this.familyVersionHighs[this.familyVersionCount] = cell.timestampHigh
      this.familyVersionLows[this.familyVersionCount] = cell.timestampLow
      this.familyVersionCount++
      return
    }
    if (this.columnType === CellType.deleteColumn && this.inColumnSlot(cell)) return
    this.columnType = cell.type
    this.columnHigh = cell.timestampHigh
    this.columnLow = cell.timestampLow
    this.columnBuffer = cell.buffer
    this.columnStart = cell.qualifierStart
    this.columnEnd = cell.qualifierEnd
  }

  /** Copies the qualifier that is remembered by where it lies: that memory is about to go. */
  detach(): void {
    if (this.columnBuffer === undefined) return
    this.columnBuffer = Buffer.from(this.columnBuffer.subarray(this.columnStart, this.columnEnd))
    this.columnEnd -= this.columnStart
    this.columnStart = 0
  }

  /** How the markers seen so far mask a put. */
  masking(cell: CellView): Masking {
    const high = cell.timestampHigh
    const low = cell.timestampLow
    if (
      this.hasFamilyMarker &&
      compareTimestamps(high, low, this.familyHigh, this.familyLow) <= 0
    ) {
      return Masking.column
    }
    for (let i = 0; i < this.familyVersionCount; i++) {
      if (this.familyVersionHighs[i] === high && this.familyVersionLows[i] === low) {
        return Masking.version
      }
    }
    if (this.columnType === 0) return Masking.none
    if (!this.inColumnSlot(cell)) {
      this.columnType = 0
      return Masking.none
    }
    if (this.columnType === CellType.deleteColumn) return Masking.column
    return this.columnHigh === high && this.columnLow === low ? Masking.version : Masking.none
  }

  private inColumnSlot(cell: CellView): boolean {
    return equalBytes(
      this.columnBuffer!,
      this.columnStart,
      this.columnEnd,
      cell.buffer,
      cell.qualifierStart,
      cell.qualifierEnd,
    )
  }
}
