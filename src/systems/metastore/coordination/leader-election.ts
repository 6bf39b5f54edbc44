/**
 * Leader election among sessions: the leader owns an ephemeral record with its value.
 *
 * A participant attempts to create the record, and follows if the record exists. Another attempt
 * follows when the record is removed, when the session is restored, and some time after a failed
 * attempt. A handle has one participant for each path, because its session owns the record.
 */
import {
  assert,
  declareOptions,
  deferred,
  implementation,
  number,
  Waiters,
  type Deferred,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { after, laterForCaller, systemClock } from '../kernel/backoff.js'
import { later, type LeaseClock } from '../kernel/lease-clock.js'
import { callListener } from '../kernel/listener-errors.js'
import { checkCachingStore, checkFunction, checkSerde, readOptions } from '../metadata/arguments.js'
import { hasCode, metadataError } from '../metadata/errors.js'
import { decoded } from '../metadata/record-access.js'
import type { MetadataSerde } from '../metadata/serde.js'
import { forEachHandle, isGone, isInDoubt, isRace, OwnRecord, withdraw } from './own-record.js'
import type { CachingStore } from '../metadata/types.js'

const electionOptions = declareOptions('a leader election', {
  /** Clock and timers. Default: the system clock. */
  clock: implementation<LeaseClock>(['now'], systemClock),
  /** Wait before a failed election is repeated. Default 5,000. */
  retryMilliseconds: number({ min: 0, default: 5_000 }),
  /** Longest wait of a read for the end of an election. Default 30,000. */
  readTimeoutMilliseconds: number({ min: 0, default: 30_000 }),
})

/** Settings of an election. */
export interface LeaderElectionOptions extends OptionsOf<typeof electionOptions> {}

/** The state of a participant. */
export type LeaderElectionState = 'NoLeader' | 'Leading' | 'Following'

/** Receives each new state of a participant. Its errors go to the store's `onListenerError`. */
export type LeaderElectionListener = (state: LeaderElectionState) => unknown

/** The participants of each handle, by path. */
const participantsOf = forEachHandle(() => new Map<string, LeaderElection<unknown>>())

/** The participant of a handle at a path, unless it was disposed of. */
export function electionAt<T>(store: CachingStore, path: string): LeaderElection<T> | undefined {
  return participantsOf(store).get(path) as LeaderElection<T> | undefined
}

/** The value of a participant, serialized at the call of `elect`. */
interface Proposal<T> {
  readonly value: T
  readonly bytes: Buffer
}

/** A participant of an election; see the file header. */
export class LeaderElection<T> {
  /** Path of the leader's record. */
  readonly path: string
  /** @internal Called when the participant is disposed of. */
  onEnded: () => void = () => undefined
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #settings: SettingsOf<typeof electionOptions>
  readonly #record: OwnRecord
  readonly #unregister: readonly (() => void)[]
  #listeners: readonly LeaderElectionListener[] = []
  /** The proposal of the last `elect`; undefined before, after `close`, and after an error. */
  #proposal: Proposal<T> | undefined = undefined
  #state: LeaderElectionState = 'NoLeader'
  /** The last state and term that the listeners were notified of. */
  #told: readonly [LeaderElectionState, number | undefined] = ['NoLeader', undefined]
  #leader: T | undefined = undefined
  #isClosed = false
  #isDisposed = false
  #closing: Promise<void> | undefined = undefined
  #isElecting = false
  /** Whether another attempt must follow, because of a change since the last one began. */
  #mustGoOn = false
  /** Ends the wait between two attempts. */
  #endPause: () => void = () => undefined
  /** The calls that wait for the outcome of the election in progress. */
  readonly #calls: Deferred<LeaderElectionState>[] = []
  /** Reads and closes that wait for the end of the election in progress. */
  readonly #waiting = new Waiters()

  /**
   * Made by `CoordinationService.getLeaderElection`. The participant is passive before `elect`.
   * `ERR_METADATA_INVALID_ARGUMENT` for an unknown option. `ERR_METADATA_ILLEGAL_STATE` if the
   * handle already has a participant at the path: both would lead.
   */
  constructor(
    store: CachingStore,
    serde: MetadataSerde<T>,
    path: string,
    listener?: LeaderElectionListener,
    options: LeaderElectionOptions = {},
  ) {
    if (typeof path !== 'string') {
      throw metadataError('invalidPath', 'the path of an election is a string')
    }
    this.path = path
    this.#store = checkCachingStore(store)
    this.#serde = checkSerde(serde)
    this.#settings = readOptions(electionOptions, options)
    this.#record = new OwnRecord(store, path)
    if (listener !== undefined) this.registerListener(listener)
    const participants = participantsOf(store)
    if (participants.has(path)) {
      throw metadataError('illegalState', `the handle takes part in the election ${path} already`)
    }
    participants.set(path, this)
    this.#unregister = [
      store.registerListener((event) => {
        if (event.path === path && event.type !== 'ChildrenChanged') this.#onChange(event.type)
      }),
      store.registerSessionListener((event) => {
        if (event === 'ConnectionLost' || event === 'SessionLost') this.#record.suspect()
        else this.#electAgain()
      }),
    ]
  }

  /** The state of this participant; `NoLeader` before the first election and after `close`. */
  get state(): LeaderElectionState {
    return this.#state
  }

  /** True while the session is lost or unreachable: another participant may lead. */
  get isSuspect(): boolean {
    return this.#record.isSuspect
  }

  /**
   * The fencing token of this leader; undefined unless leading. Increases from leader to leader.
   */
  get token(): number | undefined {
    return this.#state === 'Leading' ? this.#record.token : undefined
  }

  /** Calls a function with each later state. Returns a function that unregisters it. */
  registerListener(listener: LeaderElectionListener): () => void {
    checkFunction(listener, 'a listener')
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== listener)
    }
  }

  /**
   * Takes part in the election. Resolves with the new state of this participant. Waits while the
   * connection or the session is lost. Rejects with every other error and then takes no part: an
   * invalid path, an unreadable record of the leader (`ERR_METADATA_CONTENT_DESERIALIZATION`), a
   * value that is too large, an error of the serde.
   */
  async elect(value: T): Promise<LeaderElectionState> {
    const bytes = Buffer.from(this.#serde.serialize(this.path, value))
    while (this.#closing !== undefined) await this.#closing.catch(() => undefined)
    if (this.#isDisposed) throw metadataError('alreadyClosed', 'the election')
    this.#isClosed = false
    this.#proposal = { value, bytes }
    if (this.#state !== 'NoLeader' && !this.#isElecting) return this.#state
    const call = deferred<LeaderElectionState>()
    this.#calls.push(call)
    this.#electAgain()
    return call.promise
  }

  /**
   * The leader's value, read when no election is in progress; undefined if there is no leader.
   * `ERR_METADATA_TIMEOUT` if the election does not end.
   */
  async getLeaderValue(): Promise<T | undefined> {
    if (this.#isClosed) return undefined
    const limit = this.#settings.readTimeoutMilliseconds
    const late = new AbortController()
    return new Promise((resolve, reject) => {
      const stop = laterForCaller(this.#settings.clock, limit, () => {
        late.abort()
        const message = `${this.path}: the election did not end in ${limit} ms`
        reject(metadataError('timeout', message))
      })
      void this.#readLeader(late.signal).then(resolve, reject).finally(stop)
    })
  }

  /** The last known value of the leader, without waiting. */
  getLeaderValueIfPresent(): T | undefined {
    return this.#isClosed ? undefined : this.#leader
  }

  /**
   * Gives up leadership and takes no part until the next `elect`. If the store is unavailable, the
   * record is removed later.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => (this.#closing = undefined))
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#proposal = undefined
    this.#goOn()
    await this.#settled()
    const wasLeading = this.#state === 'Leading'
    if (this.#record.isInDoubt) this.#withdraw()
    // The record is removed by its token, which `become` forgets.
    const removal = wasLeading ? this.#record.remove() : undefined
    this.#become('NoLeader', undefined)
    try {
      await removal
    } catch (error) {
      if (isInDoubt(error)) this.#withdraw()
      // The record was removed, will be removed with its session, or belongs to another leader.
      else if (!isRace(error) && !isGone(error)) throw error
    }
  }

  /** As `close`, permanently. The handle may then have another participant at the path. */
  async dispose(): Promise<void> {
    this.#isDisposed = true
    try {
      await this.close()
    } finally {
      for (const unregister of this.#unregister) unregister()
      const participants = participantsOf(this.#store)
      if (electionAt<T>(this.#store, this.path) === this) participants.delete(this.path)
      this.onEnded()
    }
  }

  /** Removes the record of an attempt in doubt, unless this participant takes part again. */
  #withdraw(): void {
    const { clock, retryMilliseconds } = this.#settings
    this.#record.isInDoubt = false
    const useOf = (): 'none' | 'held' => (this.#proposal === undefined ? 'none' : 'held')
    void withdraw(this.#store, this.path, useOf, () => after(clock, retryMilliseconds))
  }

  #onChange(type: string): void {
    if (this.#proposal === undefined) return
    // During an election the event may be about the record of an earlier session.
    if (type === 'Deleted' && !this.#isElecting) this.#state = 'NoLeader'
    if (type === 'Deleted' || this.#state !== 'Leading') this.#electAgain()
  }

  /** Begins an election, or requests another attempt of the one in progress. */
  #electAgain(): void {
    if (this.#proposal === undefined) return
    if (this.#isElecting) return this.#goOn()
    this.#isElecting = true
    void this.#attempts()
  }

  /** Requests another attempt without a wait. */
  #goOn(): void {
    this.#mustGoOn = true
    this.#endPause()
  }

  /** Waits before the next attempt. */
  #pause(): Promise<void> {
    if (this.#mustGoOn) return Promise.resolve()
    const { clock, retryMilliseconds } = this.#settings
    return new Promise((resolve) => {
      // Only waiting calls keep the process alive.
      const start = this.#calls.length > 0 ? laterForCaller : later
      const stop = start(clock, retryMilliseconds, () => this.#endPause())
      this.#endPause = () => {
        this.#endPause = () => undefined
        stop()
        resolve()
      }
    })
  }

  /** Ends the election, in the turn of its last attempt: later changes begin another election. */
  #settle(answer: (call: Deferred<LeaderElectionState>) => void): void {
    assert(this.#isElecting, 'an election has one outcome')
    this.#isElecting = false
    for (const call of this.#calls.splice(0)) answer(call)
    this.#waiting.wake()
  }

  /** Resolves when no election is in progress, or when the signal fires. */
  async #settled(signal?: AbortSignal): Promise<void> {
    while (this.#isElecting && signal?.aborted !== true) await this.#waiting.wait(signal)
  }

  /** Attempts until one succeeds, the callers receive an error, or there is no proposal. */
  async #attempts(): Promise<void> {
    for (;;) {
      const proposal = this.#proposal
      if (proposal === undefined) {
        const error = metadataError('alreadyClosed', 'the election')
        return this.#settle(({ reject }) => reject(error))
      }
      this.#mustGoOn = false
      const callers = this.#calls.length
      try {
        const state = await this.#record.confirm(() => this.#attempt(proposal))
        if (!this.#mustGoOn || this.#proposal === undefined) {
          return this.#settle(({ resolve }) => resolve(state))
        }
      } catch (error) {
        if (isRace(error)) continue
        if (hasCode(error, 'alreadyClosed')) return this.#settle(({ reject }) => reject(error))
        const isAway = hasCode(error, 'connectionLost', 'sessionLost')
        // A newer proposal gets its own attempt.
        if (callers === 0 || isAway) await this.#pause()
        else if (this.#proposal === proposal) return this.#fail(error)
      }
    }
  }

  /** Rejects the calls with the error and withdraws this participant. */
  #fail(error: unknown): void {
    const hasRecord = this.#record.token !== undefined || this.#record.isInDoubt
    this.#proposal = undefined
    this.#become('NoLeader', undefined)
    if (hasRecord) this.#withdraw()
    this.#settle(({ reject }) => reject(error))
  }

  async #attempt({ value, bytes }: Proposal<T>): Promise<LeaderElectionState> {
    const found = await this.#store.get(this.path)
    if (found === undefined) await this.#record.create(bytes)
    else if (found.stat.createdBySelf) await this.#record.adopt(bytes, found)
    else return this.#become('Following', decoded(this.#serde, found))
    return this.#become('Leading', value)
  }

  /** Undefined also when the signal has fired. */
  async #readLeader(signal: AbortSignal): Promise<T | undefined> {
    for (;;) {
      await this.#settled(signal)
      if (signal.aborted) return undefined
      const found = await this.#store.get(this.path)
      if (found !== undefined) return decoded(this.#serde, found)
      if (this.#proposal === undefined) return undefined
      // The leader has just ended; as a participant, wait for the next one.
      this.#electAgain()
    }
  }

  #become(state: LeaderElectionState, leader: T | undefined): LeaderElectionState {
    if (state !== 'Leading') this.#record.forget()
    this.#state = state
    this.#leader = leader
    const [told, term] = this.#told
    this.#told = [state, this.#record.token]
    if (state !== told || this.#record.token !== term) {
      const listeners = this.#listeners
      queueMicrotask(() => {
        for (const listener of listeners) callListener(this.#store.onListenerError, listener, state)
      })
    }
    return state
  }
}
