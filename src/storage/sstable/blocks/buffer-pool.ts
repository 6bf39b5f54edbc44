/**
 * A pool of memory for cached blocks. An off-heap buffer of a block's size costs 3 µs to allocate
 * and collect, more than the system call that fills it.
 *
 * Buffers have lengths of a few classes, so that blocks of about the same size share them. The pool
 * is bounded in bytes; the excess is left to the garbage collector.
 *
 * While the cache grows there is no memory to recycle. Its first buffers are therefore cut out of
 * slabs of shared memory. V8 counts other off-heap memory and collects the whole heap after every
 * 64 MiB of it, which doubled the time of misses until a cache of 2 GiB was full. A slab is freed
 * once none of its buffers is referenced. To bound partly used slabs, a pool cuts at most the size
 * of the cache in its life; later buffers have memory of their own.
 *
 * Ownership: a buffer is owned by its taker until it is returned. REQUIRES of
 * {@link BufferPool.give} that no reference to the buffer remains; block-cache.ts explains how that
 * is known.
 */

/** Longer buffers are not pooled: they are rare and differ in length. */
const pooledBytesMax = 1024 * 1024

/** Size of a slab of a large cache in bytes. */
const slabBytesMax = 1024 * 1024

/** Minimum number of buffers per slab, to bound the unused end of the slab. */
const slabBuffersMin = 8

/** Minimum number of slabs per cache, so that a partly used slab exceeds the bound by little. */
const slabsMin = 64

/** Minimum difference between two length classes. */
const stepBytesMin = 256

/** The length of the class for `bytes` bytes: from 2 KiB on at most an eighth more. */
export function pooledLength(bytes: number): number {
  if (bytes > pooledBytesMax) return bytes
  const step = Math.max(stepBytesMin, 2 ** (28 - Math.clz32(bytes - 1)))
  return Math.ceil(bytes / step) * step
}

/** A pool of buffers. Not shared between threads. */
export class BufferPool {
  /** Size of the pooled buffers. */
  bytes = 0
  /** The bound in bytes. */
  bytesMax: number
  private readonly free = new Map<number, Buffer[]>()
  private slab: SharedArrayBuffer | undefined = undefined
  private slabUsed = 0
  private slabBytes = 0
  /** Size of all slabs allocated so far. */
  private slabBytesTotal = 0
  private slabBytesTotalMax = 0

  /**
   * Keeps up to `bytesMax` bytes; 0 keeps none. Allocates slabs of `cacheBytesMax` bytes in total;
   * 0: no slabs.
   */
  constructor(bytesMax: number, cacheBytesMax: number) {
    this.bytesMax = bytesMax
    this.setSlabs(cacheBytesMax)
  }

  /** Changes both bounds; drops the pooled buffers. */
  resize(bytesMax: number, cacheBytesMax: number): void {
    this.bytesMax = bytesMax
    this.setSlabs(cacheBytesMax)
    this.clear()
  }

  /** A buffer of at least `bytes` bytes with undefined content. */
  take(bytes: number): Buffer {
    const length = pooledLength(bytes)
    const buffer = this.free.get(length)?.pop()
    if (buffer === undefined) return this.make(length)
    this.bytes -= length
    return buffer
  }

  /** Returns a buffer, which may be reused at once. REQUIRES that no reference to it remains. */
  give(buffer: Buffer): void {
    const { length } = buffer
    if (length > this.bytesMax || length > pooledBytesMax || pooledLength(length) !== length) return
    let waiting = this.free.get(length)
    if (this.bytes + length > this.bytesMax) {
      if (waiting !== undefined && waiting.length > 0) return
      // Lengths without demand must not displace those in demand.
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
