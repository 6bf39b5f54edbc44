/**
 * The cache segments: the shared memory of a block cache. Jobs borrow them for the blocks that they
 * write ({@link WrittenBlocks}); the readers of the new SSTables have them until the cache drops
 * them.
 *
 * Segments are used again, because shared memory is freed only when the garbage collectors of both
 * threads have found it unused.
 *
 * Invariant: every segment counted in `bytes` is free, borrowed by one job, or part of one loan.
 */
import { assert } from '../../../base/assert.js'
import { checksInvariants } from '../../../base/invariants.js'
import type { BlockOwner } from './block.js'
import { LentBlocks, type WrittenBlocks } from './written-blocks.js'

/** Bounds of the size of a segment. */
const segmentBytesMin = 64 * 1024
const segmentBytesMax = 1024 * 1024

/** Minimum number of segments that a cache has room for; a small SSTable takes a whole one. */
const segmentsMin = 64

export class CacheSegments {
  readonly segmentBytes: number
  private count = 0
  private readonly free: SharedArrayBuffer[] = []
  private readonly borrowed = new Set<SharedArrayBuffer>()
  /** Oldest first. */
  private readonly loans = new Set<LentBlocks>()
  private loanCount = 0

  /** `cacheBytes`: the size of the cache. */
  constructor(cacheBytes: number) {
    const bytes = 2 ** Math.floor(Math.log2(Math.max(1, cacheBytes / segmentsMin)))
    this.segmentBytes = Math.max(segmentBytesMin, Math.min(segmentBytesMax, bytes))
  }

  /** Size of all segments. */
  get bytes(): number {
    return this.count * this.segmentBytes
  }

  /** Size of the segments that jobs have, and of those with written blocks. */
  get usedBytes(): number {
    return (this.borrowed.size + this.loanCount) * this.segmentBytes
  }

  /** Size of the segments with written blocks. */
  get lentBytes(): number {
    return this.loanCount * this.segmentBytes
  }

  /**
   * Segments for a job that writes `bytes` bytes of blocks: free ones, and as many new ones as
   * `bytesNewMax` and the memory of the process allow. The blocks that find no room are not cached.
   * The caller passes the segments to {@link end} when the job has ended.
   */
  borrow(bytes: number, bytesNewMax: number): SharedArrayBuffer[] {
    const { segmentBytes } = this
    const wanted = Math.ceil(bytes / segmentBytes)
    const newMax = Math.max(0, Math.floor(bytesNewMax / segmentBytes))
    const memory = this.free.splice(Math.max(0, this.free.length - wanted))
    const total = Math.min(wanted, memory.length + newMax)
    while (memory.length < total) {
      const made = this.make()
      if (made === undefined) break
      memory.push(made)
      this.count++
    }
    for (const segment of memory) this.borrowed.add(segment)
    return memory
  }

  /**
   * Moves the segments that a job has filled to the reader of its file. The job has ended; `memory`
   * are its segments.
   */
  lend(
    owner: BlockOwner,
    written: WrittenBlocks,
    memory: readonly SharedArrayBuffer[],
  ): LentBlocks {
    for (const index of written.segments) {
      assert(this.borrowed.delete(memory[index]), 'a job fills the segments that it has borrowed')
    }
    const lent = new LentBlocks(owner, written, memory)
    this.loans.add(lent)
    this.loanCount += lent.segmentCount
    return lent
  }

  /**
   * Ends the use of segments by a job. Those that were not lent are free again, unless the job has
   * failed: its thread may still write to them.
   */
  end(memory: readonly SharedArrayBuffer[], hasFailed: boolean): void {
    for (const segment of memory) {
      if (!this.borrowed.delete(segment)) continue
      if (hasFailed) this.count--
      else this.free.push(segment)
    }
  }

  /** A new segment; undefined: the system has no memory for it. */
  private make(): SharedArrayBuffer | undefined {
    try {
      return new SharedArrayBuffer(this.segmentBytes)
    } catch {
      return undefined
    }
  }

  /** The loan whose segments are dropped first. */
  get oldest(): LentBlocks | undefined {
    for (const lent of this.loans) return lent
    return undefined
  }

  /**
   * Takes back the last segment of a loan, whose blocks have left the cache. It is used again
   * unless `isHeld`: a read may still refer to bytes of a block.
   */
  release(lent: LentBlocks, isHeld: boolean): void {
    const segment = lent.dropLast()
    if (checksInvariants && !isHeld) Buffer.from(segment).fill(0xdb)
    if (isHeld) this.count--
    else this.free.push(segment)
    this.loanCount--
    assert(this.loanCount >= 0, 'no more segments are released than were lent')
    if (lent.segmentCount === 0) this.loans.delete(lent)
  }

  /** Gives up one free segment; false: there is none. */
  shrink(): boolean {
    if (this.free.pop() === undefined) return false
    this.count--
    return true
  }
}
