import t from 'tap'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import {
  LentBlocks,
  WrittenBlocksBuilder,
  WrittenBudget,
  type WrittenBlocks,
} from '../../../../src/storage/sstable/blocks/written-blocks.js'

const mebibyte = 1024 * 1024

function written(blockBytes: number, count: number, bytesMax = 64 * mebibyte): WrittenBlocks {
  const builder = new WrittenBlocksBuilder(new WrittenBudget(bytesMax))
  for (let i = 0; i < count; i++) builder.add(Buffer.alloc(blockBytes + 8, i + 1), blockBytes)
  return builder.finish()!
}

void t.test('lent blocks are copied as they were written', async (t) => {
  const lent = new LentBlocks(structuredClone(written(300_000, 7)))
  t.equal(lent.bytes, 3 * mebibyte)
  for (let i = 0; i < 7; i++) {
    t.ok(lent.has(i))
    t.equal(lent.lengthOf(i), 300_000)
    const target = Buffer.alloc(300_000)
    lent.copy(i, target)
    t.ok(target.every((byte) => byte === i + 1))
  }
  t.notOk(lent.has(7))
})

void t.test('a block longer than a segment has a segment of its own', async (t) => {
  const lent = new LentBlocks(written(3 * mebibyte, 2))
  t.equal(lent.bytes, 6 * mebibyte)
  t.equal(lent.taken(0), 3 * mebibyte)
  t.notOk(lent.has(0))
  t.ok(lent.has(1))
})

void t.test('outputs of a job keep blocks within one budget', async (t) => {
  const budget = new WrittenBudget(2 * mebibyte + 5)
  const first = new WrittenBlocksBuilder(budget)
  for (let i = 0; i < 4; i++) first.add(Buffer.alloc(mebibyte / 2), mebibyte / 2)
  const second = new WrittenBlocksBuilder(budget)
  second.add(Buffer.alloc(100), 100)
  t.equal(budget.bytesLeft, 5)
  t.equal(first.finish()?.blockCount, 4)
  t.equal(second.finish(), undefined)
})

void t.test('a builder without room keeps no later block either', async (t) => {
  const builder = new WrittenBlocksBuilder(new WrittenBudget(mebibyte))
  for (const bytes of [1000, 2 * mebibyte, 1000]) builder.add(Buffer.alloc(bytes), bytes)
  t.equal(builder.finish()?.blockCount, 1, 'blocks are kept from the first one on')
})

void t.test('a segment is freed with its last block', async (t) => {
  const lent = new LentBlocks(written(400_000, 3))
  t.equal(lent.taken(0), 0)
  t.equal(lent.taken(1), mebibyte)
  t.same([lent.has(0), lent.has(1), lent.has(2)], [false, false, true])
  t.equal(lent.dropLast(), mebibyte)
  t.equal(lent.dropLast(), 0)
  t.equal(lent.bytes, 0)
})

void t.test('the cache drops lent blocks first, the oldest loan first', async (t) => {
  const cache = new BlockCache(40 * mebibyte)
  const room = cache.promiseRoom(0, 0.5)
  t.ok(room > 19 * mebibyte && room < 20 * mebibyte)
  t.equal(cache.promiseRoom(0, 0.5), Math.floor(room / 2), 'what is promised is not there')
  cache.endPromise(room)
  cache.endPromise(Math.floor(room / 2))
  t.equal(cache.promiseRoom(0), 2 * room)
  cache.endPromise(2 * room)
  const loans = [20, 10, 5].map((count) => new LentBlocks(written(mebibyte, count)))
  for (const lent of loans) cache.lend(lent)
  t.equal(cache.bytesUsed, 35 * mebibyte)
  cache.resize(16 * mebibyte)
  t.same(
    loans.map(({ bytes }) => bytes / mebibyte),
    [0, 10, 5],
  )
  cache.takeLent(loans[2], 0)
  t.equal(cache.bytesUsed, 14 * mebibyte)
  cache.endLoan(loans[1])
  cache.endLoan(loans[1])
  t.equal(cache.bytesUsed, 4 * mebibyte)
  cache.resize(0)
  t.equal(cache.bytesUsed, 0)
})
