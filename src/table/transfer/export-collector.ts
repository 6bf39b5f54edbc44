/**
 * Gathers the cells of an export: takes them from the scan where they lie and puts them down as the
 * payload of a chunk (EXPORT.md), without a result or a number array between.
 *
 * Cells of a row that lie after each other in their block, with the same lengths in front of them
 * as a chunk has, are copied together. Sequences are then overwritten: an export has none.
 *
 * Ownership: what {@link ExportCollector.take} returns is borrowed until the next cell is added.
 * The memory of a cell that was added must stay as it is until the next row begins or `take`.
 */
import { equalBytes, emptyBytes } from '../../base/bytes.js'
import { readVarint, varintLength, writeVarint } from '../../base/varint.js'
import { keySuffixBytes } from '../../storage/cell/cell-key.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import type { RowTarget } from '../../storage/scan/cell-collector.js'

/** Payload bytes after which a chunk is finished. */
const chunkBytes = 128 * 1024
/** A chunk stays within this unless one cell is longer: what the codecs do at their best. */
const chunkBytesMax = 256 * 1024
/** Bytes in front of the cells of a section: the family, at most five, and the length. */
const sectionBytesMax = 5 + 4
/** Where the sequence of a key begins, from its end, and how long it is. */
const sequenceFromEnd = 9
const sequenceBytes = 7
/** A sequence of 0 is stored as bytes 0xff; see cell-key.ts. */
const noSequence = 0xff

export class ExportCollector implements RowTarget {
  full = false
  /** Of the current row. */
  count = 0
  readonly rowCells = undefined
  /** Rows are asked for one by one, as exports seldom have the newest versions only. */
  readonly wantsRows = false
  /** The bytes added so far. */
  rows = 0
  cells = 0
  bytes = 0
  private buffer: Buffer = Buffer.allocUnsafeSlow(chunkBytesMax)
  private length = 0
  /** Where the payload ends that is handed out first, 0 = at `length`. */
  private cut = 0
  private sectionFamily = -1
  /** Where the length of the open section stands. */
  private sectionAt = 0
  /** Cells not copied yet: `source[sourceStart, sourceEnd)` goes to `buffer` at `target`. */
  private source: Buffer = emptyBytes
  private sourceStart = 0
  private sourceEnd = 0
  private target = 0
  /** Where the keys of those cells will end. */
  private keyEnds: Uint32Array = new Uint32Array(256)
  private keyEndCount = 0
  /** Key of the cell before in its own memory, to leave out equal cells of a raw scan. */
  private previous: Buffer = emptyBytes
  private previousStart = 0
  private previousEnd = 0

  startRow(): void {
    if (this.keyEndCount > 0) this.copyPending()
    this.previous = emptyBytes
    this.count = 0
  }

  endRow(): void {
    // Nothing to do; never called, because no rows are wanted ahead.
  }

  settle(): void {
    if (this.keyEndCount > 0) this.copyPending()
    if (this.previous === emptyBytes) return
    this.previous = Buffer.from(this.previous.subarray(this.previousStart, this.previousEnd))
    this.previousEnd -= this.previousStart
    this.previousStart = 0
  }

  sortFamilies(): void {
    // No filter, so no family is read after the others.
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

  /** The payloads of the chunks that are to be written now: none, one or two. */
  take(): Buffer[] {
    this.closeSection()
    const { buffer, cut, length } = this
    this.cut = 0
    this.length = 0
    this.full = false
    if (length === 0) return []
    if (cut === 0) return [buffer.subarray(0, length)]
    return [buffer.subarray(0, cut), buffer.subarray(cut, length)]
  }

  /** An older cell of the same coordinates is never seen, and two could not be told apart. */
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

  /** Makes room for an entry, and cuts in front of one that would make the chunk too long. */
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
