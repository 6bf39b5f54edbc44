/**
 * An open SSTable: footer, properties, index and filter in memory, data blocks on demand.
 *
 * All bytes are checked against a checksum bound to file number and offset before their use
 * (`ERR_CORRUPTION` names file, offset, expected, found). Lengths are compared with the file's size
 * before memory is allocated for them.
 *
 * Ownership: the reader owns its file. Blocks are immutable while they are held. After `closeSync`
 * all calls that need the file throw `ERR_CLOSED`. Asynchronous reads in progress may finish.
 */
import { quietly } from '../fs/quietly.js'
import { assert } from '../../base/assert.js'
import { closedError, type CellarError } from '../../base/errors.js'
import type { Hash64 } from '../../base/hash.js'
import { storedInput, storedInputBytesMax, storedInputStart } from '../codec/checksum.js'
import { CodecId, type Codecs } from '../codec/codec.js'
import type { File, FileSystem } from '../fs/types.js'
import { Block } from './blocks/block.js'
import { patchKeys } from './rows/entry-reader.js'
import { BlockCache } from './blocks/block-cache.js'
import type { BlockIndex } from './blocks/block-index.js'
import type { BlockMemoryPool } from './blocks/block-memory.js'
import type { BlockSource } from './blocks/block-source.js'
import { BlockStream } from './blocks/block-stream.js'
import { SsTableCursor } from './cursor.js'
import type { Filter } from './filter.js'
import { trailerBytes } from './format.js'
import { readSsTableMeta, type SsTableMeta } from './meta.js'
import type { KeyPatch } from './blocks/key-patch.js'
import type { SsTableProperties } from './properties.js'
import { loadAheadBytes, readAheadBlocksMax } from './blocks/read-ahead.js'
import { ReadCounters } from './read-counters.js'
import type { ReadGate } from './read-gate.js'
import { checkSection, damaged, decompressSection } from './blocks/section.js'
import { verifySsTable } from './verify.js'
import type { LentBlocks, WrittenBlocks } from './blocks/written-blocks.js'

/** Dependencies of a reader, and its expectations on the file. */
export interface SsTableReaderOptions {
  readonly codecs: Codecs
  /** Default: a cache of its own that keeps nothing. */
  readonly cache?: BlockCache
  readonly counters?: ReadCounters
  readonly gate?: ReadGate | undefined
  /** The expected identity of the file: `noDatabaseId` for a file of `BulkWriter`. */
  readonly databaseId: Buffer
  /** The expected size of the file, if known. */
  readonly expectedBytes?: number
  /** Rewrites the keys of the file as blocks are read. */
  readonly keyPatch?: KeyPatch | undefined
}

/** Approximate minimum size of a block with one large value: options allow no larger blocks. */
const largeBlockBytesMin = 64 * 1024

/** Bytes of an entry in a block besides key and value: two lengths and a slot. */
const entryOverheadBytes = 4

interface PendingLoad {
  promise: Promise<void>
  waiters: number
}

/** Reads one SSTable. Made by {@link openSync}. */
export class SsTableReader implements BlockSource {
  readonly path: string
  readonly writtenAs: number
  /** Size of the file. */
  readonly fileBytes: number
  readonly properties: SsTableProperties
  readonly earliestPut: number
  readonly keyPatch: KeyPatch | undefined
  readonly index: BlockIndex
  /** Cached blocks by index; the cache clears the entries. */
  readonly blocks: (Block | undefined)[]
  readonly ghosts: Uint32Array
  readonly hits: Uint8Array
  readonly cache: BlockCache
  readonly counters: ReadCounters
  readonly gate: ReadGate | undefined
  closed = false
  /** Whether the cache evicts the blocks after those of other SSTables (HBase: IN_MEMORY). */
  inMemory = false
  private lent: LentBlocks | undefined = undefined
  private readonly file: File
  private readonly codecs: Codecs
  private readonly databaseId: Buffer
  private readonly filter: Filter | undefined
  private readonly meta: SsTableMeta
  private readonly loads = new Map<number, PendingLoad>()
  /** End of the last asynchronous load; `loadRun`: number of consecutive loads before it. */
  private loadEnd = -1
  private loadRun = 0

  private constructor(
    file: File,
    writtenAs: number,
    meta: SsTableMeta,
    options: SsTableReaderOptions,
  ) {
    const { blockCount } = meta.index
    this.path = file.path
    this.writtenAs = writtenAs
    this.fileBytes = meta.fileBytes
    this.properties = meta.properties
    this.earliestPut = Number(meta.properties.earliestPutTimestamp)
    this.keyPatch = options.keyPatch
    this.index = meta.index
    this.blocks = new Array<Block | undefined>(blockCount).fill(undefined)
    this.ghosts = new Uint32Array(blockCount)
    this.hits = new Uint8Array(blockCount)
    this.cache = options.cache ?? new BlockCache(0)
    this.counters = options.counters ?? new ReadCounters()
    this.gate = options.gate
    this.file = file
    this.codecs = options.codecs
    this.databaseId = options.databaseId
    this.filter = meta.filter
    this.meta = meta
  }

  /**
   * Opens an SSTable and reads footer, properties, index and filter. The checksums are bound to the
   * file number `writtenAs`. Throws `ERR_CORRUPTION` for damage or a size other than
   * `expectedBytes`, `ERR_FORMAT_VERSION` for a file of a newer Cellar, `ERR_MISSING_PACKAGE` if
   * its codec is not available, and errors of the file system.
   */
  static openSync(
    fileSystem: FileSystem,
    path: string,
    writtenAs: number,
    options: SsTableReaderOptions,
  ): SsTableReader {
    const file = fileSystem.openSync(path, 'read')
    try {
      const meta = readSsTableMeta(file, writtenAs, options)
      return new SsTableReader(file, writtenAs, meta, options)
    } catch (error) {
      quietly(() => file.closeSync())
      throw error
    }
  }

  /** Size of index, filter and properties, which are in memory while the reader is open. */
  get pinnedBytes(): number {
    const { meta, index, blocks, ghosts, hits } = this
    return meta.bytes + index.arrayBytes + blocks.length * 8 + ghosts.byteLength + hits.byteLength
  }

  /** Approximate size of all blocks, uncompressed. */
  get blockBytes(): number {
    const { keyBytes, valueBytes, entryCount } = this.properties
    return keyBytes + valueBytes + entryCount * entryOverheadBytes
  }

  /** False only if no key with this hash was added to the filter; true without a filter. */
  mayContain(hash: Hash64): boolean {
    if (this.filter === undefined) return true
    this.counters.filterChecks++
    if (this.filter.mayContain(hash)) return true
    this.counters.filterNegatives++
    return false
  }

  /** A new cursor, invalid until a seek. */
  cursor(): SsTableCursor {
    return new SsTableCursor(this)
  }

  /**
   * A new cursor for a job that reads the SSTable once. It may block, bypasses the cache and
   * recycles the memory of `pool`, so its entries are valid only until the pool is recycled.
   */
  streamCursor(pool: BlockMemoryPool): SsTableCursor {
    const cursor = new SsTableCursor(this)
    cursor.cacheBlocks = false
    cursor.stream = new BlockStream(this, pool)
    return cursor
  }

  /**
   * Reads the whole file again, bypassing the cache, and checks all checksums, the order of keys
   * and separators and all counts. Throws `ERR_CORRUPTION` at the first contradiction, and
   * `ERR_CLOSED` if the reader is closed between two steps. Yields after each block, so that
   * callers can slice the work.
   */
  *verify(): Generator<void, void> {
    this.throwIfClosed()
    yield* verifySsTable(this, this.file, this.codecs, this.databaseId)
  }

  /**
   * Takes over the blocks that the writer of the file has kept. Does nothing if the keys are
   * rewritten, or if the reader is closed.
   */
  lend(written: WrittenBlocks, segments: readonly SharedArrayBuffer[]): void {
    if (this.closed || this.keyPatch !== undefined) return
    assert(this.lent === undefined, 'reader: blocks are lent once')
    this.lent = this.cache.segments.lend(this, written, segments)
  }

  findWritten(index: number): Block | undefined {
    const { lent } = this
    if (lent === undefined || !lent.has(index)) return undefined
    return this.cache.admitWritten(lent, index)
  }

  /** Drops the cached blocks and closes the file. Repeated calls have no effect. */
  closeSync(): void {
    if (this.closed) return
    this.closed = true
    if (this.lent !== undefined) this.cache.endLoan(this.lent)
    for (const block of this.blocks) if (block !== undefined) this.cache.remove(block)
    this.lent = undefined
    quietly(() => this.file.closeSync())
  }

  throwIfClosed(): void {
    if (this.closed) throw closedError(`SSTable ${this.path}`)
  }

  damagedBlock(index: number, expected: string, found: string): CellarError {
    return damaged(this, this.index.offsets[index], expected, found)
  }

  readBlockSync(index: number): Block {
    const blocks: Block[] = []
    this.readBlocksSync(index, index + 1, blocks)
    return blocks[0]
  }

  readBlocksSync(from: number, to: number, target: Block[]): void {
    this.throwIfClosed()
    if (this.isInput(from, to)) {
      const input = storedInput()
      this.readStoredSync(from, to, input, storedInputStart)
      this.decodeBlocks(input, storedInputStart, from, to, target)
    } else {
      const stored = this.cache.memory.take(this.index.offsets[to] - this.index.offsets[from])
      this.readStoredSync(from, to, stored)
      this.decodeBlocks(stored, 0, from, to, target)
    }
  }

  /**
   * Whether blocks [from, to) are decoded from {@link storedInput}. A single raw block is read into
   * memory of its own, which it keeps. A long block holds one large value, which seldom compresses,
   * and is then raw.
   */
  private isInput(from: number, to: number): boolean {
    const length = this.index.offsets[to] - this.index.offsets[from]
    const mayBeRaw = this.meta.codecId === CodecId.none || length > largeBlockBytesMin
    return length <= storedInputBytesMax && !(mayBeRaw && to - from === 1)
  }

  readStoredSync(from: number, to: number, target: Buffer, targetStart = 0): void {
    const start = this.index.offsets[from]
    const length = this.index.offsets[to] - start
    const found = this.file.readSync(target, targetStart, length, start)
    if (found < length) throw damaged(this, start, `${length} bytes`, `${found}`)
  }

  checkBlock(stored: Buffer, start: number, end: number, index: number): number {
    return checkSection(stored, start, end, this, this.index.offsets[index])
  }

  decodeBlock(
    stored: Buffer,
    start: number,
    end: number,
    index: number,
    target: Buffer,
    length: number,
  ): void {
    const offset = this.index.offsets[index]
    decompressSection(stored, start, end, target, length, this, offset, this.codecs)
    this.countBlock(end - start)
  }

  adjacentEnd(from: number, bytesMax: number): number {
    const { offsets, blockCount } = this.index
    const bytesLimit = offsets[from] + bytesMax
    const blockLimit = Math.min(blockCount, from + readAheadBlocksMax)
    let to = from + 1
    while (to < blockLimit && offsets[to + 1] <= bytesLimit && this.isOnDiskOnly(to)) to++
    return to
  }

  private isOnDiskOnly(index: number): boolean {
    return this.blocks[index] === undefined && this.lent?.has(index) !== true
  }

  /** Concurrent loads of a block share one read. Rejects with `ERR_CLOSED` once closed. */
  async loadBlock(index: number): Promise<void> {
    this.throwIfClosed()
    assert(index >= 0 && index < this.blocks.length, 'reader: block index')
    const block = this.blocks[index] ?? this.findWritten(index)
    if (block !== undefined) {
      this.cache.pin(block, 1)
      return
    }
    const pending = this.loads.get(index)
    if (pending !== undefined) {
      pending.waiters++
      return pending.promise
    }
    const load: PendingLoad = { promise: Promise.resolve(), waiters: 1 }
    this.loads.set(index, load)
    load.promise = this.load(index, load)
    return load.promise
  }

  releaseBlock(index: number): void {
    const block = this.blocks[index]
    // A close removes blocks even if they are pinned.
    if (block === undefined && this.closed) return
    assert(block !== undefined, 'reader: released a block that is not loaded')
    // Only cursors that bypass the cache have used the block.
    if (block.pins === 1 && block.frequency < 0) this.cache.remove(block)
    else this.cache.unpin(block)
  }

  private async load(index: number, load: PendingLoad): Promise<void> {
    try {
      this.counters.cacheMisses++
      const to = this.adjacentEnd(index, this.nextLoadBytes(index))
      this.loadEnd = to
      const blocks: Block[] = []
      await this.readBlocks(index, to, blocks)
      for (const block of blocks) block.frequency = -1
      this.cache.admitPinned(blocks[0], load.waiters)
      // The blocks after the first are not pinned; one that is evicted before its use is loaded
      // again.
      for (let i = 1; i < blocks.length; i++) this.cache.admit(blocks[i])
    } finally {
      this.loads.delete(index)
    }
  }

  /** Grows with consecutive loads, so that a scan needs fewer round trips between threads. */
  private nextLoadBytes(index: number): number {
    this.loadRun = index === this.loadEnd ? this.loadRun + 1 : 0
    // Blocks read ahead wait in the cache, so they may use only a small share of it.
    const share = this.cache.bytesMax / 16
    return Math.min(share, loadAheadBytes(this.index, index, this.loadRun))
  }

  private async readBlocks(from: number, to: number, target: Block[]): Promise<void> {
    const start = this.index.offsets[from]
    const length = this.index.offsets[to] - start
    const stored = this.cache.memory.take(length)
    const found = await this.file.read(stored, 0, length, start)
    this.throwIfClosed()
    if (found < length) throw damaged(this, start, `${length} bytes`, `${found}`)
    if (this.isInput(from, to)) {
      const input = storedInput()
      stored.copy(input, storedInputStart, 0, length)
      this.cache.memory.give(stored)
      this.decodeBlocks(input, storedInputStart, from, to, target)
    } else {
      this.decodeBlocks(stored, 0, from, to, target)
    }
  }

  /**
   * Decodes blocks [from, to), stored from `stored[storedStart]` on. A single raw block keeps that
   * memory, unless the memory is {@link storedInput}; otherwise the memory is returned to the pool.
   */
  private decodeBlocks(
    stored: Buffer,
    storedStart: number,
    from: number,
    to: number,
    target: Block[],
  ): void {
    const { offsets } = this.index
    const { memory } = this.cache
    const base = offsets[from] - storedStart
    const isOwn = stored !== storedInput()
    let isKept = false
    for (let index = from; index < to; index++) {
      const start = offsets[index] - base
      const end = offsets[index + 1] - base
      const length = this.checkBlock(stored, start, end, index)
      isKept = isOwn && to - from === 1 && stored[end - trailerBytes] === CodecId.none
      const buffer = isKept ? stored : memory.take(length)
      if (isKept) this.countBlock(end - start)
      else this.decodeBlock(stored, start, end, index, buffer, length)
      const block = new Block(this, index, buffer, length)
      if (this.keyPatch !== undefined) patchKeys(block, this.keyPatch)
      target.push(block)
    }
    if (isOwn && !isKept) memory.give(stored)
  }

  private countBlock(storedBytes: number): void {
    this.counters.blocksRead++
    this.counters.blockBytesRead += storedBytes
  }
}
