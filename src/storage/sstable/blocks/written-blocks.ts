/**
 * Blocks that a writer leaves in memory for readers of the same process: a flush or compaction in a
 * worker thread hands them over, so that the reads of its files need neither the disk nor a
 * decompression.
 *
 * The blocks lie one after the other, uncompressed, in segments of shared memory that the block
 * cache lends to the job. They are read where they lie. The cache drops whole segments.
 *
 * Ownership: the job owns the segments until it has finished, then the reader of the file. Only the
 * owner uses them. Segments of a job that fails are never used again, because its thread may still
 * write to them.
 */
import { growNumbers } from '../grow.js'
import { Block, type BlockOwner } from './block.js'
import { wordSlackBytes } from './block-memory.js'

/** The written blocks of one SSTable. Structured-cloneable. */
export interface WrittenBlocks {
  /** By index of the segment: its index among the segments of the job. */
  readonly segments: readonly number[]
  /**
   * {@link numbersPerBlock} numbers for each block: index of the segment plus 1 (0: the block was
   * not kept), offset in it, length.
   */
  readonly places: Uint32Array
  readonly blockCount: number
}

const numbersPerBlock = 3

/** The segments that the outputs of one job may still fill. */
export class LentSegments {
  private readonly memory: readonly SharedArrayBuffer[]
  private used = 0

  constructor(memory: readonly SharedArrayBuffer[]) {
    this.memory = memory
  }

  get segmentBytes(): number {
    return this.memory[0]?.byteLength ?? 0
  }

  /** The index of another segment; -1: all are used. */
  next(): number {
    return this.used < this.memory.length ? this.used++ : -1
  }

  bytesOf(index: number): Buffer {
    return Buffer.from(this.memory[index])
  }
}

/** Keeps the blocks of an SSTable that is being written, until the segments are full. */
export class WrittenBlocksBuilder {
  private readonly lent: LentSegments
  private readonly segments: number[] = []
  private segment: Buffer = Buffer.alloc(0)
  private used = 0
  private places = new Uint32Array(64)
  private blockCount = 0
  private isFull = false

  constructor(lent: LentSegments) {
    this.lent = lent
  }

  /** Copies the next block, `payload[0, length)`. */
  add(payload: Buffer, length: number): void {
    if (this.isFull) return
    const at = this.blockCount * numbersPerBlock
    this.places = growNumbers(this.places, at + numbersPerBlock)
    this.blockCount++
    const bytes = length + wordSlackBytes
    // A block that is longer than a segment is not kept.
    if (bytes > this.lent.segmentBytes) return
    if (this.used + bytes > this.segment.length && !this.startSegment()) return
    payload.copy(this.segment, this.used, 0, length)
    this.places[at] = this.segments.length
    this.places[at + 1] = this.used
    this.places[at + 2] = length
    // Copies of aligned bytes are faster.
    this.used = (this.used + bytes + 7) & ~7
  }

  /** The blocks kept; undefined if there are none. */
  finish(): WrittenBlocks | undefined {
    const { segments, places, blockCount } = this
    return segments.length === 0 ? undefined : { segments, places, blockCount }
  }

  private startSegment(): boolean {
    const index = this.lent.next()
    this.isFull = index < 0
    if (this.isFull) return false
    this.segments.push(index)
    this.segment = this.lent.bytesOf(index)
    this.used = 0
    return true
  }
}

/** The written blocks that a reader has, until the cache drops their segments. */
export class LentBlocks {
  /** Number of segments left; the first ones are dropped last. */
  segmentCount: number
  readonly owner: BlockOwner
  /** By index of the segment, its address ({@link BlockAddresses}) once a block was made. */
  readonly addresses: (number | undefined)[] = []
  private readonly written: WrittenBlocks
  private readonly memory: SharedArrayBuffer[]
  /** Index of the block after the last one of the segments left. */
  blockEnd: number

  /** `memory`: the segments of the job. */
  constructor(owner: BlockOwner, written: WrittenBlocks, memory: readonly SharedArrayBuffer[]) {
    this.owner = owner
    this.written = written
    this.memory = written.segments.map((index) => memory[index])
    this.segmentCount = this.memory.length
    this.blockEnd = written.blockCount
  }

  /** Whether block `index` is here. */
  has(index: number): boolean {
    return index < this.blockEnd && this.written.places[index * numbersPerBlock] > 0
  }

  /** Makes block `index` in the segment's memory. REQUIRES {@link has}. */
  make(index: number): Block {
    const { places } = this.written
    const at = index * numbersPerBlock
    const length = places[at + 2]
    const memory = this.memory[places[at] - 1]
    const start = places[at + 1]
    const buffer = Buffer.from(memory, start, length + wordSlackBytes)
    const block = new Block(this.owner, index, buffer, length)
    block.addressStart = start
    return block
  }

  /** Index of the segment of a block. REQUIRES {@link has}. */
  segmentOf(index: number): number {
    return this.written.places[index * numbersPerBlock] - 1
  }

  /** The memory of a segment. */
  bytesOf(segment: number): Buffer {
    return Buffer.from(this.memory[segment])
  }

  /** Index of the first block of the last segment left. */
  get lastStart(): number {
    const { places } = this.written
    let start = this.blockEnd
    while (start > 0) {
      const segment = places[(start - 1) * numbersPerBlock]
      if (segment > 0 && segment < this.segmentCount) break
      start--
    }
    return start
  }

  /** Gives back the last segment left. REQUIRES that none of its blocks is in the cache. */
  dropLast(): SharedArrayBuffer {
    const { lastStart } = this
    this.blockEnd = lastStart
    this.segmentCount--
    return this.memory.pop()!
  }
}
