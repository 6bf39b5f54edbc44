/**
 * A cache of decompressed data blocks, bounded in bytes: S3-FIFO.
 *
 * A new block enters the probation queue (a tenth of the bytes). At its tail the block moves to the
 * main queue if it had at least two hits; otherwise it is evicted and leaves a ghost entry in its
 * SSTable. A block that returns while its ghost is young enters the main queue at once. At the tail
 * of the main queue a block with hits is reinserted with its frequency decremented. So a full scan
 * passes through probation and leaves the main queue unchanged. Blocks of SSTables with IN_MEMORY
 * (HBase) enter the main queue at once, with the highest frequency.
 *
 * Lookups bypass this class: the SSTable reader has an array of its cached blocks, and a hit
 * increments the block's `frequency`. All operations are O(1), amortized for those that evict.
 *
 * Ownership: a cursor holds each block that it reads (`Block.holders`). It releases the block when
 * its caller has no references to bytes of earlier reads. When a block without holders is evicted,
 * its memory goes to the pool ({@link BlockCache.memory}) for another block. The memory of an
 * evicted block with holders is left to the garbage collector. So a holder that never releases
 * costs memory, but never sees the bytes of another block.
 *
 * Segments with blocks that jobs have written ({@link CacheSegments}) are outside the queues too.
 * Beyond a tenth of the bytes they are dropped before any block is evicted, the oldest first.
 *
 * Pinned blocks are outside the queues and are never evicted. They count as used, so `bytesUsed`
 * exceeds the bound by at most the pinned bytes.
 */
import { assert } from '../../../base/assert.js'
import { emptyBytes } from '../../../base/bytes.js'
import { checksInvariants } from '../../../base/invariants.js'
import { Block } from './block.js'
import { BlockAddresses } from './block-addresses.js'
import { BufferPool } from './buffer-pool.js'
import { CacheSegments } from './cache-segments.js'
import { RowCopies } from '../rows/row-copies.js'
import { RowLocations } from '../rows/row-locations.js'
import type { LentBlocks } from './written-blocks.js'

/** Approximate size of a block's object, buffer object and queue links, in bytes. */
const blockOverheadBytes = 256

/** The highest frequency of a block. */
export const frequencyMax = 3

/** `Block.queue` of a block in a segment. */
export const inSegment = 3

const probationFraction = 0.1

/** The share of the bytes that written blocks have although other blocks are evicted. */
const writtenFraction = 0.1

/** The share of the bytes for locations of rows, and for copies of rows. */
const locationsFraction = 1 / 32
const copiesFraction = 1 / 16

/**
 * The share of the bytes for memory of evicted blocks, kept for new ones. Each miss takes memory,
 * and usually evicts about as much.
 */
function pooledBytesOf(bytesMax: number): number {
  return Math.min(bytesMax / 32, 1024 * 1024)
}

/** A FIFO queue linked through the blocks. */
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

/** A block cache shared by all SSTables of a thread. */
export class BlockCache {
  /** Locations of rows in the blocks. */
  readonly rows: RowLocations
  /** The memory of segments, and of other blocks with a row whose address is remembered. */
  readonly addresses = new BlockAddresses()
  /** Copies of rows that reads have put together. */
  readonly copies: RowCopies
  /** Memory that jobs fill with the blocks that they write. */
  readonly segments: CacheSegments
  /** Memory for new blocks. */
  readonly memory: BufferPool
  private maximum: number
  private used = 0
  private evictions = 0
  private readonly probation = new BlockQueue(1)
  private readonly main = new BlockQueue(2)

  /** Makes a cache of up to `bytesMax` bytes; 0: only pinned blocks are kept. */
  constructor(bytesMax: number) {
    this.maximum = bytesMax
    this.segments = new CacheSegments(bytesMax)
    this.rows = new RowLocations(bytesMax * locationsFraction)
    this.copies = new RowCopies(this.addresses, bytesMax * copiesFraction)
    this.memory = new BufferPool(pooledBytesOf(bytesMax), bytesMax)
  }

  /** The bound in bytes. */
  get bytesMax(): number {
    return this.maximum
  }

  /**
   * Size of all cached blocks, including pinned ones and bookkeeping, and of locations and copies
   * of rows. Pooled memory is part of the bound and not counted here.
   */
  get bytesUsed(): number {
    return this.used + this.rows.bytes + this.copies.bytes + this.segments.bytes
  }

  /** As `RowCopies.reserve`, within the bound of the cache. */
  reserveCopy(bytes: number, sequence: number): boolean {
    const { copies } = this
    const before = copies.bytes
    const isReserved = copies.reserve(bytes, sequence)
    if (copies.bytes > before) this.evict()
    return isReserved
  }

  /**
   * Segments for a job that writes `bytes` bytes of blocks: as many as there is room for, or up to
   * the tenth that written blocks have anyway. The blocks of the job's inputs are no room, because
   * reads use them until the job ends. See {@link CacheSegments.borrow}.
   */
  borrowSegments(bytes: number): SharedArrayBuffer[] {
    const { segments, maximum } = this
    const room = maximum - this.memory.bytesMax - this.bytesUsed
    const share = maximum * writtenFraction - segments.usedBytes
    return segments.borrow(bytes, Math.max(room, share))
  }

  /** Changes the bound and evicts the excess. */
  resize(bytesMax: number): void {
    this.maximum = bytesMax
    this.rows.resize(bytesMax * locationsFraction)
    this.copies.resize(bytesMax * copiesFraction)
    this.memory.resize(pooledBytesOf(bytesMax), bytesMax)
    this.evict()
  }

  /**
   * Adds a block, unless the same block of its SSTable is cached, and returns the cached one. The
   * block may be evicted at once if there is no other block to evict.
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

  /** Adds a pinned block, to be released by `pins` calls of {@link unpin}. */
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

  /** Adds the block at an index of a loan. */
  admitWritten(lent: LentBlocks, index: number): Block {
    const block = lent.make(index)
    const segment = lent.segmentOf(index)
    block.address = lent.addresses[segment] ??= this.addresses.add(lent.bytesOf(segment))
    block.queue = inSegment
    block.owner.blocks[block.index] = block
    this.used += costOf(block)
    return block
  }

  /** The address of the memory of a cached block. */
  addressOf(block: Block): number {
    if (block.address < 0) block.address = this.addresses.add(block.buffer)
    return block.address
  }

  /** Drops all segments of an SSTable that is being closed. */
  endLoan(lent: LentBlocks): void {
    while (lent.segmentCount > 0) this.dropLast(lent, false)
  }

  /** Pins a cached block until `pins` calls of {@link unpin}. */
  pin(block: Block, pins: number): void {
    if (block.pins === 0) this.unlink(block)
    block.pins += pins
  }

  /** Releases one pin. */
  unpin(block: Block): void {
    assert(block.pins > 0, 'block cache: released more often than loaded')
    if (--block.pins > 0 || block.queue === inSegment) return
    this.queueOf(block).push(block)
    this.evict()
  }

  /** Removes a block, even if it is pinned. */
  remove(block: Block): void {
    if (block.pins === 0) this.unlink(block)
    block.pins = 0
    this.drop(block)
  }

  private unlink(block: Block): void {
    if (block.queue !== inSegment) this.queueOf(block).unlink(block)
  }

  private queueOf(block: Block): BlockQueue {
    assert(block.queue !== 0, 'block cache: block is not in the cache')
    return block.queue === this.main.id ? this.main : this.probation
  }

  /** Blocks of IN_MEMORY SSTables enter the main queue with the highest frequency. */
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
    const { probation, main, segments } = this
    const bytesMax = this.maximum - this.memory.bytesMax
    while (this.bytesUsed > bytesMax) {
      if (segments.shrink()) continue
      const isWritten = segments.lentBytes > this.maximum * writtenFraction
      if (isWritten && this.dropSegment()) continue
      const tight = probation.bytes > this.maximum * probationFraction || main.count === 0
      const oldest = tight ? probation.oldest : main.oldest
      if (oldest === undefined) {
        if (this.dropSegment()) continue
        return
      }
      if (tight) this.leaveProbation(oldest)
      else this.leaveMain(oldest)
    }
  }

  /** Drops the segment that was written first. False: there is none. */
  private dropSegment(): boolean {
    const lent = this.segments.oldest
    if (lent !== undefined) this.dropLast(lent, true)
    return lent !== undefined
  }

  /** Drops the last segment of a loan; if `keepsHot`, hot blocks get memory of their own. */
  private dropLast(lent: LentBlocks, keepsHot: boolean): void {
    const { blocks } = lent.owner
    let isHeld = false
    for (let index = lent.lastStart; index < lent.blockEnd; index++) {
      const block = blocks[index]
      if (block?.queue === inSegment && this.leaveSegment(block, keepsHot)) isHeld = true
    }
    const address = lent.addresses[lent.segmentCount - 1]
    if (address !== undefined) this.addresses.remove(address)
    this.segments.release(lent, isHeld)
  }

  /** Returns whether the memory of the block stays in use. */
  private leaveSegment(block: Block, keepsHot: boolean): boolean {
    if (block.pins > 0) {
      this.used -= costOf(block)
      block.queue = this.main.id
      block.address = -1
      block.addressStart = 0
      this.used += costOf(block)
      return true
    }
    const isHot = block.frequency + takeHits(block) > 1
    this.drop(block)
    if (isHot && keepsHot) this.copyToMain(block)
    return block.holders > 0
  }

  private copyToMain({ owner, index, buffer, payloadBytes }: Block): void {
    const memory = this.memory.take(payloadBytes)
    buffer.copy(memory, 0, 0, payloadBytes)
    const copy = new Block(owner, index, memory, payloadBytes)
    owner.blocks[index] = copy
    this.main.push(copy)
    this.used += costOf(copy)
  }

  private leaveProbation(block: Block): void {
    this.probation.unlink(block)
    if (block.frequency + takeHits(block) > 1) {
      block.frequency = 0
      this.main.push(block)
      return
    }
    // 0 means "never", so the count skips it when it wraps.
    this.evictions = (this.evictions + 1) >>> 0 || 1
    block.owner.ghosts[block.index] = this.evictions
    this.drop(block)
  }

  private leaveMain(block: Block): void {
    this.main.unlink(block)
    const frequency = Math.min(frequencyMax, block.frequency + takeHits(block))
    if (frequency > 0) {
      block.frequency = frequency - 1
      this.main.push(block)
    } else {
      this.drop(block)
    }
  }

  private drop(block: Block): void {
    this.used -= costOf(block)
    const isOwn = block.queue !== inSegment
    block.queue = 0
    block.owner.blocks[block.index] = undefined
    block.owner.hits[block.index] = 0
    if (isOwn && block.address >= 0) this.addresses.remove(block.address)
    block.address = -1
    if (!isOwn || block.holders > 0) return
    const { buffer } = block
    block.buffer = emptyBytes
    if (checksInvariants) buffer.fill(0xdb)
    this.memory.give(buffer)
  }
}

/** The reads of a block by address since the last call. */
function takeHits({ owner: { hits }, index }: Block): number {
  const count = hits[index]
  hits[index] = 0
  return count
}

function costOf(block: Block): number {
  // The prefixes count from the start, although the block may never get them.
  const memoryBytes = block.queue === inSegment ? 0 : block.buffer.length
  return memoryBytes + block.count * 8 + blockOverheadBytes
}
