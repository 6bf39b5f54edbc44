/** Filters that select rows by key prefix, by an end row, by number, or at random. */
import { shown } from '../../base/arguments.js'
import { compareBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import { callback, declareOptions } from '../../base/options.js'
import { seededRandom, type Random } from '../../base/random.js'
import type { BytesLike } from '../cell/column-name.js'
import { checkFilterCount, copyBytes } from './arguments.js'
import { KeyFilter, RowKeyFilter } from './filter-base.js'

/**
 * Returns the rows that begin with a prefix (HBase: PrefixFilter). Forward scans jump to the first
 * of them. The scan ends after the last.
 */
export class PrefixFilter extends RowKeyFilter {
  /** Always true. */
  readonly givesHints = true
  private readonly prefix: Buffer

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(prefix: BytesLike) {
    super()
    this.prefix = copyBytes(prefix, 'prefix')
  }

  protected override judge(row: Buffer): boolean {
    const prefix = this.prefix
    const end = Math.min(row.length, prefix.length)
    const order = compareBytes(row, 0, end, prefix, 0, prefix.length)
    if (order === 0) return true
    if (this.reversed ? order < 0 : order > 0) this.done = true
    else if (!this.reversed) this.jumpTo(prefix)
    return false
  }
}

/** Ends the scan after a row, which is still returned (HBase: InclusiveStopFilter). */
export class InclusiveStopFilter extends RowKeyFilter {
  private readonly stop: Buffer

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(stopRow: BytesLike) {
    super()
    this.stop = copyBytes(stopRow, 'stopRow')
  }

  protected override judge(row: Buffer): boolean {
    const order = compareBytes(row, 0, row.length, this.stop, 0, this.stop.length)
    this.done = this.reversed ? order < 0 : order > 0
    return !this.done
  }
}

/**
 * Returns at most `rowsMax` rows (HBase: PageFilter, which counts per region; here the count is
 * exact). Counts the rows that reach this filter, so put it last in a list. The scan's `limit` is
 * cheaper.
 */
export class PageFilter extends KeyFilter {
  private readonly rowsMax: number
  private rows = 0

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(rowsMax: number) {
    super(true)
    this.rowsMax = checkFilterCount(rowsMax, 'rowsMax')
  }

  protected override startScan(): void {
    this.rows = 0
  }

  override filterAllRemaining(): boolean {
    return this.rows >= this.rowsMax
  }

  override filterRow(): boolean {
    this.rows++
    return this.rows > this.rowsMax
  }
}

const randomOptions = declareOptions('a RandomRowFilter', { random: callback<Random>() })

/** Seed of filters without a given source of randomness. */
const defaultSeed = 0x5eed

/**
 * Returns each row with the probability `chance`; below 0 none, above 1 all (HBase:
 * RandomRowFilter). Without `random`, every new filter draws the same numbers.
 */
export class RandomRowFilter extends RowKeyFilter {
  private readonly chance: number
  private readonly random: Random

  /** Throws `ERR_INVALID_ARGUMENT`. */
  constructor(chance: number, options: { readonly random?: Random } = {}) {
    super(true)
    if (typeof chance !== 'number' || Number.isNaN(chance)) {
      throw invalidArgument(`chance must be a number, got ${shown(chance)}`)
    }
    this.chance = chance
    this.random = randomOptions.read(options).random ?? seededRandom(defaultSeed)
  }

  protected override judge(): boolean {
    if (this.chance < 0) return false
    return this.chance > 1 || this.random() < this.chance
  }
}
