/**
 * Locks of one type on a store: acquired at once or refused, and kept through reconnections.
 *
 * A lock is an ephemeral record. Nobody takes a lock because its value is equal to his own: only
 * the session that created the record owns it, or an owner that the manager recognises.
 */
import { copyOfOptions } from '../pulsar/arguments.js'
import { systemClock } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import type { CachingStore } from '../pulsar/cache-sink.js'
import { MetadataCache } from '../pulsar/cache.js'
import { AlreadyClosedError, LockBusyError, MetadataErrorCode, hasCode } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import { ResourceLock } from './resource-lock.js'

/** Settings of locks. */
export interface LockOptions<T> {
  /** Time and timers. Default: those of the system. */
  readonly clock?: LeaseClock | undefined
  /** Wait between attempts to revalidate a lock. Default 1,000. */
  readonly retryMilliseconds?: number | undefined
  /**
   * The logical owner that a value names. A lock of a dead session with the same owner is taken
   * over at once instead of `ERR_METADATA_LOCK_BUSY`. Default: nobody is recognised.
   */
  readonly ownerOf?: ((value: T) => string) | undefined
}

const names: Readonly<Record<keyof LockOptions<unknown>, true>> = {
  clock: true,
  retryMilliseconds: true,
  ownerOf: true,
}

/** The locks of all managers of a handle, so that one path has one lock in a session. */
const locksByStore = new WeakMap<CachingStore, Map<string, ResourceLock<unknown>>>()

/** The locks of one handle; see the file header. */
export class LockManager<T> {
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #options: LockOptions<T>
  readonly #cache: MetadataCache<T>
  readonly #locks = new Map<string, ResourceLock<T>>()
  /** Paths of locks that are being acquired, each as often as somebody tries. */
  readonly #acquiring: string[] = []
  /** Grows with every event that may have cost a lock which is being acquired. */
  #disturbances = 0
  readonly #unregister: readonly (() => void)[]
  #closed: Promise<void> | undefined = undefined

  /**
   * Made by `CoordinationService.getLockManager`. `ERR_METADATA_INVALID_ARGUMENT` for an unknown
   * option.
   */
  constructor(store: CachingStore, serde: MetadataSerde<T>, options: LockOptions<T> = {}) {
    this.#store = store
    this.#serde = serde
    this.#options = copyOfOptions(options, names, 'a lock manager')
    this.#cache = new MetadataCache(store, serde, { clock: options.clock })
    this.#unregister = [
      store.registerListener(({ type, path }) => {
        if (type !== 'Deleted') return
        if (this.#acquiring.includes(path)) this.#disturbances++
        void this.#locks.get(path)?.revalidate()
      }),
      store.registerSessionListener((event) => this.#onSession(event)),
    ]
  }

  /** Value of a lock; undefined if nobody holds it. */
  readLock(path: string): Promise<T | undefined> {
    return this.#cache.get(path)
  }

  /** Acquires a lock, or fails with `ERR_METADATA_LOCK_BUSY` without waiting. */
  async acquireLock(path: string, value: T): Promise<ResourceLock<T>> {
    if (this.#closed !== undefined) throw new AlreadyClosedError('the lock manager')
    const lock: ResourceLock<T> = new ResourceLock(path, value, {
      store: this.#store,
      serde: this.#serde,
      clock: this.#options.clock ?? systemClock,
      retryMilliseconds: this.#options.retryMilliseconds ?? 1_000,
      ownerOf: this.#options.ownerOf,
      onEnd: () => this.#forget(lock),
    })
    const before = this.#disturbances
    this.#acquiring.push(path)
    try {
      await lock.acquire()
    } finally {
      this.#acquiring.splice(this.#acquiring.indexOf(path), 1)
    }
    if (this.#closed !== undefined) {
      await lock.release()
      throw new AlreadyClosedError('the lock manager')
    }
    this.#remember(lock)
    if (this.#disturbances !== before) {
      // The session or the record may have gone before the lock was known here.
      lock.suspect()
      await lock.revalidate()
      if (lock.state === 'Released') throw new LockBusyError(path)
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

  /** Releases all locks. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const outcomes = await Promise.allSettled([...this.#locks.values()].map((l) => l.release()))
    for (const unregister of this.#unregister) unregister()
    this.#cache.close()
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue
      if (hasCode(outcome.reason, MetadataErrorCode.alreadyClosed)) continue
      throw outcome.reason
    }
  }

  #remember(lock: ResourceLock<T>): void {
    let all = locksByStore.get(this.#store)
    if (all === undefined) {
      all = new Map<string, ResourceLock<unknown>>()
      locksByStore.set(this.#store, all)
    }
    // A newer lock of the same session is the one that counts.
    all.get(lock.path)?.retire()
    if (lock.state !== 'Valid') return
    all.set(lock.path, lock as ResourceLock<unknown>)
    this.#locks.set(lock.path, lock)
  }

  #forget(lock: ResourceLock<T>): void {
    if (this.#locks.get(lock.path) === lock) this.#locks.delete(lock.path)
    const all = locksByStore.get(this.#store)
    if (all?.get(lock.path) === (lock as ResourceLock<unknown>)) all.delete(lock.path)
  }

  #onSession(event: string): void {
    this.#disturbances++
    for (const lock of [...this.#locks.values()]) {
      if (event === 'ConnectionLost' || event === 'SessionLost') lock.suspect()
      else if (event === 'SessionReestablished') void lock.revalidate()
      // A record may have been removed unseen while the connection was away.
      else if (event === 'Reconnected' && (lock.mustRevalidate || lock.isSuspect)) {
        void lock.revalidate()
      }
    }
  }
}
