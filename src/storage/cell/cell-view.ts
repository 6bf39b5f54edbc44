/**
 * A reusable view of one stored cell: where its parts lie, with the numbers decoded.
 *
 * Ownership: a view is *borrowed*. It is valid until the cursor that it was set from moves; filters
 * and collectors must copy what they keep. One view serves a whole scan, so no object is made per
 * cell.
 */
import { assert } from '../../base/assert.js'
import {
  qualifierEndOf,
  rowEndOf,
  sequenceOf,
  terminatorBytes,
  timestampHighOf,
  timestampLowOf,
  typeOf,
  unescape,
} from './cell-key.js'
import { contentStart, isReference, readReference, ttlOf } from './cell-value.js'
import { approximateTimestamp, joinTimestamp, type Timestamp } from './timestamp.js'

/** Where an entry lies: the part of a cursor that a view is set from. */
export interface EntryRanges {
  /** Holds key and value. */
  readonly buffer: Buffer
  /** Where the key starts. */
  readonly keyStart: number
  /** Where the key ends. */
  readonly keyEnd: number
  /** Where the value starts, with its header. */
  readonly valueStart: number
  /** Where the value ends. */
  readonly valueEnd: number
}

/** A borrowed view of one stored cell; see the file header. */
export class CellView {
  /** Memory that holds key and value. */
  buffer: Buffer = Buffer.alloc(0)
  /** Start of the key in {@link buffer}. */
  keyStart = 0
  /** End of the key in {@link buffer}. */
  keyEnd = 0
  /** End of the escaped row, which starts at `keyStart`. */
  rowEnd = 0
  /** The escaped qualifier is `buffer[qualifierStart, qualifierEnd)`. */
  qualifierStart = 0
  /** End of the escaped qualifier in {@link buffer}. */
  qualifierEnd = 0
  /** Upper 32 bits of the timestamp. */
  timestampHigh = 0
  /** Lower 32 bits of the timestamp. */
  timestampLow = 0
  /** One of the codes of `CellType`. */
  type = 0
  /** Sequence of the mutation that wrote the cell. */
  sequence = 0
  /** The stored value (flags, TTL, content) is `buffer[valueStart, valueEnd)`. */
  valueStart = 0
  /** End of the value in {@link buffer}. */
  valueEnd = 0
  /** Index of the cell's family in the list of families of the scan. */
  familyIndex = 0
  /** Name of the family that the cell belongs to. */
  family = ''

  /** Points the view at the current entry of a cursor. REQUIRES `cursor.valid`. */
  set(cursor: EntryRanges): void {
    this.setCell(cursor.buffer, cursor.keyStart, cursor.keyEnd, cursor.valueEnd)
    this.valueStart = cursor.valueStart
  }

  /** Points the view at a cell whose value, `buffer[keyEnd, valueEnd)`, follows its key. */
  setCell(buffer: Buffer, keyStart: number, keyEnd: number, valueEnd: number): void {
    this.buffer = buffer
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    this.rowEnd = rowEndOf(buffer, keyStart, keyEnd)
    this.qualifierStart = this.rowEnd + terminatorBytes
    this.qualifierEnd = qualifierEndOf(keyEnd)
    this.timestampHigh = timestampHighOf(buffer, keyEnd)
    this.timestampLow = timestampLowOf(buffer, keyEnd)
    this.type = typeOf(buffer, keyEnd)
    this.sequence = sequenceOf(buffer, keyEnd)
    this.valueStart = keyEnd
    this.valueEnd = valueEnd
  }

  /** Cell TTL in milliseconds, 0 if the cell has none. */
  get ttlMilliseconds(): number {
    return ttlOf(this.buffer, this.valueStart)
  }

  /** Whether the content lies in a value file; see cell-value.ts. */
  get isReference(): boolean {
    return isReference(this.buffer, this.valueStart, this.valueEnd)
  }

  /**
   * Offset of the first byte of the value as the user wrote it; the value ends at `valueEnd`.
   * REQUIRES a value that lies in the cell itself. The assertion catches a filter that declares not
   * to look at values and looks nevertheless.
   */
  get contentStart(): number {
    assert(!this.isReference, 'the value of a cell is needed and was not read')
    return contentStart(this.buffer, this.valueStart)
  }

  /** Length in bytes of the value as the user wrote it, also if it lies in a value file. */
  get contentBytes(): number {
    if (!this.isReference) return this.valueEnd - this.contentStart
    const reference = readReference(this.buffer, this.valueStart, this.valueEnd)
    assert(reference !== undefined, 'a reference of the wrong length')
    return reference.contentBytes
  }

  /** A copy of the row as the user wrote it. */
  copyRow(): Buffer {
    return unescape(this.buffer, this.keyStart, this.rowEnd)
  }

  /** A copy of the qualifier as the user wrote it. */
  copyQualifier(): Buffer {
    return unescape(this.buffer, this.qualifierStart, this.qualifierEnd)
  }

  /** A copy of the value as the user wrote it. */
  copyValue(): Buffer {
    return Buffer.from(this.buffer.subarray(this.contentStart, this.valueEnd))
  }

  /** The timestamp in milliseconds as a double: exact below 2^53. */
  get timestamp(): number {
    return approximateTimestamp(this.timestampHigh, this.timestampLow)
  }

  /** The exact timestamp: a number below 2^53, else a bigint. */
  get timestampValue(): Timestamp {
    return this.timestampHigh < 0x20_0000 ? this.timestamp : this.timestampExact
  }

  /** The exact timestamp. */
  get timestampExact(): bigint {
    return joinTimestamp(this.timestampHigh, this.timestampLow)
  }
}
