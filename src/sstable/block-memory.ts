/**
 * Memory for decoded blocks that is used again: a job reads blocks by the ten thousand and keeps
 * none, so a new buffer for each would feed the garbage collector with all the data of its inputs.
 *
 * Ownership: who takes memory owns it until it is retired. What was retired may still be referred
 * to (a matcher remembers a column of the current row by where it lies) and stays as it is until
 * somebody who knows that nothing does calls {@link BlockMemoryPool.recycle}.
 */

import { payloadBytesMax } from './format.js'

/** Words are read and written up to this many bytes past what they are wanted for. */
export const wordSlackBytes = 8

/** The memory of one decoded block, with slack behind it for loops over words. */
export class BlockMemory {
  readonly buffer: Buffer
  /** Over the same bytes. */
  readonly words: DataView

  /** At least `bytes` bytes and slack. */
  constructor(bytes: number) {
    // A whole number of pages, so that blocks of about the same size share memory. What lies in the
    // last page below the maximum was not written by Cellar and need not have the slack.
    const pages = Math.ceil((bytes + wordSlackBytes) / 4096) * 4096
    const length = Math.max(bytes, Math.min(pages, payloadBytesMax))
    this.buffer = Buffer.allocUnsafeSlow(length)
    this.words = new DataView(this.buffer.buffer, this.buffer.byteOffset, length)
  }
}

/** Retired memories that are kept for {@link BlockMemoryPool.recycle}, at most. */
const retiredMax = 64

/** Hands out memory and takes it back. Not shared between threads. */
export class BlockMemoryPool {
  private readonly free: BlockMemory[] = []
  private retired: BlockMemory[] = []

  /** Memory for a block of `bytes` bytes, with undefined content. */
  take(bytes: number): BlockMemory {
    const memory = this.free.pop()
    if (memory !== undefined && memory.buffer.length >= bytes + wordSlackBytes) return memory
    return new BlockMemory(bytes)
  }

  /** Takes memory back, which keeps its content until {@link recycle}. */
  retire(memory: BlockMemory): void {
    // A row of very many blocks: the rest is left to the garbage collector.
    if (this.retired.length < retiredMax) this.retired.push(memory)
  }

  /** Allows all retired memory to be used again. REQUIRES that nothing refers to it. */
  recycle(): void {
    const { free, retired } = this
    while (retired.length > 0) free.push(retired.pop()!)
  }
}
