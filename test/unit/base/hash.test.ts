import t from 'tap'
import { Hash64, hashRange } from '../../../src/base/hash.js'

const hash = new Hash64()

function hex(bytes: Buffer, seed = 0): string {
  hashRange(bytes, 0, bytes.length, hash, seed)
  const low = (hash.low >>> 0).toString(16).padStart(8, '0')
  return (hash.high >>> 0).toString(16).padStart(8, '0') + low
}

/** The documented steps in BigInt arithmetic. */
function reference(bytes: Buffer, seed: number): string {
  const u32 = (value: bigint): bigint => BigInt.asUintN(32, value)
  const rotl = (value: bigint, by: bigint): bigint => u32((value << by) | (value >> (32n - by)))
  const mix = (value: bigint, a: bigint, b: bigint): bigint => {
    let h = value ^ (value >> 16n)
    h = u32(h * a)
    h ^= h >> 13n
    h = u32(h * b)
    return h ^ (h >> 16n)
  }
  let low = u32(BigInt(seed) + 0x165667b1n)
  let high = u32(BigInt(seed)) ^ 0x27d4eb2fn
  for (let at = 0; at < bytes.length; at += 4) {
    let word = 0n
    for (let i = Math.min(3, bytes.length - at - 1); i >= 0; i--) {
      word = word * 256n + BigInt(bytes[at + i])
    }
    low = u32(rotl(u32(low + word * 0x85ebca77n), 13n) * 0x9e3779b1n)
    high = u32(rotl(high ^ u32(word * 0xc2b2ae3dn), 17n) * 0x165667b1n)
  }
  low ^= BigInt(bytes.length)
  high = u32(high + BigInt(bytes.length) * 0x9e3779b1n)
  low = u32(low + high)
  high = u32(high + low)
  low = mix(low, 0x85ebca6bn, 0xc2b2ae35n)
  high = mix(high, 0x7feb352dn, 0x846ca68bn)
  low = u32(low + high)
  high = u32(high + low)
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}

void t.test('the values that files depend on never change', async (t) => {
  const known: [string, string][] = [
    ['', '54a6e13b8b6615e6'],
    ['a', 'e9c1414561d1f4d5'],
    ['abc', '16bb397b0bc0bb0a'],
    ['abcd', '1ccb1854753b31d6'],
    ['hello world, 24 bytes!!!', '2d249a15c0f8f1ce'],
  ]
  for (const [text, expected] of known) t.equal(hex(Buffer.from(text)), expected, `"${text}"`)
})

void t.test('the function is the documented one for every length and seed', async (t) => {
  const bytes = Buffer.alloc(70)
  for (let i = 0; i < bytes.length; i++) bytes[i] = i * 167 + 200
  for (let length = 0; length <= 70; length++) {
    for (const seed of [0, 1, 0x7fffffff, -5]) {
      const part = bytes.subarray(0, length)
      if (hex(part, seed) !== reference(part, seed)) t.fail(`length ${length}, seed ${seed}`)
    }
  }
})

void t.test('only the range counts, and zeros at the end count', async (t) => {
  const expected = hex(Buffer.from('row-17'))
  const wide = Buffer.from('xxrow-17yy')
  hashRange(wide, 2, 8, hash)
  t.equal(hash.low >>> 0, parseInt(expected.slice(8), 16))
  t.equal(hash.high >>> 0, parseInt(expected.slice(0, 8), 16))
  const zeros = new Set<string>()
  for (let length = 0; length < 40; length++) zeros.add(hex(Buffer.alloc(length)))
  t.equal(zeros.size, 40)
})

void t.test('halves are 32-bit integers', async (t) => {
  for (let i = 0; i < 1000; i++) {
    hashRange(Buffer.from(String(i)), 0, String(i).length, hash)
    if (hash.low !== (hash.low | 0) || hash.high !== (hash.high | 0)) t.fail(String(i))
  }
})

void t.test('each input bit changes each output bit about half the time', async (t) => {
  for (const length of [1, 3, 4, 8, 16, 21, 32]) {
    const trials = 600
    const flips = new Uint32Array(length * 8 * 64)
    const bytes = Buffer.alloc(length)
    let state = 12345
    for (let trial = 0; trial < trials; trial++) {
      for (let i = 0; i < length; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        bytes[i] = state >>> 24
      }
      hashRange(bytes, 0, length, hash)
      const { low, high } = hash
      for (let bit = 0; bit < length * 8; bit++) {
        bytes[bit >> 3] ^= 1 << (bit & 7)
        hashRange(bytes, 0, length, hash)
        bytes[bit >> 3] ^= 1 << (bit & 7)
        for (let out = 0; out < 32; out++) {
          flips[bit * 64 + out] += ((low ^ hash.low) >>> out) & 1
          flips[bit * 64 + 32 + out] += ((high ^ hash.high) >>> out) & 1
        }
      }
    }
    // 600 fair coins stay within 0.35 to 0.65 but for one time in 10^12; one byte has few values.
    const slack = length === 1 ? 0.25 : 0.15
    const lowest = flips.reduce((a, b) => Math.min(a, b)) / trials
    const highest = flips.reduce((a, b) => Math.max(a, b)) / trials
    t.ok(lowest > 0.5 - slack && highest < 0.5 + slack, `${length} bytes: ${lowest}, ${highest}`)
  }
})

void t.test('a million sequential keys collide as rarely as random numbers', async (t) => {
  const count = 1_000_000
  const binary = Buffer.alloc(8)
  const text = Buffer.from('user:00000000000')
  const makers: [string, (i: number) => Buffer][] = [
    ['binary', (i) => (binary.writeUInt32BE(i, 4), binary)],
    [
      'text',
      (i) => {
        let rest = i
        for (let at = 15; at >= 5; at--, rest = Math.floor(rest / 10)) text[at] = 48 + (rest % 10)
        return text
      },
    ],
  ]
  for (const [name, make] of makers) {
    const lows = new Uint32Array(count)
    const both = new Float64Array(count)
    const buckets = new Uint32Array(1024)
    for (let i = 0; i < count; i++) {
      const key = make(i)
      hashRange(key, 0, key.length, hash)
      lows[i] = hash.low
      // 53 of the 64 bits.
      both[i] = (hash.high >>> 0) * 2 ** 21 + (hash.low >>> 11)
      buckets[hash.high >>> 22]++
    }
    lows.sort()
    both.sort()
    let collisions = 0
    let fullCollisions = 0
    for (let i = 1; i < count; i++) {
      if (lows[i] === lows[i - 1]) collisions++
      if (both[i] === both[i - 1]) fullCollisions++
    }
    // Random numbers: 116 collide in 32 bits, 0.00006 in 53; 977 a bucket with deviation 31.
    t.ok(collisions < 200, `${name}: ${collisions} collisions in 32 bits`)
    t.equal(fullCollisions, 0, `${name}: no collision in 53 bits`)
    t.ok(Math.max(...buckets) < 977 + 190 && Math.min(...buckets) > 977 - 190, `${name}: even`)
  }
})
