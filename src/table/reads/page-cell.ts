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

/**
 * A cell in a page. The range is in plain fields rather than private ones, so that a comparison
 * member by member finds cells with different ranges unequal.
 */
export class PageCell extends PrintedCell {
  readonly family: string
  protected readonly page: Buffer
  private readonly keyStart: number
  protected readonly keyEnd: number
  private readonly valueEnd: number
  private keptRow: Buffer | undefined = undefined
  private keptQualifier: Buffer | undefined = undefined
  private keptValue: Buffer | undefined = undefined

  /** @internal The value starts at the end of the key. */
  constructor(page: Buffer, family: string, keyStart: number, keyEnd: number, valueEnd: number) {
    super()
    this.family = family
    this.page = page
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    this.valueEnd = valueEnd
  }

  get row(): Buffer {
    const { page, keyStart, keyEnd } = this
    return (this.keptRow ??= decodeBytes(page, keyStart, rowEndOf(page, keyStart, keyEnd)))
  }

  get qualifier(): Buffer {
    if (this.keptQualifier !== undefined) return this.keptQualifier
    const { page, keyStart, keyEnd } = this
    const start = rowEndOf(page, keyStart, keyEnd) + terminatorBytes
    this.keptQualifier = decodeBytes(page, start, qualifierEndOf(keyEnd))
    return this.keptQualifier
  }

  get timestamp(): number {
    const { page, keyEnd } = this
    return approximateTimestamp(timestampHighOf(page, keyEnd), timestampLowOf(page, keyEnd))
  }

  get timestampExact(): bigint {
    const { page, keyEnd } = this
    return joinTimestamp(timestampHighOf(page, keyEnd), timestampLowOf(page, keyEnd))
  }

  get type(): CellTypeName {
    return cellTypeName(typeOf(this.page, this.keyEnd) as CellTypeCode)
  }

  get value(): Buffer {
    const { page, keyEnd, valueEnd } = this
    return (this.keptValue ??= viewBytes(page, contentStart(page, keyEnd), valueEnd))
  }

  get sequence(): number {
    return sequenceOf(this.page, this.keyEnd)
  }
}
