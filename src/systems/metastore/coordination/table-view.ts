/** A table view: all values below a prefix, in memory and updated by notifications. */
import { checkCachingStore, checkSerde, copyOfOptions } from '../pulsar/arguments.js'
import { Backoff, systemClock, systemRandom } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import { callListener } from '../kernel/listener-errors.js'
import type { CacheSink, CachingStore } from '../pulsar/store/cache-sink.js'
import { hasCode, metadataError } from '../pulsar/errors.js'
import { checkPath, childOf } from '../pulsar/paths.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import type { Expected, GetResult, Stat } from '../pulsar/types.js'

/** Settings of a {@link MetadataTableView}. */
export interface TableViewOptions<T> {
  /** The view has all records below this path; keys are the rest of the paths. */
  readonly prefix: string
  /** Selects the keys of the view. Default: all. */
  readonly filter?: ((key: string) => boolean) | undefined
  /** Whether a new value may replace the old one. Default: always. */
  readonly isAllowed?: (before: T | undefined, after: T) => boolean
  /** Called with each value that exists when the view is first filled. */
  readonly onExisting?: ((key: string, value: T) => unknown) | undefined
  /** Called with each later change; null = removed. */
  readonly onChange?: ((key: string, value: T | null) => unknown) | undefined
  /** Called when the session is lost: the view may be outdated. */
  readonly onOutdated?: (() => unknown) | undefined
  /** Whether the view is cleared when the session is lost. Default false. */
  readonly clearsWhenOutdated?: boolean | undefined
  /** Clock and timers of the backoff. Default: the system clock. */
  readonly clock?: LeaseClock | undefined
  /** Random numbers of at least 0 and below 1, for the backoff. Default: those of `node:crypto`. */
  readonly random?: (() => number) | undefined
}

const names: Readonly<Record<keyof TableViewOptions<unknown>, true>> = {
  prefix: true,
  filter: true,
  isAllowed: true,
  onExisting: true,
  onChange: true,
  onOutdated: true,
  clearsWhenOutdated: true,
  clock: true,
  random: true,
}

interface Item<T> {
  readonly value: T
  readonly stat: Stat
}

/** A table view; see the file header. */
export class MetadataTableView<T> implements CacheSink {
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #options: TableViewOptions<T>
  readonly #items = new Map<string, Item<T>>()
  /**
   * Sequences of removals that were notified during a load or write, whose result could be older.
   * Cleared when no load or write is in progress.
   */
  readonly #removedAt = new Map<string, number>()
  /** Number of loads and writes in progress. */
  #underWay = 0
  #unregister: (() => void)[] = []
  #isClosed = false
  #filling: Promise<void> | undefined = undefined

  /** Reads nothing before `start`. `ERR_METADATA_INVALID_ARGUMENT` for an unknown option. */
  constructor(store: CachingStore, serde: MetadataSerde<T>, options: TableViewOptions<T>) {
    this.#store = checkCachingStore(store)
    this.#serde = checkSerde(serde)
    this.#options = copyOfOptions(options, names, 'a table view')
    checkPath(this.#options.prefix)
  }

  /** Fills the view. `ERR_METADATA_ILLEGAL_STATE` if it was started before. */
  async start(): Promise<void> {
    this.#check()
    if (this.#unregister.length > 0)
      throw metadataError('illegalState', 'the table view was started')
    this.#unregister = [
      this.#store.registerCache(this),
      this.#store.registerSessionListener((event) => {
        if (event !== 'SessionLost') return
        if (this.#options.clearsWhenOutdated === true) this.#items.clear()
        callListener(this.#store.onListenerError, this.#options.onOutdated)
      }),
    ]
    const { onExisting } = this.#options
    try {
      await this.#fill((key, value) =>
        callListener(this.#store.onListenerError, onExisting, key, value),
      )
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
    return [...this.#items]
      .map(([key, { value }]): [string, T] => [key, value])
      .sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** Writes a value. `ERR_METADATA_CONFLICT` if `isAllowed` refuses the change. */
  put(key: string, value: T): Promise<void> {
    return this.#during(() => this.#put(key, value))
  }

  async #put(key: string, value: T): Promise<void> {
    this.#check()
    const path = this.#pathOf(key)
    const sources = {
      clock: this.#options.clock ?? systemClock,
      random: this.#options.random ?? systemRandom,
    }
    const backoff = new Backoff({}, sources)
    // Serialized now: the caller may modify the value during the call.
    const bytes = Buffer.from(this.#serde.serialize(path, value))
    for (;;) {
      const found = await this.#store.get(path)
      const before = found && this.#read(path, found)
      if (this.#options.isAllowed?.(before, value) === false) throw metadataError('conflict', path)
      try {
        const stat = await this.#store.put(path, bytes, this.#expectation(found?.stat))
        this.#apply(path, { value: bytes, stat }, stat.sequence)
        return
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
        if (!(await backoff.wait())) throw metadataError('timeout', `${path}: conflicts`, error)
      }
    }
  }

  /** `ERR_METADATA_NOT_FOUND`. */
  async delete(key: string): Promise<void> {
    this.#check()
    const path = this.#pathOf(key)
    const found = await this.#store.get(path)
    if (found === undefined) throw metadataError('notFound', path)
    await this.#store.delete(path, this.#expectation(found.stat))
    if (this.#items.get(key)?.stat.sequence === found.stat.sequence) this.#items.delete(key)
  }

  /** Clears the view and stops its updates. The store stays open. */
  close(): void {
    this.#isClosed = true
    this.#letGo()
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
    }
  }

  /** Called by the store after each change of a record. */
  changed(
    path: string,
    record: GetResult | undefined | 'unknown',
    sequence: number,
  ): void | Promise<void> {
    const key = this.#keyOf(path)
    if (key === undefined) return
    if (record !== 'unknown') return this.#apply(path, record, sequence)
    const read = async (): Promise<void> => {
      const found = await this.#store.get(path)
      this.#apply(path, found, found?.stat.sequence ?? sequence)
    }
    return this.#during(read).catch(() => undefined)
  }

  /** Called by the store when its handle was closed. */
  closed(): void {
    this.close()
  }

  /** Called by the store when changes may have been lost. */
  reset(): void {
    if (!this.#isClosed) void this.#during(() => this.#refill()).catch(() => undefined)
  }

  async #refill(): Promise<void> {
    const before = new Set(this.#items.keys())
    await this.#fill(() => undefined, before)
    for (const key of before) {
      const found = await this.#store.get(this.#pathOf(key))
      if (found === undefined) this.#apply(this.#pathOf(key), undefined, 0)
    }
  }

  #check(): void {
    if (this.#isClosed) throw metadataError('alreadyClosed', 'the table view')
  }

  #read(path: string, { value, stat }: GetResult): T {
    try {
      return this.#serde.deserialize(path, value, stat)
    } catch (error) {
      throw metadataError('contentDeserialization', path, error)
    }
  }

  #expectation(stat: Stat | undefined): Expected {
    if (stat === undefined) return -1
    const { sequence, version } = stat
    return this.#store.capabilities.sequenceExpectations ? { sequence } : version
  }

  #pathOf(key: string): string {
    return childOf(this.#options.prefix, key)
  }

  #keyOf(path: string): string | undefined {
    const start = this.#pathOf('')
    if (!path.startsWith(start) || path.length === start.length) return undefined
    const key = path.slice(start.length)
    return this.#options.filter?.(key) === false ? undefined : key
  }

  #fill(onExisting: (key: string, value: T) => void, seen?: Set<string>): Promise<void> {
    const fill = (): Promise<void> => this.#walk(this.#options.prefix, onExisting, seen)
    this.#filling ??= this.#during(fill).finally(() => (this.#filling = undefined))
    return this.#filling
  }

  async #walk(
    path: string,
    onExisting: (key: string, value: T) => void,
    seen: Set<string> | undefined,
  ): Promise<void> {
    for (const name of await this.#store.getChildren(path)) {
      const child = path === '/' ? `/${name}` : `${path}/${name}`
      const key = this.#keyOf(child)
      const found = key === undefined ? undefined : await this.#store.get(child)
      if (key !== undefined && found !== undefined) {
        seen?.delete(key)
        const isNew = !this.#items.has(key)
        this.#apply(child, found, found.stat.sequence, seen === undefined)
        const item = this.#items.get(key)
        if (isNew && item !== undefined) onExisting(key, item.value)
      }
      await this.#walk(child, onExisting, seen)
    }
  }

  #apply(path: string, record: GetResult | undefined, sequence: number, isQuiet = false): void {
    const key = this.#keyOf(path)
    if (key === undefined || this.#isClosed) return
    const known = this.#items.get(key)?.stat.sequence ?? this.#removedAt.get(key) ?? 0
    if (sequence !== 0 && sequence <= known) return
    const value = record === undefined ? undefined : this.#valueOf(path, record)
    if (record === undefined || value === undefined) {
      const wasThere = this.#items.delete(key)
      if (this.#underWay > 0) this.#removedAt.set(key, sequence)
      if (wasThere && !isQuiet) this.#tell(key, null)
      return
    }
    this.#items.set(key, { value: value.is, stat: record.stat })
    this.#removedAt.delete(key)
    if (!isQuiet) this.#tell(key, value.is)
  }

  /** Undefined for a record that cannot be decoded: it does not belong to the view. */
  #valueOf(path: string, { value, stat }: GetResult): { readonly is: T } | undefined {
    try {
      return { is: this.#serde.deserialize(path, value, stat) }
    } catch {
      return undefined
    }
  }

  #tell(key: string, value: T | null): void {
    callListener(this.#store.onListenerError, this.#options.onChange, key, value)
  }
}
