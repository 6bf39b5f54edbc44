/**
 * Remembers the delete markers of the current row and decides which puts they mask, in classic
 * mode: by timestamp alone, independent of the order of writing.
 *
 * Cells arrive in store order: by qualifier, newest timestamp first, markers before puts of the
 * same timestamp. So one slot for the current column suffices. A version marker masks only the puts
 * that follow directly, and a column marker masks all later cells of the column.
 */
import type { CellView } from '../cell/cell-view.js'
import { CellType } from '../cell/cell-type.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { BorrowedQualifier } from './borrowed-qualifier.js'

/** How a put is masked. */
export const Masking = {
  none: 0,
  /** Masks this version only. */
  version: 1,
  /** Masks this version and all older ones of the column. */
  column: 2,
} as const
export type Masking = (typeof Masking)[keyof typeof Masking]

export class DeleteTracker {
  /** True until the row's first marker. Callers test it first, since most rows have no marker. */
  empty = true
  private hasFamilyMarker = false
  private familyHigh = 0
  private familyLow = 0
  private familyVersionCount = 0
  private readonly familyVersionHighs: number[] = []
  private readonly familyVersionLows: number[] = []
  /** Type of the marker in the column slot; 0: empty. */
  private columnType = 0
  private columnHigh = 0
  private columnLow = 0
  private readonly column = new BorrowedQualifier()

  /** Starts a row: forgets all markers. */
  reset(): void {
    this.empty = true
    this.hasFamilyMarker = false
    this.familyVersionCount = 0
    this.columnType = 0
  }

  /** Adds a marker. */
  add(cell: CellView): void {
    this.empty = false
    if (cell.type === CellType.deleteFamily) {
      // Family markers arrive newest first, so the first one covers the later ones.
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
    if (this.columnType === CellType.deleteColumn && this.column.isOf(cell)) return
    this.columnType = cell.type
    this.columnHigh = cell.timestampHigh
    this.columnLow = cell.timestampLow
    this.column.set(cell)
  }

  /** Copies the borrowed qualifier, because its memory is about to be released. */
  detach(): void {
    this.column.detach()
  }

  /** How the markers so far mask a put. */
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
    if (!this.column.isOf(cell)) {
      this.columnType = 0
      return Masking.none
    }
    if (this.columnType === CellType.deleteColumn) return Masking.column
    return this.columnHigh === high && this.columnLow === low ? Masking.version : Masking.none
  }
}
