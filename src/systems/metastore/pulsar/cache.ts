/**
 * A cache of typed values of a store, never older than a delivered notification.
 *
 * The store notifies the cache of every change before any listener. If a record changes during a
 * load, the loaded value is discarded, so an old value cannot replace a newer one. The old value
 * remains visible until the new one is loaded.
 */
import { checkCachingStore, checkFunction, checkSerde, copyOfOptions } from './arguments.js'
import { elapsed, type LeaseClock } from '../kernel/lease-clock.js'
import {
  Backoff,
  backoffDefaults,
  systemClock,
  systemRandom,
  type BackoffOptions,
} from '../kernel/backoff.js'
import { callListener } from '../kernel/listener-errors.js'
import type { CacheSink, CachingStore } from './store/cache-sink.js'
import { hasCode, metadataError } from './errors.js'
import { checkPath } from './paths.js'
import type { MetadataSerde } from './serde.js'
import type { Expected, GetResult, PutOptions, Stat } from './types.js'

/** A value with its stat. */
export interface CacheGetResult<T> {
  /** The deserialized value. */
  readonly value: T
  /** Version, times and sequence of the record that was read. */
  readonly stat: Stat
}

/** Settings of a cache. */
export interface MetadataCacheOptions<T> {
  /** Age at which a value is reloaded in the background. Default five minutes; <= 0 = never. */
  readonly refreshAfterMilliseconds?: number | undefined
  /** Age at which a value is no longer used. Default ten minutes; <= 0 = never. */
  readonly expireAfterMilliseconds?: number | undefined
  /** Maximum bytes of all values and paths together. Default 64 MiB. */
  readonly bytesMax?: number | undefined
  /** Retries of `readModifyUpdate` after conflicts. `stopMilliseconds: 0` = no retries. */
  readonly backoff?: BackoffOptions | undefined
  /** Called after a reload in the background. */
  readonly onReload?: ((path: string, result: CacheGetResult<T> | undefined) => unknown) | undefined
  /** Clock and timers. Default: the system clock. */
  readonly clock?: LeaseClock | undefined
  /** Random numbers of at least 0 and below 1, for the backoff. Default: those of `node:crypto`. */
  readonly random?: (() => number) | undefined
}

/** Keys of a record by name of index. */
export type IndexExtractor<T> = (value: T) => Readonly<Record<string, string>>

interface Entry<T> {
  /** Undefined = known to be absent, if `isLoaded`. */
  result: CacheGetResult<T> | undefined
  isLoaded: boolean
  /** Whether the record has changed since it was loaded. */
  isStale: boolean
  /** Incremented by every change, so that a load detects a change during its read. */
  generation: number
  loading: Promise<CacheGetResult<T> | undefined> | undefined
  loadedAt: number
  bytes: number
}

/** The default settings of a cache. */
export const metadataCacheDefaults = Object.freeze({
  /** Five minutes. */
  refreshAfterMilliseconds: 300_000,
  /** Ten minutes. */
  expireAfterMilliseconds: 600_000,
  /** 64 MiB. */
  bytesMax: 64 * 1024 * 1024,
  /** Pulsar's backoff between attempts of `readModifyUpdate`. */
  backoff: backoffDefaults,
})

const entryBytes = 256

const names: Readonly<Record<keyof MetadataCacheOptions<unknown>, true>> = {
  refreshAfterMilliseconds: true,
  expireAfterMilliseconds: true,
  bytesMax: true,
  backoff: true,
  onReload: true,
  clock: true,
  random: true,
}

/** Typed values of a store; see the file header. */
export class MetadataCache<T> implements CacheSink {
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #options: MetadataCacheOptions<T>
  readonly #clock: LeaseClock
  /** In order of use: the entry used last is the last one. */
  readonly #entries = new Map<string, Entry<T>>()
  #bytes = 0
  #unregister: (() => void) | undefined

  /** An empty cache over `store`. `ERR_METADATA_INVALID_ARGUMENT` for an unknown option. */
  constructor(store: CachingStore, serde: MetadataSerde<T>, options: MetadataCacheOptions<T> = {}) {
    this.#store = checkCachingStore(store)
    this.#serde = checkSerde(serde)
    this.#options = copyOfOptions(options, names, 'a metadata cache')
    this.#clock = this.#options.clock ?? systemClock
    this.#unregister = store.registerCache(this)
  }

  /** Bytes of the values and paths that are cached. */
  get bytes(): number {
    return this.#bytes
  }

  /** The value; undefined if there is no record. `ERR_METADATA_CONTENT_DESERIALIZATION`. */
  async get(path: string): Promise<T | undefined> {
    return (await this.getWithStats(path))?.value
  }

  /** As `get`, with the stat. All callers receive the same object until it is replaced. */
  async getWithStats(path: string): Promise<CacheGetResult<T> | undefined> {
    this.#check(path)
    const entry = this.#usable(path)
    if (entry === undefined || !entry.isLoaded || entry.isStale) return this.#load(path)
    if (
      this.#isOld(
        entry,
        this.#options.refreshAfterMilliseconds ?? metadataCacheDefaults.refreshAfterMilliseconds,
      )
    )
      this.#reload(path)
    return entry.result
  }

  /** The cached value: null = known to be absent, undefined = not cached. */
  getIfCached(path: string): T | null | undefined {
    this.#check(path)
    const entry = this.#usable(path)
    if (entry === undefined || !entry.isLoaded) return undefined
    return entry.result === undefined ? null : entry.result.value
  }

  /** As {@link MetadataStore.getChildren}. */
  async getChildren(path: string): Promise<string[]> {
    this.#check(path)
    return this.#store.getChildren(path)
  }

  /** As {@link MetadataStore.exists}. */
  async exists(path: string): Promise<boolean> {
    this.#check(path)
    return this.#store.exists(path)
  }

  /**
   * Changes a value. The function receives a copy and is called again after a conflict.
   * `ERR_METADATA_NOT_FOUND`; `ERR_METADATA_TIMEOUT` if conflicts do not end.
   */
  readModifyUpdate(
    path: string,
    modify: (value: T) => T | Promise<T>,
    indexes?: IndexExtractor<T>,
  ): Promise<T> {
    return this.#modify(
      path,
      (value) => {
        checkFunction(modify, 'modify')
        if (value === undefined) throw metadataError('notFound', path)
        return modify(value)
      },
      indexes,
    )
  }

  /** As `readModifyUpdate`, but the function creates the value if there is none. */
  readModifyUpdateOrCreate(
    path: string,
    modify: (value: T | undefined) => T | Promise<T>,
    indexes?: IndexExtractor<T>,
  ): Promise<T> {
    return this.#modify(path, modify, indexes)
  }

  /** `ERR_METADATA_ALREADY_EXISTS` if there is a record. */
  async create(path: string, value: T, indexes?: IndexExtractor<T>): Promise<void> {
    try {
      await this.#write(path, value, -1, indexes)
    } catch (error) {
      if (hasCode(error, 'badVersion')) throw metadataError('alreadyExists', path)
      throw error
    }
  }

  /** Writes a value, unconditionally. */
  async put(path: string, value: T, options?: PutOptions): Promise<void> {
    this.#check(path)
    await this.#store.put(path, this.#serde.serialize(path, value), undefined, options)
    await this.#ensure(path)
  }

  /** `ERR_METADATA_NOT_FOUND` if there is no record. */
  async delete(path: string): Promise<void> {
    this.#check(path)
    await this.#store.delete(path)
  }

  /** Drops a value from the cache. */
  invalidate(path: string): void {
    const entry = this.#entries.get(path)
    if (entry === undefined) return
    entry.generation++
    this.#drop(path, entry)
  }

  /** Drops all values from the cache; the next `get` of each reads the store. */
  invalidateAll(): void {
    for (const path of [...this.#entries.keys()]) this.invalidate(path)
  }

  /** Reloads a value, if it is cached. */
  async refresh(path: string): Promise<void> {
    this.#check(path)
    const entry = this.#entries.get(path)
    if (entry === undefined) return
    entry.generation++
    entry.isStale = true
    await this.#load(path)
  }

  /** Detaches from the store. Later calls fail with `ERR_METADATA_ALREADY_CLOSED`. */
  close(): void {
    this.#unregister?.()
    this.#unregister = undefined
    this.invalidateAll()
  }

  /** Called by the store after each change of a record. */
  changed(path: string, record: GetResult | undefined | 'unknown'): void | Promise<void> {
    const entry = this.#entries.get(path)
    if (entry === undefined) return
    entry.generation++
    if (record === 'unknown') {
      entry.isStale = true
      return this.#load(path).then(
        () => undefined,
        () => undefined,
      )
    }
    try {
      this.#set(path, entry, record)
    } catch {
      // The next `get` reads the record and reports that it cannot be decoded.
      this.#drop(path, entry)
    }
  }

  /** Called by the store when changes may have been lost. */
  reset(): void {
    for (const entry of this.#entries.values()) {
      entry.generation++
      entry.isStale = true
    }
  }

  /** Called by the store when its handle was closed. */
  closed(): void {
    this.close()
  }

  #check(path: string): void {
    if (this.#unregister === undefined) throw metadataError('alreadyClosed', 'the cache')
    checkPath(path)
  }

  /** The entry of a path unless it has expired, marked as used last. */
  #usable(path: string): Entry<T> | undefined {
    const entry = this.#entries.get(path)
    if (entry === undefined) return undefined
    if (
      this.#isOld(
        entry,
        this.#options.expireAfterMilliseconds ?? metadataCacheDefaults.expireAfterMilliseconds,
      )
    ) {
      entry.generation++
      this.#drop(path, entry)
      return undefined
    }
    this.#entries.delete(path)
    this.#entries.set(path, entry)
    return entry
  }

  #isOld({ isLoaded, loadedAt }: Entry<T>, milliseconds: number): boolean {
    return isLoaded && milliseconds > 0 && elapsed(this.#clock) - loadedAt >= milliseconds
  }

  #reload(path: string): void {
    const entry = this.#entries.get(path)!
    if (entry.loading !== undefined) return
    this.#load(path).then(
      (result) => callListener(this.#store.onListenerError, this.#options.onReload, path, result),
      () => undefined,
    )
  }

  #load(path: string): Promise<CacheGetResult<T> | undefined> {
    let entry = this.#entries.get(path)
    if (entry === undefined) {
      entry = {
        result: undefined,
        isLoaded: false,
        isStale: false,
        generation: 0,
        loading: undefined,
        loadedAt: 0,
        bytes: 0,
      }
      this.#entries.set(path, entry)
    }
    const loaded = entry
    loaded.loading ??= this.#read(path, loaded).finally(() => (loaded.loading = undefined))
    return loaded.loading
  }

  async #read(path: string, entry: Entry<T>): Promise<CacheGetResult<T> | undefined> {
    for (;;) {
      const { generation } = entry
      let found: GetResult | undefined
      try {
        found = await this.#store.get(path)
      } catch (error) {
        if (!entry.isLoaded) this.#drop(path, entry)
        throw error
      }
      if (entry.generation !== generation) {
        // The record changed during the read: `changed` has set a newer value or marked it stale.
        if (entry.isLoaded && !entry.isStale) return entry.result
        if (this.#entries.get(path) === entry) continue
        return this.#decode(path, found)
      }
      try {
        return this.#set(path, entry, found)
      } catch (error) {
        this.#drop(path, entry)
        throw error
      }
    }
  }

  #decode(path: string, found: GetResult | undefined): CacheGetResult<T> | undefined {
    if (found === undefined) return undefined
    try {
      return { value: this.#serde.deserialize(path, found.value, found.stat), stat: found.stat }
    } catch (cause) {
      throw metadataError('contentDeserialization', path, cause)
    }
  }

  #set(path: string, entry: Entry<T>, found: GetResult | undefined): CacheGetResult<T> | undefined {
    const isSame =
      entry.isLoaded &&
      entry.result !== undefined &&
      found?.stat.sequence === entry.result.stat.sequence
    if (!isSame) entry.result = this.#decode(path, found)
    entry.isLoaded = true
    entry.isStale = false
    entry.loadedAt = elapsed(this.#clock)
    if (this.#entries.get(path) !== entry) return entry.result
    this.#bytes -= entry.bytes
    entry.bytes = entryBytes + 2 * path.length + (found?.value.length ?? 0)
    this.#bytes += entry.bytes
    this.#evict(entry)
    return entry.result
  }

  #evict(kept: Entry<T>): void {
    const bytesMax = this.#options.bytesMax ?? metadataCacheDefaults.bytesMax
    for (const [path, entry] of this.#entries) {
      if (this.#bytes <= bytesMax) return
      if (entry !== kept && entry.loading === undefined) this.#drop(path, entry)
    }
  }

  #drop(path: string, entry: Entry<T>): void {
    if (this.#entries.get(path) !== entry) return
    this.#entries.delete(path)
    this.#bytes -= entry.bytes
    entry.bytes = 0
    entry.isLoaded = false
    entry.result = undefined
  }

  async #write(
    path: string,
    value: T,
    expected: Expected | undefined,
    indexes: IndexExtractor<T> | undefined,
  ): Promise<void> {
    this.#check(path)
    if (indexes !== undefined) checkFunction(indexes, 'indexes')
    const options = indexes === undefined ? undefined : { secondaryIndexes: indexes(value) }
    await this.#store.put(path, this.#serde.serialize(path, value), expected, options)
    await this.#ensure(path)
  }

  /** Loads the written value, unless the notification of the write has cached it already. */
  async #ensure(path: string): Promise<void> {
    const entry = this.#entries.get(path)
    if (this.#unregister === undefined || (entry?.isLoaded === true && !entry.isStale)) return
    // An error of the read must not fail the write, which has succeeded.
    await this.#load(path).catch(() => this.invalidate(path))
  }

  async #modify(
    path: string,
    modify: (value: T | undefined) => T | Promise<T>,
    indexes: IndexExtractor<T> | undefined,
  ): Promise<T> {
    this.#check(path)
    checkFunction(modify, 'modify')
    const sources = { clock: this.#clock, random: this.#options.random ?? systemRandom }
    const backoff = new Backoff(this.#options.backoff ?? {}, sources)
    const isRetrying = this.#options.backoff?.stopMilliseconds !== 0
    for (;;) {
      const known = await this.getWithStats(path)
      const copy = known === undefined ? undefined : this.#copy(path, known)
      const value = await modify(copy)
      try {
        await this.#write(path, value, this.#expectation(known), indexes)
        return value
      } catch (error) {
        if (!isRetrying || !hasCode(error, 'badVersion')) throw error
        this.invalidate(path)
        if (await backoff.wait()) continue
        throw metadataError('timeout', `${path}: the conflicts did not end in time`, error)
      }
    }
  }

  #expectation(known: CacheGetResult<T> | undefined): Expected {
    if (known === undefined) return -1
    const { sequence, version } = known.stat
    return this.#store.capabilities.sequenceExpectations ? { sequence } : version
  }

  #copy(path: string, { value, stat }: CacheGetResult<T>): T {
    const bytes = Buffer.from(this.#serde.serialize(path, value))
    return this.#serde.deserialize(path, bytes, stat)
  }
}
