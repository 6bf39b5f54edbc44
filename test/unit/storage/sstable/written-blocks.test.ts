import t from 'tap'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import {
  LentBlocks,
  LentSegments,
  WrittenBlocksBuilder,
} from '../../../../src/storage/sstable/blocks/written-blocks.js'
import { ownerOf, payloadOf, writeBlocks } from '../../../helpers/cells/written-blocks.js'

const mebibyte = 1024 * 1024

/** Segments of a thread: the same memory in other objects. */
function segments(count: number): SharedArrayBuffer[] {
  return Array.from({ length: count }, () => new SharedArrayBuffer(mebibyte))
}

void t.test('lent blocks are the written ones', async (t) => {
  const memory = segments(4)
  const builder = new WrittenBlocksBuilder(new LentSegments(memory))
  const payloads = [0, 1, 2, 3, 4, 5, 6].map((i) => payloadOf(`row${i}`, 300_000 + i))
  for (const payload of payloads) builder.add(payload, payload.length)
  const written = structuredClone(builder.finish()!)
  t.same(written.segments, [0, 1, 2])
  const lent = new LentBlocks(ownerOf(7), written, memory)
  for (let i = 0; i < 7; i++) {
    t.ok(lent.has(i))
    const block = lent.make(i)
    t.equal(block.payloadBytes, payloads[i].length)
    t.ok(block.buffer.subarray(0, block.payloadBytes).equals(payloads[i]))
  }
  t.notOk(lent.has(7))
  t.equal(lent.lastStart, 6)
  t.equal(lent.dropLast(), memory[2])
  t.same([lent.has(5), lent.has(6), lent.segmentCount], [true, false, 2])
  t.equal(lent.lastStart, 3)
  lent.dropLast()
  t.equal(lent.dropLast(), memory[0])
  t.notOk(lent.has(0))
})

void t.test('a block that is longer than a segment is not kept', async (t) => {
  const memory = segments(2)
  const builder = new WrittenBlocksBuilder(new LentSegments(memory))
  for (const bytes of [1000, 2 * mebibyte, 1000]) builder.add(payloadOf('k', bytes), bytes)
  const lent = new LentBlocks(ownerOf(3), builder.finish()!, memory)
  t.same([lent.has(0), lent.has(1), lent.has(2)], [true, false, true])
  t.equal(lent.lastStart, 0)
})

void t.test('the outputs of a job share its segments', async (t) => {
  const lent = new LentSegments(segments(3))
  const first = new WrittenBlocksBuilder(lent)
  for (let i = 0; i < 5; i++) first.add(Buffer.alloc(600_000), 600_000)
  const second = new WrittenBlocksBuilder(lent)
  second.add(Buffer.alloc(100), 100)
  const kept = first.finish()!
  t.same(kept.segments, [0, 1, 2])
  t.equal(new LentBlocks(ownerOf(5), kept, segments(3)).has(3), false, 'without room')
  t.equal(second.finish(), undefined)
})

void t.test('segments are used again, and dropped before blocks of reads', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const first = writeBlocks(cache, 30, mebibyte - 100)
  t.equal(first.segmentCount, 30)
  t.equal(cache.bytesUsed, 30 * mebibyte)
  const second = writeBlocks(cache, 40, mebibyte - 100)
  t.ok(second.segmentCount > 30 && second.segmentCount < 34, 'as many as there is room for')
  cache.endLoan(first)
  cache.endLoan(first)
  t.equal(cache.segments.lentBytes, second.segmentCount * mebibyte)
  const third = writeBlocks(cache, 15, mebibyte - 100)
  t.equal(third.segmentCount, 15)
  t.equal(cache.segments.bytes, (30 + second.segmentCount) * mebibyte, 'no segment was made')
  cache.resize(16 * mebibyte)
  t.ok(second.segmentCount === 0 && third.segmentCount < 16, 'the oldest goes first')
  t.ok(cache.bytesUsed <= 16 * mebibyte)
  cache.resize(0)
  t.equal(cache.bytesUsed, 0)
})

void t.test('a block that is used survives its segment', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const lent = writeBlocks(cache, 40, 500_000)
  const { owner } = lent
  const get = (index: number) => owner.blocks[index] ?? cache.admitWritten(lent, index)
  const hot = get(0)
  hot.frequency = 2
  const cold = get(1)
  const held = get(2)
  held.holders++
  const heldContent = Buffer.from(held.buffer)
  const pinned = get(4)
  cache.pin(pinned, 1)
  const pinnedContent = Buffer.from(pinned.buffer)
  const content = Buffer.from(hot.buffer.subarray(0, hot.payloadBytes))
  const before = cache.segments.bytes
  cache.resize(4 * mebibyte)
  t.ok(cache.segments.bytes < before)
  while (lent.segmentCount > 0) cache.resize(cache.bytesUsed - mebibyte)
  t.not(owner.blocks[0], hot)
  t.equal(owner.blocks[1], undefined)
  t.equal(owner.blocks[2], undefined, 'a held block leaves the cache, its memory stays')
  t.ok(held.buffer.equals(heldContent))
  t.equal(owner.blocks[4], pinned)
  t.ok(pinned.buffer.equals(pinnedContent))
  const copy = owner.blocks[0]
  if (copy !== undefined) t.ok(copy.buffer.subarray(0, copy.payloadBytes).equals(content))
  cache.unpin(pinned)
  cache.resize(0)
  t.same(
    owner.blocks.filter((block) => block !== undefined),
    [],
  )
  t.equal(cold.queue, 0)
})

void t.test('the blocks of a segment share an address, until the segment leaves', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const lent = writeBlocks(cache, 10, 500_000)
  const { addresses } = cache
  const blocks = [0, 1, 2].map((index) => cache.admitWritten(lent, index))
  const [first, second, third] = blocks.map((block) => cache.addressOf(block))
  t.equal(first, second)
  t.not(first, third, 'the third block lies in another segment')
  const generation = addresses.generationOf(first)
  const memory = addresses.find(first, generation)!
  for (const { addressStart, buffer, payloadBytes } of blocks.slice(0, 2)) {
    const there = memory.subarray(addressStart, addressStart + payloadBytes)
    t.ok(there.equals(buffer.subarray(0, payloadBytes)))
  }
  cache.pin(blocks[0], 1)
  cache.endLoan(lent)
  t.equal(addresses.find(first, generation), undefined)
  const own = cache.addressOf(blocks[0])
  t.equal(addresses.find(own, addresses.generationOf(own)), blocks[0].buffer)
  cache.unpin(blocks[0])
  cache.resize(0)
  t.notOk(addresses.find(own, addresses.generationOf(own)))
})

void t.test('a block that is read by address counts as hot when its segment goes', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const lent = writeBlocks(cache, 10, 500_000)
  const { owner } = lent
  for (const index of [0, 1]) cache.admitWritten(lent, index)
  owner.hits[0] = 3
  cache.resize(7 * mebibyte)
  while (lent.segmentCount > 0) cache.resize(cache.bytesMax - mebibyte / 4)
  t.ok(owner.blocks[0] !== undefined, 'it has got memory of its own')
  t.equal(owner.blocks[1], undefined)
  t.equal(owner.hits[0], 0, 'hits are counted anew')
})

void t.test('a job takes no memory from blocks that are read until it ends', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const lent = writeBlocks(cache, 110, 500_000)
  const { segmentCount } = lent
  const { bytesUsed } = cache
  const room = cache.bytesMax - cache.memory.bytesMax - bytesUsed
  const memory = cache.borrowSegments(60 * mebibyte)
  t.equal(memory.length, Math.floor(room / mebibyte))
  t.ok(memory.length > 0 && memory.length < 20)
  cache.admitWritten(lent, 0)
  t.equal(lent.segmentCount, segmentCount)
})

void t.test('a segment is not used again while a read holds a block of it', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const lent = writeBlocks(cache, 10, 500_000)
  const held = cache.admitWritten(lent, 0)
  held.holders++
  cache.endLoan(lent)
  const next = cache.borrowSegments(60 * mebibyte)
  t.ok(next.length > 50)
  t.notOk(next.includes(held.buffer.buffer as unknown as SharedArrayBuffer))
})

void t.test('segments of a job that failed are not used again', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const memory = cache.borrowSegments(5 * mebibyte)
  t.equal(cache.bytesUsed, 5 * mebibyte)
  cache.segments.end(memory, true)
  t.equal(cache.bytesUsed, 0)
  const next = cache.borrowSegments(5 * mebibyte)
  t.notOk(next.some((segment) => memory.includes(segment)))
  cache.segments.end(next, false)
  t.same(new Set(cache.borrowSegments(5 * mebibyte)), new Set(next))
})

void t.test('a job works with fewer segments if the system refuses memory', async (t) => {
  const cache = new BlockCache(64 * mebibyte)
  const idle = cache.borrowSegments(2 * mebibyte)
  cache.segments.end(idle, false)
  const real = globalThis.SharedArrayBuffer
  let allowed = 3
  class Refusing extends real {
    constructor(bytes: number) {
      if (allowed-- <= 0) throw new RangeError('Array buffer allocation failed')
      super(bytes)
    }
  }
  globalThis.SharedArrayBuffer = Refusing as SharedArrayBufferConstructor
  t.teardown(() => {
    globalThis.SharedArrayBuffer = real
  })
  const memory = cache.borrowSegments(20 * mebibyte)
  t.same(memory.slice(0, idle.length), idle, 'free segments are used first')
  t.equal(memory.length, idle.length + 3)
  t.equal(cache.bytesUsed, memory.length * cache.segments.segmentBytes)
  cache.segments.end(memory, true)
  t.equal(cache.bytesUsed, 0, 'no segment is counted that nothing has')
})
