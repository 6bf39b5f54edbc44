/** A table view: all values below a prefix, in memory and updated by notifications. */
import {
  assert,
  boolean,
  callback,
  declareOptions,
  implementation,
  required,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { Backoff, backoffDefaults, systemClock, systemRandom } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import { callListener } from '../kernel/listener-errors.js'
import { checkCachingStore, checkSerde, readOptions } from '../metadata/arguments.js'
import { metadataError } from '../metadata/errors.js'
import { pathOption } from '../metadata/options.js'
import { childOf } from '../metadata/paths.js'
import { decoded, expectationOf, writeInTurn } from '../metadata/record-access.js'
import type { MetadataSerde } from '../metadata/serde.js'
import type { CacheSink, CachingStore, GetResult, Stat } from '../metadata/types.js'

const viewOptions = <T>() =>
  declareOptions('a table view', {
    /** The view has all records below this path; keys are the rest of the paths. */
    prefix: required(pathOption),
    /** Selects the keys of the view. Default: all. */
    filter: callback<(key: string) => boolean>(),
    /** Whether a new value may replace the old one. Default: always. */
    isAllowed: callback<(before: T | undefined, after: T) => boolean>(),
    /** Called with each value that exists when the view is first filled. */
    onExisting: callback<(key: string, value: T) => unknown>(),
    /** Called with each later change; null = removed. */
    onChange: callback<(key: string, value: T | null) => unknown>(),
    /** Called when the session is lost: the view may be outdated. */
    onOutdated: callback<() => unknown>(),
    /** Whether the view is cleared when the session is lost. Default false. */
    clearsWhenOutdated: boolean(false),
    /** Clock and timers of the backoff. Default: the system clock. */
    clock: implementation<LeaseClock>(['now'], systemClock),
    /** Numbers of at least 0 and below 1, for the backoff. Default: those of `node:crypto`. */
    random: callback<() => number>(systemRandom),
  })

type DeclaredOptions<T> = ReturnType<typeof viewOptions<T>>

/** Settings of a {@link MetadataTableView}. */
export interface TableViewOptions<T> extends OptionsOf<DeclaredOptions<T>> {}

interface Item<T> {
  readonly value: T
  readonly stat: Stat
  /** Sequence of the write; after a reset 0, until the record is read again. */
  sequence: number
}

/** A table view; see the file header. */
export class MetadataTableView<T> implements CacheSink {
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #settings: SettingsOf<DeclaredOptions<T>>
  readonly #items = new Map<string, Item<T>>()
  /**
   * Sequences of removals that were notified during a load or write, whose result could be older.
   * Cleared when no load or write is in progress.
   */
  readonly #removedAt = new Map<string, number>()
  /** Number of loads and writes in progress. */
  #underWay = 0
  #unregister: readonly (() => void)[] = []
  #isClosed = false
  /** Changes with each reset: what was read before it may be of another store. */
  #epoch = 0
  #filling: Promise<void> | undefined = undefined

  /** Reads nothing before `start`. `ERR_METADATA_INVALID_ARGUMENT` for an unknown option. */
  constructor(store: CachingStore, serde: MetadataSerde<T>, options: TableViewOptions<T>) {
    this.#store = checkCachingStore(store)
    this.#serde = checkSerde(serde)
    this.#settings = readOptions(viewOptions<T>(), options)
  }

  /** Fills the view. `ERR_METADATA_ILLEGAL_STATE` if it was started before. */
  async start(): Promise<void> {
    this.#check()
    if (this.#unregister.length > 0) {
      throw metadataError('illegalState', 'the table view was started')
    }
    const { clearsWhenOutdated, onOutdated, onExisting } = this.#settings
    this.#unregister = [
      this.#store.registerCache(this),
      this.#store.registerSessionListener((event) => {
        if (event !== 'SessionLost') return
        if (clearsWhenOutdated) this.#items.clear()
        this.#call(onOutdated)
      }),
    ]
    try {
      await this.#fill((key, value) => this.#call(onExisting, key, value))
    } catch (error) {
      this.#letGo()
      throw error
    }
  }

  /** The value of a key; undefined if there is none. */
  get(key: string): T | undefined {
    this.#check()
    return this.#items.get(key)?.value
  }

  /** All keys with their values, sorted. */
  entries(): [string, T][] {
    this.#check()
    const entries = [...this.#items].map(([key, { value }]): [string, T] => [key, value])
    return entries.sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** Writes a value. `ERR_METADATA_CONFLICT` if `isAllowed` refuses the change. */
  put(key: string, value: T): Promise<void> {
    return this.#during(async () => {
      this.#check()
      const path = this.#pathOf(key)
      // Serialized now: the caller may modify the value during the call.
      const bytes = Buffer.from(this.#serde.serialize(path, value))
      const prepare = async (): Promise<Stat | undefined> => {
        const found = await this.#store.get(path)
        const before = found && decoded(this.#serde, found)
        if (this.#settings.isAllowed?.(before, value) !== false) return found?.stat
        throw metadataError('conflict', path)
      }
      const backoff = new Backoff(backoffDefaults, this.#settings)
      await writeInTurn(path, backoff, prepare, async (before) => {
        const epoch = this.#epoch
        const stat = await this.#store.put(path, bytes, expectationOf(this.#store, before))
        if (epoch === this.#epoch) this.#apply(path, { value: bytes, stat }, stat.sequence)
        else await this.#filling?.catch(() => undefined)
      })
    })
  }

  /** `ERR_METADATA_NOT_FOUND`. */
  async delete(key: string): Promise<void> {
    this.#check()
    const path = this.#pathOf(key)
    const found = await this.#store.get(path)
    if (found === undefined) throw metadataError('notFound', path)
    await this.#store.delete(path, expectationOf(this.#store, found.stat))
    if (this.#items.get(key)?.stat.sequence === found.stat.sequence) this.#items.delete(key)
  }

  /** Clears the view and stops its updates. The store stays open. */
  close(): void {
    this.#isClosed = true
    this.#letGo()
  }

  /** Called by the store after each change of a record. */
  changed(
    path: string,
    record: GetResult | undefined | 'unknown',
    sequence: number,
  ): void | Promise<void> {
    if (record !== 'unknown') return this.#apply(path, record, sequence)
    if (this.#keyOf(path) === undefined) return
    return this.#during(async () => {
      const epoch = this.#epoch
      const found = await this.#store.get(path)
      if (epoch === this.#epoch) this.#apply(path, found, found?.stat.sequence ?? sequence)
    }).catch(() => undefined)
  }

  /** Called by the store when its handle was closed. */
  closed(): void {
    this.close()
  }

  /** Called by the store when changes may have been lost, or when it reads another store. */
  reset(): void {
    if (this.#isClosed) return
    this.#epoch++
    this.#removedAt.clear()
    for (const item of this.#items.values()) item.sequence = 0
    void this.#fill().catch(() => undefined)
  }

  #letGo(): void {
    for (const unregister of this.#unregister) unregister()
    this.#unregister = []
    this.#items.clear()
    this.#removedAt.clear()
  }

  /** Runs a load or a write, during which newer changes may be notified. */
  async #during<R>(work: () => Promise<R>): Promise<R> {
    this.#underWay++
    try {
      return await work()
    } finally {
      if (--this.#underWay === 0) this.#removedAt.clear()
      assert(this.#underWay >= 0, 'no more loads and writes end than have begun')
    }
  }

  #check(): void {
    if (this.#isClosed) throw metadataError('alreadyClosed', 'the table view')
  }

  #pathOf(key: string): string {
    return childOf(this.#settings.prefix, key)
  }

  #keyOf(path: string): string | undefined {
    const start = this.#pathOf('')
    if (!path.startsWith(start) || path.length === start.length) return undefined
    const key = path.slice(start.length)
    return this.#settings.filter?.(key) === false ? undefined : key
  }

  /** Reads all records; again if the store is reset meanwhile. */
  #fill(onExisting?: (key: string, value: T) => void): Promise<void> {
    this.#filling ??= this.#during(() => this.#readUntilCurrent(onExisting))
    return this.#filling
  }

  async #readUntilCurrent(onExisting?: (key: string, value: T) => void): Promise<void> {
    let epoch: number
    try {
      do {
        epoch = this.#epoch
        // A failure of a store that is no longer read says nothing about the other one.
        await this.#read(epoch, onExisting).catch((error: unknown) => {
          if (epoch === this.#epoch) throw error
        })
      } while (epoch !== this.#epoch && !this.#isClosed)
    } finally {
      // In the same turn as the last comparison, so that no reset joins a reading that has ended.
      this.#filling = undefined
    }
  }

  /** Takes all records over, and removes the items without a record. */
  async #read(
    epoch: number,
    onExisting: ((key: string, value: T) => void) | undefined,
  ): Promise<void> {
    const missing = new Set(this.#items.keys())
    await this.#walk(this.#settings.prefix, epoch, missing, onExisting)
    for (const key of missing) {
      const known = this.#items.get(key)
      const found = await this.#store.get(this.#pathOf(key))
      if (epoch !== this.#epoch) return
      // The record may have been created during the read, and the view notified of it.
      const isSame = this.#items.get(key) === known
      if (found === undefined && isSame) this.#apply(this.#pathOf(key), undefined, 0)
    }
  }

  async #walk(
    path: string,
    epoch: number,
    missing: Set<string>,
    onExisting: ((key: string, value: T) => void) | undefined,
  ): Promise<void> {
    for (const name of await this.#store.getChildren(path)) {
      const child = childOf(path, name)
      const key = this.#keyOf(child)
      const found = key === undefined ? undefined : await this.#store.get(child)
      if (epoch !== this.#epoch) return
      if (key !== undefined && found !== undefined) {
        missing.delete(key)
        const isFirst = onExisting !== undefined && !this.#items.has(key)
        this.#apply(child, found, found.stat.sequence, isFirst)
        const item = this.#items.get(key)
        if (isFirst && item !== undefined) onExisting(key, item.value)
      }
      await this.#walk(child, epoch, missing, onExisting)
    }
  }

  /** Takes the newest state of a record. One that cannot be decoded does not belong to the view. */
  #apply(path: string, record: GetResult | undefined, sequence: number, isQuiet = false): void {
    const key = this.#keyOf(path)
    if (key === undefined || this.#isClosed) return
    const before = this.#items.get(key)
    const known = before?.sequence ?? this.#removedAt.get(key) ?? 0
    if (sequence !== 0 && sequence <= known) return
    const item = record && this.#itemOf(record)
    const wasThere = item === undefined && this.#items.delete(key)
    if (item !== undefined) {
      this.#items.set(key, item)
      this.#removedAt.delete(key)
    } else if (this.#underWay > 0) this.#removedAt.set(key, sequence)
    if (isQuiet || (item === undefined && !wasThere)) return
    if (record !== undefined && before?.sequence === 0 && this.#isOf(before, record)) return
    this.#call(this.#settings.onChange, key, item === undefined ? null : item.value)
  }

  /** Whether a record has the value of an item. */
  #isOf({ value }: Item<T>, record: GetResult): boolean {
    try {
      return Buffer.from(this.#serde.serialize(record.stat.path, value)).equals(record.value)
    } catch {
      return false
    }
  }

  #itemOf(record: GetResult): Item<T> | undefined {
    try {
      const { stat } = record
      return { value: decoded(this.#serde, record), stat, sequence: stat.sequence }
    } catch {
      return undefined
    }
  }

  #call<A extends readonly unknown[]>(
    listener: ((...values: A) => unknown) | undefined,
    ...values: A
  ): void {
    callListener(this.#store.onListenerError, listener, ...values)
  }
}
