/**
 * Locks of one type on a store: acquired or refused immediately, and kept across reconnections.
 *
 * A lock is an ephemeral record. An equal value does not make a caller the owner. The owner is the
 * session that created the record, or an owner recognized by `ownerOf`.
 */
import { checkCachingStore, checkSerde, copyOfOptions } from '../pulsar/arguments.js'
import { after, systemClock } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import type { CachingStore } from '../pulsar/store/cache-sink.js'
import { MetadataCache } from '../pulsar/cache.js'
import { hasCode, metadataError } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import { isInDoubt, withdraw, type PathUse } from './doubt.js'
import { ResourceLock } from './resource-lock.js'

/** Settings of locks. */
export interface LockOptions<T> {
  /** Clock and timers. Default: the system clock. */
  readonly clock?: LeaseClock | undefined
  /** Wait between attempts to revalidate a lock. Default 1,000. */
  readonly retryMilliseconds?: number | undefined
  /**
   * The logical owner of a value. A lock of the same owner is taken over, instead of failing with
   * `ERR_METADATA_LOCK_BUSY`, if its session belongs to a process that died. A session in use keeps
   * its locks. See `MetadataStore.isOwnerAlive`. Default: no takeover.
   */
  readonly ownerOf?: ((value: T) => string) | undefined
}

const names: Readonly<Record<keyof LockOptions<unknown>, true>> = {
  clock: true,
  retryMilliseconds: true,
  ownerOf: true,
}

/** The locks of all managers of a handle: a path has at most one lock per session. */
class HandleLocks {
  readonly held = new Map<string, ResourceLock<unknown>>()
  /** Paths of locks that are being acquired, one element for each attempt. */
  readonly #acquiring: string[] = []

  static of(store: CachingStore): HandleLocks {
    let locks = locksByStore.get(store)
    if (locks === undefined) locksByStore.set(store, (locks = new HandleLocks()))
    return locks
  }

  useOf(path: string): PathUse {
    if (this.held.has(path)) return 'held'
    return this.isAcquiring(path) ? 'acquiring' : 'none'
  }

  isAcquiring(path: string): boolean {
    return this.#acquiring.includes(path)
  }

  async acquire(path: string, attempt: () => Promise<void>): Promise<void> {
    this.#acquiring.push(path)
    try {
      await attempt()
    } finally {
      this.#acquiring.splice(this.#acquiring.indexOf(path), 1)
    }
  }
}

const locksByStore = new WeakMap<CachingStore, HandleLocks>()

/** The locks of one handle; see the file header. */
export class LockManager<T> {
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #options: LockOptions<T>
  readonly #cache: MetadataCache<T>
  readonly #locks = new Map<string, ResourceLock<T>>()
  /** The locks of all managers of the handle. */
  readonly #all: HandleLocks
  /** Incremented by every event that may have removed a lock during its acquisition. */
  #disturbances = 0
  readonly #unregister: readonly (() => void)[]
  #closed: Promise<void> | undefined = undefined

  /**
   * Made by `CoordinationService.getLockManager`. `ERR_METADATA_INVALID_ARGUMENT` for an unknown
   * option.
   */
  constructor(store: CachingStore, serde: MetadataSerde<T>, options: LockOptions<T> = {}) {
    this.#store = checkCachingStore(store)
    this.#serde = checkSerde(serde)
    this.#options = copyOfOptions(options, names, 'a lock manager')
    this.#cache = new MetadataCache(store, serde, { clock: this.#options.clock })
    this.#all = HandleLocks.of(store)
    this.#unregister = [
      store.registerListener(({ type, path }) => {
        if (type !== 'Deleted') return
        if (this.#all.isAcquiring(path)) this.#disturbances++
        void this.#locks.get(path)?.revalidate()
      }),
      store.registerSessionListener((event) => this.#onSession(event)),
    ]
  }

  /** Value of a lock; undefined if the lock is free. */
  readLock(path: string): Promise<T | undefined> {
    return this.#cache.get(path)
  }

  /** Acquires a lock, or fails with `ERR_METADATA_LOCK_BUSY` without waiting. */
  async acquireLock(path: string, value: T): Promise<ResourceLock<T>> {
    if (this.#closed !== undefined) throw metadataError('alreadyClosed', 'the lock manager')
    const lock: ResourceLock<T> = new ResourceLock(path, value, {
      store: this.#store,
      serde: this.#serde,
      clock: this.#clock,
      retryMilliseconds: this.#retryMilliseconds,
      ownerOf: this.#options.ownerOf,
      onEnd: () => this.#forget(lock),
    })
    const before = this.#disturbances
    try {
      await this.#all.acquire(path, async () => {
        await lock.acquire()
        if (this.#closed === undefined) this.#remember(lock)
      })
    } catch (error) {
      if (isInDoubt(error)) void this.#withdraw(path)
      throw error
    }
    if (this.#closed !== undefined) {
      await this.#giveUp(lock)
      throw metadataError('alreadyClosed', 'the lock manager')
    }
    if (this.#disturbances !== before) {
      // The session or the record may have ended before the lock was registered.
      lock.suspect()
      await lock.revalidate()
      if (lock.state === 'Released') throw metadataError('lockBusy', path)
    }
    return lock
  }

  /** Names of the locks below a path. */
  listLocks(path: string): Promise<string[]> {
    return this.#store.getChildren(path)
  }

  /** Paths of the locks that this manager holds. */
  get heldPaths(): string[] {
    return [...this.#locks.keys()]
  }

  /** Releases all locks. If the store is unavailable, their records are removed later. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const locks = [...this.#locks.values()]
    const outcomes = await Promise.allSettled(locks.map((lock) => this.#giveUp(lock)))
    for (const unregister of this.#unregister) unregister()
    this.#cache.close()
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }

  /** Releases a lock, now or when the store is available again. */
  async #giveUp(lock: ResourceLock<T>): Promise<void> {
    try {
      await lock.release()
    } catch (error) {
      if (!isInDoubt(error) && !hasCode(error, 'alreadyClosed')) throw error
      lock.retire()
      void this.#withdraw(lock.path)
    }
  }

  get #clock(): LeaseClock {
    return this.#options.clock ?? systemClock
  }

  get #retryMilliseconds(): number {
    return this.#options.retryMilliseconds ?? 1_000
  }

  /**
   * Removes the record of an attempt in doubt: the session may have created a record for which no
   * lock object exists.
   */
  #withdraw(path: string): Promise<void> {
    const useOf = (): PathUse => this.#all.useOf(path)
    return withdraw(this.#store, path, useOf, () => after(this.#clock, this.#retryMilliseconds))
  }

  #remember(lock: ResourceLock<T>): void {
    const { held } = this.#all
    // A newer lock of the same session replaces the older one.
    held.get(lock.path)?.retire()
    if (lock.state !== 'Valid') return
    held.set(lock.path, lock as ResourceLock<unknown>)
    this.#locks.set(lock.path, lock)
  }

  #forget(lock: ResourceLock<T>): void {
    if (this.#locks.get(lock.path) === lock) this.#locks.delete(lock.path)
    const { held } = this.#all
    if (held.get(lock.path) === (lock as ResourceLock<unknown>)) held.delete(lock.path)
  }

  #onSession(event: string): void {
    this.#disturbances++
    for (const lock of [...this.#locks.values()]) {
      if (event === 'ConnectionLost' || event === 'SessionLost') lock.suspect()
      // A record may have been removed during the lost connection, without an event.
      else if (event === 'SessionReestablished' || lock.mustRevalidate || lock.isSuspect) {
        void lock.revalidate()
      }
    }
  }
}
