/**
 * The newest entries of a topic in memory, in order (CDAP: MessageCache).
 *
 * Three weights bound the cache. An addition above `hardLimit` evicts the oldest entries at once,
 * down to `minRetain`. Above `reduceTrigger` a flag is set, and the next scan to close reduces the
 * cache to `minRetain`, so a slightly late reader still finds its entries.
 *
 * Invariant: entries ascend strictly. An addition or an update that would violate the order clears
 * the cache and fails, so a cache never returns wrong entries.
 */
import { CellarError, invalidArgument, assert, lowerBound } from '../../../api/index.js'
import { MessagingErrorCode } from '../errors.js'

/** Limits of a cache, in the unit of its weights: minRetain <= reduceTrigger <= hardLimit. */
export interface CacheLimits {
  /** A reduction keeps at least this weight, if the cache has it. */
  readonly minRetain: number
  /** Above this weight the end of a scan reduces the cache. */
  readonly reduceTrigger: number
  /** Above this weight an addition reduces the cache at once. */
  readonly hardLimit: number
}

/** Order and weight of the entries of a cache. */
export interface CacheEntries<E> {
  /** Order of two entries: below 0, 0 or above 0. Must not change during the life of the cache. */
  compare(a: E, b: E): number
  /** Weight of an entry, 0 or more, in the unit of the limits. */
  weigh(entry: E): number
}

/** The decision of a scan about an entry. */
export type CacheFilter<E> = (entry: E) => 'accept' | 'skip' | 'hold'

/** Entries copied from a cache. */
export interface CacheScan<E> {
  /** The first entry of the cache at the time of the scan; undefined if it was empty. */
  readonly first: E | undefined
  /** The accepted entries, in order. */
  readonly entries: readonly E[]
  /** Ends the scan; reduces the cache if necessary. */
  close(): void
}

export class MessageCache<E> {
  readonly #of: CacheEntries<E>
  #limits: CacheLimits
  /** The live entries start at `#head`. */
  #entries: E[] = []
  #head = 0
  #weight = 0
  #isAdding = false

  /**
   * An empty cache. `ERR_INVALID_ARGUMENT` unless 0 <= `minRetain` <= `reduceTrigger` <=
   * `hardLimit`.
   */
  constructor(entries: CacheEntries<E>, limits: CacheLimits) {
    this.#of = entries
    this.#limits = checkLimits(limits)
  }

  get weight(): number {
    return this.#weight
  }

  get size(): number {
    return this.#entries.length - this.#head
  }

  /** The oldest entry; undefined if there is none. */
  get first(): E | undefined {
    return this.#entries[this.#head]
  }

  /** Sets new limits; the next addition or scan removes the excess. */
  resize(limits: CacheLimits): void {
    this.#limits = checkLimits(limits)
  }

  clear(): void {
    this.#entries = []
    this.#head = 0
    this.#weight = 0
  }

  /**
   * Adds ascending entries, which must be larger than all cached ones. `ERR_INVALID_ARGUMENT`
   * otherwise, with an empty cache; `ERR_CONCURRENT_MODIFICATION` during another addition.
   */
  addAll(entries: Iterable<E>): void {
    if (this.#isAdding) {
      const message = 'entries are being added to the cache'
      throw new CellarError(MessagingErrorCode.concurrentModification, message)
    }
    this.#isAdding = true
    try {
      for (const entry of entries) this.#add(entry)
    } finally {
      this.#isAdding = false
    }
  }

  /** Copies up to `limit` entries from `start`. */
  scan(start: E, inclusive: boolean, limit: number, filter?: CacheFilter<E>): CacheScan<E> {
    const found: E[] = []
    for (let at = this.#position(start, inclusive); at < this.#entries.length; at++) {
      if (found.length >= limit) break
      const entry = this.#entries[at]
      const answer = filter?.(entry) ?? 'accept'
      if (answer === 'hold') break
      if (answer === 'accept') found.push(entry)
    }
    return { first: this.first, entries: found, close: () => this.#closeScan() }
  }

  /**
   * Replaces the entries from `from` to `to`, both inclusive, by the results of `update`.
   * `ERR_CACHE_ORDER` if the order changes; the cache is empty then, and also if `update` throws.
   */
  updateEntries(from: E, to: E, update: (entry: E) => E): void {
    try {
      for (let at = this.#position(from, true); at < this.#entries.length; at++) {
        const entry = this.#entries[at]
        if (this.#of.compare(entry, to) > 0) break
        const updated = update(entry)
        if (this.#of.compare(entry, updated) !== 0) {
          const message = 'an update changed the order of cached entries'
          throw new CellarError(MessagingErrorCode.cacheOrder, message)
        }
        this.#weight += this.#of.weigh(updated) - this.#of.weigh(entry)
        this.#entries[at] = updated
      }
    } catch (error) {
      this.clear()
      throw error
    }
  }

  #add(entry: E): void {
    const last = this.size === 0 ? undefined : this.#entries[this.#entries.length - 1]
    if (last !== undefined && this.#of.compare(last, entry) >= 0) {
      this.clear()
      throw invalidArgument('entries of a cache must ascend')
    }
    this.#entries.push(entry)
    this.#weight += this.#of.weigh(entry)
    if (this.#weight <= this.#limits.hardLimit) return
    this.#reduce()
  }

  #closeScan(): void {
    if (this.#weight <= this.#limits.reduceTrigger) return
    this.#reduce()
  }

  #reduce(): void {
    const entries = this.#entries
    while (this.#head < entries.length) {
      const weight = this.#of.weigh(entries[this.#head])
      if (this.#weight - weight < this.#limits.minRetain) break
      this.#weight -= weight
      this.#head++
    }
    assert(this.#weight >= 0, 'the weight of a cache is never negative')
    if (this.#head > 64 && 2 * this.#head > entries.length) {
      this.#entries = entries.slice(this.#head)
      this.#head = 0
    }
  }

  /** Position of the first entry at or after `start`. */
  #position(start: E, inclusive: boolean): number {
    return lowerBound(this.#head, this.#entries.length, (at) => {
      const order = this.#of.compare(this.#entries[at], start)
      return order < 0 || (order === 0 && !inclusive)
    })
  }
}

function checkLimits(limits: CacheLimits): CacheLimits {
  const { minRetain, reduceTrigger, hardLimit } = limits
  if (minRetain >= 0 && minRetain <= reduceTrigger && reduceTrigger <= hardLimit) return limits
  throw invalidArgument('limits of a cache must be 0 <= minRetain <= reduceTrigger <= hardLimit')
}
