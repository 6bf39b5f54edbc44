/** Locks, elections and counters on one handle of a store. */
import type { CachingStore } from '../pulsar/cache-sink.js'
import { AlreadyClosedError } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import { nextCounterValue } from './counter.js'
import {
  LeaderElection,
  type LeaderElectionOptions,
  type LeaderElectionState,
} from './leader-election.js'
import { LockManager, type LockOptions } from './lock-manager.js'

/** What coordinates the users of one handle. */
export class CoordinationService {
  readonly #store: CachingStore
  readonly #managers = new Set<{ close(): Promise<void> }>()
  #isClosed = false

  /** Coordinates by records of `store`, which stays the caller's to close. */
  constructor(store: CachingStore) {
    this.#store = store
  }

  /** A manager of locks with values of one type. */
  getLockManager<T>(serde: MetadataSerde<T>, options?: LockOptions<T>): LockManager<T> {
    this.#check()
    const manager = new LockManager(this.#store, serde, options)
    this.#managers.add(manager)
    return manager
  }

  /** An election. Each call makes one participant; the listener is told of changes of its state. */
  getLeaderElection<T>(
    serde: MetadataSerde<T>,
    path: string,
    listener?: (state: LeaderElectionState) => void,
    options?: LeaderElectionOptions,
  ): LeaderElection<T> {
    this.#check()
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
    if (this.#isClosed) throw new AlreadyClosedError('the coordination service')
  }
}
