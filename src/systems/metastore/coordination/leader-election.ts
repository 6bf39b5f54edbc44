/**
 * Leader election among sessions: the leader owns an ephemeral record with its value.
 *
 * A participant attempts to create the record, and follows if the record exists. Another attempt
 * follows when the record is removed, when the session is restored, and some time after a failed
 * attempt. A handle has one participant for each path, because its session owns the record.
 */
import { declareOptions, implementation, number, type OptionsOf } from '../../../api/index.js'
import { checkCachingStore, checkListener, checkSerde, readOptions } from '../pulsar/arguments.js'
import { after, laterForCaller, systemClock } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import { callListener } from '../kernel/listener-errors.js'
import type { CachingStore } from '../pulsar/store/cache-sink.js'
import { hasCode, metadataError } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import type { Expected, GetResult, Stat } from '../pulsar/types.js'
import { isInDoubt, withdraw } from './doubt.js'
import { ElectionWaits, type LeaderElectionState } from './election-waits.js'

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

/** Receives each new state of a participant. Its errors go to the store's `onListenerError`. */
export type LeaderElectionListener = (state: LeaderElectionState) => unknown

/** The participants of each handle, by path. */
const participants = new WeakMap<CachingStore, Map<string, LeaderElection<unknown>>>()

/** The participant of a handle at a path, unless it was disposed of. */
export function electionAt<T>(store: CachingStore, path: string): LeaderElection<T> | undefined {
  return participants.get(store)?.get(path) as LeaderElection<T> | undefined
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
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #clock: LeaseClock
  readonly #retryMilliseconds: number
  readonly #readTimeoutMilliseconds: number
  readonly #unregister: readonly (() => void)[]
  #listeners: readonly LeaderElectionListener[] = []
  /** The proposal of the last `elect`; undefined before, after `close`, and after an error. */
  #proposal: Proposal<T> | undefined = undefined
  #state: LeaderElectionState = 'NoLeader'
  #told: LeaderElectionState = 'NoLeader'
  /** The record while this participant leads. */
  #stat: Stat | undefined = undefined
  #leader: T | undefined = undefined
  #isSuspect = false
  #isClosed = false
  #isDisposed = false
  /** Whether the last attempt may have created the record in spite of its error. */
  #isInDoubt = false
  #closing: Promise<void> | undefined = undefined
  /** Incremented by every loss of the connection or the session. */
  #losses = 0
  readonly #waits: ElectionWaits

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
    if (typeof path !== 'string')
      throw metadataError('invalidPath', 'the path of an election is a string')
    this.path = path
    this.#store = checkCachingStore(store)
    this.#serde = checkSerde(serde)
    const settings = readOptions(electionOptions, options)
    this.#clock = settings.clock
    this.#retryMilliseconds = settings.retryMilliseconds
    this.#readTimeoutMilliseconds = settings.readTimeoutMilliseconds
    this.#waits = new ElectionWaits(this.#clock)
    if (listener !== undefined) checkListener(listener)
    this.#register()
    if (listener !== undefined) this.registerListener(listener)
    this.#unregister = [
      store.registerListener((event) => {
        if (event.path === this.path && event.type !== 'ChildrenChanged') this.#onChange(event.type)
      }),
      store.registerSessionListener((event) => {
        if (event === 'ConnectionLost' || event === 'SessionLost') {
          this.#losses++
          this.#isSuspect = true
        } else this.#electAgain()
      }),
    ]
  }

  /** The state of this participant; `NoLeader` before the first election and after `close`. */
  get state(): LeaderElectionState {
    return this.#state
  }

  /** True while the session is lost or unreachable: another participant may lead. */
  get isSuspect(): boolean {
    return this.#isSuspect
  }

  /**
   * The fencing token of this leader; undefined unless leading. Increases from leader to leader.
   */
  get token(): number | undefined {
    return this.#state === 'Leading' ? this.#stat?.creationSequence : undefined
  }

  /** Calls a function with each later state. Returns a function that unregisters it. */
  registerListener(listener: LeaderElectionListener): () => void {
    checkListener(listener)
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
    if (this.#state !== 'NoLeader' && !this.#waits.isElecting) return this.#state
    const outcome = this.#waits.call()
    this.#electAgain()
    return outcome
  }

  /**
   * The leader's value, read when no election is in progress; undefined if there is no leader.
   * `ERR_METADATA_TIMEOUT` if the election does not end.
   */
  async getLeaderValue(): Promise<T | undefined> {
    if (this.#isClosed) return undefined
    const limit = this.#readTimeoutMilliseconds
    return new Promise((resolve, reject) => {
      const call = { isLate: false, wake: (): void => undefined }
      const stop = laterForCaller(this.#clock, limit, () => {
        call.isLate = true
        call.wake()
        reject(metadataError('timeout', `${this.path}: the election did not end in ${limit} ms`))
      })
      void this.#readLeader(call).then(resolve, reject).finally(stop)
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
    this.#waits.goOn()
    await this.#waits.settled()
    const stat = this.#stat
    const wasLeading = this.#state === 'Leading'
    this.#become('NoLeader', undefined, undefined)
    if (this.#isInDoubt) this.#withdraw()
    if (wasLeading && stat !== undefined) await this.#giveUp(stat)
  }

  /** As `close`, permanently. The handle may then have another participant at the path. */
  async dispose(): Promise<void> {
    this.#isDisposed = true
    try {
      await this.close()
    } finally {
      for (const unregister of this.#unregister) unregister()
      const all = participants.get(this.#store)
      if (all?.get(this.path) === (this as LeaderElection<unknown>)) all.delete(this.path)
    }
  }

  #register(): void {
    let all = participants.get(this.#store)
    if (all === undefined)
      participants.set(this.#store, (all = new Map<string, LeaderElection<unknown>>()))
    if (all.has(this.path)) {
      throw metadataError(
        'illegalState',
        `the handle takes part in the election ${this.path} already`,
      )
    }
    all.set(this.path, this)
  }

  /** Removes the record of this leader, never the record of the next leader. */
  async #giveUp(stat: Stat): Promise<void> {
    try {
      await this.#store.delete(this.path, { creationSequence: stat.creationSequence })
    } catch (error) {
      if (isInDoubt(error)) this.#withdraw()
      else if (!isOver(error)) throw error
    }
  }

  /** Removes the record of an attempt in doubt, unless this participant takes part again. */
  #withdraw(): void {
    this.#isInDoubt = false
    const useOf = (): 'none' | 'held' => (this.#proposal === undefined ? 'none' : 'held')
    void withdraw(this.#store, this.path, useOf, () => after(this.#clock, this.#retryMilliseconds))
  }

  #onChange(type: string): void {
    if (this.#proposal === undefined) return
    if (type === 'Deleted') {
      // During an election the event may be about the record of an earlier session.
      if (!this.#waits.isElecting) this.#state = 'NoLeader'
      this.#electAgain()
    } else if (this.#state !== 'Leading') {
      this.#electAgain()
    }
  }

  /** Begins an election, or requests another attempt of the one in progress. */
  #electAgain(): void {
    if (this.#proposal !== undefined && this.#waits.begin()) void this.#attempts()
  }

  /** Attempts until one succeeds, the callers receive an error, or there is no proposal. */
  async #attempts(): Promise<void> {
    const waits = this.#waits
    for (;;) {
      const proposal = this.#proposal
      if (proposal === undefined) {
        return waits.settle({ error: metadataError('alreadyClosed', 'the election') })
      }
      waits.attempt()
      const { callers } = waits
      const losses = this.#losses
      try {
        const state = await this.#attempt(proposal)
        // After another loss in the meantime, the outcome remains in doubt.
        if (losses === this.#losses) this.#isSuspect = false
        if (!waits.mustGoOn || this.#proposal === undefined) return waits.settle({ state })
      } catch (error) {
        if (isRace(error)) continue
        if (hasCode(error, 'alreadyClosed')) return waits.settle({ error })
        if (callers === 0 || isAway(error)) await waits.pause(this.#retryMilliseconds)
        // A newer proposal gets its own attempt.
        else if (this.#proposal === proposal) return this.#fail(error)
      }
    }
  }

  /** Rejects the calls with the error and withdraws this participant. */
  #fail(error: unknown): void {
    const hasRecord = this.#stat !== undefined || this.#isInDoubt
    this.#proposal = undefined
    this.#become('NoLeader', undefined, undefined)
    if (hasRecord) this.#withdraw()
    this.#waits.settle({ error })
  }

  async #attempt(proposal: Proposal<T>): Promise<LeaderElectionState> {
    const found = await this.#store.get(this.path)
    if (found === undefined) {
      const stat = await this.#put(proposal, -1)
      return this.#become('Leading', proposal.value, stat)
    }
    if (found.stat.createdBySelf) return this.#lead(proposal, found)
    return this.#become('Following', this.#read(found), undefined)
  }

  /** Leads with a record of this session, after updating its value. */
  async #lead(proposal: Proposal<T>, { stat, value }: GetResult): Promise<LeaderElectionState> {
    const written = value.equals(proposal.bytes)
      ? stat
      : await this.#put(proposal, { creationSequence: stat.creationSequence })
    return this.#become('Leading', proposal.value, written)
  }

  async #put({ bytes }: Proposal<T>, expected: Expected): Promise<Stat> {
    try {
      return await this.#store.put(this.path, bytes, expected, { ephemeral: true })
    } catch (error) {
      if (isInDoubt(error)) this.#isInDoubt = true
      throw error
    }
  }

  #read(found: GetResult): T {
    try {
      return this.#serde.deserialize(this.path, found.value, found.stat)
    } catch (error) {
      throw metadataError('contentDeserialization', this.path, error)
    }
  }

  /** `call.wake` ends a wait of the read; the read stops when `call.isLate`. */
  async #readLeader(call: { isLate: boolean; wake: () => void }): Promise<T | undefined> {
    while (!call.isLate) {
      await this.#waits.settled((wake) => (call.wake = wake))
      if (call.isLate) break
      const found = await this.#store.get(this.path)
      if (found !== undefined) return this.#read(found)
      if (this.#proposal === undefined) return undefined
      // The leader has just ended; as a participant, wait for the next one.
      this.#electAgain()
    }
    return undefined
  }

  #become(
    state: LeaderElectionState,
    leader: T | undefined,
    stat: Stat | undefined,
  ): LeaderElectionState {
    const isNewTerm = stat?.creationSequence !== this.#stat?.creationSequence
    this.#state = state
    this.#leader = leader
    this.#stat = stat
    if (stat !== undefined) this.#isInDoubt = false
    if (state !== this.#told || (state === 'Leading' && isNewTerm)) {
      this.#told = state
      const listeners = this.#listeners
      queueMicrotask(() => {
        for (const listener of listeners) {
          callListener(this.#store.onListenerError, listener, state)
        }
      })
    }
    return state
  }
}

/** A concurrent writer changed the record first. */
function isRace(error: unknown): boolean {
  return hasCode(error, 'badVersion', 'notFound')
}

/** The store is currently unavailable. */
function isAway(error: unknown): boolean {
  return hasCode(error, 'connectionLost', 'sessionLost')
}

/** The record was removed, will be removed with its session, or belongs to another leader. */
function isOver(error: unknown): boolean {
  return isRace(error) || hasCode(error, 'sessionLost')
}
