/** @runs long */
import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import type { SsTableCursor } from '../../../../src/storage/sstable/cursor.js'
import { aheadCacheBytesMin } from '../../../../src/storage/sstable/blocks/read-ahead.js'
import { ReadCounters } from '../../../../src/storage/sstable/read-counters.js'
import type { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import {
  CountingFileSystem,
  build,
  keyOf,
  open,
  plainEntries,
  randomFrom,
  readAll,
  seed,
  valueOf,
} from './helpers.js'

t.before(() => loadChecksums())

const entries = plainEntries(20_000, 40)

function table(cacheBytes: number) {
  const fileSystem = new CountingFileSystem()
  build(fileSystem, entries, { blockBytes: 1024, codec: 'none' })
  const cache = new BlockCache(cacheBytes)
  const counters = new ReadCounters()
  return { fileSystem, cache, counters, reader: open(fileSystem, { cache, counters }) }
}

void t.test(`the cache never exceeds its bound and stays right, seed ${seed}`, async (t) => {
  const { cache, reader } = table(50_000)
  const random = randomFrom(seed)
  let wrong = 0
  let most = 0
  for (let i = 0; i < 20_000; i++) {
    const entry = entries[Math.floor(random() ** 3 * entries.length)]
    const cursor = reader.cursor()
    cursor.seek(entry.key, entry.key.length)
    if (!valueOf(cursor).equals(entry.value)) wrong++
    most = Math.max(most, cache.bytesUsed)
  }
  t.equal(wrong, 0)
  t.ok(most <= 50_000 && most > 40_000, `${most}`)
  cache.resize(10_000)
  t.ok(cache.bytesUsed <= 10_000)
  t.equal(cache.bytesMax, 10_000)
})

void t.test('a second read of a block is a hit and reads nothing', async (t) => {
  const { counters, reader } = table(1 << 20)
  const { key } = entries[500]
  reader.cursor().seek(key, key.length)
  t.same([counters.cacheHits, counters.cacheMisses, counters.blocksRead], [0, 1, 1])
  reader.cursor().seek(key, key.length)
  t.same([counters.cacheHits, counters.cacheMisses, counters.blocksRead], [1, 1, 1])
  t.ok(counters.blockBytesRead > 0)
})

void t.test('a full scan does not throw out the hot set', async (t) => {
  const { counters, reader, cache } = table(200_000)
  // Hot: 60 blocks of some 80 that fit, each asked for a few times, among them blocks asked for
  // once.
  const hot = Array.from({ length: 60 }, (_, i) => entries[i * 320].key)
  const random = randomFrom(seed)
  for (let round = 0; round < 5; round++) {
    for (const key of hot) reader.cursor().seek(key, key.length)
    for (let i = 0; i < 30; i++) {
      const { key } = entries[Math.floor(random() * entries.length)]
      reader.cursor().seek(key, key.length)
    }
  }
  t.equal(readAll(reader).length, entries.length)
  t.ok(cache.bytesUsed <= 200_000)
  const before = counters.cacheMisses
  for (const key of hot) reader.cursor().seek(key, key.length)
  t.ok(counters.cacheMisses - before <= 3, `${counters.cacheMisses - before} of 60 were lost`)
})

void t.test('a block that comes back soon after probation enters the main queue', async (t) => {
  const { counters, reader } = table(60_000)
  const get = (i: number) => reader.cursor().seek(entries[i].key, entries[i].key.length)
  // Some 46 blocks fit, so the first 14 are out again, but remembered.
  for (let i = 0; i < 60; i++) get(i * 300)
  get(5 * 300)
  const before = counters.cacheMisses
  for (let i = 100; i < 160; i++) get(i * 100 + 50)
  t.equal(counters.cacheMisses - before, 60, 'enough others to empty the probation queue')
  get(5 * 300)
  t.equal(counters.cacheMisses - before, 60, 'it is still there')
  get(40 * 300)
  t.equal(counters.cacheMisses - before, 61, 'one that never came back is not')
})

void t.test('a block hit twice in probation moves to the main queue without a miss', async (t) => {
  const { counters, reader } = table(60_000)
  const get = (i: number) => reader.cursor().seek(entries[i].key, entries[i].key.length)
  for (let i = 0; i < 3; i++) get(0)
  for (let i = 1; i < 100; i++) get(i * 150)
  const before = counters.cacheMisses
  get(0)
  t.equal(counters.cacheMisses - before, 0)
})

void t.test('a block that is in the cache when it is pinned stays', async (t) => {
  const { reader, cache } = table(3000)
  const cursor = reader.cursor()
  cursor.seek(entries[0].key, entries[0].key.length)
  await reader.loadBlock(0)
  readAll(reader)
  t.ok(reader.blocks[0] !== undefined)
  reader.releaseBlock(0)
  cache.resize(0)
  t.equal(reader.blocks[0] === undefined, true)
  t.equal(cache.bytesUsed, 0)
})

void t.test('cacheBlocks = false leaves the cache as it is', async (t) => {
  const { cache, reader } = table(1 << 20)
  const read = readAll(reader, (cursor) => {
    cursor.cacheBlocks = false
  })
  t.equal(read.length, entries.length)
  t.equal(cache.bytesUsed, 0)
})

void t.test('a cache of no bytes keeps nothing and reads stay right', async (t) => {
  const { cache, reader } = table(0)
  t.same(readAll(reader), entries)
  t.equal(cache.bytesUsed, 0)
})

void t.test('pinned blocks are not evicted and count as used', async (t) => {
  const { cache, reader } = table(3000)
  for (let i = 0; i < 10; i++) await reader.loadBlock(i)
  t.ok(cache.bytesUsed > 10_000)
  await reader.loadBlock(3)
  readAll(reader)
  for (let i = 0; i < 10; i++) t.ok(reader.blocks[i] !== undefined)
  reader.releaseBlock(3)
  t.ok(reader.blocks[3] !== undefined, 'loaded twice, released once')
  for (let i = 0; i < 10; i++) reader.releaseBlock(i)
  t.ok(cache.bytesUsed <= 3000, `${cache.bytesUsed}`)
  t.throws(() => reader.releaseBlock(0), { name: 'InvariantError' })
})

void t.test('a block larger than the cache passes through it', async (t) => {
  const fileSystem = new SimulatedDisk()
  const large = [{ key: Buffer.from('k'), value: Buffer.alloc(100_000, 1) }]
  build(fileSystem, large, { codec: 'lz4' })
  const cache = new BlockCache(10_000)
  const reader = open(fileSystem, { cache })
  t.same(readAll(reader), large)
  t.equal(cache.bytesUsed, 0)
})

void t.test('bytes of an evicted block stay what they were', async (t) => {
  const { reader } = table(3000)
  const cursor = reader.cursor()
  cursor.seek(entries[0].key, entries[0].key.length)
  const { buffer, valueStart, valueEnd } = cursor
  readAll(reader)
  t.equal(reader.blocks[0] === undefined, true)
  t.same(buffer.subarray(valueStart, valueEnd), entries[0].value)
  t.same(keyOf(cursor), entries[0].key)
})

void t.test('a sequential scan reads many blocks with one call', async (t) => {
  const { fileSystem, reader } = table(1 << 20)
  const blockCount = reader.properties.blockCount
  const before = fileSystem.reads
  readAll(reader)
  t.ok(fileSystem.reads - before < blockCount / 20, `${fileSystem.reads - before} reads`)
})

void t.test('pinnedBytes covers index and filter', async (t) => {
  const { reader } = table(0)
  const least = (entries.length * 10) / 8 + reader.properties.blockCount * 20
  t.ok(reader.pinnedBytes > least)
  t.ok(reader.pinnedBytes < least * 2.5)
})

/** Reads entries at random and remembers them by where they lie, until it begins another read. */
class RememberingReader {
  private readonly cursor: SsTableCursor
  private readonly letsGo: boolean
  private remembered: { readonly view: Buffer; readonly bytes: Buffer }[] = []

  constructor(reader: SsTableReader, letsGo: boolean, cacheBlocks: boolean) {
    this.cursor = reader.cursor()
    this.cursor.cacheBlocks = cacheBlocks
    this.letsGo = letsGo
  }

  read(random: () => number): void {
    if (this.letsGo || this.remembered.length > 200) this.remembered = []
    if (this.letsGo) this.cursor.beginRead()
    const { cursor } = this
    const seeks = 1 + Math.floor(random() * 4)
    for (let i = 0; i < seeks; i++) {
      const { key } = entries[Math.floor(random() ** 2 * entries.length)]
      cursor.seek(key, key.length)
      for (let steps = Math.floor(random() * 40); steps >= 0 && cursor.valid; steps--) {
        const view = cursor.buffer.subarray(cursor.keyStart, cursor.valueEnd)
        this.remembered.push({ view, bytes: Buffer.from(view) })
        cursor.next()
      }
    }
  }

  get areAllRight(): boolean {
    return this.remembered.every(({ view, bytes }) => view.equals(bytes))
  }
}

void t.test(`memory is used again, but none that a read refers to, seed ${seed}`, async (t) => {
  for (const codec of ['none', 'lz4'] as const) {
    const fileSystem = new CountingFileSystem()
    build(fileSystem, entries, { blockBytes: 1024, codec })
    const cache = new BlockCache(150_000)
    const reader = open(fileSystem, { cache, counters: new ReadCounters() })
    const readers = Array.from(
      { length: 9 },
      (_, i) => new RememberingReader(reader, i % 3 > 0, i < 7),
    )
    const random = randomFrom(seed)
    const buffers = new Set<Buffer>()
    let blocks = 0
    for (let i = 0; i < 4000; i++) {
      const misses = reader.counters.cacheMisses
      const one = readers[Math.floor(random() * readers.length)]
      one.read(random)
      blocks += reader.counters.cacheMisses - misses
      if (i % 50 === 0) {
        // A load that is under way, and one whose block is never asked for.
        const index = Math.floor(random() * reader.index.blockCount)
        await reader.loadBlock(index)
        reader.releaseBlock(index)
      }
      for (const block of reader.blocks) if (block !== undefined) buffers.add(block.buffer)
      if (!readers.every((each) => each.areAllRight)) {
        t.fail(`${codec}: a remembered entry has changed after read ${i}`)
        break
      }
    }
    t.comment(`${codec}: ${blocks} blocks in ${buffers.size} buffers`)
    t.ok(cache.bytesUsed <= 150_000)
  }
})

void t.test('a cursor goes back to what it has read ahead, whatever left the cache', async (t) => {
  const { reader } = table(50_000)
  const [cursor, other] = [reader.cursor(), reader.cursor()]
  const read = (one: SsTableCursor, from: number, count: number): void => {
    one.beginRead()
    one.seek(entries[from].key, entries[from].key.length)
    for (let at = from; at < from + count; at++) {
      // One read for each entry: nothing refers to those before it.
      one.beginRead()
      const { key, value } = entries[at]
      if (!keyOf(one).equals(key) || !valueOf(one).equals(value)) t.fail(`entry ${at}`)
      one.next()
    }
  }
  // Long enough to read ahead, and then enough of other blocks for the cache to lose these.
  read(cursor, 0, 2000)
  read(other, 10_000, 5000)
  for (let at = 1900; at >= 0; at -= 100) read(cursor, at, 50)
})

void t.test('reads that let go use few buffers for many blocks', async (t) => {
  const { cache, reader, counters } = table(100_000)
  const cursor = reader.cursor()
  const random = randomFrom(seed)
  const buffers = new Set<Buffer>()
  for (let i = 0; i < 5000; i++) {
    const entry = entries[Math.floor(random() * entries.length)]
    cursor.beginRead()
    cursor.seek(entry.key, entry.key.length)
    if (!valueOf(cursor).equals(entry.value)) t.fail(`read ${i}`)
    buffers.add(cursor.buffer)
  }
  t.ok(counters.cacheMisses > 4000)
  t.ok(buffers.size < 200, `${counters.cacheMisses} blocks in ${buffers.size} buffers`)
  t.ok(cache.memory.bytes <= 100_000 / 32)
})

void t.test(`scans that end use memory again and read little in vain, seed ${seed}`, async (t) => {
  const fileSystem = new CountingFileSystem()
  const rows = plainEntries(24_000, 400)
  build(fileSystem, rows, { blockBytes: 2048, codec: 'none' })
  const cache = new BlockCache(aheadCacheBytesMin)
  const counters = new ReadCounters()
  const reader = open(fileSystem, { cache, counters })
  const random = randomFrom(seed)
  const buffers = new Set<Buffer>()
  let entered = 0
  for (let i = 0; i < 800; i++) {
    const cursor = reader.cursor()
    cursor.beginRead()
    const start = Math.floor(random() * rows.length)
    const remembered: { readonly view: Buffer; readonly bytes: Buffer }[] = []
    let last: Buffer | undefined
    cursor.seek(rows[start].key, rows[start].key.length)
    for (let steps = Math.floor(random() * 200); steps >= 0 && cursor.valid; steps--) {
      if (cursor.buffer !== last) entered++
      last = cursor.buffer
      buffers.add(last)
      const view = cursor.buffer.subarray(cursor.keyStart, cursor.valueEnd)
      remembered.push({ view, bytes: Buffer.from(view) })
      cursor.next()
    }
    const found = remembered.map(({ bytes }) => bytes)
    const expected = rows.slice(start, start + found.length)
    const isRight = expected.every(({ key, value }, at) =>
      Buffer.concat([key, value]).equals(found[at]),
    )
    if (!isRight) t.fail(`scan ${i} from ${start}`)
    if (!remembered.every(({ view, bytes }) => view.equals(bytes))) t.fail(`scan ${i} has changed`)
    cursor.endRead()
    t.notOk(cursor.valid)
  }
  const { blocksRead } = counters
  const told = `${entered} entered, ${blocksRead} read, ${buffers.size} buffers`
  t.ok(entered > 10_000 && blocksRead < entered, told)
  t.ok(buffers.size < blocksRead / 2, told)
  t.ok(fileSystem.reads < blocksRead * 0.8, `${fileSystem.reads} calls`)
  t.ok(cache.bytesUsed <= aheadCacheBytesMin)
  t.comment(told, fileSystem.reads)
})
