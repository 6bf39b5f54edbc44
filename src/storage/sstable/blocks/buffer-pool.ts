/**
 * Memory of cached blocks that is used again: a buffer outside of the heap costs a block's worth of
 * misses 3 µs to make and to collect, more than the system call that fills it.
 *
 * Buffers have lengths of few classes, so that blocks of about the same size share them. The pool
 * is bounded in bytes; the excess is left to the garbage collector.
 *
 * While the cache grows there is nothing to use again. Its first buffers are therefore cut out of
 * slabs of shared memory: V8 counts other memory outside of the heap and collects the whole heap
 * after every 64 MiB of it, which doubled the time of misses until a cache of 2 GiB was full. A
 * slab is freed when nothing refers to any of its buffers. So that the rest of slabs cannot pile
 * up, no more is cut in the life of a pool than the cache may hold; later buffers have their own
 * memory.
 *
 * Ownership: who takes a buffer owns it until it is given back. REQUIRES of {@link BufferPool.give}
 * that nothing refers to the buffer any more; block-cache.ts says how that is known.
 */

/** Longer buffers are not pooled: they are rare and differ in length. */
const pooledBytesMax = 1024 * 1024

/** Bytes of a slab of a cache with many blocks. */
const slabBytesMax = 1024 * 1024

/** The least part of a slab that is longer than a buffer: the rest at its end is wasted. */
const slabBuffersMin = 8

/** The least number of slabs of a cache, so that one begun slab exceeds its bound by little. */
const slabsMin = 64

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
  private slab: SharedArrayBuffer | undefined = undefined
  private slabUsed = 0
  private slabBytes = 0
  /** Bytes of all slabs that were made. */
  private slabBytesTotal = 0
  private slabBytesTotalMax = 0

  /**
   * Keeps up to `bytesMax` bytes for later; 0 keeps nothing. Makes slabs of `cacheBytesMax` bytes
   * in all, 0 for none.
   */
  constructor(bytesMax: number, cacheBytesMax: number) {
    this.bytesMax = bytesMax
    this.setSlabs(cacheBytesMax)
  }

  /** Changes both bounds; what waits is forgotten. */
  resize(bytesMax: number, cacheBytesMax: number): void {
    this.bytesMax = bytesMax
    this.setSlabs(cacheBytesMax)
    this.clear()
  }

  /** At least `bytes` bytes of undefined content. */
  take(bytes: number): Buffer {
    const length = pooledLength(bytes)
    const buffer = this.free.get(length)?.pop()
    if (buffer === undefined) return this.make(length)
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
      // Lengths without requests must not take the place of those that are wanted.
      this.clear()
      waiting = undefined
    }
    if (waiting === undefined) this.free.set(length, [buffer])
    else waiting.push(buffer)
    this.bytes += length
  }

  private make(length: number): Buffer {
    if (length * slabBuffersMin > this.slabBytes) return Buffer.allocUnsafeSlow(length)
    if (this.slab === undefined || this.slabUsed + length > this.slab.byteLength) {
      if (this.slabBytesTotal + this.slabBytes > this.slabBytesTotalMax) {
        return Buffer.allocUnsafeSlow(length)
      }
      this.slab = new SharedArrayBuffer(this.slabBytes)
      this.slabBytesTotal += this.slabBytes
      this.slabUsed = 0
    }
    const buffer = Buffer.from(this.slab, this.slabUsed, length)
    this.slabUsed += length
    return buffer
  }

  private setSlabs(cacheBytesMax: number): void {
    this.slabBytes = Math.min(slabBytesMax, Math.floor(cacheBytesMax / slabsMin))
    this.slabBytesTotalMax = cacheBytesMax
    this.slab = undefined
  }

  private clear(): void {
    this.free.clear()
    this.bytes = 0
  }
}
