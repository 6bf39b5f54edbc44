/**
 * Cells of a data block, from HBase's form (FORMAT.md) to Cellar's (`src/storage/cell/FORMAT.md`),
 * with the lengths of key and value in front, as a chunk of an export has them.
 *
 * Failure behaviour: `ERR_CORRUPTION` for a cell that HBase cannot have written, `ERR_UNSUPPORTED`
 * for one that Cellar cannot hold: a tag, a negative time, a marker of the family with a qualifier.
 */
import { compareBytes } from '../../base/bytes.js'
import { corruption, type CellarError } from '../../base/errors.js'
import { writeVarint } from '../../base/varint.js'
import {
  isFamilyMarker,
  keyBytesBound,
  keySuffixBytes,
  terminatorBytes,
  writeKeySuffix,
  writeTerminator,
} from '../../storage/cell/cell-key.js'
import { isCellType } from '../../storage/cell/cell-type.js'
import { valueHeaderBytes, writeValueHeader } from '../../storage/cell/cell-value.js'
import { rowBytesMax } from '../../storage/cell/limits.js'
import { TagType } from './format.js'
import { unsupported } from './trailer.js'
import { readVlong } from './bytes/vlong.js'
import { copyWords, Words } from './bytes/words.js'

/** Bytes of a key beside row, family and qualifier. */
const keyFrameBytes = 2 + 1 + 8 + 1
/** Bytes of a cell beside key and value in Cellar's form: lengths, flags, TTL. */
const frameBytesMax = 2 * 5 + 1 + 6

/** What a file says about its cells. */
export interface CellFormat {
  readonly path: string
  readonly family: Buffer
  readonly hasTags: boolean
  readonly hasSequences: boolean
  /** Sequence of cells of a bulk load, which count as written at the load; undefined: their own. */
  readonly sequence: number | undefined
}

/** The decoded cells of one block; see the file header. */
export class CellBlock {
  count = 0
  buffer: Buffer = Buffer.allocUnsafeSlow(64 * 1024)
  /** Three offsets a cell: start and end of the key, end of the value. */
  places = new Uint32Array(3 * 1024)
  readonly #format: CellFormat
  /** Where the block lies in the file. */
  #offset = 0
  readonly #source = new Words()
  readonly #target = new Words()
  #end = 0
  /** The last key of the block before. */
  #lastKey = Buffer.alloc(0)

  constructor(format: CellFormat) {
    this.#format = format
  }

  /** Decodes the payload of the block at `offset`, in place of the cells before. */
  read(payload: Buffer, offset: number): void {
    this.#offset = offset
    if (this.count > 0) {
      const at = 3 * (this.count - 1)
      this.#lastKey = Buffer.from(this.buffer.subarray(this.places[at], this.places[at + 1]))
    }
    this.count = 0
    this.#end = 0
    let at = 0
    while (at < payload.length) at = this.#readCell(payload, at)
  }

  #readCell(payload: Buffer, start: number): number {
    const { family, hasTags, hasSequences } = this.#format
    const keyBytes = start + 8 <= payload.length ? payload.readInt32BE(start) : -1
    const valueBytes = keyBytes < 0 ? -1 : payload.readInt32BE(start + 4)
    const keyAt = start + 8
    const rowBytes = keyBytes < keyFrameBytes ? -1 : payload.readUInt16BE(keyAt)
    const valueAt = keyAt + keyBytes
    const valueEnd = valueAt + valueBytes
    const qualifierBytes = keyBytes - keyFrameBytes - family.length - rowBytes
    if (valueBytes < 0 || valueEnd > payload.length || qualifierBytes < 0) {
      throw this.#damaged(start, 'a cell', `${keyBytes} and ${valueBytes} bytes`)
    }
    if (rowBytes < 1 || rowBytes > rowBytesMax) {
      throw this.#damaged(start, `a row of 1 to ${rowBytesMax} bytes`, `${rowBytes}`)
    }
    const familyAt = keyAt + 2 + rowBytes + 1
    const isOfFamily =
      payload[familyAt - 1] === family.length &&
      compareBytes(payload, familyAt, familyAt + family.length, family, 0, family.length) === 0
    if (!isOfFamily) throw this.#damaged(start, `family '${family.toString()}'`, 'another')
    const qualifierAt = familyAt + family.length
    const type = payload[valueAt - 1]
    if (!isCellType(type)) throw this.#damaged(start, 'a type of cells', `${type}`)
    if (isFamilyMarker(type) && qualifierBytes > 0) {
      throw this.#unsupported(start, 'a marker of the family with a qualifier')
    }
    let next = valueEnd
    let ttl = 0
    if (hasTags) {
      const tagsEnd = next + 2 <= payload.length ? next + 2 + payload.readUInt16BE(next) : Infinity
      if (tagsEnd > payload.length) throw this.#damaged(start, 'tags', 'the end of the block')
      if (tagsEnd > next + 2) ttl = this.#readTtl(payload, next + 2, tagsEnd, start)
      next = tagsEnd
    }
    let sequence = 0
    if (hasSequences) {
      const found = readVlong(payload, next, payload.length)
      if (found === undefined || !Number.isSafeInteger(found.value)) {
        throw this.#damaged(start, 'a sequence', 'none')
      }
      sequence = found.value
      next = found.end
    }
    const timestampAt = valueAt - 9
    const high = payload.readInt32BE(timestampAt)
    if (high < 0) throw this.#unsupported(start, 'a negative time')
    this.#reserve(keyBytesBound(rowBytes, qualifierBytes) + valueBytes + frameBytesMax)
    // Key
    const escapedRowBytes = rowBytes + zeros(payload, keyAt + 2, keyAt + 2 + rowBytes)
    const escapedBytes = qualifierBytes + zeros(payload, qualifierAt, qualifierAt + qualifierBytes)
    const ownKeyBytes = escapedRowBytes + escapedBytes + 2 * terminatorBytes + keySuffixBytes
    const { buffer } = this
    let to = writeVarint(buffer, this.#end, ownKeyBytes)
    to = writeVarint(buffer, to, valueHeaderBytes(ttl) + valueBytes)
    const keyStart = to
    to = writeTerminator(buffer, escape(payload, keyAt + 2, keyAt + 2 + rowBytes, buffer, to))
    const qualifierEnd = qualifierAt + qualifierBytes
    to = writeTerminator(buffer, escape(payload, qualifierAt, qualifierEnd, buffer, to))
    const low = payload.readUInt32BE(timestampAt + 4)
    const own = this.#format.sequence ?? sequence
    const keyEnd = writeKeySuffix(buffer, to, high, low, type, own, escapedRowBytes)
    to = writeValueHeader(buffer, keyEnd, ttl)
    copyWords(this.#source.of(payload), valueAt, valueEnd, this.#target.of(buffer), to)
    this.#note(keyStart, keyEnd, to + valueBytes, start)
    return next
  }

  /** The TTL in milliseconds among the tags; 0: there are none. */
  #readTtl(payload: Buffer, from: number, end: number, start: number): number {
    let ttl = 0
    let at = from
    while (at < end) {
      const bytes = at + 3 <= end ? payload.readUInt16BE(at) : 0
      const next = at + 2 + bytes
      if (bytes < 1 || next > end) throw this.#damaged(start, 'a tag', `${bytes} bytes`)
      const type = payload[at + 2]
      if (type !== TagType.ttl) throw this.#unsupported(start, `a tag of type ${type}`)
      if (bytes !== 9) throw this.#damaged(start, 'a TTL of 8 bytes', `${bytes - 1}`)
      ttl = Number(payload.readBigInt64BE(at + 3))
      if (ttl < 1 || ttl >= 2 ** 48) throw this.#unsupported(start, `a TTL of ${ttl} ms`)
      at = next
    }
    return ttl
  }

  /** Notes a decoded cell, which must not be below the one before. */
  #note(keyStart: number, keyEnd: number, valueEnd: number, start: number): void {
    const { buffer, count } = this
    if (3 * (count + 1) > this.places.length) {
      const grown = new Uint32Array(2 * this.places.length)
      grown.set(this.places)
      this.places = grown
    }
    const at = 3 * count
    const last = this.#lastKey
    const order =
      count === 0
        ? compareBytes(last, 0, last.length, buffer, keyStart, keyEnd)
        : compareBytes(buffer, this.places[at - 3], this.places[at - 2], buffer, keyStart, keyEnd)
    if (order > 0) throw this.#damaged(start, 'cells in order', 'a cell below the one before')
    this.places[at] = keyStart
    this.places[at + 1] = keyEnd
    this.places[at + 2] = valueEnd
    this.#end = valueEnd
    this.count++
  }

  #damaged(at: number, expected: string, found: string): CellarError {
    const detail = { file: this.#format.path, offset: this.#offset, expected }
    return corruption('damaged HFile', { ...detail, found: `${found}, ${placeInBlock(at)}` })
  }

  #unsupported(at: number, found: string): CellarError {
    return unsupported(this.#format.path, `has ${found}: ${placeInBlock(at)} at ${this.#offset}`)
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.buffer.length) return
    const grown = Buffer.allocUnsafeSlow(2 * needed)
    this.buffer.copy(grown, 0, 0, this.#end)
    this.buffer = grown
  }
}

function placeInBlock(at: number): string {
  return `the cell at ${at} of its block`
}

/** As `writeEscaped`, of a part of a buffer. */
function escape(source: Buffer, start: number, end: number, target: Buffer, at: number): number {
  let next = at
  for (let i = start; i < end; i++) {
    const byte = source[i]
    target[next++] = byte
    if (byte === 0) target[next++] = 0xff
  }
  return next
}

function zeros(source: Buffer, start: number, end: number): number {
  let count = 0
  for (let i = start; i < end; i++) if (source[i] === 0) count++
  return count
}
