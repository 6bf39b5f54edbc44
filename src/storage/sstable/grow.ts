/** Doubling growth of the arrays that writers fill. */

/** `buffer`, or a copy of its first `used` bytes in a buffer of at least `needed` bytes. */
export function growBuffer(buffer: Buffer, used: number, needed: number): Buffer {
  if (needed <= buffer.length) return buffer
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, buffer.length * 2))
  buffer.copy(larger, 0, 0, used)
  return larger
}

/** `array`, or a copy with space for at least `needed` numbers. */
export function growNumbers(
  array: Uint32Array<ArrayBuffer>,
  needed: number,
): Uint32Array<ArrayBuffer> {
  if (needed <= array.length) return array
  const larger = new Uint32Array(Math.max(needed, array.length * 2))
  larger.set(array)
  return larger
}
