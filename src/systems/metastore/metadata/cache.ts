/**
 * A cache of typed values of a store, never older than a delivered notification.
 *
 * The store notifies the cache of every change before any listener. If a record changes during a
 * load, the loaded value is discarded, so an old value cannot replace a newer one. The old value
 * remains visible until the new one is loaded.
 */
import { assert, type SettingsOf } from '../../../api/index.js'
import { Backoff } from '../kernel/backoff.js'
import { elapsed } from '../kernel/lease-clock.js'
import { callListener } from '../kernel/listener-errors.js'
import { checkCachingStore, checkFunction, checkSerde, readOptions } from './arguments.js'
import {
  cacheOptions,
  type CacheGetResult,
  type DeclaredOptions,
  type MetadataCacheOptions,
} from './cache-options.js'
import { hasCode, metadataError } from './errors.js'
import { checkPath } from './paths.js'
import { decoded, expectationOf, writeInTurn } from './record-access.js'
import type { MetadataSerde } from './serde.js'
import type { CacheSink, CachingStore, Expected, GetResult, PutOptions } from './types.js'

/** Keys of a record by name of index. */
export type IndexExtractor<T> = (value: T) => Readonly<Record<string, string>>

interface Entry<T> {
  /** Undefined = known to be absent, unless the entry is empty. */
  result: CacheGetResult<T> | undefined
  /**
   * 'empty' before the first load; 'stale' if the record has changed since it was loaded; 'unsure'
   * after a reset: the result may be of another store, whose sequences mean other writes.
   */
  state: 'empty' | 'stale' | 'unsure' | 'fresh'
  /** Incremented by every change, so that a load detects a change during its read. */
  generation: number
  loading: Promise<CacheGetResult<T> | undefined> | undefined
  loadedAt: number
  bytes: number
}

const entryBytes = 256

/** Typed values of a store; see the file header. */
export class MetadataCache<T> implements CacheSink {
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #settings: SettingsOf<DeclaredOptions<T>>
  /** In order of use: the entry used last is the last one. */
  readonly #entries = new Map<string, Entry<T>>()
  #bytes = 0
  #unregister: (() => void) | undefined

  /** An empty cache over `store`. `ERR_METADATA_INVALID_ARGUMENT` for an unknown option. */
  constructor(store: CachingStore, serde: MetadataSerde<T>, options: MetadataCacheOptions<T> = {}) {
    this.#store = checkCachingStore(store)
    this.#serde = checkSerde(serde)
    this.#settings = readOptions(cacheOptions<T>(), options)
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
    if (entry?.state !== 'fresh') return this.#load(path)
    if (this.#isOld(entry, this.#settings.refreshAfterMilliseconds)) this.#reload(path, entry)
    return entry.result
  }

  /** The cached value: null = known to be absent, undefined = not cached. */
  getIfCached(path: string): T | null | undefined {
    this.#check(path)
    const entry = this.#usable(path)
    if (entry === undefined || entry.state === 'empty') return undefined
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
  async readModifyUpdate(
    path: string,
    modify: (value: T) => T | Promise<T>,
    indexes?: IndexExtractor<T>,
  ): Promise<T> {
    checkFunction(modify, 'modify')
    const modifyExisting = (value: T | undefined): T | Promise<T> => {
      if (value === undefined) throw metadataError('notFound', path)
      return modify(value)
    }
    return this.readModifyUpdateOrCreate(path, modifyExisting, indexes)
  }

  /** As `readModifyUpdate`, but the function creates the value if there is none. */
  async readModifyUpdateOrCreate(
    path: string,
    modify: (value: T | undefined) => T | Promise<T>,
    indexes?: IndexExtractor<T>,
  ): Promise<T> {
    this.#check(path)
    checkFunction(modify, 'modify')
    const { backoff } = this.#settings
    const prepare = async (): Promise<{ readonly value: T; readonly expected: Expected }> => {
      const known = await this.getWithStats(path)
      const value = await modify(known && this.#copy(path, known))
      return { value, expected: expectationOf(this.#store, known?.stat) }
    }
    return writeInTurn(path, new Backoff(backoff, this.#settings), prepare, async (change) => {
      try {
        await this.#write(path, change.value, change.expected, indexes)
        return change.value
      } catch (error) {
        if (hasCode(error, 'badVersion')) this.invalidate(path)
        throw error
      }
    })
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
    assert(this.#bytes === 0, 'an empty cache has no bytes')
  }

  /** Reloads a value, if it is cached. */
  async refresh(path: string): Promise<void> {
    this.#check(path)
    const entry = this.#entries.get(path)
    if (entry === undefined) return
    outdate(entry)
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
    outdate(entry)
    if (record === 'unknown') {
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

  /** Called by the store when changes may have been lost, or when it reads another store. */
  reset(): void {
    for (const entry of this.#entries.values()) {
      entry.generation++
      if (entry.state !== 'empty') entry.state = 'unsure'
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
    if (this.#isOld(entry, this.#settings.expireAfterMilliseconds)) {
      this.invalidate(path)
      return undefined
    }
    this.#entries.delete(path)
    this.#entries.set(path, entry)
    return entry
  }

  #isOld({ state, loadedAt }: Entry<T>, milliseconds: number): boolean {
    if (state === 'empty' || milliseconds <= 0) return false
    return elapsed(this.#settings.clock) - loadedAt >= milliseconds
  }

  #reload(path: string, entry: Entry<T>): void {
    if (entry.loading !== undefined) return
    this.#load(path).then(
      (result) => callListener(this.#store.onListenerError, this.#settings.onReload, path, result),
      () => undefined,
    )
  }

  #load(path: string): Promise<CacheGetResult<T> | undefined> {
    let entry = this.#entries.get(path)
    if (entry === undefined) {
      const rest = { result: undefined, loading: undefined, loadedAt: 0, bytes: 0 }
      this.#entries.set(path, (entry = { state: 'empty', generation: 0, ...rest }))
    }
    const loaded = entry
    loaded.loading ??= this.#read(path, loaded)
    return loaded.loading
  }

  /** Ends the load in the turn of its result, so that a change after it begins another load. */
  async #read(path: string, entry: Entry<T>): Promise<CacheGetResult<T> | undefined> {
    try {
      for (;;) {
        const { generation } = entry
        // A promise, so that the load does not end in its own call if a caller's store throws.
        const found = await new Promise<GetResult | undefined>((resolve) => {
          resolve(this.#store.get(path))
        })
        if (entry.generation === generation) return this.#set(path, entry, found)
        // The record changed during the read: `changed` has set a newer value or marked it stale.
        if (entry.state === 'fresh') return entry.result
        if (this.#entries.get(path) !== entry) return this.#decode(found)
      }
    } catch (error) {
      const isUnreadable = hasCode(error, 'contentDeserialization')
      if (isUnreadable || entry.state === 'empty') this.#drop(path, entry)
      throw error
    } finally {
      entry.loading = undefined
    }
  }

  #decode(found: GetResult | undefined): CacheGetResult<T> | undefined {
    return found && { value: decoded(this.#serde, found), stat: found.stat }
  }

  #set(path: string, entry: Entry<T>, found: GetResult | undefined): CacheGetResult<T> | undefined {
    const { result, state } = entry
    const isSame = state !== 'unsure' && result?.stat.sequence === found?.stat.sequence
    if (result === undefined || !isSame) entry.result = this.#decode(found)
    entry.state = 'fresh'
    entry.loadedAt = elapsed(this.#settings.clock)
    if (this.#entries.get(path) !== entry) return entry.result
    this.#bytes -= entry.bytes
    entry.bytes = entryBytes + 2 * path.length + (found?.value.length ?? 0)
    this.#bytes += entry.bytes
    this.#evict(entry)
    return entry.result
  }

  #evict(kept: Entry<T>): void {
    for (const [path, entry] of this.#entries) {
      if (this.#bytes <= this.#settings.bytesMax) return
      if (entry !== kept && entry.loading === undefined) this.#drop(path, entry)
    }
  }

  #drop(path: string, entry: Entry<T>): void {
    if (this.#entries.get(path) !== entry) return
    this.#entries.delete(path)
    this.#bytes -= entry.bytes
    assert(this.#bytes >= 0, 'a cache has no fewer bytes than its entries')
    entry.bytes = 0
    entry.state = 'empty'
    entry.result = undefined
  }

  async #write(
    path: string,
    value: T,
    expected: Expected,
    indexes: IndexExtractor<T> | undefined,
  ): Promise<void> {
    this.#check(path)
    if (indexes !== undefined) checkFunction(indexes, 'indexes')
    const options = indexes && { secondaryIndexes: indexes(value) }
    await this.#store.put(path, this.#serde.serialize(path, value), expected, options)
    await this.#ensure(path)
  }

  /** Loads the written value, unless the notification of the write has cached it already. */
  async #ensure(path: string): Promise<void> {
    if (this.#unregister === undefined || this.#entries.get(path)?.state === 'fresh') return
    // An error of the read must not fail the write, which has succeeded.
    await this.#load(path).catch(() => this.invalidate(path))
  }

  #copy(path: string, { value, stat }: CacheGetResult<T>): T {
    const bytes = Buffer.from(this.#serde.serialize(path, value))
    return this.#serde.deserialize(path, bytes, stat)
  }
}

/** Marks a value as older than its record. */
function outdate(entry: Entry<unknown>): void {
  entry.generation++
  if (entry.state === 'fresh') entry.state = 'stale'
}
