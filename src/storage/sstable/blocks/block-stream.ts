/**
 * Reads the blocks of a table one after the other past the cache, for jobs that pass over whole
 * tables: many blocks with one read, each decoded into memory that is used again.
 *
 * Invariant: the block that {@link BlockStream.read} returned last stays as it is; the memory of
 * the one before is retired (block-memory.ts).
 *
 * Failure behaviour: as `SsTableReader`; nothing is decoded that its checksum does not vouch for.
 */
import { patchKeys, Block } from './block.js'
import { BlockMemory, type BlockMemoryPool } from './block-memory.js'
import type { BlockSource } from './block-source.js'

/** Stored bytes that are read at once: little enough to be in the processor's cache when used. */
const chunkBytes = 128 * 1024

/** See the file header. */
export class BlockStream {
  /** Of the block that was read last. */
  memory: BlockMemory | undefined = undefined
  private readonly source: BlockSource
  private readonly pool: BlockMemoryPool
  private stored: BlockMemory | undefined = undefined
  /** Blocks [from, to) are in {@link stored}. */
  private from = 0
  private to = 0

  /** Streams of one thread that recycle together share a pool. */
  constructor(source: BlockSource, pool: BlockMemoryPool) {
    this.source = source
    this.pool = pool
  }

  /** Block `index`. Cheapest if it follows the last one. */
  read(index: number): Block {
    const { source } = this
    source.throwIfClosed()
    const { offsets } = source.index
    const isHere = index >= this.from && index < this.to
    const stored = isHere ? this.stored!.buffer : this.fill(index)
    const start = isHere ? offsets[index] - offsets[this.from] : 0
    const end = start + offsets[index + 1] - offsets[index]
    const length = source.checkBlock(stored, start, end, index)
    const memory = this.pool.take(length)
    source.decodeBlock(stored, start, end, index, memory.buffer, length)
    const block = new Block(source, index, memory.buffer, length)
    if (source.keyPatch !== undefined) patchKeys(block, source.keyPatch)
    if (this.memory !== undefined) this.pool.retire(this.memory)
    this.memory = memory
    return block
  }

  /** Reads block `index` and those after it; returns where they are, the first at the start. */
  private fill(index: number): Buffer {
    const { source } = this
    const { offsets, blockCount } = source.index
    let to = index + 1
    while (to < blockCount && offsets[to + 1] - offsets[index] <= chunkBytes) to++
    const length = offsets[to] - offsets[index]
    this.from = this.to = 0
    if (length > chunkBytes) {
      // One large block, which is decoded at once: all streams read theirs to the same place.
      const stored = this.pool.sharedStored(length)
      source.readStoredSync(index, to, stored)
      return stored
    }
    this.stored ??= new BlockMemory(chunkBytes)
    source.readStoredSync(index, to, this.stored.buffer)
    this.from = index
    this.to = to
    return this.stored.buffer
  }
}
