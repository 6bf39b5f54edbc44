/**
 * A subscription notifies a handler of every write of a record: at least once, and in order for
 * each record.
 *
 * The subscription reads the change feed of the database from its stored position. The position is
 * stored before the first event and then every 100 writes. A new subscription first replays the
 * existing records and stores the position of the replay. Events are partitioned by record, and the
 * partitions run in parallel. A failed event is retried and then set aside as a dead letter, so one
 * event does not block the others. The position passes an event only after it was handled or set
 * aside.
 */
import { setTimeout } from 'node:timers/promises'
import {
  assert,
  callback,
  CellarError,
  choice,
  declareOptions,
  ErrorCode,
  integer,
  shown,
  Waiters,
  type Clock,
  type Database,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { invalidArgument } from '../errors.js'
import { isStoredEvent, type StoredEvent } from '../records/writes/commit.js'
import { eventColumn, isEventColumn } from '../records/record-state.js'
import {
  replayStart,
  type DeadLetter,
  type RecordEvent,
  type ReplayPlace,
  type SubscriptionPosition,
  type SubscriptionState,
} from './subscription-state.js'
import { jsonOf, storedJson } from '../stored-cells.js'
import { errorOf } from '../thrown.js'

/** Handles an event. The same event may be delivered more than once. */
export type EventHandler = (event: RecordEvent) => void | Promise<void>

const subscriptionOptions = declareOptions('a subscription', {
  /** Retries of a failed event before it becomes a dead letter. Default 5. */
  retriesMax: integer({ min: 0, default: 5 }),
  /** Milliseconds before the first retry; the delay doubles with each retry. Default 100. */
  retryMilliseconds: integer({ min: 0, default: 100 }),
  /** Number of partitions, each with one running handler. Default 1. */
  lanes: integer({ min: 0, max: Number.MAX_SAFE_INTEGER, default: 1 }),
  /** Start of a new subscription. Default: every existing record is replayed first. */
  from: choice(['beginning', 'now'], 'beginning' as const),
  /**
   * Called before the position is stored, to make the results of the handler durable. If it fails,
   * the subscription ends, and its events are delivered again after the next start.
   */
  beforePosition: callback<() => Promise<void>>(),
})

/** Options of a subscription. */
export interface SubscriptionOptions extends OptionsOf<typeof subscriptionOptions> {}

/** Dependencies of a {@link Subscription}. */
export interface SubscriptionParts {
  readonly database: Database
  readonly state: SubscriptionState
  readonly clock: Clock
  /** Names of the tables that hold records at present. */
  readonly tables: () => string[]
  /** Whether a table of the database holds records. */
  readonly isRecordTable: (name: string) => boolean
}

/** Limit of waiting events in all partitions together; at the limit the feed waits. */
const waitingMax = 100
const eventsPerPosition = 100
const waitMillisecondsMax = 30_000

/** An entry of the feed or of a replay whose events are not all handled yet. */
interface Waiting {
  readonly sequence: number
  /** The row of a replay; undefined for a write of the feed. */
  readonly place: ReplayPlace | undefined
  left: number
}

/** Counts of a subscription. */
export interface SubscriptionCounts {
  /** Events that were handled. */
  handled: number
  /** Calls of the handler that failed. */
  failed: number
  /** Events that were set aside. */
  deadLetters: number
}

/** Checks the name of a subscription. `ERR_INVALID_ARGUMENT`. */
export function checkSubscriptionName(name: string): string {
  if (typeof name === 'string' && /^[\w.-]{1,100}$/.test(name)) return name
  throw invalidArgument('the name of a subscription has letters, digits, _, - and .')
}

/** A running subscription; made by `RepositoryManager.subscribe`. */
export class Subscription {
  /** Unique in the repository manager; the position in the feed is stored under it. */
  readonly name: string
  readonly #parts: SubscriptionParts
  readonly #handler: EventHandler
  readonly #settings: SettingsOf<typeof subscriptionOptions>
  /**
   * The end of the last step of each partition. Partitions run in parallel; all steps of one record
   * are in one partition, one after the other.
   */
  readonly #partitions: Promise<void>[]
  readonly #stop = new AbortController()
  /** Entries not yet completed, in the order of the feed or of the replay. */
  #waiting: Waiting[] = []
  #waitingEvents = 0
  readonly #counts: SubscriptionCounts = { handled: 0, failed: 0, deadLetters: 0 }
  #position = -1
  /** Position of the replay in progress, up to which everything was handled. */
  #replaying: SubscriptionPosition | undefined
  #unstored = 0
  readonly #stores = new CallOrder()
  #canStore = true
  /** Whether an event was abandoned. Later events then wait for the next start, in order. */
  #isBroken = false
  #failure: Error | undefined
  #running: Promise<void> = Promise.resolve()
  /** Woken when an event leaves its partition, or the position or the state changes. */
  readonly #changes = new Waiters()

  /** Checks the arguments; made by `RepositoryManager.subscribe`. @internal */
  constructor(
    name: string,
    parts: SubscriptionParts,
    handler: EventHandler,
    options: SubscriptionOptions,
  ) {
    this.name = name
    this.#parts = parts
    this.#handler = handler
    this.#settings = subscriptionOptions.read(options)
    if (typeof handler !== 'function') throw invalidArgument('a subscription needs a handler')
    const length = Math.max(1, this.#settings.lanes)
    this.#partitions = Array.from({ length }, () => Promise.resolve())
  }

  /** Continues from the stored position. @internal */
  async start(): Promise<void> {
    const { database, state } = this.#parts
    let start = await state.position()
    if (start === undefined) {
      const replay = this.#settings.from === 'now' ? undefined : replayStart
      start = { sequence: newest(database), replay }
      await state.setPosition(start.sequence, replay)
    }
    this.#running = this.#run(start).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#failure = errorOf(error)
      this.#changes.wake()
    })
  }

  /** Whether the subscription was not closed and did not fail. */
  get isRunning(): boolean {
    return !this.#stop.signal.aborted && this.#failure === undefined
  }

  /** Sequence up to which every write was handled or set aside. */
  get position(): number {
    return this.#position
  }

  /** Writes of the database between the position and the newest one. */
  get lag(): number {
    return Math.max(0, newest(this.#parts.database) - this.#position)
  }

  /** The error that ended the subscription; undefined while it runs. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Counts since the start. */
  get counts(): Readonly<SubscriptionCounts> {
    return { ...this.#counts }
  }

  /**
   * Resolves when the write of a sequence, default the newest, was handled. `ERR_INVALID_ARGUMENT`,
   * also if the subscription is closed before. Rejects with {@link failure}.
   */
  async caughtUp(sequence: number = newest(this.#parts.database)): Promise<void> {
    if (!Number.isSafeInteger(sequence)) {
      throw invalidArgument(`a sequence is a whole number, got ${shown(sequence)}`)
    }
    while (this.#position < sequence) {
      if (this.#failure !== undefined) throw this.#failure
      if (this.#stop.signal.aborted) throw invalidArgument(`${this.name} is closed`)
      await this.#changes.wait()
    }
  }

  /** Events that were set aside, in the order of their writes. */
  deadLetters(): Promise<DeadLetter[]> {
    return this.#parts.state.deadLetters()
  }

  /**
   * Passes the dead letters to the handler again and removes those it accepts. Returns their
   * number.
   */
  async retryDeadLetters(): Promise<number> {
    let handled = 0
    for (const letter of await this.deadLetters()) {
      try {
        await this.#handler(letter)
      } catch {
        continue
      }
      await this.#parts.state.removeDeadLetter(letter)
      handled++
    }
    return handled
  }

  /** Ends the subscription after the waiting events; the position stays stored. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await Promise.all(this.#partitions)
    await this.#storePosition()
    this.#changes.wake()
  }

  async #run(start: SubscriptionPosition): Promise<void> {
    let { sequence, replay } = start
    for (;;) {
      if (replay !== undefined && !(await this.#replay(sequence, replay))) return
      this.#advance(sequence)
      try {
        await this.#follow(sequence + 1)
        return
      } catch (error) {
        const isGone = error instanceof CellarError && error.code === ErrorCode.changesGone
        if (!isGone) throw error
        sequence = newest(this.#parts.database)
        replay = replayStart
        await this.#parts.state.setPosition(sequence, replay)
      }
    }
  }

  async #follow(fromSequence: number): Promise<void> {
    const { database, isRecordTable } = this.#parts
    const { signal } = this.#stop
    const feed = database.changes({ fromSequence, durability: 'SYNC_WAL', signal })
    for await (const { sequence, cells } of feed) {
      const events: StoredEvent[] = []
      for (const { table, family, qualifier, type, value } of cells) {
        if (type !== 'Put' || !isEventColumn(family, qualifier)) continue
        if (!isRecordTable(table)) continue
        const place = `the event of the write ${sequence} in ${table}`
        events.push(jsonOf(value, place, isStoredEvent))
      }
      await this.#deliver({ sequence, place: undefined, left: events.length }, events)
      if (signal.aborted) return
    }
  }

  /**
   * Delivers every record after a position once. Returns whether all were handled; an interrupted
   * replay continues at its stored position after the next start.
   */
  async #replay(sequence: number, from: ReplayPlace): Promise<boolean> {
    const { database, tables, state } = this.#parts
    this.#replaying = { sequence, replay: from }
    for (const name of tables().sort()) {
      if (name < from.table) continue
      const isFirst = name === from.table && from.row.length > 0
      const span = isFirst ? { startRow: from.row, startInclusive: false } : {}
      for await (const row of database.table(name).scan({ columns: [eventColumn], ...span })) {
        if (this.#stop.signal.aborted) return false
        const event = storedJson(row, eventColumn, `the last event in ${name}`, isStoredEvent)!
        await this.#deliver({ sequence, place: { table: name, row: row.row! }, left: 1 }, [event])
      }
    }
    await Promise.all(this.#partitions)
    // The position must not pass an event that was not handled.
    if (this.#waiting.length > 0) return false
    await this.#storePosition()
    if (this.#failure !== undefined) throw this.#failure
    this.#replaying = undefined
    await state.setPosition(sequence)
    return true
  }

  async #deliver(entry: Waiting, events: readonly StoredEvent[]): Promise<void> {
    const { sequence } = entry
    const isReplay = entry.place !== undefined
    this.#waiting.push(entry)
    for (const event of events) {
      this.#waitingEvents++
      this.#addStep(event.id, async () => {
        const isDone = await this.#handle({ event, sequence, isReplay })
        this.#waitingEvents--
        assert(this.#waitingEvents >= 0 && entry.left > 0, 'an event leaves its partition once')
        this.#changes.wake()
        if (isDone) entry.left--
        else this.#isBroken = true
        await this.#settle()
      })
    }
    await this.#settle()
    // A race over the partitions would spin: an idle one is a resolved promise.
    while (this.#waitingEvents >= waitingMax) await this.#changes.wait()
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Runs a step after the earlier ones of its record. */
  #addStep(record: string, step: () => Promise<void>): void {
    let hash = 0
    for (let i = 0; i < record.length; i++) hash = (Math.imul(hash, 31) + record.charCodeAt(i)) | 0
    const partition = (hash >>> 0) % this.#partitions.length
    this.#partitions[partition] = this.#partitions[partition].then(step)
  }

  /** Whether the event was handled or set aside; false if a close or a failure comes first. */
  async #handle(event: RecordEvent): Promise<boolean> {
    for (let attempt = 0; ; attempt++) {
      if (this.#failure !== undefined || this.#isBroken) return false
      try {
        await this.#handler(event)
        this.#counts.handled++
        return true
      } catch (error) {
        this.#counts.failed++
        const { retriesMax, retryMilliseconds } = this.#settings
        if (attempt < retriesMax) {
          const { signal } = this.#stop
          if (signal.aborted) return false
          const pause = Math.min(retryMilliseconds * 2 ** attempt, waitMillisecondsMax)
          await setTimeout(pause, undefined, { signal }).catch(() => undefined)
          continue
        }
        const { clock, state } = this.#parts
        const { message } = errorOf(error)
        try {
          await state.addDeadLetter({ ...event, error: message, time: clock.now() })
          this.#counts.deadLetters++
          return true
        } catch (failure) {
          this.#failure = errorOf(failure)
          return false
        }
      }
    }
  }

  async #settle(): Promise<void> {
    let last: Waiting | undefined
    while (this.#waiting.length > 0 && this.#waiting[0].left === 0) last = this.#waiting.shift()
    if (last === undefined) return
    this.#unstored++
    const { sequence, place } = last
    if (place === undefined) this.#advance(sequence)
    else this.#replaying = { sequence, replay: place }
    if (this.#unstored >= eventsPerPosition) await this.#storePosition()
  }

  #advance(sequence: number): void {
    this.#position = Math.max(this.#position, sequence)
    this.#changes.wake()
  }

  /** Stores the position; calls run one after the other. */
  #storePosition(): Promise<void> {
    return this.#stores.run(async () => {
      if (this.#unstored === 0 || !this.#canStore) return
      this.#unstored = 0
      const reached = { sequence: this.#position, replay: undefined }
      const { sequence, replay } = this.#replaying ?? reached
      try {
        await this.#settings.beforePosition?.()
        await this.#parts.state.setPosition(sequence, replay)
      } catch (error) {
        this.#canStore = false
        this.#failure ??= errorOf(error)
      }
    })
  }
}

/** Sequence of the newest write of a database. */
export function newest(database: Database): number {
  using snapshot = database.snapshot()
  return snapshot.sequence
}
