/**
 * Cache of decompressed data blocks, bounded in bytes: S3-FIFO.
 *
 * A new block enters the probation queue (a tenth of the bytes). At its tail it moves to the main
 * queue if it was hit at least twice meanwhile, else it goes, leaving a mark in its table; a block
 * that comes back while its mark is young enters the main queue at once. At the tail of the main
 * queue a block that was hit since goes round again, one hit the poorer. So a scan of everything
 * passes through probation and leaves the main queue alone. Blocks of tables that are to stay in
 * memory (HBase: IN_MEMORY) enter the main queue at once, with the highest count of hits.
 *
 * A lookup does not come here: the table holds an array from block index to block, and a hit adds
 * one to the block's `frequency`. All operations are O(1), those that evict in the long run.
 *
 * Ownership: a cursor holds each block before it looks into it (`Block.holders`), and lets go when
 * its caller says that nothing refers to bytes of earlier reads. The memory of a block that leaves
 * the cache without a holder goes to the pool ({@link BlockCache.memory}) and serves another
 * block. Memory of a block that is held at this moment is left to the garbage collector: whoever
 * never lets go costs memory its second use, and never sees foreign bytes.
 *
 * Pinned blocks are outside the queues and are never evicted; they count as used, so `bytesUsed`
 * exceeds the bound by no more than what is pinned.
 */
import { assert } from '../../../base/assert.js'
import { emptyBytes } from '../../../base/bytes.js'
import { checksInvariants } from '../../../base/invariants.js'
import type { Block } from './block.js'
import { BufferPool } from './buffer-pool.js'
import { RowLocations } from '../row-locations.js'

/** Rough cost of a block's object, buffer object and queue links, in bytes. */
const blockOverheadBytes = 256

/** Highest hit count that a block remembers. */
export const frequencyMax = 3

const probationFraction = 0.1

/** The part of the bytes that locations of rows may take. */
const locationsFraction = 1 / 32

/**
 * The bytes that are set apart for memory of evicted blocks, which waits there for the next ones:
 * each miss takes some and, as a rule, evicts as much.
 */
function pooledBytesOf(bytesMax: number): number {
  return Math.min(bytesMax / 32, 1024 * 1024)
}

/** A first-in-first-out queue through the blocks' own links. */
class BlockQueue {
  readonly id: number
  bytes = 0
  count = 0
  newest: Block | undefined = undefined
  oldest: Block | undefined = undefined

  constructor(id: number) {
    this.id = id
  }

  push(block: Block): void {
    block.queue = this.id
    block.older = this.newest
    block.newer = undefined
    if (this.newest === undefined) this.oldest = block
    else this.newest.newer = block
    this.newest = block
    this.bytes += costOf(block)
    this.count++
  }

  unlink(block: Block): void {
    const { newer, older } = block
    if (newer === undefined) this.newest = older
    else newer.older = older
    if (older === undefined) this.oldest = newer
    else older.newer = newer
    block.newer = undefined
    block.older = undefined
    this.bytes -= costOf(block)
    this.count--
  }
}

/** A block cache, shared by all tables of a thread. */
export class BlockCache {
  /** Where rows were found in the blocks. */
  readonly rows: RowLocations
  /** Memory for blocks that are to come. */
  readonly memory: BufferPool
  private maximum: number
  private used = 0
  private evictions = 0
  private readonly probation = new BlockQueue(1)
  private readonly main = new BlockQueue(2)

  /** Holds up to `bytesMax` bytes; 0 keeps nothing but pinned blocks. */
  constructor(bytesMax: number) {
    this.maximum = bytesMax
    this.rows = new RowLocations(bytesMax * locationsFraction)
    this.memory = new BufferPool(pooledBytesOf(bytesMax), bytesMax)
  }

  /** The bound in bytes. */
  get bytesMax(): number {
    return this.maximum
  }

  /**
   * Bytes of all blocks in the cache, pinned ones and bookkeeping included, and of locations.
   * Memory that waits to be used again is a part of the bound and is not counted here.
   */
  get bytesUsed(): number {
    return this.used + this.rows.bytes
  }

  /** Changes the bound and evicts what exceeds it. */
  resize(bytesMax: number): void {
    this.maximum = bytesMax
    this.rows.resize(bytesMax * locationsFraction)
    this.memory.resize(pooledBytesOf(bytesMax), bytesMax)
    this.evict()
  }

  /**
   * Takes a block in, unless its table has the same one here already, and returns the one that is
   * in; it may be evicted at once if nothing else can be.
   */
  admit(block: Block): Block {
    const { owner, index } = block
    const present = owner.blocks[index]
    if (present !== undefined) return present
    owner.blocks[index] = block
    this.used += costOf(block)
    this.firstQueueOf(block).push(block)
    this.evict()
    return block
  }

  /** Takes a block in and keeps it until as many {@link unpin} calls. */
  admitPinned(block: Block, pins: number): void {
    const present = block.owner.blocks[block.index]
    if (present !== undefined) {
      this.pin(present, pins)
      return
    }
    block.owner.blocks[block.index] = block
    this.used += costOf(block)
    block.queue = this.firstQueueOf(block).id
    block.pins = pins
    this.evict()
  }

  /** Keeps a block that is in the cache until as many {@link unpin} calls. */
  pin(block: Block, pins: number): void {
    if (block.pins === 0) this.queueOf(block).unlink(block)
    block.pins += pins
  }

  /** Takes one pin back. */
  unpin(block: Block): void {
    assert(block.pins > 0, 'block cache: released more often than loaded')
    if (--block.pins > 0) return
    this.queueOf(block).push(block)
    this.evict()
  }

  /** Takes a block out, pinned or not. */
  remove(block: Block): void {
    if (block.pins === 0) this.queueOf(block).unlink(block)
    block.pins = 0
    this.drop(block)
  }

  private queueOf(block: Block): BlockQueue {
    assert(block.queue !== 0, 'block cache: block is not in the cache')
    return block.queue === this.main.id ? this.main : this.probation
  }

  /** Blocks of tables that are to stay in memory enter the main queue as if hit several times. */
  private firstQueueOf(block: Block): BlockQueue {
    if (!block.owner.inMemory) return this.isRemembered(block) ? this.main : this.probation
    if (block.frequency >= 0) block.frequency = frequencyMax
    return this.main
  }

  private isRemembered(block: Block): boolean {
    const mark = block.owner.ghosts[block.index]
    if (mark === 0) return false
    return (this.evictions - mark) >>> 0 < this.probation.count + this.main.count
  }

  private evict(): void {
    const { probation, main } = this
    const bytesMax = this.maximum - this.memory.bytesMax
    while (this.used + this.rows.bytes > bytesMax) {
      const tight = probation.bytes > this.maximum * probationFraction || main.count === 0
      const oldest = tight ? probation.oldest : main.oldest
      if (oldest === undefined) return
      if (tight) this.leaveProbation(oldest)
      else this.leaveMain(oldest)
    }
  }

  private leaveProbation(block: Block): void {
    this.probation.unlink(block)
    if (block.frequency > 1) {
      block.frequency = 0
      this.main.push(block)
      return
    }
    // 0 means "never"; the count passes over it when it wraps.
    this.evictions = (this.evictions + 1) >>> 0 || 1
    block.owner.ghosts[block.index] = this.evictions
    this.drop(block)
  }

  private leaveMain(block: Block): void {
    this.main.unlink(block)
    if (block.frequency > 0) {
      block.frequency--
      this.main.push(block)
    } else {
      this.drop(block)
    }
  }

  private drop(block: Block): void {
    this.used -= costOf(block)
    block.queue = 0
    block.owner.blocks[block.index] = undefined
    if (block.holders > 0) return
    const { buffer } = block
    block.buffer = emptyBytes
    if (checksInvariants) buffer.fill(0xdb)
    this.memory.give(buffer)
  }
}

function costOf(block: Block): number {
  // The prefixes count from the start, whether the block ever gets them or not.
  return block.buffer.length + block.count * 8 + blockOverheadBytes
}
