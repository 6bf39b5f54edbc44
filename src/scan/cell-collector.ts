/** Takes the cells that a scan includes. */
import type { CellView } from '../cell/cell-view.js'
import type { Filter } from '../filter/filter.js'

/** Where a store scanner puts the cells that it includes. */
export interface CellCollector {
  /** No further cell fits (batch limit); the scanner pauses before the next one. */
  readonly full: boolean
  /** Copies a borrowed cell; the filter may replace its value. */
  add(cell: CellView, filter: Filter | undefined): void
  /** Copies a borrowed cell whose value, `buffer[keyEnd, valueEnd)`, follows its key. */
  addRange(
    familyIndex: number,
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
  ): void
}
