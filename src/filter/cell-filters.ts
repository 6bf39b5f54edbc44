/** Filters on timestamps, and the one that strips values. */
import { OptionNames } from '../base/arguments.js'
import { emptyBytes } from '../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'
import {
  checkTimestamp,
  compareTimestamps,
  timestampHigh,
  timestampLow,
  type Timestamp,
} from '../cell/timestamp.js'
import { checkFlag, checkList, readOptions } from './arguments.js'
import { FilterCode, type CellHint } from './filter.js'
import { KeyFilter } from './filter-base.js'

const keyOnlyNames = new OptionNames<{ readonly lengthAsValue?: boolean }>('a KeyOnlyFilter', {
  lengthAsValue: true,
})
const timestampsNames = new OptionNames<{ readonly canHint?: boolean }>('a TimestampsFilter', {
  canHint: true,
})

/**
 * All cells without their values: empty, or with `lengthAsValue` the value's length as four bytes
 * big-endian (HBase: KeyOnlyFilter).
 */
export class KeyOnlyFilter extends KeyFilter {
  readonly replacesValues = true
  private readonly lengthAsValue: boolean
  /** Handed out for each cell anew; callers copy it at once. */
  private readonly length = Buffer.alloc(4)

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(options: { readonly lengthAsValue?: boolean } = {}) {
    super()
    const { lengthAsValue } = readOptions(options, keyOnlyNames)
    this.lengthAsValue = checkFlag(lengthAsValue, 'lengthAsValue', false)
  }

  transformCell(cell: CellView): Buffer {
    if (!this.lengthAsValue) return emptyBytes
    this.length.writeUInt32BE(cell.contentBytes)
    return this.length
  }
}

/**
 * Cells with one of several timestamps (HBase: TimestampsFilter). `canHint` lets the scan jump to
 * the next wanted version of a column; as in HBase it may then jump over delete markers of that
 * column and return cells that they mask, so use it only where columns are not deleted.
 */
export class TimestampsFilter extends KeyFilter {
  /** Ascending, in halves. */
  private readonly highs: readonly number[]
  private readonly lows: readonly number[]
  private readonly canHint: boolean
  /** Wanted timestamps below the one last looked up. */
  private older = 0

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(timestamps: readonly Timestamp[], options: { readonly canHint?: boolean } = {}) {
    super()
    const list = checkList(timestamps, 'timestamps')
    for (const timestamp of list) checkTimestamp(timestamp, 'timestamp')
    const halves = list.map((each) => ({
      high: timestampHigh(each),
      low: timestampLow(each),
    }))
    halves.sort((a, b) => compareTimestamps(a.high, a.low, b.high, b.low))
    this.highs = halves.map(({ high }) => high)
    this.lows = halves.map(({ low }) => low)
    this.canHint = checkFlag(readOptions(options, timestampsNames).canHint, 'canHint', false)
  }

  override filterCell(cell: CellView): FilterCode {
    const found = this.lookUp(cell)
    if (found) return FilterCode.include
    if (this.older === 0) return FilterCode.nextColumn
    // Markers of the family are mixed with the cells of the empty qualifier.
    if (!this.canHint || cell.qualifierStart === cell.qualifierEnd) return FilterCode.skip
    return FilterCode.seekUsingHint
  }

  nextCellHint(cell: CellView): CellHint | undefined {
    this.lookUp(cell)
    if (this.older === 0) return undefined
    return {
      row: cell.copyRow(),
      qualifier: cell.copyQualifier(),
      timestampHigh: this.highs[this.older - 1],
      timestampLow: this.lows[this.older - 1],
    }
  }

  /** Binary search; sets {@link older}. */
  private lookUp(cell: CellView): boolean {
    const { timestampHigh: high, timestampLow: low } = cell
    let from = 0
    let to = this.highs.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if (compareTimestamps(this.highs[middle], this.lows[middle], high, low) < 0) from = middle + 1
      else to = middle
    }
    this.older = from
    return from < this.highs.length && this.highs[from] === high && this.lows[from] === low
  }
}
