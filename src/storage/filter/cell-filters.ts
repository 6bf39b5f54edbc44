/** Filters on timestamps, and the filter that removes values. */
import { emptyBytes } from '../../base/bytes.js'
import { boolean, declareOptions } from '../../base/options.js'
import type { CellView } from '../cell/cell-view.js'
import {
  checkTimestamp,
  compareTimestamps,
  timestampHigh,
  timestampLow,
  type Timestamp,
} from '../cell/timestamp.js'
import { checkList } from './arguments.js'
import { FilterCode, type CellHint } from './filter.js'
import { KeyFilter } from './filter-base.js'

const keyOnlyOptions = declareOptions('a KeyOnlyFilter', { lengthAsValue: boolean(false) })
const timestampsOptions = declareOptions('a TimestampsFilter', { canHint: boolean(false) })

/**
 * Returns all cells without their values: empty, or with `lengthAsValue` the length of the value as
 * four bytes, big-endian (HBase: KeyOnlyFilter).
 */
export class KeyOnlyFilter extends KeyFilter {
  /** Always true: values are not read. */
  readonly replacesValues = true
  private readonly lengthAsValue: boolean
  /** Returned for every cell; callers copy it at once. */
  private readonly length = Buffer.alloc(4)

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(options: { readonly lengthAsValue?: boolean } = {}) {
    super()
    this.lengthAsValue = keyOnlyOptions.read(options).lengthAsValue
  }

  /** Returns an empty value, or the length of the stored one. */
  transformCell(cell: CellView): Buffer {
    if (!this.lengthAsValue) return emptyBytes
    this.length.writeUInt32BE(cell.contentBytes)
    return this.length
  }
}

/**
 * Returns the cells with one of several timestamps (HBase: TimestampsFilter). With `canHint` the
 * scan jumps to the next wanted version of a column. As in HBase, it may then jump over delete
 * markers of the column and return cells that they mask. So use `canHint` only where columns are
 * not deleted.
 */
export class TimestampsFilter extends KeyFilter {
  /** Always true. */
  readonly givesHints = true
  /** The wanted timestamps in halves, ascending. */
  private readonly highs: readonly number[]
  private readonly lows: readonly number[]
  private readonly canHint: boolean
  /** Number of wanted timestamps below the one last looked up. */
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
    this.canHint = timestampsOptions.read(options).canHint
  }

  override filterCell(cell: CellView): FilterCode {
    const found = this.lookUp(cell)
    if (found) return FilterCode.include
    if (this.older === 0) return FilterCode.nextColumn
    // Markers of the family are mixed with the cells of the empty qualifier.
    if (!this.canHint || cell.qualifierStart === cell.qualifierEnd) return FilterCode.skip
    return FilterCode.seekUsingHint
  }

  /** Whether the filter was made with `canHint`. */
  mayHint(): boolean {
    return this.canHint
  }

  /** The next of the timestamps. */
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

  /** Finds the timestamp of a cell by binary search, and sets {@link older}. */
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
