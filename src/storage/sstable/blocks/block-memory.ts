/**
 * Memory for decoded blocks that is used again: a job reads blocks by the ten thousand and keeps
 * none, so a new buffer for each would feed the garbage collector with all the data of its inputs.
 *
 * Ownership: who takes memory owns it until it is retired. What was retired may still be referred
 * to (a matcher remembers a column of the current row by where it lies) and stays as it is until
 * somebody who knows that nothing does calls {@link BlockMemoryPool.recycle}.
 */

import { payloadBytesMax } from '../format.js'

/** Words are read and written up to this many bytes past what they are wanted for. */
export const wordSlackBytes = 8

/** The memory of one decoded block, with slack after it for loops over words. */
export class BlockMemory {
  readonly buffer: Buffer
  /** Over the same bytes. */
  readonly words: DataView

  /** At least `bytes` bytes and slack. */
  constructor(bytes: number) {
    // A whole number of pages, so that blocks of about the same size share memory. What lies in the
    // last page below the maximum was not written by Cellar and need not have the slack.
    const pages = Math.ceil((bytes + wordSlackBytes) / 4096) * 4096
    // Blocks of large values differ much in size: powers of two let them share memory as well.
    const shared = pages > sharedBytesMin ? 2 ** Math.ceil(Math.log2(pages)) : pages
    const length = Math.max(bytes, Math.min(shared, payloadBytesMax))
    this.buffer = Buffer.allocUnsafeSlow(length)
    this.words = new DataView(this.buffer.buffer, this.buffer.byteOffset, length)
  }
}

/** Memories longer than this have a power of two as their length. */
const sharedBytesMin = 64 * 1024

/** Retired memories that are kept for {@link BlockMemoryPool.recycle}, at most. */
const retiredMax = 64

/** Free memories beyond this number of bytes are left to the garbage collector. */
const freeBytesMax = 8 * 1024 * 1024

/** Hands out memory and takes it back. Not shared between threads. */
export class BlockMemoryPool {
  /** Ascending by length. */
  private readonly free: BlockMemory[] = []
  private freeBytes = 0
  private retired: BlockMemory[] = []
  private stored: BlockMemory | undefined = undefined

  /** Memory for one stored block of `bytes` bytes, good until the next call. */
  sharedStored(bytes: number): Buffer {
    if (this.stored === undefined || this.stored.buffer.length < bytes) {
      this.stored = new BlockMemory(bytes)
    }
    return this.stored.buffer
  }

  /** Memory for a block of `bytes` bytes, with undefined content: the shortest that will do. */
  take(bytes: number): BlockMemory {
    const { free } = this
    const needed = bytes + wordSlackBytes
    const index = free.findIndex(({ buffer }) => buffer.length >= needed)
    if (index < 0) return new BlockMemory(bytes)
    const [memory] = free.splice(index, 1)
    this.freeBytes -= memory.buffer.length
    return memory
  }

  /** Takes memory back, which keeps its content until {@link recycle}. */
  retire(memory: BlockMemory): void {
    // A row of very many blocks: the rest is left to the garbage collector.
    if (this.retired.length < retiredMax) this.retired.push(memory)
  }

  /** Allows all retired memory to be used again. REQUIRES that nothing refers to it. */
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
