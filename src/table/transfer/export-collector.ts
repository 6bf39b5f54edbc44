/**
 * Collects the cells of an export from the scan directly as the payload of a chunk (EXPORT.md),
 * without results or arrays of numbers in between.
 *
 * Cells of a row that are adjacent in their block, with the same lengths before them as in a chunk,
 * are copied together. Sequences are then overwritten: an export has none.
 *
 * Ownership: the result of {@link ExportCollector.take} is borrowed until the next cell is added.
 * The memory of an added cell must not change until the next row or `take`.
 */
import { assert } from '../../base/assert.js'
import { equalBytes, emptyBytes } from '../../base/bytes.js'
import { readVarint, varintLength, writeVarint } from '../../base/varint.js'
import { keySuffixBytes } from '../../storage/cell/cell-key.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import type { RowTarget } from '../../storage/scan/cell-collector.js'

/** Size at which a chunk is finished. */
const chunkBytes = 128 * 1024
/** Maximum size of a chunk unless one cell is longer: the best size for the codecs. */
const chunkBytesMax = 256 * 1024
/** Bytes before the cells of a section: the family, at most five, and the length. */
const sectionBytesMax = 5 + 4
/** Distance of the sequence from the end of a key, and its length. */
const sequenceFromEnd = 9
const sequenceBytes = 7
/** A sequence of 0 is stored as bytes 0xff; see cell-key.ts. */
const noSequence = 0xff

export class ExportCollector implements RowTarget {
  full = false
  /** Number of cells of the current row. */
  count = 0
  readonly rowCells = undefined
  /** Rows are requested one by one, because exports seldom have the newest versions only. */
  readonly wantsRows = false
  /** Totals of the export so far. */
  rows = 0
  cells = 0
  bytes = 0
  private buffer: Buffer = Buffer.allocUnsafeSlow(chunkBytesMax)
  private length = 0
  /** End of the payload to be returned first; 0: at `length`. */
  private cut = 0
  private sectionFamily = -1
  /** Offset of the length of the open section. */
  private sectionAt = 0
  /**
   * Cells not copied yet: `source[sourceStart, sourceEnd)` is to be copied to `buffer` at `target`.
   */
  private source: Buffer = emptyBytes
  private sourceStart = 0
  private sourceEnd = 0
  private target = 0
  /** The ends of these cells' keys in `buffer`. */
  private keyEnds: Uint32Array = new Uint32Array(256)
  private keyEndCount = 0
  /** Key of the previous cell in its own memory, to leave out equal cells of a raw scan. */
  private previous: Buffer = emptyBytes
  private previousStart = 0
  private previousEnd = 0

  startRow(): void {
    if (this.keyEndCount > 0) this.copyPending()
    this.previous = emptyBytes
    this.count = 0
  }

  endRow(): void {
    // Never called, because no rows are prefetched.
  }

  settle(): void {
    if (this.keyEndCount > 0) this.copyPending()
    if (this.previous === emptyBytes) return
    this.previous = Buffer.from(this.previous.subarray(this.previousStart, this.previousEnd))
    this.previousEnd -= this.previousStart
    this.previousStart = 0
  }

  sortFamilies(): void {
    // Never needed: without a filter no family is read after the others.
  }

  add(cell: CellView): void {
    const { buffer, familyIndex, keyStart, keyEnd, valueStart, valueEnd } = cell
    if (valueStart === keyEnd) {
      this.addRange(familyIndex, buffer, keyStart, keyEnd, valueEnd)
      return
    }
    const key = buffer.subarray(keyStart, keyEnd)
    const together = Buffer.concat([key, buffer.subarray(valueStart, valueEnd)])
    this.addRange(familyIndex, together, 0, key.length, together.length)
  }

  /** Cells are compared and adapted one by one. */
  get takesRows(): boolean {
    return false
  }

  /** As {@link takesRows} says. */
  addRow(): boolean {
    return false
  }

  addRange(
    family: number,
    buffer: Buffer,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
  ): void {
    if (family === this.sectionFamily && this.equalsPrevious(buffer, keyStart, keyEnd)) return
    this.previous = buffer
    this.previousStart = keyStart
    this.previousEnd = keyEnd
    const keyBytes = keyEnd - keyStart
    const valueBytes = valueEnd - keyEnd
    const headerBytes = varintLength(keyBytes) + varintLength(valueBytes)
    this.reserve(sectionBytesMax + headerBytes + keyBytes + valueBytes)
    if (family !== this.sectionFamily) this.startSection(family)
    const at = this.length + headerBytes
    const { source, sourceEnd } = this
    const follows =
      buffer === source &&
      keyStart - sourceEnd === headerBytes &&
      readVarint(source, sourceEnd, keyStart) === keyBytes &&
      readVarint(source, sourceEnd + varintLength(keyBytes), keyStart) === valueBytes
    if (follows) {
      this.sourceEnd = valueEnd
    } else {
      if (this.keyEndCount > 0) this.copyPending()
      writeVarint(this.buffer, writeVarint(this.buffer, this.length, keyBytes), valueBytes)
      this.source = buffer
      this.sourceStart = keyStart
      this.sourceEnd = valueEnd
      this.target = at
    }
    this.keyEnds[this.keyEndCount++] = at + keyBytes
    this.length = at + keyBytes + valueBytes
    if (this.keyEndCount === this.keyEnds.length) this.copyPending()
    if (this.length >= chunkBytes) this.full = true
    if (this.count++ === 0) this.rows++
    this.cells++
    this.bytes += keyBytes + valueBytes
  }

  /** The payloads of the finished chunks: none, one or two. */
  take(): Buffer[] {
    this.closeSection()
    const { buffer, cut, length } = this
    assert(cut <= length && length <= buffer.length, 'a payload lies in its buffer')
    this.cut = 0
    this.length = 0
    this.full = false
    if (length === 0) return []
    if (cut === 0) return [buffer.subarray(0, length)]
    return [buffer.subarray(0, cut), buffer.subarray(cut, length)]
  }

  /**
   * Cells with the same key except the sequence are exported once: the older one is never visible.
   */
  private equalsPrevious(buffer: Buffer, keyStart: number, keyEnd: number): boolean {
    const { previous, previousStart, previousEnd } = this
    if (previous === emptyBytes) return false
    // The column first: it differs for most cells, and close to its end.
    const columnEnd = keyEnd - keySuffixBytes
    const previousColumnEnd = previousEnd - keySuffixBytes
    return (
      equalBytes(buffer, keyStart, columnEnd, previous, previousStart, previousColumnEnd) &&
      equalBytes(
        buffer,
        columnEnd,
        keyEnd - sequenceFromEnd,
        previous,
        previousColumnEnd,
        previousEnd - sequenceFromEnd,
      )
    )
  }

  /**
   * Reserves memory for an entry, and ends the chunk before an entry that would exceed its size.
   */
  private reserve(bytes: number): void {
    const needed = this.length + bytes
    if (needed <= chunkBytesMax) return
    if (this.length > 0 && this.cut === 0) {
      this.closeSection()
      this.cut = this.length
      this.full = true
    }
    if (needed <= this.buffer.length) return
    if (this.keyEndCount > 0) this.copyPending()
    const grown = Buffer.allocUnsafeSlow(needed)
    this.buffer.copy(grown, 0, 0, this.length)
    this.buffer = grown
  }

  private startSection(family: number): void {
    this.closeSection()
    this.sectionAt = writeVarint(this.buffer, this.length, family)
    this.length = this.sectionAt + 4
    this.sectionFamily = family
  }

  private closeSection(): void {
    if (this.keyEndCount > 0) this.copyPending()
    if (this.sectionFamily < 0) return
    this.buffer.writeUInt32LE(this.length - this.sectionAt - 4, this.sectionAt)
    this.sectionFamily = -1
  }

  private copyPending(): void {
    const { buffer, keyEnds } = this
    this.source.copy(buffer, this.target, this.sourceStart, this.sourceEnd)
    for (let i = 0; i < this.keyEndCount; i++) {
      const start = keyEnds[i] - sequenceFromEnd
      for (let at = start; at < start + sequenceBytes; at++) buffer[at] = noSequence
    }
    this.keyEndCount = 0
    this.source = emptyBytes
  }
}
