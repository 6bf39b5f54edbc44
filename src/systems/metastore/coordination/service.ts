/** Locks, elections and counters on one handle of a store. */
import { checkCachingStore, checkStore } from '../metadata/arguments.js'
import { hasCode, metadataError } from '../metadata/errors.js'
import { checkPath } from '../metadata/paths.js'
import type { MetadataSerde } from '../metadata/serde.js'
import type { CachingStore, MetadataStore } from '../metadata/types.js'
import {
  electionAt,
  LeaderElection,
  type LeaderElectionListener,
  type LeaderElectionOptions,
} from './leader-election.js'
import { LockManager, type LockOptions } from './lock-manager.js'

/** The coordination service of one handle. */
export class CoordinationService {
  readonly #store: CachingStore
  /** The managers and elections that are not closed yet. */
  readonly #open = new Map<object, () => Promise<void>>()
  #closing: Promise<void> | undefined = undefined

  /** Coordinates by records of `store`. The caller closes the store. */
  constructor(store: CachingStore) {
    this.#store = checkCachingStore(store)
  }

  /** A manager of locks with values of one type. */
  getLockManager<T>(serde: MetadataSerde<T>, options?: LockOptions<T>): LockManager<T> {
    this.#check()
    const manager = new LockManager(this.#store, serde, options)
    this.#keep(manager, () => manager.close())
    return manager
  }

  /**
   * The participant of the handle in an election: one object for each path until it is disposed of.
   * The serde and the options of the call that creates the object apply. Each listener is notified
   * of later states.
   */
  getLeaderElection<T>(
    serde: MetadataSerde<T>,
    path: string,
    listener?: LeaderElectionListener,
    options?: LeaderElectionOptions,
  ): LeaderElection<T> {
    this.#check()
    const known = electionAt<T>(this.#store, path)
    if (known !== undefined) {
      if (listener !== undefined) known.registerListener(listener)
      return known
    }
    const election = new LeaderElection(this.#store, serde, path, listener, options)
    this.#keep(election, () => election.dispose())
    return election
  }

  /** The next number of a counter; see {@link nextCounterValue}. */
  async getNextCounterValue(path: string): Promise<number> {
    this.#check()
    return nextCounterValue(this.#store, path)
  }

  /** Releases all locks and leaderships, once for all calls. The store stays open. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const closes = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(closes.map((close) => close()))
  }

  /** Keeps a manager to close it, until the manager was closed. */
  #keep(manager: { onEnded: () => void }, close: () => Promise<void>): void {
    this.#open.set(manager, close)
    manager.onEnded = () => void this.#open.delete(manager)
  }

  /** @internal Number of managers and elections that are not closed yet; for tests. */
  get openCount(): number {
    return this.#open.size
  }

  #check(): void {
    if (this.#closing !== undefined)
      throw metadataError('alreadyClosed', 'the coordination service')
  }
}

const attemptsMax = 5

/**
 * The next number of a counter: unique for its path across restarts and all processes of the store,
 * increasing, with gaps. `ERR_METADATA_STORE_FAILURE` when the conflicts do not end.
 */
export async function nextCounterValue(store: MetadataStore, path: string): Promise<number> {
  checkStore(store)
  checkPath(path)
  for (let attempt = 1; ; attempt++) {
    try {
      if (!(await store.exists(path))) await store.put(path, '', -1)
      break
    } catch (error) {
      if (!hasCode(error, 'badVersion')) throw error
      if (attempt < attemptsMax) continue
      throw metadataError('storeFailure', `${path}: the number of retries has exhausted`, error)
    }
  }
  const options = { ephemeral: true, sequential: true }
  const stat = await store.put(`${path}/-`, '', -1, options)
  // Only the number is needed; the record would exist until the session ends.
  await store.deleteIfExists(stat.path)
  return Number(stat.path.slice(path.length + 2))
}
