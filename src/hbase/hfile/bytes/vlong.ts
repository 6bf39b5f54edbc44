/** Hadoop's numbers of variable length. */

/** Encodes a number that is not negative. */
export function writeVlong(value: number): Buffer {
  if (value <= 127) return Buffer.from([value])
  const bytes: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.from([256 - 112 - bytes.length, ...bytes])
}

/** A number and the offset behind it. */
export interface Vlong {
  readonly value: number
  readonly end: number
}

/** Reads a number from `source[at, end)`; undefined if there is none, or a negative one. */
export function readVlong(source: Buffer, at: number, end: number): Vlong | undefined {
  if (at >= end) return undefined
  const first = source[at]
  if (first < 128) return { value: first, end: at + 1 }
  const bytes = 256 - 112 - first
  if (bytes < 1 || bytes > 7 || at + 1 + bytes > end) return undefined
  let value = 0
  for (let i = 1; i <= bytes; i++) value = value * 256 + source[at + i]
  return { value, end: at + 1 + bytes }
}
