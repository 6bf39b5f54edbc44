/**
 * Micro-benchmarks of the LZ4 codec: native-free against lz4-napi (where installed) by block size.
 *
 * A call handles `blocksPerCall` different blocks, so multiply Benchmark.js's rate by it: the names
 * say so. Different blocks in turn, because branch prediction learns a single one by heart.
 */
import type Benchmark from 'benchmark'
import { lz4Compress, lz4CompressBound } from '../../native-free/lz4.js'
import { lz4Decompress } from '../../native-free/lz4-decompress.js'
import { loadCodecs } from '../../src/storage/codec/codec.js'
import { probeLz4Napi } from '../../src/storage/codec/lz4.js'

/** Blocks that one call of a benchmark handles. */
export const blocksPerCall = 32

/** Sorted keys with shared prefixes and 100-byte values that compress to a half. */
function makeBlock(length: number, random: () => number): Buffer {
  const block = Buffer.alloc(length + 200)
  let key = 1_000_000
  let at = 0
  while (at < length) {
    key += 1 + Math.floor(random() * 5)
    at += block.write(`user:${String(key).padStart(11, '0')}`, at, 'latin1')
    for (let i = 0; i < 8; i++) block[at++] = i < 4 ? 0xff : random() * 256
    for (let i = 0; i < 50; i++) block[at++] = 32 + random() * 95
    block.copy(block, at, at - 50, at)
    at += 50
  }
  return block.subarray(0, length)
}

function makeBlocks(length: number): Buffer[] {
  let state = 88_172_645
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 0x1_0000_0000
  }
  return Array.from({ length: blocksPerCall }, () => makeBlock(length, random))
}

/** Adds the benchmarks to a suite. */
export function addTo(suite: Benchmark.Suite): void {
  const addon = probeLz4Napi()
  const codec = loadCodecs().byName('lz4')
  for (const length of [4096, 16_384, 65_536]) {
    const name = `${length / 1024} KiB (x ${blocksPerCall})`
    const blocks = makeBlocks(length)
    const target = Buffer.alloc(lz4CompressBound(length))
    const compressed = blocks.map((block) => {
      return Buffer.from(target.subarray(0, lz4Compress(block, 0, length, target, 0)))
    })
    suite.add(`lz4 compress native-free ${name}`, () => {
      for (const block of blocks) lz4Compress(block, 0, length, target, 0)
    })
    suite.add(`lz4 decompress native-free ${name}`, () => {
      for (const block of compressed) lz4Decompress(block, 0, block.length, target, 0, length)
    })
    suite.add(`lz4 decompress codec ${name}`, () => {
      for (const block of compressed) codec.decompress(block, 0, block.length, target, length)
    })
    if (addon === undefined) continue
    suite.add(`lz4 decompress lz4-napi ${name}`, () => {
      for (const block of compressed) addon.uncompressSync(block).copy(target, 0)
    })
  }
}
