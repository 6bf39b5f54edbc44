/**
 * A cell of the embedded engine's results: a range of a page, decoded member by member on request.
 */
import { viewBytes } from '../../base/bytes.js'
import { PrintedCell } from '../../api/results/display.js'
import {
  hasEscape,
  qualifierEndOf,
  rowEndOf,
  sequenceOf,
  terminatorBytes,
  timestampHighOf,
  timestampLowOf,
  typeOf,
  unescape,
} from '../../storage/cell/cell-key.js'
import { cellTypeName, type CellTypeCode, type CellTypeName } from '../../storage/cell/cell-type.js'
import { contentStart } from '../../storage/cell/cell-value.js'
import { approximateTimestamp, joinTimestamp } from '../../storage/cell/timestamp.js'

/** The decoded bytes of an escaped range; a view if there is nothing to unescape. */
export function decodeBytes(page: Buffer, start: number, end: number): Buffer {
  return hasEscape(page, start, end) ? unescape(page, start, end) : viewBytes(page, start, end)
}

/** Where the parts of a cell lie in a page: key and value side by side, or parts of a row. */
export class CellPlace {
  /** The escaped row. */
  rowStart = 0
  rowEnd = 0
  /** The escaped qualifier. */
  columnStart = 0
  columnEnd = 0
  /** End of the suffix: timestamp, type, sequence, length of the row. */
  suffixEnd = 0
  /** The stored value. */
  valueStart = 0
  valueEnd = 0

  /** A cell whose value follows its whole key. */
  setCell(page: Buffer, keyStart: number, keyEnd: number, valueEnd: number): void {
    this.rowStart = keyStart
    this.rowEnd = rowEndOf(page, keyStart, keyEnd)
    this.columnStart = this.rowEnd + terminatorBytes
    this.columnEnd = qualifierEndOf(keyEnd)
    this.suffixEnd = keyEnd
    this.valueStart = keyEnd
    this.valueEnd = valueEnd
  }
}

/**
 * A cell in a page. The places are in plain fields rather than private ones, so that a comparison
 * member by member finds cells with different places unequal.
 */
export class PageCell extends PrintedCell {
  readonly family: string
  protected readonly page: Buffer
  private readonly rowStart: number
  private readonly rowEnd: number
  private readonly columnStart: number
  private readonly columnEnd: number
  protected readonly suffixEnd: number
  private readonly valueStart: number
  private readonly valueEnd: number
  private keptRow: Buffer | undefined = undefined
  private keptQualifier: Buffer | undefined = undefined
  private keptValue: Buffer | undefined = undefined

  /** @internal */
  constructor(page: Buffer, family: string, place: CellPlace) {
    super()
    this.family = family
    this.page = page
    this.rowStart = place.rowStart
    this.rowEnd = place.rowEnd
    this.columnStart = place.columnStart
    this.columnEnd = place.columnEnd
    this.suffixEnd = place.suffixEnd
    this.valueStart = place.valueStart
    this.valueEnd = place.valueEnd
  }

  get row(): Buffer {
    return (this.keptRow ??= decodeBytes(this.page, this.rowStart, this.rowEnd))
  }

  get qualifier(): Buffer {
    return (this.keptQualifier ??= decodeBytes(this.page, this.columnStart, this.columnEnd))
  }

  get timestamp(): number {
    const { page, suffixEnd } = this
    return approximateTimestamp(timestampHighOf(page, suffixEnd), timestampLowOf(page, suffixEnd))
  }

  get timestampExact(): bigint {
    const { page, suffixEnd } = this
    return joinTimestamp(timestampHighOf(page, suffixEnd), timestampLowOf(page, suffixEnd))
  }

  get type(): CellTypeName {
    return cellTypeName(typeOf(this.page, this.suffixEnd) as CellTypeCode)
  }

  get value(): Buffer {
    const { page, valueStart, valueEnd } = this
    return (this.keptValue ??= viewBytes(page, contentStart(page, valueStart), valueEnd))
  }

  get sequence(): number {
    return sequenceOf(this.page, this.suffixEnd)
  }
}
