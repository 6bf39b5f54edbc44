import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { blockMissing } from '../../../../src/storage/cursor/cursor.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import { ReadCounters } from '../../../../src/storage/sstable/read-counters.js'
import {
  CountingFileSystem,
  build,
  drive,
  keyOf,
  open,
  plainEntries,
  readAll,
  valueOf,
} from './helpers.js'

t.before(() => loadChecksums())

const entries = plainEntries(1000)

function table(cacheBytes: number) {
  const fileSystem = new CountingFileSystem()
  build(fileSystem, entries)
  const counters = new ReadCounters()
  const cache = new BlockCache(cacheBytes)
  return { fileSystem, counters, cache, reader: open(fileSystem, { cache, counters }) }
}

void t.test(
  'a cursor that may not block throws BlockMissing before anything changes',
  async (t) => {
    const { reader, counters } = table(1 << 20)
    const cursor = reader.cursor()
    cursor.mayBlock = false
    const { key } = entries[300]
    let caught: unknown
    try {
      cursor.seek(key, key.length)
    } catch (error) {
      caught = error
    }
    t.equal(caught === blockMissing, true)
    t.equal(blockMissing.loader === reader, true)
    t.equal(counters.blocksRead, 0)
    await reader.loadBlock(blockMissing.index)
    cursor.seek(key, key.length)
    t.same(keyOf(cursor), key)
    reader.releaseBlock(blockMissing.index)

    // At the end of the block next throws and the cursor stays where it was.
    let last = keyOf(cursor)
    for (;;) {
      try {
        cursor.next()
        last = keyOf(cursor)
      } catch (error) {
        t.equal(error === blockMissing, true)
        break
      }
    }
    t.equal(cursor.valid, true)
    t.same(keyOf(cursor), last)
  },
)

for (const cacheBytes of [0, 2000, 1 << 20]) {
  void t.test(`a driver loop reads everything with a cache of ${cacheBytes} bytes`, async (t) => {
    const { reader } = table(cacheBytes)
    const cursor = reader.cursor()
    cursor.mayBlock = false
    await drive(() => cursor.seek(Buffer.alloc(0), 0))
    let wrong = 0
    for (const { key, value } of entries) {
      if (!cursor.valid || !keyOf(cursor).equals(key) || !valueOf(cursor).equals(value)) wrong++
      await drive(() => cursor.next())
    }
    t.equal(cursor.valid, false)
    for (let i = 1; i < entries.length; i++) {
      const { key } = entries[i]
      const before = reader.cursor()
      before.mayBlock = false
      await drive(() => before.seekBefore(key, key.length))
      if (!keyOf(before).equals(entries[i - 1].key)) wrong++
      const between = Buffer.concat([entries[i - 1].key, Buffer.from([1])])
      const fresh = reader.cursor()
      fresh.mayBlock = false
      await drive(() => fresh.seek(between, between.length))
      if (!keyOf(fresh).equals(key)) wrong++
    }
    t.equal(wrong, 0)
  })
}

void t.test('concurrent loads of a block share one read', async (t) => {
  const { reader, counters, fileSystem } = table(0)
  const before = fileSystem.reads
  await Promise.all([reader.loadBlock(4), reader.loadBlock(4), reader.loadBlock(4)])
  t.equal(fileSystem.reads - before, 1)
  t.equal(counters.blocksRead, 1)
  reader.releaseBlock(4)
  reader.releaseBlock(4)
  t.ok(reader.blocks[4] !== undefined, 'each load pins')
  reader.releaseBlock(4)
  t.equal(reader.blocks[4] === undefined, true)
})

void t.test('a synchronous read of a block that is being loaded does no harm', async (t) => {
  const { reader } = table(1 << 20)
  const load = reader.loadBlock(0)
  const cursor = reader.cursor()
  cursor.seek(Buffer.alloc(0), 0)
  await load
  t.same(keyOf(cursor), entries[0].key)
  reader.releaseBlock(0)
})

void t.test('loads that follow each other read several blocks at once', async (t) => {
  const { reader, fileSystem } = table(1 << 20)
  const before = fileSystem.reads
  const cursor = reader.cursor()
  cursor.mayBlock = false
  await drive(() => cursor.seek(Buffer.alloc(0), 0))
  let count = 0
  for (; cursor.valid; count++) await drive(() => cursor.next())
  t.equal(count, entries.length)
  t.ok(fileSystem.reads - before < reader.properties.blockCount / 3)
})

void t.test('a failed load rejects for all who wait and can be tried again', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, entries)
  const reader = open(fileSystem)
  const writable = fileSystem.openSync('table', 'write')
  const byte = Buffer.alloc(1)
  writable.readSync(byte, 0, 1, 20)
  const flipped = Buffer.from([byte[0] ^ 1])
  writable.writeSync(flipped, 0, 1, 20)
  const loads = await Promise.allSettled([reader.loadBlock(0), reader.loadBlock(0)])
  t.same(
    loads.map((load) => (load.status === 'rejected' ? (load.reason as Error).message : 'read')),
    [loads[0], loads[0]].map((load) => ((load as PromiseRejectedResult).reason as Error).message),
  )
  t.match((loads[0] as PromiseRejectedResult).reason, { code: 'ERR_CORRUPTION' })
  writable.writeSync(byte, 0, 1, 20)
  await reader.loadBlock(0)
  reader.releaseBlock(0)
})

void t.test('a closed reader refuses seeks, loads and checks, and drops its blocks', async (t) => {
  const { reader, cache } = table(1 << 20)
  const cursor = reader.cursor()
  cursor.seek(Buffer.alloc(0), 0)
  await reader.loadBlock(3)
  const checks = reader.verify()
  checks.next()
  const load = reader.loadBlock(7)
  reader.closeSync()
  reader.closeSync()
  t.equal(cache.bytesUsed, 0)
  await t.rejects(load, { code: 'ERR_CLOSED' })
  await t.rejects(reader.loadBlock(1), { code: 'ERR_CLOSED' })
  reader.releaseBlock(3)
  t.throws(() => checks.next(), { code: 'ERR_CLOSED' })
  t.throws(() => cursor.seek(Buffer.alloc(0), 0), { code: 'ERR_CLOSED' })
  t.throws(() => reader.cursor().seekBefore(Buffer.from('z'), 1), { code: 'ERR_CLOSED' })
  t.equal(cache.bytesUsed, 0)
})

void t.test('a block that was loaded for a call counts as one miss and no hit', async (t) => {
  const { reader, counters } = table(1 << 20)
  const cursor = reader.cursor()
  cursor.mayBlock = false
  await drive(() => cursor.seek(entries[500].key, entries[500].key.length))
  t.same([counters.cacheHits, counters.cacheMisses], [0, 1])
})

void t.test('the same over real files', async (t) => {
  const fileSystem = new NodeFileSystem()
  const path = fileSystem.join(t.testdir({}), 'table')
  const written = build(fileSystem, entries, { path })
  const reader = open(fileSystem, { path, expectedBytes: written.fileBytes })
  const cursor = reader.cursor()
  cursor.mayBlock = false
  await drive(() => cursor.seek(Buffer.alloc(0), 0))
  let count = 0
  for (; cursor.valid; count++) await drive(() => cursor.next())
  t.equal(count, entries.length)
  t.same(readAll(reader), entries)
  const load = reader.loadBlock(0)
  reader.closeSync()
  await t.rejects(Promise.all([load, reader.loadBlock(1)]), { code: 'ERR_CLOSED' })
})
