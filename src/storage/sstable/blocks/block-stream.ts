/**
 * Reads the blocks of an SSTable in order, bypassing the cache, for jobs that read whole SSTables.
 * One read fetches many blocks, and each is decoded into recycled memory.
 *
 * Invariant: the block returned last by {@link BlockStream.read} stays unchanged; the memory of the
 * block before it is retired (block-memory.ts).
 *
 * Failure behaviour: as `SsTableReader`; a block is decoded only if its checksum is right.
 */
import { Block } from './block.js'
import { BlockMemory, type BlockMemoryPool } from './block-memory.js'
import type { BlockSource } from './block-source.js'
import { patchKeys } from '../rows/entry-reader.js'

/** Stored bytes per read: few enough to be in the processor's cache when used. */
const chunkBytes = 128 * 1024

export class BlockStream {
  /** The memory of the block read last. */
  memory: BlockMemory | undefined = undefined
  /** Where the memory of blocks comes from. */
  readonly pool: BlockMemoryPool
  private readonly source: BlockSource
  private stored: BlockMemory | undefined = undefined
  /** Blocks [from, to) are in {@link stored}. */
  private from = 0
  private to = 0

  /** REQUIRES streams that share a pool to be recycled together, in one thread. */
  constructor(source: BlockSource, pool: BlockMemoryPool) {
    this.source = source
    this.pool = pool
  }

  /** Reads block `index`. Cheapest if it follows the last one. */
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

  /**
   * Reads block `index` and the following ones; returns their stored form, the first at the start.
   */
  private fill(index: number): Buffer {
    const { source } = this
    const { offsets, blockCount } = source.index
    let to = index + 1
    while (to < blockCount && offsets[to + 1] - offsets[index] <= chunkBytes) to++
    const length = offsets[to] - offsets[index]
    this.from = this.to = 0
    if (length > chunkBytes) {
      // A single large block is decoded at once, so all streams share one buffer for it.
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
