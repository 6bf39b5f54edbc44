/**
 * Sets of options that must not change what the engine says: file systems, executors, codecs,
 * caches, block sizes, filters, value files, logs, compaction policies.
 */
import zlib from 'node:zlib'
import { MemoryFileSystem, type OpenOptions } from '../../src/entries/index.js'
import { isInstalled } from '../../src/base/load-package.js'
import type { FamilyOptions } from '../../src/api/index.js'
import type { Durability } from '../../src/api/durability.js'
import { NodeFileSystem } from '../../src/storage/fs/node-fs.js'
import type { FileSystem } from '../../src/storage/fs/types.js'
import { SimulatedDisk } from '../doubles/simulated-disk.js'

/** One of the sets. */
export interface OptionSet {
  readonly options?: OpenOptions
  readonly family?: FamilyOptions
  readonly durability?: Durability
  /** Default the asynchronous one. */
  readonly form?: 'sync' | 'async'
  /** Default a simulated disk. */
  readonly fileSystem?: () => FileSystem
}

const files = (): FileSystem => new NodeFileSystem()
const uncached = { blockCacheBytesMax: 0 }

const always: Readonly<Record<string, OptionSet>> = {
  'as the tests are': {},
  'synchronous calls': { form: 'sync' },
  'no block cache': { options: uncached },
  'no block cache, synchronous calls': { options: uncached, form: 'sync' },
  'quick reads': { options: { quickReads: true } },
  'quick reads without cache': { options: { ...uncached, quickReads: true } },
  'a cache of two blocks': { options: { blockCacheBytesMax: 16 * 1024 } },
  'blocks of a family that are not cached': { family: { blockCache: false } },
  'blocks that stay longer': { family: { inMemory: true } },
  'no compression': { family: { compression: 'NONE' } },
  'LZ4 in TypeScript': { options: { nativeFree: true }, family: { compression: 'LZ4' } },
  deflate: { family: { compression: 'GZ' } },
  'blocks of 1 KiB': { options: uncached, family: { blockBytes: 1024 } },
  'blocks of 64 KiB': { family: { blockBytes: 64 * 1024 } },
  'no Bloom filter': { family: { bloomFilter: 'NONE', rowPrefixBytes: 0 } },
  'Bloom filters of rows': { family: { bloomFilter: 'ROW', rowPrefixBytes: 0 } },
  'Bloom filters of columns': { family: { bloomFilter: 'ROWCOL', rowPrefixBytes: 0 } },
  'Bloom filters of prefixes': {
    family: { bloomFilter: 'ROWPREFIX_FIXED_LENGTH', rowPrefixBytes: 1 },
  },
  'all values apart': { family: { mob: true, mobThreshold: 0 } },
  'a value file each value': {
    options: { valueFileBytesMax: 1 },
    family: { mob: true, mobThreshold: 2 },
  },
  'no value apart': { family: { mob: false } },
  'a log synced with each call': { durability: 'FSYNC_WAL' },
  'a log written later': { durability: 'ASYNC_WAL' },
  'segments of the log that are kept': { options: { logRetentionBytes: 1024 * 1024 } },
  'a short manifest': { options: { manifestBytesMax: 1024 } },
  'torn tails refused': { options: { recovery: 'strict' } },
  'outputs not read back': { options: { compactionVerify: false } },
  'a scrub': { options: { scrubBytesPerSecond: 1024 * 1024 } },
  'all operations timed': { options: { slowOperationMilliseconds: 0 } },
  'the memory file system': { fileSystem: () => new MemoryFileSystem() },
  files: { fileSystem: files },
  'merges in two jobs': { options: { compactionSplitBytesMin: 1 } },
}

/** Sets that need lz4-napi, which is optional. */
const native: Readonly<Record<string, OptionSet>> = {
  'LZ4, native': { options: { nativeFree: false }, family: { compression: 'LZ4' } },
}

/** Sets that need piscina, which is optional. */
const workers: Readonly<Record<string, OptionSet>> = {
  'files, blocks from worker threads': { fileSystem: files, options: { executor: 'worker' } },
  'worker threads, deflate, values apart': {
    fileSystem: files,
    options: { executor: 'worker', ...uncached },
    family: { compression: 'GZ', mob: true, mobThreshold: 0 },
  },
}

/** Node has zstd from 22.15 on. */
const hasZstd = 'zstdCompressSync' in zlib

const zstd: Readonly<Record<string, OptionSet>> = { zstd: { family: { compression: 'ZSTD' } } }

/** Sets under which everything is the same, raw scans included; those that can be had here. */
export const optionSets: Readonly<Record<string, OptionSet>> = {
  ...always,
  ...(isInstalled('lz4-napi') ? native : {}),
  ...(isInstalled('piscina') ? workers : {}),
  ...(hasZstd ? zstd : {}),
}

/** Policies of compactions: they choose what is merged, and so when old cells are dropped. */
export const policySets: Readonly<Record<string, OptionSet>> = Object.fromEntries(
  (['exploring', 'leveled', 'tiered', 'lazy-leveled', 'date-tiered'] as const).map((compaction) => {
    return [`policy ${compaction}`, { family: { compaction } }]
  }),
)

/** The file system of a set. */
export function fileSystemOf({ fileSystem }: OptionSet): FileSystem {
  return fileSystem?.() ?? new SimulatedDisk()
}
