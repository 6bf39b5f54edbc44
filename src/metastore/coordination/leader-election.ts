/** One leader among the sessions that take part: an ephemeral record with the leader's value. */
import { copyOfOptions } from '../pulsar/arguments.js'
import { after, systemClock } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import type { CachingStore } from '../pulsar/cache-sink.js'
import { AlreadyClosedError, hasCode, MetadataErrorCode, TimeoutError } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import type { Expected, GetResult, Stat } from '../pulsar/types.js'

/** What a participant is. */
export type LeaderElectionState = 'NoLeader' | 'Leading' | 'Following'

/** Settings of an election. */
export interface LeaderElectionOptions {
  /** Time and timers. Default: those of the system. */
  readonly clock?: LeaseClock | undefined
  /** Wait before an election that failed is held again. Default 5,000. */
  readonly retryMilliseconds?: number | undefined
  /** How long reads wait for an election to end. Default 30,000. */
  readonly readTimeoutMilliseconds?: number | undefined
}

const names: Readonly<Record<keyof LeaderElectionOptions, true>> = {
  clock: true,
  retryMilliseconds: true,
  readTimeoutMilliseconds: true,
}

/** A participant of an election; see the file header. */
export class LeaderElection<T> {
  /** Path of the leader's record. */
  readonly path: string
  readonly #store: CachingStore
  readonly #serde: MetadataSerde<T>
  readonly #listener: ((state: LeaderElectionState) => void) | undefined
  readonly #options: LeaderElectionOptions
  readonly #clock: LeaseClock
  readonly #unregister: readonly (() => void)[]
  /** What `elect` was called with; undefined before, and after `close`. */
  #proposal: { readonly value: T } | undefined = undefined
  #state: LeaderElectionState = 'NoLeader'
  #told: LeaderElectionState = 'NoLeader'
  /** The record while this participant leads. */
  #stat: Stat | undefined = undefined
  #leader: T | undefined = undefined
  #isSuspect = false
  #isClosed = false
  /** The election that is under way. */
  #electing: Promise<LeaderElectionState> | undefined = undefined
  #mustElectAgain = false
  /** Ends the wait before the next attempt. */
  #wake: (() => void) | undefined = undefined

  /**
   * Made by `CoordinationService.getLeaderElection`. `ERR_METADATA_INVALID_ARGUMENT` for an unknown
   * option. The participant does nothing before `elect`.
   */
  constructor(
    store: CachingStore,
    serde: MetadataSerde<T>,
    path: string,
    listener: ((state: LeaderElectionState) => void) | undefined,
    options: LeaderElectionOptions = {},
  ) {
    this.path = path
    this.#store = store
    this.#serde = serde
    this.#listener = listener
    this.#options = copyOfOptions(options, names, 'a leader election')
    this.#clock = options.clock ?? systemClock
    this.#unregister = [
      store.registerListener((event) => {
        if (event.path === this.path && event.type !== 'ChildrenChanged') this.#onChange(event.type)
      }),
      store.registerSessionListener((event) => {
        if (event === 'ConnectionLost' || event === 'SessionLost') this.#isSuspect = true
        else void this.#electAgain()
      }),
    ]
  }

  /** What this participant is; `NoLeader` before the first election and after `close`. */
  get state(): LeaderElectionState {
    return this.#state
  }

  /** True while the session is lost or unreachable: somebody else may lead. */
  get isSuspect(): boolean {
    return this.#isSuspect
  }

  /** The fencing token of this leader; undefined unless it leads. Grows from leader to leader. */
  get token(): number | undefined {
    return this.#state === 'Leading' ? this.#stat?.creationSequence : undefined
  }

  /** Takes part. Resolves with what this participant has become. */
  elect(value: T): Promise<LeaderElectionState> {
    if (this.#isClosed) this.#isClosed = false
    this.#proposal = { value }
    if (this.#state !== 'NoLeader' && this.#electing === undefined) {
      return Promise.resolve(this.#state)
    }
    return this.#run()
  }

  /**
   * The leader's value, read when no election is under way; undefined if there is none.
   * `ERR_METADATA_TIMEOUT` if the election does not end.
   */
  async getLeaderValue(): Promise<T | undefined> {
    if (this.#isClosed) return undefined
    const limit = this.#options.readTimeoutMilliseconds ?? 30_000
    const read = async (): Promise<T | undefined> => {
      for (;;) {
        if (this.#electing !== undefined) await this.#electing.catch(() => undefined)
        const found = await this.#store.get(this.path)
        if (found !== undefined) return this.#serde.deserialize(this.path, found.value)
        if (this.#proposal === undefined) return undefined
        // The leader has just gone; a participant knows that there will be another.
        await this.#run().catch(() => after(this.#clock, 5))
      }
    }
    let isLate = false
    const late = after(this.#clock, limit).then(() => {
      isLate = true
    })
    const found = await Promise.race([read(), late])
    if (isLate) throw new TimeoutError(`${this.path}: the election did not end in ${limit} ms`)
    return found as T | undefined
  }

  /** The leader's value as last seen, without waiting. */
  getLeaderValueIfPresent(): T | undefined {
    return this.#isClosed ? undefined : this.#leader
  }

  /** Gives leadership up and takes no part any more, until `elect`. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#proposal = undefined
    await this.#electing?.catch(() => undefined)
    const stat = this.#stat
    const wasLeading = this.#state === 'Leading'
    this.#become('NoLeader', undefined, undefined)
    if (wasLeading && stat !== undefined) await this.#giveUp(stat)
  }

  /** As `close`, for good. */
  async dispose(): Promise<void> {
    await this.close()
    for (const unregister of this.#unregister) unregister()
  }

  /** Removes the record, but never the one of the next leader. */
  async #giveUp(stat: Stat): Promise<void> {
    try {
      await this.#store.delete(this.path, { creationSequence: stat.creationSequence })
    } catch (error) {
      if (!isOver(error)) throw error
    }
  }

  #onChange(type: string): void {
    if (this.#proposal === undefined) return
    if (type === 'Deleted') {
      // Its own deletion by an earlier session is not the end of this leader.
      if (this.#electing === undefined) this.#state = 'NoLeader'
      void this.#electAgain()
    } else if (this.#state === 'Following') {
      void this.#electAgain()
    }
  }

  async #electAgain(): Promise<void> {
    if (this.#proposal === undefined) return
    if (this.#electing !== undefined) {
      this.#mustElectAgain = true
      this.#wake?.()
      return
    }
    await this.#run().catch(() => undefined)
  }

  #run(): Promise<LeaderElectionState> {
    this.#electing ??= this.#attempts().finally(() => (this.#electing = undefined))
    return this.#electing
  }

  async #attempts(): Promise<LeaderElectionState> {
    for (;;) {
      const proposal = this.#proposal
      if (proposal === undefined) throw new AlreadyClosedError('the election')
      this.#mustElectAgain = false
      try {
        const state = await this.#attempt(proposal.value)
        this.#isSuspect = false
        if (!this.#mustElectAgain) return state
      } catch (error) {
        if (hasCode(error, MetadataErrorCode.badVersion)) continue
        if (hasCode(error, MetadataErrorCode.notFound)) continue
        if (hasCode(error, MetadataErrorCode.alreadyClosed)) throw error
        await this.#pause()
      }
    }
  }

  /** Waits before the next attempt, or until something has changed. */
  #pause(): Promise<void> {
    if (this.#mustElectAgain) return Promise.resolve()
    return new Promise<void>((resolve) => {
      this.#wake = resolve
      void after(this.#clock, this.#options.retryMilliseconds ?? 5_000).then(resolve)
    }).then(() => {
      this.#wake = undefined
    })
  }

  async #attempt(value: T): Promise<LeaderElectionState> {
    const found = await this.#store.get(this.path)
    if (found === undefined) {
      const stat = await this.#put(value, -1)
      return this.#become('Leading', value, stat)
    }
    if (found.stat.createdBySelf) return this.#lead(value, found)
    const leader = this.#serde.deserialize(this.path, found.value)
    return this.#become('Following', leader, undefined)
  }

  /** Goes on with a record of this session, which holds the value from then on. */
  async #lead(value: T, { stat, value: stored }: GetResult): Promise<LeaderElectionState> {
    const bytes = this.#serde.serialize(this.path, value)
    const isEqual = stored.equals(bytes)
    const written = isEqual
      ? stat
      : await this.#put(value, { creationSequence: stat.creationSequence })
    return this.#become('Leading', value, written)
  }

  #put(value: T, expected: Expected): Promise<Stat> {
    const bytes = this.#serde.serialize(this.path, value)
    return this.#store.put(this.path, bytes, expected, { ephemeral: true })
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
    if (state !== this.#told || (state === 'Leading' && isNewTerm)) {
      this.#told = state
      // A listener that throws must not stop the election.
      if (this.#listener !== undefined) {
        queueMicrotask(() => {
          try {
            this.#listener?.(state)
          } catch (error) {
            process.emitWarning(error instanceof Error ? error : String(error))
          }
        })
      }
    }
    return state
  }
}

/** The record of this leader is gone, goes with its session, or another leader has its place. */
function isOver(error: unknown): boolean {
  const { notFound, badVersion, sessionLost } = MetadataErrorCode
  return hasCode(error, notFound) || hasCode(error, badVersion) || hasCode(error, sessionLost)
}
