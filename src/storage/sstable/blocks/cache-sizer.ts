/**
 * Sizes a block cache by the memory that is available, and lets it give way to other users of the
 * memory: a share of what is available together with the bytes that the cache has. So the cache
 * shrinks while others take memory, and grows again when they return it. Memory that it gives up is
 * collected at once, because others wait for it.
 *
 * Failure behaviour: none. A cache that is too large for a moment is shrunk at the next look.
 */
import {
  availableMemoryBytes,
  cacheBytesFor,
  collectGarbage,
} from '../../../base/machine-memory.js'
import { BlockCache } from './block-cache.js'

/** Time between two looks at the memory. */
const lookMilliseconds = 5000

/** A smaller change of the size is not worth the evictions. */
const changeMin = 1 / 8

export class CacheSizer {
  readonly cache: BlockCache
  /** The bytes that the present size is a share of. */
  sizedForBytes: number
  private readonly available: () => number
  private readonly timer: NodeJS.Timeout

  /** Makes a cache of the right size, and looks at it until {@link stop}. */
  constructor(available: () => number = availableMemoryBytes) {
    this.available = available
    this.sizedForBytes = available()
    this.cache = new BlockCache(cacheBytesFor(this.sizedForBytes))
    this.timer = setInterval(() => this.look(), lookMilliseconds)
    this.timer.unref()
  }

  /** Resizes the cache if its size is far from the right one. */
  look(): void {
    const { cache } = this
    const bytes = this.available() + cache.bytesUsed
    const wanted = cacheBytesFor(bytes)
    if (Math.abs(wanted - cache.bytesMax) < cache.bytesMax * changeMin) return
    this.sizedForBytes = bytes
    const isShorter = wanted < cache.bytesMax
    cache.resize(wanted)
    if (isShorter) collectGarbage()
  }

  stop(): void {
    clearInterval(this.timer)
  }
}
