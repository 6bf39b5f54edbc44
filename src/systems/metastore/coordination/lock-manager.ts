/**
 * Locks of one type on a store: acquired at once or refused, and kept through reconnections.
 *
 * A lock is an ephemeral record. Nobody takes a lock because its value is equal to his own: only
 * the session that created the record owns it, or an owner that the manager recognises.
 */
import { checkCachingStore, checkSerde, copyOfOptions } from '../pulsar/arguments.js'
import { after, systemClock } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import type { CachingStore } from '../pulsar/store/cache-sink.js'
import { MetadataCache } from '../pulsar/cache.js'
import { AlreadyClosedError, LockBusyError, MetadataErrorCode, hasCode } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import { isInDoubt, withdraw, type PathUse } from './doubt.js'
import { ResourceLock } from './resource-lock.js'

/** Settings of locks. */
export interface LockOptions<T> {
  /** Time and timers. Default: those of the system. */
  readonly clock?: LeaseClock | undefined
  /** Wait between attempts to revalidate a lock. Default 1,000. */
  readonly retryMilliseconds?: number | undefined
  /**
   * The logical owner that a value names. A lock of the same owner is taken over at once instead of
   * `ERR_METADATA_LOCK_BUSY` if its session was left behind by a process that died; a session that
   * somebody uses keeps its locks. See `MetadataStore.isOwnerAlive`. Default: nobody is recognised.
   */
  readonly ownerOf?: ((value: T) => string) | undefined
}

const names: Readonly<Record<keyof LockOptions<unknown>, true>> = {
  clock: true,
  retryMilliseconds: true,
  ownerOf: true,
}

/** The locks of all managers of a handle, so that one path has one lock in a session. */
class HandleLocks {
  readonly held = new Map<string, ResourceLock<unknown>>()
  /** Paths of locks that are being acquired, each as often as somebody tries. */
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

  /** Runs an attempt to acquire. */
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
  /** Those of all managers of the handle. */
  readonly #all: HandleLocks
  /** Grows with every event that may have cost a lock which is being acquired. */
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
      throw new AlreadyClosedError('the lock manager')
    }
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

  /** Releases all locks. While the store cannot be asked, their records are removed later. */
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

  /** Releases a lock for good, sooner or later. */
  async #giveUp(lock: ResourceLock<T>): Promise<void> {
    try {
      await lock.release()
    } catch (error) {
      if (!isInDoubt(error) && !hasCode(error, MetadataErrorCode.alreadyClosed)) throw error
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
   * Removes the record of an attempt whose outcome is in doubt: the session may have created the
   * record, and nobody holds a lock that would ever be released.
   */
  #withdraw(path: string): Promise<void> {
    const useOf = (): PathUse => this.#all.useOf(path)
    return withdraw(this.#store, path, useOf, () => after(this.#clock, this.#retryMilliseconds))
  }

  #remember(lock: ResourceLock<T>): void {
    const { held } = this.#all
    // A newer lock of the same session is the one that counts.
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
      // A record may have been removed unseen while the connection was away.
      else if (event === 'SessionReestablished' || lock.mustRevalidate || lock.isSuspect) {
        void lock.revalidate()
      }
    }
  }
}
