/** Locks, elections and counters on one handle of a store. */
import { checkCachingStore } from '../pulsar/arguments.js'
import type { CachingStore } from '../pulsar/store/cache-sink.js'
import { metadataError } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import { nextCounterValue } from './counter.js'
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
  readonly #managers = new Set<{ close(): Promise<void> }>()
  #isClosed = false

  /** Coordinates by records of `store`. The caller closes the store. */
  constructor(store: CachingStore) {
    this.#store = checkCachingStore(store)
  }

  /** A manager of locks with values of one type. */
  getLockManager<T>(serde: MetadataSerde<T>, options?: LockOptions<T>): LockManager<T> {
    this.#check()
    const manager = new LockManager(this.#store, serde, options)
    this.#managers.add(manager)
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
    this.#managers.add({ close: () => election.dispose() })
    return election
  }

  /** The next number of a counter; see {@link nextCounterValue}. */
  async getNextCounterValue(path: string): Promise<number> {
    this.#check()
    return nextCounterValue(this.#store, path)
  }

  /** Releases all locks and leaderships. The store stays open. */
  async close(): Promise<void> {
    this.#isClosed = true
    const managers = [...this.#managers]
    this.#managers.clear()
    await Promise.all(managers.map((manager) => manager.close()))
  }

  #check(): void {
    if (this.#isClosed) throw metadataError('alreadyClosed', 'the coordination service')
  }
}
