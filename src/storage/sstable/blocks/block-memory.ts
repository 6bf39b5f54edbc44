/**
 * Recycled memory for decoded blocks. A job reads blocks by the ten thousand and keeps none. A new
 * buffer for each would pass all the data of its inputs through the garbage collector.
 *
 * Ownership: memory is owned by its taker until it is retired. There may still be references to
 * retired memory (a matcher borrows the qualifier of the current column), so it stays unchanged.
 * Once no reference remains, the caller that knows this calls {@link BlockMemoryPool.recycle}.
 */

import { payloadBytesMax } from '../format.js'

/** Number of bytes that loops over words may access after the end of the data. */
export const wordSlackBytes = 8

/** Up to this length a loop over words is faster than `Buffer.copy`. */
export const wordCopyBytesMax = 256

/** Copies `source[start, end)` and up to seven more bytes to `target[offset, …)`. */
export function copyWords(
  source: DataView,
  start: number,
  end: number,
  target: DataView,
  offset: number,
): void {
  for (let from = start, to = offset; from < end; from += 8, to += 8) {
    target.setInt32(to, source.getInt32(from, true), true)
    target.setInt32(to + 4, source.getInt32(from + 4, true), true)
  }
}

/** The memory of one decoded block, with slack for loops over words. */
export class BlockMemory {
  readonly buffer: Buffer
  /** A view of the same bytes. */
  readonly words: DataView

  /** At least `bytes` bytes and slack. */
  constructor(bytes: number) {
    // A whole number of pages, so that blocks of about the same size share memory. A block that
    // fills the last page below the maximum was not written by Cellar and need not have the slack.
    const pages = Math.ceil((bytes + wordSlackBytes) / 4096) * 4096
    // Blocks of large values differ much in size: powers of two let them share memory as well.
    const shared = pages > sharedBytesMin ? 2 ** Math.ceil(Math.log2(pages)) : pages
    const length = Math.max(bytes, Math.min(shared, payloadBytesMax))
    this.buffer = Buffer.allocUnsafeSlow(length)
    this.words = new DataView(this.buffer.buffer, this.buffer.byteOffset, length)
  }
}

/** Longer memories have a power of two as their length. */
const sharedBytesMin = 64 * 1024

/** Maximum number of retired memories kept for {@link BlockMemoryPool.recycle}. */
const retiredMax = 64

/** Maximum size of free memory in bytes; the excess is left to the garbage collector. */
const freeBytesMax = 8 * 1024 * 1024

/** A pool of block memory. Not shared between threads. */
export class BlockMemoryPool {
  /** Ascending by length. */
  private readonly free: BlockMemory[] = []
  private freeBytes = 0
  private retired: BlockMemory[] = []
  private stored: BlockMemory | undefined = undefined

  /** Memory for one stored block of `bytes` bytes, valid until the next call. */
  sharedStored(bytes: number): Buffer {
    if (this.stored === undefined || this.stored.buffer.length < bytes) {
      this.stored = new BlockMemory(bytes)
    }
    return this.stored.buffer
  }

  /** The shortest memory for a block of `bytes` bytes; its content is undefined. */
  take(bytes: number): BlockMemory {
    const { free } = this
    const needed = bytes + wordSlackBytes
    const index = free.findIndex(({ buffer }) => buffer.length >= needed)
    if (index < 0) return new BlockMemory(bytes)
    const [memory] = free.splice(index, 1)
    this.freeBytes -= memory.buffer.length
    return memory
  }

  /** Takes memory back; its content stays until {@link recycle}. */
  retire(memory: BlockMemory): void {
    // With very many blocks in a row, the excess is left to the garbage collector.
    if (this.retired.length < retiredMax) this.retired.push(memory)
  }

  /** Lets all retired memory be reused. REQUIRES that no reference to it remains. */
  recycle(): void {
    const { retired } = this
    while (retired.length > 0) this.keep(retired.pop()!)
  }

  private keep(memory: BlockMemory): void {
    const { free } = this
    const { length } = memory.buffer
    if (this.freeBytes + length > freeBytesMax) return
    this.freeBytes += length
    let at = free.length
    while (at > 0 && free[at - 1].buffer.length > length) at--
    free.splice(at, 0, memory)
  }
}
