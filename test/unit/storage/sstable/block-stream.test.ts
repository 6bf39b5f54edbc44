import t from 'tap'
import { ErrorCode } from '../../../../src/base/errors.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { CodecName } from '../../../../src/storage/codec/codec.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { BlockMemoryPool } from '../../../../src/storage/sstable/blocks/block-memory.js'
import {
  build,
  bytesOf,
  CountingFileSystem,
  fileSystemWith,
  keyOf,
  open,
  plainEntries,
  randomFrom,
  seed,
  sorted,
  valueOf,
  type Entry,
} from './helpers.js'

await loadChecksums()

function mixedEntries(): Entry[] {
  const random = randomFrom(seed)
  const entries = plainEntries(3000).map(({ key }, index) => {
    // Some are longer than a block, some longer than what is read at once.
    const length = index % 500 === 499 ? 300_000 : index % 50 === 49 ? 2000 : random() * 60
    return { key, value: Buffer.alloc(length, `${index} `) }
  })
  return sorted(entries)
}

void t.test('a stream gives what the table holds, in memory that is used again', async (t) => {
  const entries = mixedEntries()
  for (const codec of ['none', 'lz4', 'gz'] as CodecName[]) {
    const fileSystem = new SimulatedDisk()
    build(fileSystem, entries, { codec })
    const pool = new BlockMemoryPool()
    const cursor = open(fileSystem).streamCursor(pool)
    const buffers = new Set<Buffer>()
    let at = 0
    for (cursor.seek(Buffer.alloc(0), 0); cursor.valid; cursor.next()) {
      const { key, value } = entries[at++]
      if (!keyOf(cursor).equals(key) || !valueOf(cursor).equals(value)) t.fail(`${codec} ${at}`)
      if (cursor.words!.getUint8(cursor.keyStart) !== key[0]) t.fail(`words of ${codec} ${at}`)
      buffers.add(cursor.buffer)
      pool.recycle()
    }
    t.equal(at, entries.length)
    t.ok(buffers.size < 100, `${buffers.size} buffers`)
  }
})

void t.test('a stream reads many blocks at once', async (t) => {
  const fileSystem = new CountingFileSystem()
  build(fileSystem, plainEntries(20_000))
  const reader = open(fileSystem)
  const before = fileSystem.reads
  const cursor = reader.streamCursor(new BlockMemoryPool())
  let count = 0
  for (cursor.seek(Buffer.alloc(0), 0); cursor.valid; cursor.next()) count++
  t.equal(count, 20_000)
  t.ok(reader.properties.blockCount > 1000)
  t.ok(fileSystem.reads - before < 10, `${fileSystem.reads - before} reads`)
  t.equal(reader.counters.blocksRead, reader.properties.blockCount)
  t.equal(reader.counters.blockBytesRead, reader.properties.dataBytes)
})

void t.test('what was read stays as it is until the pool is recycled', async (t) => {
  const fileSystem = new SimulatedDisk()
  const entries = plainEntries(5000)
  build(fileSystem, entries)
  const pool = new BlockMemoryPool()
  const cursor = open(fileSystem).streamCursor(pool)
  cursor.seek(Buffer.alloc(0), 0)
  const { buffer, keyStart, keyEnd } = cursor
  const first = (): boolean => buffer.subarray(keyStart, keyEnd).equals(entries[0].key)
  while (cursor.valid) cursor.next()
  t.ok(first(), 'long after')
  pool.recycle()
  for (cursor.seek(Buffer.alloc(0), 0); cursor.valid; cursor.next()) pool.recycle()
  t.notOk(first(), 'the memory is used again')
})

void t.test('seeks go anywhere', async (t) => {
  const fileSystem = new SimulatedDisk()
  const entries = plainEntries(4000)
  build(fileSystem, entries)
  const pool = new BlockMemoryPool()
  const cursor = open(fileSystem).streamCursor(pool)
  const random = randomFrom(seed)
  for (let i = 0; i < 500; i++) {
    const at = Math.floor(random() * entries.length)
    cursor.seek(entries[at].key, entries[at].key.length)
    for (let step = at; step < Math.min(entries.length, at + 40); step++) {
      if (!keyOf(cursor).equals(entries[step].key)) t.fail(`${step} of seed ${seed}`)
      cursor.next()
    }
    if (i % 3 === 0) pool.recycle()
  }
})

void t.test('a damaged block is an error that names it, a closed table another', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, plainEntries(3000))
  const bytes = bytesOf(fileSystem)
  bytes[5000] ^= 1
  const reader = open(fileSystemWith(bytes))
  const cursor = reader.streamCursor(new BlockMemoryPool())
  t.throws(
    () => {
      for (cursor.seek(Buffer.alloc(0), 0); cursor.valid;) cursor.next()
    },
    { code: ErrorCode.corruption },
  )
  t.notOk(cursor.valid)
  cursor.seek(Buffer.from('row/002000'), 10)
  t.ok(cursor.valid, 'other blocks can be read')
  reader.closeSync()
  t.throws(() => cursor.seek(Buffer.from('row/000000'), 10), { code: ErrorCode.closed })
})
