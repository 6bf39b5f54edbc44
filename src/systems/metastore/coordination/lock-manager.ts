/**
 * Locks of one type on a store: acquired or refused immediately, and kept across reconnections.
 *
 * A lock is an ephemeral record. An equal value does not make a caller the owner. The owner is the
 * session that created the record, or an owner recognized by `ownerOf`.
 */
import {
  assert,
  callback,
  declareOptions,
  implementation,
  number,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { after, systemClock } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import { checkCachingStore, checkSerde, readOptions } from '../metadata/arguments.js'
import { MetadataCache } from '../metadata/cache.js'
import { hasCode, metadataError } from '../metadata/errors.js'
import type { MetadataSerde } from '../metadata/serde.js'
import { forEachHandle, isInDoubt, withdraw, type PathUse } from './own-record.js'
import { ResourceLock } from './resource-lock.js'
import type { CachingStore } from '../metadata/types.js'

const lockOptions = <T>() =>
  declareOptions('a lock manager', {
    /** Clock and timers. Default: the system clock. */
    clock: implementation<LeaseClock>(['now'], systemClock),
    /** Wait between attempts to revalidate a lock. Default 1,000. */
    retryMilliseconds: number({ min: 0, default: 1_000 }),
    /**
     * The logical owner of a value. A lock of the same owner is taken over, instead of failing with
     * `ERR_METADATA_LOCK_BUSY`, if its session belongs to a process that died. A session in use
     * keeps its locks. See `MetadataStore.isOwnerAlive`. Default: no takeover.
     */
    ownerOf: callback<(value: T) => string>(),
  })

type DeclaredOptions<T> = ReturnType<typeof lockOptions<T>>

/** Settings of locks. */
export interface LockOptions<T> extends OptionsOf<DeclaredOptions<T>> {}

/** The locks of all managers of a handle: a path has at most one lock per session. */
class HandleLocks {
  readonly held = new Map<string, ResourceLock<unknown>>()
  /** Paths of locks that are being acquired, one element for each attempt. */
  readonly #acquiring: string[] = []

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
      assert(this.isAcquiring(path), 'an attempt that ends has begun')
      this.#acquiring.splice(this.#acquiring.indexOf(path), 1)
    }
  }
}

const locksOf = forEachHandle(() => new HandleLocks())

/** The locks of one handle; see the file header. */
export class LockManager<T> {
  /** @internal Called when the manager is closed. */
  onEnded: () => void = () => undefined
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #settings: SettingsOf<DeclaredOptions<T>>
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
    this.#settings = readOptions(lockOptions<T>(), options)
    this.#cache = new MetadataCache(store, serde, { clock: this.#settings.clock })
    this.#all = locksOf(store)
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
      ...this.#settings,
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
    this.onEnded()
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

  /**
   * Removes the record of an attempt in doubt: the session may have created a record for which no
   * lock object exists.
   */
  #withdraw(path: string): Promise<void> {
    const { clock, retryMilliseconds } = this.#settings
    const useOf = (): PathUse => this.#all.useOf(path)
    return withdraw(this.#store, path, useOf, () => after(clock, retryMilliseconds))
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
