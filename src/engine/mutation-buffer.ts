/**
 * A mutation under construction and its form in the log (byte diagram in FORMAT.md).
 *
 *   mutation = format(1) serverTimestamp(6) entry*
 *   entry    = varint storeId, varint keyLength, varint valueLength, key, value
 *
 * Key and value are exactly what the memtable stores, so a mutation is encoded once and copied
 * twice: into the log and into the memtables. `serverTimestamp` is the timestamp that the engine's
 * clock gave to the mutation, 0 if it gave none; recovery continues above it.
 *
 * Ownership: the buffer belongs to the engine and is reused by the next mutation.
 */
import { CellarError, ErrorCode } from '../base/errors.js'
import { copyBytes, readPrefix48, writeUint48BE } from '../base/bytes.js'
import { readVarint, varintLength, writeVarint } from '../base/varint.js'
import { entryBytesMax } from '../sstable/format.js'
import type { Store } from '../store/store.js'
import { isWellFormedKey, writeKeySuffix, writeTerminator } from '../cell/cell-key.js'
import { writeValueHeader } from '../cell/cell-value.js'

/** Never change: the form described above. */
const mutationFormat = 1
const headerBytes = 7
/** Most bytes in front of a key: three varints. */
const entryHeaderBytesMax = 15

export class MutationBuffer {
  buffer: Buffer = Buffer.allocUnsafeSlow(64 * 1024)
  length = 0
  entryCount = 0
  private serverTimestamp = 0
  /** Bytes of keys and values, for the memory budget. */
  payloadBytes = 0
  /** For each entry: its store, and where its key starts and ends and its value ends. */
  readonly stores: Store[] = []
  readonly keyStarts: number[] = []
  readonly keyEnds: number[] = []
  readonly valueEnds: number[] = []

  /** Starts a mutation. */
  begin(): void {
    this.buffer[0] = mutationFormat
    writeUint48BE(this.buffer, 1, 0)
    this.length = headerBytes
    this.entryCount = 0
    this.payloadBytes = 0
    this.serverTimestamp = 0
  }

  /** Notes a timestamp that the engine assigned; of several rows' the highest counts. */
  raiseServerTimestamp(timestamp: number): void {
    if (timestamp <= this.serverTimestamp) return
    this.serverTimestamp = timestamp
    writeUint48BE(this.buffer, 1, timestamp)
  }

  /**
   * Adds a cell. `row` and `qualifier` are escaped, without terminators. The value is either
   * `value` (bytes) or, if a string, its UTF-8 form.
   */
  add(
    store: Store,
    row: Buffer,
    rowLength: number,
    qualifier: Buffer,
    timestampHigh: number,
    timestampLow: number,
    type: number,
    sequence: number,
    ttlMilliseconds: number,
    value: Uint8Array | string,
  ): void {
    const isText = typeof value === 'string'
    const contentBytes = isText ? Buffer.byteLength(value) : value.length
    const headerOfValue = ttlMilliseconds > 0 ? 7 : 1
    const keyLength = rowLength + 2 + qualifier.length + 2 + 18
    const valueLength = headerOfValue + contentBytes
    if (keyLength + valueLength > entryBytesMax) {
      const bytes = keyLength + valueLength
      const message = `a cell of ${bytes} encoded bytes is larger than ${entryBytesMax}`
      throw new CellarError(ErrorCode.tooLarge, message)
    }
    this.ensure(entryHeaderBytesMax + keyLength + valueLength)
    const target = this.buffer
    let at = writeVarint(target, this.length, store.storeId)
    at = writeVarint(target, at, keyLength)
    at = writeVarint(target, at, valueLength)
    const entry = this.entryCount
    this.stores[entry] = store
    this.keyStarts[entry] = at
    copyBytes(row, 0, rowLength, target, at)
    at = writeTerminator(target, at + rowLength)
    copyBytes(qualifier, 0, qualifier.length, target, at)
    at = writeTerminator(target, at + qualifier.length)
    at = writeKeySuffix(target, at, timestampHigh, timestampLow, type, sequence, rowLength)
    this.keyEnds[entry] = at
    at = writeValueHeader(target, at, ttlMilliseconds)
    if (!isText) copyValue(value, contentBytes, target, at)
    else if (contentBytes > 0) target.write(value, at, 'utf8')
    this.length = at + contentBytes
    this.valueEnds[entry] = this.length
    this.entryCount++
    this.payloadBytes += keyLength + valueLength
  }

  private ensure(bytes: number): void {
    const needed = this.length + bytes
    if (needed <= this.buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.buffer.length))
    this.buffer.copy(grown, 0, 0, this.length)
    this.buffer = grown
  }
}

/** Values of callers are plain `Uint8Array`s or Buffers. */
function copyValue(source: Uint8Array, length: number, target: Buffer, at: number): void {
  if (Buffer.isBuffer(source)) copyBytes(source, 0, length, target, at)
  else if (length <= 32) for (let i = 0; i < length; i++) target[at + i] = source[i]
  else target.set(source, at)
}

/** Takes one entry of a mutation; the ranges lie in `source` and are borrowed. */
export type EntryVisitor = (
  storeId: number,
  source: Buffer,
  keyStart: number,
  keyEnd: number,
  valueEnd: number,
) => void

/**
 * Walks over the entries of `source[start, end)`. Returns false if the bytes are not a mutation of
 * a known form; the visitor may then have been called for a prefix.
 */
export function visitEntries(
  source: Buffer,
  start: number,
  end: number,
  visit: EntryVisitor,
): boolean {
  if (end - start < headerBytes || source[start] !== mutationFormat) return false
  let at = start + headerBytes
  while (at < end) {
    const storeId = readVarint(source, at, end)
    if (storeId < 0) return false
    at += varintLength(storeId)
    const keyLength = readVarint(source, at, end)
    if (keyLength < 0) return false
    at += varintLength(keyLength)
    const valueLength = readVarint(source, at, end)
    if (valueLength < 1) return false
    at += varintLength(valueLength)
    const keyEnd = at + keyLength
    const valueEnd = keyEnd + valueLength
    if (valueEnd > end) return false
    visit(storeId, source, at, keyEnd, valueEnd)
    at = valueEnd
  }
  return true
}

/** As {@link visitEntries}, checking the keys' structure as well: for bytes from disk. */
export function isWellFormedMutation(source: Buffer, start: number, end: number): boolean {
  let wellFormed = true
  const complete = visitEntries(source, start, end, (_storeId, buffer, keyStart, keyEnd) => {
    if (!isWellFormedKey(buffer, keyStart, keyEnd)) wellFormed = false
  })
  return complete && wellFormed
}

/** The timestamp that the engine assigned to the mutation, 0 if none. */
export function serverTimestampOf(source: Buffer, start: number): number {
  return readPrefix48(source, start + 1, start + headerBytes)
}
