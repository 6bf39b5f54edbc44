/** Generators of the benchmarks against published constants and definitions. */
import t from 'tap'
import { fnv1a64, Hash64, hashModulo } from '../../../bench/harness/draws/fnv.js'
import { decimalKeys, ycsbKeys } from '../../../bench/harness/draws/keys.js'
import { Operation } from '../../../bench/harness/operation.js'
import { ParkMiller, seededRandom } from '../../../bench/harness/draws/random.js'
import { strideOf } from '../../../bench/harness/draws/stride.js'
import { compressiblePool, printablePool, ValuePool } from '../../../bench/harness/draws/values.js'
import {
  Latest,
  ScrambledZipfian,
  scrambledItems,
  scrambledZetan,
  zeta,
  Zipfian,
} from '../../../bench/harness/draws/zipfian.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 301)

/** FNV-1a as its authors define it, on BigInt. */
function fnvByDefinition(value: bigint): bigint {
  let hash = 0xcbf29ce484222325n
  for (let octet = 0n; octet < 8n; octet++) {
    hash ^= (value >> (octet * 8n)) & 0xffn
    hash = BigInt.asUintN(64, hash * 1099511628211n)
  }
  const signed = BigInt.asIntN(64, hash)
  return signed < 0n ? -signed : signed
}

void t.test('FNV-1a of a number is that of its definition', (t) => {
  const random = seededRandom(seed)
  const hash = new Hash64()
  const numbers = [0, 1, 2, 255, 256, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 1e10, 2 ** 53 - 1]
  for (let i = 0; i < 2000; i++) numbers.push(random.below(2 ** random.below(54)))
  for (const number of numbers) {
    fnv1a64(number, hash)
    const expected = fnvByDefinition(BigInt(number))
    const found = BigInt(hash.high) * 0x1_0000_0000n + BigInt(hash.low)
    if (found !== expected) t.equal(found, expected, `seed ${seed}, number ${number}`)
    for (const divisor of [1, 2, 1000, 1_000_001, 2 ** 31, 2 ** 36]) {
      const rest = hashModulo(hash, divisor)
      if (rest !== Number(expected % BigInt(divisor))) {
        t.equal(rest, Number(expected % BigInt(divisor)), `${number} modulo ${divisor}`)
      }
    }
  }
  t.end()
})

void t.test('keys of YCSB are "user" and the decimal hash', (t) => {
  const random = seededRandom(seed)
  const operation = new Operation()
  for (let i = 0; i < 2000; i++) {
    const index = i < 100 ? i : random.below(2 ** 40)
    const expected = `user${fnvByDefinition(BigInt(index))}`
    if (ycsbKeys.make(index).toString() !== expected) {
      t.equal(ycsbKeys.make(index).toString(), expected)
    }
    ycsbKeys.set(operation, index)
    if (operation.row.toString() !== expected) t.equal(operation.row.toString(), expected)
  }
  // As published in many logs of YCSB.
  t.equal(ycsbKeys.make(0).toString(), 'user6284781860667377211')
  t.equal(ycsbKeys.make(1).toString(), 'user8517097267634966620')
  t.end()
})

void t.test('decimal keys are padded with zeros', (t) => {
  t.equal(decimalKeys(16).make(42).toString(), '0000000000000042')
  t.equal(decimalKeys(26).make(1_048_575).toString(), '00000000000000000001048575')
  const operation = new Operation()
  const keys = decimalKeys(16)
  keys.set(operation, 9_999_999_999)
  t.equal(operation.row.toString(), '0000009999999999')
  t.end()
})

void t.test('the generator of db_bench is that of Park and Miller', (t) => {
  // "Random number generators: good ones are hard to find": from 1, the 10,000th is 1043618065.
  const random = new ParkMiller(1)
  t.equal(random.next(), 16807)
  let last = 0
  for (let i = 1; i < 10_000; i++) last = random.next()
  t.equal(last, 1043618065)
  t.equal(new ParkMiller(0).next(), 16807, 'seeds that would stick are replaced by 1')
  t.equal(new ParkMiller(2147483647).next(), 16807)
  t.end()
})

void t.test('fillrandom leaves about 63.2 % of the keys', (t) => {
  const random = new ParkMiller(1000)
  const count = 100_000
  const drawn = new Set<number>()
  for (let i = 0; i < count; i++) drawn.add(random.below(count))
  t.ok(Math.abs(drawn.size / count - 0.632) < 0.005, `${drawn.size} of ${count}`)
  t.end()
})

void t.test('a stride visits every record once', (t) => {
  for (const records of [1, 2, 3, 10, 97, 1000, 4096, 50_000]) {
    const stride = strideOf(records)
    const seen = new Set<number>()
    for (let index = 0; index < records; index++) seen.add((index * stride) % records)
    t.equal(seen.size, records, `${records}`)
  }
  t.end()
})

void t.test('values of db_bench are pieces of a pool that compress to half', (t) => {
  const pool = compressiblePool()
  t.equal(pool.length, Math.ceil(1_048_576 / 100) * 100)
  for (let start = 0; start < pool.length; start += 100) {
    const piece = pool.subarray(start, start + 100)
    if (!piece.subarray(0, 50).equals(piece.subarray(50))) t.fail(`piece at ${start}`)
    if (piece.some((byte) => byte < 0x20 || byte > 0x7e)) t.fail(`bytes of piece at ${start}`)
  }
  t.not(pool.subarray(0, 50).equals(pool.subarray(100, 150)), true)
  const values = new ValuePool(pool, 100)
  t.equal(values.size, pool.length / 100)
  const first = values.next()
  for (let i = 1; i < values.size; i++) values.next()
  t.equal(values.next(), first, 'from the start again')
  t.ok(printablePool(seed, 10_000).every((byte) => byte >= 0x20 && byte < 0x60))
  t.end()
})

void t.test('zeta sums are the published ones', (t) => {
  t.equal(zeta(0, 1, 0.99, 0), 1)
  t.equal(zeta(0, 2, 0.99, 0), 1 + Math.pow(2, -0.99))
  t.equal(zeta(100, 200, 0.99, zeta(0, 100, 0.99, 0)), zeta(0, 200, 0.99, 0), 'sums go on')
  // Of 10^10 items, by Euler and Maclaurin from the sum of the first million.
  const million = 1e6
  const rest = (scrambledItems ** 0.01 - million ** 0.01) / 0.01
  const ends = (scrambledItems ** -0.99 - million ** -0.99) / 2
  const sum = zeta(0, million, 0.99, 0) + rest + ends
  t.ok(Math.abs(sum - scrambledZetan) < 1e-6, `${sum}`)
  t.end()
})

void t.test('a zipfian draws ranks as often as theta says', (t) => {
  const items = 1000
  const draws = 200_000
  const zipfian = new Zipfian(items, seededRandom(seed))
  const counts = new Float64Array(items)
  for (let i = 0; i < draws; i++) counts[zipfian.next()]++
  const expected = (rank: number): number => draws / Math.pow(rank + 1, 0.99) / zipfian.zetan
  for (const rank of [0, 1]) {
    const deviations = Math.abs(counts[rank] - expected(rank)) / Math.sqrt(expected(rank))
    t.ok(deviations < 5, `rank ${rank}: ${counts[rank]} of ${expected(rank)}, seed ${seed}`)
  }
  // Beyond the first two, Gray's formula is an approximation.
  const tail = counts.subarray(500).reduce((sum, count) => sum + count, 0)
  let expectedTail = 0
  for (let rank = 500; rank < items; rank++) expectedTail += expected(rank)
  t.ok(Math.abs(tail / expectedTail - 1) < 0.1, `${tail} of ${expectedTail}, seed ${seed}`)
  t.end()
})

void t.test('the hottest key of a scrambled zipfian takes 3.8 %, whatever the size', (t) => {
  for (const items of [1000, 100_000]) {
    const draws = 100_000
    const zipfian = new ScrambledZipfian(items, seededRandom(seed))
    const counts = new Float64Array(items)
    for (let i = 0; i < draws; i++) counts[zipfian.next()]++
    const hottest = Math.max(...counts) / draws
    t.ok(hottest > 0.035 && hottest < 0.043, `${hottest} of ${items}, seed ${seed}`)
    const hash = new Hash64()
    fnv1a64(0, hash)
    t.equal(counts.indexOf(Math.max(...counts)), hashModulo(hash, items), 'rank 0 is hashed')
  }
  t.end()
})

void t.test('a million records give the hottest hundredth about 39 % of the requests', (t) => {
  const items = 1_000_000
  const draws = 400_000
  const zipfian = new ScrambledZipfian(items, seededRandom(seed))
  const counts = new Uint32Array(items)
  for (let i = 0; i < draws; i++) counts[zipfian.next()]++
  const sorted = counts.sort()
  const top = sorted.subarray(items - items / 100).reduce((sum, count) => sum + count, 0) / draws
  // Chosen after the draw, so a little above the 39 % that the ranks have.
  t.ok(top > 0.37 && top < 0.46, `${top}, seed ${seed}`)
  t.end()
})

void t.test('latest prefers the newest and follows it', (t) => {
  const latest = new Latest(999, seededRandom(seed))
  let newest = 0
  for (let i = 0; i < 20_000; i++) {
    const index = latest.next(999)
    if (index < 0 || index > 999) t.fail(`${index}`)
    if (index === 999) newest++
  }
  const expected = 20_000 / zeta(0, 999, 0.99, 0)
  t.ok(Math.abs(newest / expected - 1) < 0.1, `${newest} of ${expected}, seed ${seed}`)
  const grown = latest.next(5000)
  t.ok(grown >= 0 && grown <= 5000)
  t.end()
})
