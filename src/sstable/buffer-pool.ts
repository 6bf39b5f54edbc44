/**
 * Memory of cached blocks that is used again: a buffer outside of the heap costs a block's worth of
 * misses 3 µs to make and to collect, more than the system call that fills it.
 *
 * Buffers have lengths of few classes, so that blocks of about the same size share them. The pool
 * is bounded in bytes; whatever exceeds the bound is left to the garbage collector.
 *
 * Ownership: who takes a buffer owns it until it is given back. REQUIRES of {@link BufferPool.give}
 * that nothing refers to the buffer any more; block-cache.ts says how that is known.
 */

/** Longer buffers are not pooled: they are rare and differ in length. */
const pooledBytesMax = 1024 * 1024

/** Smallest difference between two lengths. */
const stepBytesMin = 256

/** The least length of a class that holds `bytes` bytes: from 2 KiB on at most an eighth more. */
export function pooledLength(bytes: number): number {
  if (bytes > pooledBytesMax) return bytes
  const step = Math.max(stepBytesMin, 2 ** (28 - Math.clz32(bytes - 1)))
  return Math.ceil(bytes / step) * step
}

/** Hands out buffers and takes them back. Not shared between threads. */
export class BufferPool {
  /** Bytes of the buffers that wait to be used again. */
  bytes = 0
  /** The bound in bytes. */
  bytesMax: number
  private readonly free = new Map<number, Buffer[]>()

  /** Keeps up to `bytesMax` bytes for later; 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Changes the bound; what waits is forgotten. */
  resize(bytesMax: number): void {
    this.bytesMax = bytesMax
    this.clear()
  }

  /** At least `bytes` bytes of undefined content. */
  take(bytes: number): Buffer {
    const length = pooledLength(bytes)
    const buffer = this.free.get(length)?.pop()
    if (buffer === undefined) return Buffer.allocUnsafeSlow(length)
    this.bytes -= length
    return buffer
  }

  /** Takes a buffer back, which may be used again at once. REQUIRES that nothing refers to it. */
  give(buffer: Buffer): void {
    const { length } = buffer
    if (length > this.bytesMax || length > pooledBytesMax || pooledLength(length) !== length) return
    let waiting = this.free.get(length)
    if (this.bytes + length > this.bytesMax) {
      if (waiting !== undefined && waiting.length > 0) return
      // Lengths that nobody asks for any more must not take the place of those that are wanted.
      this.clear()
      waiting = undefined
    }
    if (waiting === undefined) this.free.set(length, [buffer])
    else waiting.push(buffer)
    this.bytes += length
  }

  private clear(): void {
    this.free.clear()
    this.bytes = 0
  }
}
