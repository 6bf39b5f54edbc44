/**
 * Copies of the blocks that a writer has written, for readers of the same process: a flush or
 * compaction in a worker thread hands them over, so that the first reads of its files need neither
 * the disk nor a decompression.
 *
 * The copies lie one after the other in segments of shared memory, uncompressed. The cache counts
 * them, and drops them by segments before other blocks ({@link BlockCache.lend}). A block that is
 * read is copied into memory of its own and becomes a block of the cache like any other.
 *
 * Ownership: the writer owns the segments until it has finished, then the reader. Nobody writes to
 * them afterwards.
 */
import { assert } from '../../../base/assert.js'
import { growNumbers } from '../grow.js'

/** The written blocks of one SSTable from the first one on. Structured-cloneable. */
export interface WrittenBlocks {
  readonly segments: readonly SharedArrayBuffer[]
  /** {@link numbersPerBlock} numbers for each block: segment, offset in it, length. */
  readonly places: Uint32Array
  readonly blockCount: number
}

const numbersPerBlock = 3

/** Size of a segment, except for a longer block. */
const segmentBytes = 1024 * 1024

/** The bytes that the outputs of one job may still keep. */
export class WrittenBudget {
  bytesLeft: number

  constructor(bytesMax: number) {
    this.bytesLeft = bytesMax
  }
}

/** Keeps the blocks of an SSTable that is being written, until the budget is used up. */
export class WrittenBlocksBuilder {
  private readonly budget: WrittenBudget
  private readonly segments: SharedArrayBuffer[] = []
  private segment: Buffer = Buffer.alloc(0)
  private used = 0
  private places = new Uint32Array(64)
  private blockCount = 0
  private isFull = false

  constructor(budget: WrittenBudget) {
    this.budget = budget
  }

  /** Copies the next block, `payload[0, length)`. */
  add(payload: Buffer, length: number): void {
    if (this.isFull) return
    if (this.used + length > this.segment.length && !this.startSegment(length)) return
    payload.copy(this.segment, this.used, 0, length)
    const at = this.blockCount * numbersPerBlock
    this.places = growNumbers(this.places, at + numbersPerBlock)
    this.places[at] = this.segments.length - 1
    this.places[at + 1] = this.used
    this.places[at + 2] = length
    this.used += length
    this.blockCount++
  }

  /** The blocks kept; undefined if there are none. */
  finish(): WrittenBlocks | undefined {
    const { segments, places, blockCount } = this
    return blockCount === 0 ? undefined : { segments, places, blockCount }
  }

  private startSegment(length: number): boolean {
    const bytes = Math.max(segmentBytes, length)
    this.isFull = this.budget.bytesLeft < bytes
    if (this.isFull) return false
    this.budget.bytesLeft -= bytes
    const memory = new SharedArrayBuffer(bytes)
    this.segments.push(memory)
    this.segment = Buffer.from(memory)
    this.used = 0
    return true
  }
}

/** The written blocks that a reader has, until the cache drops them. */
export class LentBlocks {
  /** Bytes of the segments left. */
  bytes = 0
  private readonly written: WrittenBlocks
  private readonly segments: (Buffer | undefined)[]
  /** By segment: the blocks that were not taken yet. */
  private readonly waiting: Uint32Array

  constructor(written: WrittenBlocks) {
    this.written = written
    this.segments = written.segments.map((memory) => Buffer.from(memory))
    this.waiting = new Uint32Array(this.segments.length)
    for (const { byteLength } of written.segments) this.bytes += byteLength
    const { places, blockCount } = written
    for (let i = 0; i < blockCount; i++) this.waiting[places[i * numbersPerBlock]]++
  }

  /** Whether block `index` is here. */
  has(index: number): boolean {
    const { places, blockCount } = this.written
    return index < blockCount && this.segments[places[index * numbersPerBlock]] !== undefined
  }

  /** Length of block `index`. REQUIRES {@link has}. */
  lengthOf(index: number): number {
    return this.written.places[index * numbersPerBlock + 2]
  }

  /** Copies block `index` to the start of `target`. REQUIRES {@link has}. */
  copy(index: number, target: Buffer): void {
    const { places } = this.written
    const at = index * numbersPerBlock
    const segment = this.segments[places[at]]
    assert(segment !== undefined, 'a lent block is copied before it is dropped')
    segment.copy(target, 0, places[at + 1], places[at + 1] + places[at + 2])
  }

  /** Notes that the cache has a copy of block `index`. Returns the bytes that became free. */
  taken(index: number): number {
    const segment = this.written.places[index * numbersPerBlock]
    assert(this.waiting[segment] > 0, 'a lent block is taken once')
    return --this.waiting[segment] === 0 ? this.dropSegment(segment) : 0
  }

  /** Drops the last segment left. Returns its bytes; 0: none is left. */
  dropLast(): number {
    const last = this.segments.findLastIndex((segment) => segment !== undefined)
    return last < 0 ? 0 : this.dropSegment(last)
  }

  private dropSegment(index: number): number {
    const bytes = this.segments[index]?.length ?? 0
    this.segments[index] = undefined
    this.bytes -= bytes
    return bytes
  }
}
