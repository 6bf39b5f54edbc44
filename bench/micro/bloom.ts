/**
 * Micro-benchmarks of the Bloom filter: building, asking for present and for absent keys.
 *
 * A call handles `keysPerCall` hashes made beforehand, so multiply Benchmark.js's rate by it: the
 * names say so.
 */
import type Benchmark from 'benchmark'
import { Hash64, hashRange } from '../../src/base/hash.js'
import { Filter, FilterBuilder } from '../../src/storage/sstable/filter.js'

/** Hashes that one call of a benchmark handles. */
export const keysPerCall = 10_000

function makeHashes(first: number, count: number): Hash64[] {
  const key = Buffer.alloc(16)
  return Array.from({ length: count }, (_, i) => {
    key.writeUInt32BE(first + i, 6)
    const hash = new Hash64()
    hashRange(key, 0, key.length, hash)
    return hash
  })
}

/** Adds the benchmarks to a suite. */
export function addTo(suite: Benchmark.Suite): void {
  const small = makeHashes(0, keysPerCall)
  suite.add(`bloom build (x ${keysPerCall})`, () => {
    const builder = new FilterBuilder(10)
    for (const hash of small) builder.add(hash)
    builder.finish()
  })
  for (const size of [10_000, 1_000_000]) {
    const builder = new FilterBuilder(10)
    const present = makeHashes(0, size)
    for (const hash of present) builder.add(hash)
    const filter = Filter.decode(builder.finish())!
    const absent = makeHashes(size, keysPerCall)
    let passed = 0
    suite.add(`bloom present, ${size} keys (x ${keysPerCall})`, () => {
      passed = 0
      for (let i = 0; i < keysPerCall; i++) if (filter.mayContain(present[i])) passed++
      if (passed !== keysPerCall) throw new Error('lost a key')
    })
    suite.add(`bloom absent, ${size} keys (x ${keysPerCall})`, () => {
      passed = 0
      for (let i = 0; i < keysPerCall; i++) if (filter.mayContain(absent[i])) passed++
      if (passed > keysPerCall * 0.02) throw new Error('too many pass')
    })
  }
}
