/**
 * Micro-benchmarks of the Bloom filter hash by key length.
 *
 * A call hashes `keysPerCall` keys, so multiply Benchmark.js's rate by it: the names say so.
 */
import type Benchmark from 'benchmark'
import { Hash64, hashRange } from '../../src/base/hash.js'

/** Keys that one call of a benchmark hashes. */
export const keysPerCall = 10_000

/** Adds the benchmarks to a suite. */
export function addTo(suite: Benchmark.Suite): void {
  const result = new Hash64()
  for (const length of [8, 16, 24, 100]) {
    const keys = Buffer.alloc(keysPerCall + length)
    for (let i = 0; i < keys.length; i++) keys[i] = Math.imul(i, 0x9e3779b1) >>> 24
    let folded = 0
    suite.add(`hash ${length} bytes (x ${keysPerCall})`, () => {
      for (let start = 0; start < keysPerCall; start++) {
        hashRange(keys, start, start + length, result)
        folded ^= result.low ^ result.high
      }
      // Keeps the loop from being thrown away.
      keys[0] = folded
    })
  }
}
