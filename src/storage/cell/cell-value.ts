/**
 * The stored form of a cell's value.
 *
 *   value = flags(1) [ttl(6)] content
 *
 * Flag bit 0: a cell TTL in milliseconds follows, 48 bits big-endian. Flag bit 1, in SSTables only:
 * the content is in a value file. In its place stands a reference of four big-endian numbers: file
 * number (8 bytes), offset (8), stored bytes (4) and content bytes (4). The other bits are zero and
 * reserved for tags. On disk: never change.
 */
import { readPrefix48, writeUint48BE } from '../../base/bytes.js'

/** Flags of a value that has no TTL and lies in the cell itself. */
export const plainValueFlags = 0

const flagTtl = 1
const flagReference = 2
const ttlBytes = 6
/** Bytes of a reference. On disk: never change. */
export const referenceBytes = 24
const wordRange = 0x1_0000_0000

/** Where the content of a cell lies in a value file. */
export interface ValueReference {
  readonly fileNumber: number
  readonly offset: number
  /** Bytes in the value file, with the trailer. */
  readonly storedBytes: number
  readonly contentBytes: number
}

/** Bytes of flags and TTL in front of the content; a TTL of 0 means none. */
export function valueHeaderBytes(ttlMilliseconds: number): number {
  return ttlMilliseconds > 0 ? 1 + ttlBytes : 1
}

/** Writes flags and TTL (0 = none) and returns the offset where the content goes. */
export function writeValueHeader(target: Buffer, offset: number, ttlMilliseconds: number): number {
  if (ttlMilliseconds <= 0) {
    target[offset] = 0
    return offset + 1
  }
  target[offset] = flagTtl
  writeUint48BE(target, offset + 1, ttlMilliseconds)
  return offset + 1 + ttlBytes
}

/** Offset of the content (or of the reference) of a stored value that starts at `valueStart`. */
export function contentStart(source: Buffer, valueStart: number): number {
  return (source[valueStart] & flagTtl) === 0 ? valueStart + 1 : valueStart + 1 + ttlBytes
}

/** Cell TTL in milliseconds, 0 if there is none. */
export function ttlOf(source: Buffer, valueStart: number): number {
  if ((source[valueStart] & flagTtl) === 0) return 0
  return readPrefix48(source, valueStart + 1, valueStart + 1 + ttlBytes)
}

/** Whether the stored value `source[start, end)` refers to a value file. */
export function isReference(source: Buffer, start: number, end: number): boolean {
  return end > start && (source[start] & flagReference) !== 0
}

/**
 * Writes a stored value that refers to a value file and returns the offset after it. TTL as in
 * {@link writeValueHeader}. REQUIRES room for the header and {@link referenceBytes}.
 */
export function writeReference(
  target: Buffer,
  start: number,
  ttlMilliseconds: number,
  reference: ValueReference,
): number {
  let at = writeValueHeader(target, start, ttlMilliseconds)
  target[start] |= flagReference
  for (const number of [reference.fileNumber, reference.offset]) {
    at = target.writeUInt32BE(Math.floor(number / wordRange), at)
    at = target.writeUInt32BE(number % wordRange, at)
  }
  at = target.writeUInt32BE(reference.storedBytes, at)
  return target.writeUInt32BE(reference.contentBytes, at)
}

/** Reads the reference in a stored value; undefined if the length is wrong for a reference. */
export function readReference(
  source: Buffer,
  start: number,
  end: number,
): ValueReference | undefined {
  const at = contentStart(source, start)
  if (end - at !== referenceBytes) return undefined
  return {
    fileNumber: source.readUInt32BE(at) * wordRange + source.readUInt32BE(at + 4),
    offset: source.readUInt32BE(at + 8) * wordRange + source.readUInt32BE(at + 12),
    storedBytes: source.readUInt32BE(at + 16),
    contentBytes: source.readUInt32BE(at + 20),
  }
}
