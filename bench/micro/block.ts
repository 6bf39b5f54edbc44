/**
 * Micro-benchmarks of SSTables: writing, opening, point seeks (hot and past the cache), full scans.
 *
 * A call handles many entries, so multiply Benchmark.js's rate by the figure in the name.
 */
import type Benchmark from 'benchmark'
import { loadChecksums } from '../../src/storage/codec/checksum.js'
import { loadCodecs } from '../../src/storage/codec/codec.js'
import type { CodecName } from '../../src/storage/codec/codec.js'
import { MemoryFileSystem } from '../../src/storage/fs/memory-fs.js'
import { BlockCache } from '../../src/storage/sstable/blocks/block-cache.js'
import { noDatabaseId } from '../../src/storage/sstable/format.js'
import { ReadCounters } from '../../src/storage/sstable/read-counters.js'
import { SsTableReader } from '../../src/storage/sstable/reader.js'
import { SsTableWriter } from '../../src/storage/sstable/writer.js'

/** Entries of the table. */
export const entryCount = 100_000
/** Seeks that one call of a seek benchmark does. */
export const seeksPerCall = 10_000

const keyBytes = 16
const valueBytes = 100
const codecs = loadCodecs()

/** Loads what the benchmarks need; await it before {@link addTo}. */
export const prepare = loadChecksums

/** Entry after entry, key and value side by side; values compress to a half. */
function makeEntries(): Buffer {
  const entries = Buffer.alloc(entryCount * (keyBytes + valueBytes))
  let state = 88_172_645
  let at = 0
  for (let i = 0; i < entryCount; i++) {
    at += entries.write(String(i * 7).padStart(keyBytes, '0'), at, 'latin1')
    for (let j = 0; j < valueBytes / 2; j++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      entries[at + j] = 32 + (state >>> 24) / 3
    }
    entries.copy(entries, at + valueBytes / 2, at, at + valueBytes / 2)
    at += valueBytes
  }
  return entries
}

function write(fileSystem: MemoryFileSystem, entries: Buffer, codec: CodecName): void {
  const file = fileSystem.openSync('table', 'create')
  const writer = new SsTableWriter(file, {
    fileNumber: 1,
    databaseId: noDatabaseId,
    blockBytes: 16_384,
    codec: codecs.byName(codec),
    filterBitsPerKey: 10,
  })
  for (let i = 0; i < entryCount; i++) {
    const start = i * (keyBytes + valueBytes)
    const keyEnd = start + keyBytes
    writer.addFilterKey(entries, start, keyEnd)
    writer.add(entries, start, keyEnd, keyEnd, keyEnd + valueBytes)
  }
  writer.finish({
    deleteCount: 0,
    familyDeleteCount: 0,
    minTimestamp: 0n,
    maxTimestamp: 0n,
    earliestPutTimestamp: 0n,
    minSequence: 0,
    maxSequence: 0,
    filterKind: 0,
  })
  file.closeSync()
}

function open(fileSystem: MemoryFileSystem, cacheBytes: number): SsTableReader {
  return SsTableReader.openSync(fileSystem, 'table', 1, {
    codecs,
    cache: new BlockCache(cacheBytes),
    counters: new ReadCounters(),
    databaseId: noDatabaseId,
  })
}

/** Keys in an order that jumps about, `seeksPerCall` of them, packed. */
function pickKeys(entries: Buffer): Buffer {
  const keys = Buffer.alloc(seeksPerCall * keyBytes)
  for (let i = 0; i < seeksPerCall; i++) {
    const from = ((i * 61_403) % entryCount) * (keyBytes + valueBytes)
    entries.copy(keys, i * keyBytes, from, from + keyBytes)
  }
  return keys
}

/** Adds the benchmarks to a suite. REQUIRES that {@link prepare} has resolved. */
export function addTo(suite: Benchmark.Suite): void {
  const entries = makeEntries()
  const packed = pickKeys(entries)
  const keys = Array.from({ length: seeksPerCall }, (_, i) => {
    return packed.subarray(i * keyBytes, (i + 1) * keyBytes)
  })
  for (const codec of ['none', 'lz4'] as CodecName[]) {
    const fileSystem = new MemoryFileSystem()
    write(fileSystem, entries, codec)
    suite.add(`sstable write ${codec} (x ${entryCount})`, () => {
      write(new MemoryFileSystem(), entries, codec)
    })
    const hot = open(fileSystem, 1 << 28)
    const fresh = open(fileSystem, 0)
    suite.add(`sstable seek in cache ${codec} (x ${seeksPerCall})`, () => {
      const cursor = hot.cursor()
      let sum = 0
      for (const key of keys) {
        cursor.seek(key, keyBytes)
        sum += cursor.valueEnd - cursor.valueStart
      }
      if (sum !== seeksPerCall * valueBytes) throw new Error('lost a key')
    })
    suite.add(`sstable scan ${codec} (x ${entryCount})`, () => {
      const cursor = fresh.cursor()
      cursor.cacheBlocks = false
      let count = 0
      for (cursor.seek(keys[0], 0); cursor.valid; cursor.next()) count++
      if (count !== entryCount) throw new Error('lost an entry')
    })
    suite.add(`sstable seek past the cache ${codec} (x 1000)`, () => {
      for (let i = 0; i < 1000; i++) fresh.cursor().seek(keys[i], keyBytes)
    })
    suite.add(`sstable open ${codec}`, () => open(fileSystem, 0).closeSync())
  }
}
