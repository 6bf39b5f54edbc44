/** Inputs for the codec tests. */

/** A small generator of reproducible numbers below 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 0x1_0000_0000
  }
}

/** The seed of this run. */
export const seed = Number(process.env['CELLAR_SEED'] ?? 20260101)

/** Bytes that do not compress. */
export function incompressible(length: number, random: () => number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = random() * 256
  return bytes
}

/** Sorted keys with shared prefixes and 100-byte values of which a half repeats. */
export function blockContent(length: number, random: () => number): Buffer {
  const bytes = Buffer.alloc(length + 200)
  let key = 1_000_000
  let at = 0
  while (at < length) {
    key += 1 + Math.floor(random() * 5)
    at += bytes.write(`user:${String(key).padStart(11, '0')}`, at, 'latin1')
    for (let i = 0; i < 8; i++) bytes[at++] = i < 4 ? 0xff : random() * 256
    for (let i = 0; i < 50; i++) bytes[at++] = 32 + random() * 95
    bytes.copy(bytes, at, at - 50, at)
    at += 50
  }
  return bytes.subarray(0, length)
}

/** Few different bytes with long runs and short periods. */
export function runs(length: number, random: () => number): Buffer {
  const bytes = Buffer.alloc(length)
  let at = 0
  while (at < length) {
    const period = 1 + Math.floor(random() * 9)
    const end = Math.min(length, at + Math.floor(random() ** 4 * 2000) + 1)
    const from = at
    for (; at < end; at++) {
      bytes[at] = at - from < period ? random() * 256 : bytes[at - period]
    }
  }
  return bytes
}

/** Every kind of content in every length at which format or implementation change course. */
export function* samples(): Generator<{ name: string; bytes: Buffer }> {
  const random = seededRandom(seed)
  const lengths = [
    0, 1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 31, 63, 64, 65, 254, 255, 256,
    269, 270, 271, 272, 273, 274, 275, 525, 1000, 4095, 4096, 16384, 65535, 65536, 65537, 65555,
    131072, 300_000,
  ]
  for (const length of lengths) {
    yield { name: `${length} zeros`, bytes: Buffer.alloc(length) }
    yield { name: `${length} incompressible bytes`, bytes: incompressible(length, random) }
    yield { name: `${length} bytes of keys and values`, bytes: blockContent(length, random) }
    yield { name: `${length} bytes of runs`, bytes: runs(length, random) }
  }
  // A repetition just inside and just outside the farthest distance.
  for (const gap of [65_534, 65_535, 65_536]) {
    const word = incompressible(64, random)
    const far = Buffer.concat([word, incompressible(gap - 64, random), word])
    yield { name: `a repetition ${gap} bytes back`, bytes: far }
  }
}
