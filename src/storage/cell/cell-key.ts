/**
 * The order-preserving encoding of cell coordinates (byte diagrams in FORMAT.md).
 *
 *   key = escape(row) 00 01  escape(qualifier) 00 01
 *         ~timestamp(8)  ~type(1)  ~sequence(7)  rowLength(2)
 *
 * - `escape` replaces each 00 by 00 FF, so that the terminator 00 01 sorts below any continuation.
 * - Timestamp, type code and sequence are stored subtracted from their maximum, big-endian: newer
 *   first, as HBase orders cells: row, qualifier, timestamp descending, type descending, sequence
 *   descending. The family is not in the key: each family is a store of its own.
 * - `rowLength` is the length of the escaped row without terminator (at most 65,534, two bytes
 *   big-endian). It comes last, where it cannot influence the order of distinct coordinates, and
 *   lets readers find all parts without searching for terminators.
 *
 * Functions that write do so in memory of the caller, and return the offset behind it.
 */
import { viewBytes, type ByteRange } from '../../base/bytes.js'
import { CellType } from './cell-type.js'

/** Bytes after the qualifier's terminator: timestamp, type, sequence, row length. */
export const keySuffixBytes = 8 + 1 + 7 + 2
/** Length of the terminator of row and qualifier. */
export const terminatorBytes = 2

/** Largest number of bytes that a key with these parts can take. */
export function keyBytesBound(rowBytes: number, qualifierBytes: number): number {
  return 2 * (rowBytes + qualifierBytes) + 2 * terminatorBytes + keySuffixBytes
}

/** Writes `escape(source)` without terminator. REQUIRES room for twice the length. */
export function writeEscaped(target: Buffer, offset: number, source: Uint8Array): number {
  const length = source.length
  let at = offset
  for (let i = 0; i < length; i++) {
    const byte = source[i]
    target[at++] = byte
    if (byte === 0) target[at++] = 0xff
  }
  return at
}

/** `escape(source)` in memory of its own. */
export function escaped(source: Uint8Array): ByteRange {
  const target = Buffer.allocUnsafe(2 * source.length)
  return { source: target, start: 0, end: writeEscaped(target, 0, source) }
}

/** Writes the terminator 00 01. */
export function writeTerminator(target: Buffer, offset: number): number {
  target[offset] = 0
  target[offset + 1] = 1
  return offset + 2
}

/**
 * Writes 00 02 in place of a terminator. The result sorts after all keys whose whole row (or row
 * and qualifier) is the prefix written so far, and before the next row (or qualifier).
 */
export function writeBehind(target: Buffer, offset: number): number {
  target[offset] = 0
  target[offset + 1] = 2
  return offset + 2
}

function writeUint32BE(target: Buffer, offset: number, value: number): void {
  target[offset] = value >>> 24
  target[offset + 1] = (value >>> 16) & 0xff
  target[offset + 2] = (value >>> 8) & 0xff
  target[offset + 3] = value & 0xff
}

/** Writes an inverted timestamp, to build a seek key. */
export function writeTimestamp(target: Buffer, offset: number, high: number, low: number): number {
  writeUint32BE(target, offset, 0x7fff_ffff - high)
  writeUint32BE(target, offset + 4, 0xffff_ffff - low)
  return offset + 8
}

/** Writes the fixed suffix: timestamp, type, sequence (below 2^53), length of the escaped row. */
export function writeKeySuffix(
  target: Buffer,
  offset: number,
  timestampHigh: number,
  timestampLow: number,
  type: number,
  sequence: number,
  escapedRowBytes: number,
): number {
  writeTimestamp(target, offset, timestampHigh, timestampLow)
  target[offset + 8] = 0xff - type
  writeSequence(target, offset + keySuffixBytes, sequence)
  target[offset + 16] = escapedRowBytes >>> 8
  target[offset + 17] = escapedRowBytes & 0xff
  return offset + keySuffixBytes
}

/** Writes the sequence (below 2^53) into the key that ends at `keyEnd`. */
export function writeSequence(target: Buffer, keyEnd: number, sequence: number): void {
  const high = 0xff_ffff - Math.floor(sequence / 0x1_0000_0000)
  target[keyEnd - 9] = high >>> 16
  target[keyEnd - 8] = (high >>> 8) & 0xff
  target[keyEnd - 7] = high & 0xff
  writeUint32BE(target, keyEnd - 6, 0xffff_ffff - (sequence >>> 0))
}

/** Removes escapes of `source[start, end)` into a new buffer; a plain copy if there are none. */
export function unescape(source: Buffer, start: number, end: number): Buffer {
  const result = Buffer.allocUnsafe(end - start)
  const length = unescapeInto(source, start, end, result)
  return length === result.length ? result : viewBytes(result, 0, length)
}

/**
 * Removes escapes of `source[start, end)` into `target`. Returns the number of bytes, or -1 if they
 * are more than `target` holds.
 */
export function unescapeInto(
  source: Buffer,
  start: number,
  end: number,
  target: Uint8Array,
): number {
  const length = target.length
  let count = 0
  for (let i = start; i < end; i++) {
    if (count === length) return -1
    const byte = source[i]
    target[count++] = byte
    if (byte === 0) i++
  }
  return count
}

/** Whether an escaped range holds an escape, that is, a zero byte. */
export function hasEscape(source: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (source[i] === 0) return true
  return false
}

/** End of the escaped row (its terminator follows) of the key in `source[keyStart, keyEnd)`. */
export function rowEndOf(source: Buffer, keyStart: number, keyEnd: number): number {
  return keyStart + ((source[keyEnd - 2] << 8) | source[keyEnd - 1])
}

/** End of the escaped qualifier (its terminator follows). */
export function qualifierEndOf(keyEnd: number): number {
  return keyEnd - keySuffixBytes - terminatorBytes
}

/** Type code of a key. */
export function typeOf(source: Buffer, keyEnd: number): number {
  return 0xff - source[keyEnd - 10]
}

/** Sequence of a key. */
export function sequenceOf(source: Buffer, keyEnd: number): number {
  const low =
    ~(
      (source[keyEnd - 6] << 24) |
      (source[keyEnd - 5] << 16) |
      (source[keyEnd - 4] << 8) |
      source[keyEnd - 3]
    ) >>> 0
  const high = ~((source[keyEnd - 9] << 16) | (source[keyEnd - 8] << 8) | source[keyEnd - 7])
  const rest = high & 0xff_ffff
  return rest === 0 ? low : rest * 0x1_0000_0000 + low
}

/** High half of a key's timestamp. */
export function timestampHighOf(source: Buffer, keyEnd: number): number {
  return 0x7fff_ffff - readUint32BE(source, keyEnd - 18)
}

/** Low half of a key's timestamp. */
export function timestampLowOf(source: Buffer, keyEnd: number): number {
  return 0xffff_ffff - readUint32BE(source, keyEnd - 14)
}

function readUint32BE(source: Buffer, offset: number): number {
  return (
    ((source[offset] << 24) |
      (source[offset + 1] << 16) |
      (source[offset + 2] << 8) |
      source[offset + 3]) >>>
    0
  )
}

/**
 * Whether a key from disk has the structure above. Guards parsers against damage that checksums did
 * not detect.
 */
export function isWellFormedKey(source: Buffer, keyStart: number, keyEnd: number): boolean {
  if (keyEnd - keyStart < 2 * terminatorBytes + keySuffixBytes) return false
  const rowEnd = rowEndOf(source, keyStart, keyEnd)
  const qualifierEnd = qualifierEndOf(keyEnd)
  return (
    rowEnd + terminatorBytes <= qualifierEnd &&
    source[rowEnd] === 0 &&
    source[rowEnd + 1] === 1 &&
    source[qualifierEnd] === 0 &&
    source[qualifierEnd + 1] === 1
  )
}

/** Whether a type code names a marker that concerns the whole family. */
export function isFamilyMarker(type: number): boolean {
  return type === CellType.deleteFamily || type === CellType.deleteFamilyVersion
}
