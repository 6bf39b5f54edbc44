/**
 * The stored form of a cell's value.
 *
 *   value = flags(1) [ttl(6)] content
 *
 * Flag bit 0: a cell TTL in milliseconds follows, 48 bits big-endian. The other bits are zero and
 * reserved for tags. On disk: never change.
 */
import { readPrefix48, writeUint48BE } from '../base/bytes.js'

/** Flags of a value without anything in front of its content. */
export const plainValueFlags = 0

const flagTtl = 1
const ttlBytes = 6

/** Bytes in front of the content. */
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

/** Offset of the content of a stored value that starts at `valueStart`. */
export function contentStart(source: Buffer, valueStart: number): number {
  return (source[valueStart] & flagTtl) === 0 ? valueStart + 1 : valueStart + 1 + ttlBytes
}

/** Cell TTL in milliseconds, 0 if there is none. */
export function ttlOf(source: Buffer, valueStart: number): number {
  if ((source[valueStart] & flagTtl) === 0) return 0
  return readPrefix48(source, valueStart + 1, valueStart + 1 + ttlBytes)
}
