/**
 * What the SSTable tests share: a seeded generator, building tables in memory, reading them whole.
 */
import { rowEndOf, terminatorBytes } from '../../../../src/storage/cell/cell-key.js'
import { placeSeed, xxh64 } from '../../../../src/storage/codec/checksum.js'
import { loadCodecs } from '../../../../src/storage/codec/codec.js'
import type { CodecName } from '../../../../src/storage/codec/codec.js'
import { blockMissing } from '../../../../src/storage/cursor/cursor.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { File, FileSystem, OpenMode } from '../../../../src/storage/fs/types.js'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import { footerBytes } from '../../../../src/storage/sstable/format.js'
import type { CellStatistics } from '../../../../src/storage/sstable/properties.js'
import { ReadCounters } from '../../../../src/storage/sstable/read-counters.js'
import { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import type { SsTableCursor } from '../../../../src/storage/sstable/cursor.js'
import { SsTableWriter } from '../../../../src/storage/sstable/writer.js'

export const codecs = loadCodecs()
export const seed = Number(process.env['CELLAR_SEED'] ?? 20_120_607)

/** mulberry32: numbers in [0, 1). */
export function randomFrom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

/** A memory file system that counts reads. */
export class CountingFileSystem extends SimulatedDisk {
  reads = 0

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    const readSync = file.readSync.bind(file)
    const read = file.read.bind(file)
    return Object.assign(file, {
      readSync: (...args: Parameters<File['readSync']>) => {
        this.reads++
        return readSync(...args)
      },
      read: (...args: Parameters<File['read']>) => {
        this.reads++
        return read(...args)
      },
    })
  }
}

export interface Entry {
  readonly key: Buffer
  readonly value: Buffer
}

export const statistics: CellStatistics = {
  deleteCount: 3,
  familyDeleteCount: 1,
  minTimestamp: -5n,
  maxTimestamp: 1_700_000_000_123n,
  earliestPutTimestamp: 0x7fff_ffff_ffff_ffffn,
  minSequence: 7,
  maxSequence: 2 ** 52,
  filterKind: 2,
}

export interface BuildOptions {
  readonly databaseId?: Buffer
  readonly fileNumber?: number
  readonly blockBytes?: number
  readonly codec?: CodecName
  readonly filterBitsPerKey?: number
  readonly path?: string
  /** Whether the keys are those of cells, which are grouped by their rows. */
  readonly areCells?: boolean
}

/** Sorts, drops equal keys. */
export function sorted(entries: readonly Entry[]): Entry[] {
  const ordered = [...entries].sort((a, b) => Buffer.compare(a.key, b.key))
  return ordered.filter((entry, i) => i === 0 || !entry.key.equals(ordered[i - 1].key))
}

/** Entries with readable keys and values, `count` of them. */
export function plainEntries(count: number, valueLength = 20): Entry[] {
  const entries: Entry[] = []
  for (let i = 0; i < count; i++) {
    const key = Buffer.from(`row/${String(i).padStart(6, '0')}`)
    entries.push({ key, value: Buffer.from(`value ${i} `.padEnd(valueLength, 'x')) })
  }
  return entries
}

/** Of the database that the tables belong to. */
export const databaseId: Buffer = Buffer.from('0123456789abcdef0123456789abcdef', 'hex')

/** Writes a table; entries must be sorted. */
export function build(
  fileSystem: FileSystem,
  entries: readonly Entry[],
  options: BuildOptions = {},
): ReturnType<SsTableWriter['finish']> {
  const file = fileSystem.openSync(options.path ?? 'table', 'create')
  const writer = new SsTableWriter(file, {
    fileNumber: options.fileNumber ?? 9,
    databaseId: options.databaseId ?? databaseId,
    blockBytes: options.blockBytes ?? 512,
    codec: codecs.byName(options.codec ?? 'lz4'),
    filterBitsPerKey: options.filterBitsPerKey ?? 10,
  })
  for (const { key, value } of entries) {
    // Key and value side by side with a gap between, and bytes around that must not matter.
    const source = Buffer.concat([Buffer.from('<<'), key, Buffer.from('--'), value])
    writer.addFilterKey(source, 2, 2 + key.length)
    const keyEnd = 2 + key.length
    const groupEnd = options.areCells === true ? rowEndOf(source, 2, keyEnd) + terminatorBytes : 0
    writer.add(source, 2, keyEnd, 2 + keyEnd, source.length, undefined, groupEnd)
  }
  const result = writer.finish(statistics)
  file.closeSync()
  return result
}

export interface OpenOptions {
  readonly databaseId?: Buffer
  readonly fileNumber?: number
  readonly cache?: BlockCache
  readonly counters?: ReadCounters
  readonly path?: string
  readonly expectedBytes?: number
}

export function open(fileSystem: FileSystem, options: OpenOptions = {}): SsTableReader {
  return SsTableReader.openSync(fileSystem, options.path ?? 'table', options.fileNumber ?? 9, {
    codecs,
    cache: options.cache ?? new BlockCache(1 << 20),
    counters: options.counters ?? new ReadCounters(),
    databaseId: options.databaseId ?? databaseId,
    expectedBytes: options.expectedBytes,
  })
}

/** A memory file system that holds `bytes` as its only table. */
export function fileSystemWith(bytes: Buffer): SimulatedDisk {
  const fileSystem = new SimulatedDisk()
  const file = fileSystem.openSync('table', 'create')
  file.writeSync(bytes, 0, bytes.length, 0)
  file.closeSync()
  return fileSystem
}

/** All bytes of a file. */
export function bytesOf(fileSystem: SimulatedDisk, path = 'table'): Buffer {
  const file = fileSystem.openSync(path, 'read')
  const bytes = Buffer.alloc(file.sizeSync())
  file.readSync(bytes, 0, bytes.length, 0)
  file.closeSync()
  return bytes
}

export const keyOf = (cursor: SsTableCursor): Buffer =>
  Buffer.from(cursor.buffer.subarray(cursor.keyStart, cursor.keyEnd))
export const valueOf = (cursor: SsTableCursor): Buffer =>
  Buffer.from(cursor.buffer.subarray(cursor.valueStart, cursor.valueEnd))

/** Every entry from the first on. */
export function readAll(reader: SsTableReader, prepare?: (cursor: SsTableCursor) => void): Entry[] {
  const cursor = reader.cursor()
  prepare?.(cursor)
  const entries: Entry[] = []
  for (cursor.seek(Buffer.alloc(0), 0); cursor.valid; cursor.next()) {
    entries.push({ key: keyOf(cursor), value: valueOf(cursor) })
  }
  return entries
}

export function verifyAll(reader: SsTableReader): number {
  let steps = 0
  for (const checks = reader.verify(); checks.next().done !== true;) steps++
  return steps
}

/**
 * Repeats `call` as the asynchronous shell does until no block is missing; returns how often one
 * was.
 */
export async function drive(call: () => void): Promise<number> {
  for (let missing = 0; ; missing++) {
    try {
      call()
      return missing
    } catch (error) {
      if (error !== blockMissing) throw error
    }
    const { loader, index } = blockMissing
    await loader!.loadBlock(index)
    try {
      call()
      return missing + 1
    } catch (error) {
      if (error !== blockMissing) throw error
    } finally {
      loader!.releaseBlock(index)
    }
  }
}

/** Makes the checksum of the section `bytes[start, end)` right again after a change. */
export function resealSection(bytes: Buffer, start: number, end: number, fileNumber = 9): void {
  const checksum = xxh64(bytes.subarray(start, end - 8), placeSeed(fileNumber, start))
  bytes.writeBigUInt64LE(checksum, end - 8)
}

/** Makes the footer's checksum right again after a change. */
export function resealFooter(bytes: Buffer, fileNumber = 9): void {
  const start = bytes.length - footerBytes
  const checksum = xxh64(bytes.subarray(start, start + 48), placeSeed(fileNumber, start))
  bytes.writeBigUInt64LE(checksum, start + 48)
}

/** [start, end) of each section behind the blocks, from the footer. */
export function sectionPlaces(bytes: Buffer): {
  filter: [number, number]
  index: [number, number]
  properties: [number, number]
} {
  const footer = bytes.length - footerBytes
  const filterStart = Number(bytes.readBigUInt64LE(footer))
  const indexStart = filterStart + bytes.readUInt32LE(footer + 8)
  const propertiesStart = indexStart + bytes.readUInt32LE(footer + 12)
  return {
    filter: [filterStart, indexStart],
    index: [indexStart, propertiesStart],
    properties: [propertiesStart, propertiesStart + bytes.readUInt32LE(footer + 16)],
  }
}
