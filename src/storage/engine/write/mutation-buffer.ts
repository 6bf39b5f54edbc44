/**
 * Mutations under construction and their form in the log (byte diagram in FORMAT.md).
 *
 *   group    = (varint length, mutation)*
 *   mutation = format(1) serverTimestamp(6) entry*
 *   entry    = varint storeId, varint keyLength, varint valueLength, key, value
 *
 * Keys and values have the form of memtables. So a mutation is encoded once and copied twice: with
 * its whole group into the log, and into the memtables. `serverTimestamp` is the timestamp that the
 * engine's clock gave to the mutation; 0 if the clock gave none. After recovery the clock continues
 * above it.
 *
 * A group is built by `begin`, and then `open`, `add` and `finish` for each mutation; `drop`
 * removes the open one. Offsets of entries are final after `finish`.
 *
 * The buffer belongs to the engine and is reused by the next group.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { copyBytes, readPrefix48, writeUint48BE } from '../../../base/bytes.js'
import { readVarint, varintLength, writeVarint } from '../../../base/varint.js'
import { entryBytesMax } from '../../sstable/format.js'
import type { Store } from '../../store/store.js'
import { isWellFormedKey, typeOf, writeKeySuffix, writeTerminator } from '../../cell/cell-key.js'
import { isVersionMarker } from '../../cell/cell-type.js'
import { writeValueHeader } from '../../cell/cell-value.js'
import { mutationBytesMax } from '../../wal/log-options.js'

/** Version of the form above. On disk: never change. */
const mutationFormat = 1
const headerBytes = 7
/** Largest number of bytes in front of a key: three varints. */
const entryHeaderBytesMax = 15
/** Largest number of bytes in front of the entries of a mutation: its length and its header. */
const mutationHeaderBytesMax = 5 + headerBytes

/** A group of at least this many bytes takes no further mutation. */
const groupBytesMax = 64 * 1024
/**
 * Largest number of mutations in a group. Memtables reserve memory for the worst case of a group.
 */
const groupMutationsMax = 64

/** An escaped row, `buffer[0, length)`, without terminator. */
export interface EscapedRow {
  readonly buffer: Buffer
  readonly length: number
}

export class MutationBuffer {
  /** Row, sequence and timestamp of the cells that {@link add} adds next. */
  row!: EscapedRow
  sequence = 0
  timestampHigh = 0
  timestampLow = 0
  buffer: Buffer = Buffer.allocUnsafeSlow(128 * 1024)
  length = 0
  /** Number of finished mutations in the group. */
  mutationCount = 0
  entryCount = 0
  /** Bytes of keys and values, counted in the memory budget. */
  payloadBytes = 0
  /** The stores of all entries, without repetition: the first `touchedCount` elements. */
  readonly touchedStores: Store[] = []
  touchedCount = 0
  /**
   * For each entry: its store, and the offsets of its key's start, its key's end and its value's
   * end.
   */
  readonly stores: Store[] = []
  readonly keyStarts: number[] = []
  readonly keyEnds: number[] = []
  readonly valueEnds: number[] = []
  /** For each entry the `serverTimestamp` of `Store.insert`. */
  readonly serverTimestamps: number[] = []

  /** Start of the open mutation, and the counts before it. */
  private start = 0
  private entryCountBefore = 0
  private payloadBytesBefore = 0
  /** Bytes left free for the length of the open mutation: as many as the mutation before needed. */
  private lengthBytes = 2
  private serverTimestamp = 0
  /** Whether the open mutation has a marker of a single version. */
  private hasVersionMarker = false

  /** Starts a group. */
  begin(): void {
    this.length = 0
    this.mutationCount = 0
    this.entryCount = 0
    this.payloadBytes = 0
    this.touchedCount = 0
  }

  /** Whether the group takes another mutation. */
  get hasRoom(): boolean {
    return this.length < groupBytesMax && this.mutationCount < groupMutationsMax
  }

  /** Bytes that the active memtables of the group's stores count in the budget. */
  get bytesCharged(): number {
    let bytes = 0
    for (let i = 0; i < this.touchedCount; i++) bytes += this.touchedStores[i].active.bytesCharged
    return bytes
  }

  /** Starts a mutation. */
  open(): void {
    this.ensure(mutationHeaderBytesMax)
    this.start = this.length
    this.entryCountBefore = this.entryCount
    this.payloadBytesBefore = this.payloadBytes
    this.serverTimestamp = 0
    this.hasVersionMarker = false
    const { buffer } = this
    let at = this.length + this.lengthBytes
    buffer[at++] = mutationFormat
    for (let i = 1; i < headerBytes; i++) buffer[at++] = 0
    this.length = at
  }

  /**
   * Ends the open mutation. Throws `ERR_TOO_LARGE` if it is too long for the log; it stays open
   * then.
   */
  finish(): void {
    const bytes = this.length - this.start - this.lengthBytes
    if (bytes > mutationBytesMax) {
      throw new CellarError(ErrorCode.tooLarge, `a mutation of ${bytes} bytes is too large`)
    }
    const lengthBytes = varintLength(bytes)
    if (lengthBytes !== this.lengthBytes) this.moveMutation(lengthBytes)
    writeVarint(this.buffer, this.start, bytes)
    const { serverTimestamps, entryCount } = this
    const time = this.hasVersionMarker ? 0 : this.serverTimestamp
    for (let i = this.entryCountBefore; i < entryCount; i++) serverTimestamps[i] = time
    this.mutationCount++
  }

  /** Removes the open mutation from the group. */
  drop(): void {
    this.length = this.start
    this.entryCount = this.entryCountBefore
    this.payloadBytes = this.payloadBytesBefore
  }

  /** Records a timestamp that the engine assigned. With several rows the highest counts. */
  raiseServerTimestamp(timestamp: number): void {
    if (timestamp <= this.serverTimestamp) return
    this.serverTimestamp = timestamp
    writeUint48BE(this.buffer, this.start + this.lengthBytes + 1, timestamp)
  }

  /**
   * Adds a cell of {@link row} with the timestamp set before. `qualifier` is escaped, without
   * terminator. The value is bytes, or a string whose UTF-8 form has `contentBytes` bytes.
   */
  add(
    store: Store,
    qualifier: Buffer,
    type: number,
    ttlMilliseconds: number,
    value: Uint8Array | string,
    contentBytes: number,
  ): void {
    const { row, timestampHigh, timestampLow, sequence } = this
    const rowLength = row.length
    const headerOfValue = ttlMilliseconds > 0 ? 7 : 1
    const keyLength = rowLength + 2 + qualifier.length + 2 + 18
    const valueLength = headerOfValue + contentBytes
    if (keyLength + valueLength > entryBytesMax) refuseEntry(keyLength + valueLength)
    this.ensure(entryHeaderBytesMax + keyLength + valueLength)
    const target = this.buffer
    let at = writeVarint(target, this.length, store.storeId)
    at = writeVarint(target, at, keyLength)
    at = writeVarint(target, at, valueLength)
    if (isVersionMarker(type)) this.hasVersionMarker = true
    const entry = this.entryCount
    if (entry === 0 || this.stores[entry - 1] !== store) this.touch(store)
    this.stores[entry] = store
    this.keyStarts[entry] = at
    copyBytes(row.buffer, 0, rowLength, target, at)
    at = writeTerminator(target, at + rowLength)
    copyBytes(qualifier, 0, qualifier.length, target, at)
    at = writeTerminator(target, at + qualifier.length)
    at = writeKeySuffix(target, at, timestampHigh, timestampLow, type, sequence, rowLength)
    this.keyEnds[entry] = at
    at = writeValueHeader(target, at, ttlMilliseconds)
    if (typeof value === 'string') writeText(value, contentBytes, target, at)
    else copyValue(value, contentBytes, target, at)
    this.length = at + contentBytes
    this.valueEnds[entry] = this.length
    this.entryCount++
    this.payloadBytes += keyLength + valueLength
  }

  private touch(store: Store): void {
    for (let i = 0; i < this.touchedCount; i++) if (this.touchedStores[i] === store) return
    this.touchedStores[this.touchedCount++] = store
  }

  /** Moves the open mutation, because its length needs more or fewer bytes than were left free. */
  private moveMutation(lengthBytes: number): void {
    const shift = lengthBytes - this.lengthBytes
    const from = this.start + this.lengthBytes
    this.ensure(mutationHeaderBytesMax)
    this.buffer.copyWithin(this.start + lengthBytes, from, this.length)
    for (let i = this.entryCountBefore; i < this.entryCount; i++) {
      this.keyStarts[i] += shift
      this.keyEnds[i] += shift
      this.valueEnds[i] += shift
    }
    this.length += shift
    this.lengthBytes = lengthBytes
  }

  private ensure(bytes: number): void {
    const needed = this.length + bytes
    if (needed <= this.buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.buffer.length))
    this.buffer.copy(grown, 0, 0, this.length)
    this.buffer = grown
  }
}

function refuseEntry(bytes: number): never {
  const message = `a cell of ${bytes} encoded bytes is larger than ${entryBytesMax}`
  throw new CellarError(ErrorCode.tooLarge, message)
}

/** Up to this many characters a loop is faster than a call into native code. */
const loopCharactersMax = 32

/** Number of bytes of a text in UTF-8. */
export function textBytes(text: string): number {
  const { length } = text
  if (length > loopCharactersMax) return Buffer.byteLength(text)
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) > 0x7f) return Buffer.byteLength(text)
  return length
}

/** Writes a text whose UTF-8 form has `bytes` bytes. */
function writeText(text: string, bytes: number, target: Buffer, at: number): void {
  if (bytes > loopCharactersMax || bytes !== text.length) target.write(text, at, 'utf8')
  else for (let i = 0; i < bytes; i++) target[at + i] = text.charCodeAt(i)
}

/** Copies the value of a caller, which is a plain `Uint8Array` or a Buffer. */
function copyValue(source: Uint8Array, length: number, target: Buffer, at: number): void {
  if (Buffer.isBuffer(source)) copyBytes(source, 0, length, target, at)
  else if (length <= 32) for (let i = 0; i < length; i++) target[at + i] = source[i]
  else target.set(source, at)
}

/** Receives one entry of a mutation; the ranges are in `source`, which is borrowed. */
export type EntryVisitor = (
  storeId: number,
  source: Buffer,
  keyStart: number,
  keyEnd: number,
  valueEnd: number,
) => void

/**
 * Calls `visit` for the entries of `source[start, end)`. Returns false if the bytes are not a
 * mutation of a known form; `visit` may have been called for the first entries then.
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

/** As {@link visitEntries}, and checks the structure of keys too: for bytes from disk. */
export function isWellFormedMutation(source: Buffer, start: number, end: number): boolean {
  let wellFormed = true
  const complete = visitEntries(source, start, end, (_storeId, buffer, keyStart, keyEnd) => {
    if (!isWellFormedKey(buffer, keyStart, keyEnd)) wellFormed = false
  })
  return complete && wellFormed
}

/** Whether a mutation has a marker of a single version. */
export function hasVersionMarker(source: Buffer, start: number, end: number): boolean {
  let isFound = false
  visitEntries(source, start, end, (_storeId, buffer, _keyStart, keyEnd) => {
    if (isVersionMarker(typeOf(buffer, keyEnd))) isFound = true
  })
  return isFound
}

/** The timestamp that the engine assigned to a mutation; 0 if it assigned none. */
export function serverTimestampOf(source: Buffer, start: number): number {
  return readPrefix48(source, start + 1, start + headerBytes)
}
