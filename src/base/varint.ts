/**
 * Unsigned LEB128 integers of up to 32 bits: seven bits a byte, low bits first, the top bit set on
 * all but the last byte. At most five bytes.
 */

/** Bytes that {@link writeVarint} uses for `value`. */
export function varintLength(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x20_0000) return 3
  if (value < 0x1000_0000) return 4
  return 5
}

/** Writes `value` (0 to 2^32-1) and returns the offset after it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let rest = value >>> 0
  let at = offset
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  target[at++] = rest
  return at
}

/**
 * Reads an integer at `offset`. The caller finds the end with {@link varintLength} of the result,
 * since only minimal forms are written. Returns -1 if the bytes run past `end` or past five bytes.
 */
export function readVarint(source: Uint8Array, offset: number, end: number): number {
  let value = 0
  let scale = 1
  for (let i = 0; i < 5; i++) {
    if (offset + i >= end) return -1
    const byte = source[offset + i]
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return value > 0xffff_ffff ? -1 : value
    scale *= 0x80
  }
  return -1
}
