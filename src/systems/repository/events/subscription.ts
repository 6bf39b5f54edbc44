/**
 * A subscription: tells a handler of every write of records, in the order of the writes of each
 * record, at least once.
 *
 * It reads the change feed of the database from its own position on, which is stored before the
 * first event and then every 100 writes. A new subscription tells of the records that exist first,
 * and stores how far it has come with them. Events of
 * different records go to several lanes side by side, those of one record always to the same. An
 * event whose handler fails is tried again, and then set aside as a dead letter, so that one event
 * does not hold up the others. The position passes an event only when it was handled or set aside.
 */
import {
  CellarError,
  checkFunction,
  ErrorCode,
  OptionNames,
  readArguments,
  shown,
  type Clock,
  type Database,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import type { StoredEvent } from '../records/writes/commit.js'
import { eventColumn, isEventColumn } from '../records/record-state.js'
import {
  replayStart,
  type DeadLetter,
  type RecordEvent,
  type ReplayPlace,
  type SubscriptionPosition,
  type SubscriptionState,
} from './subscription-state.js'
import { errorOf } from '../thrown.js'

/** Handles an event. It may be told of an event more than once. */
export type EventHandler = (event: RecordEvent) => void | Promise<void>

/** Options of a subscription. */
export interface SubscriptionOptions {
  /** How often a failed event is tried again before it is a dead letter. Default 5. */
  readonly retriesMax?: number | undefined
  /** Milliseconds before the first retry; each later one waits twice as long. Default 100. */
  readonly retryMilliseconds?: number | undefined
  /** Handlers that run side by side. Default 1. */
  readonly lanes?: number | undefined
  /** Where a new subscription begins. Default: every record that exists is told first. */
  readonly from?: 'beginning' | 'now' | undefined
  /**
   * Called before the position is stored: makes lasting what the handler has done so far. If it
   * fails, the subscription ends, and its events come again the next time.
   */
  readonly beforePosition?: (() => Promise<void>) | undefined
}

/** What a subscription is made of. */
export interface SubscriptionParts {
  readonly database: Database
  readonly state: SubscriptionState
  readonly clock: Clock
  /** Names of the tables of records that there are now. */
  readonly tables: () => string[]
  /** Whether a table of the database holds records. */
  readonly isRecordTable: (name: string) => boolean
}

const optionNames = new OptionNames<SubscriptionOptions>('a subscription', {
  retriesMax: true,
  retryMilliseconds: true,
  lanes: true,
  from: true,
  beforePosition: true,
})
/** Events that wait in all lanes; beyond, the feed waits. */
const waitingMax = 100
const eventsPerPosition = 100
const waitMillisecondsMax = 30_000

/** What was taken from the feed or from a replay, and is not handled yet. */
interface Waiting {
  readonly sequence: number
  /** The record of a replay; undefined for a write of the feed. */
  readonly place: ReplayPlace | undefined
  /** Events that are not handled. */
  left: number
}

/** What a subscription has done. */
export interface SubscriptionCounts {
  /** Events that the handler took. */
  handled: number
  /** Calls of the handler that failed. */
  failed: number
  /** Events that were set aside. */
  deadLetters: number
}

/** The name of a subscription, checked. `ERR_INVALID_ARGUMENT`. */
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
  readonly #from: 'beginning' | 'now'
  readonly #beforePosition: (() => Promise<void>) | undefined
  readonly #retriesMax: number
  readonly #retryMilliseconds: number
  readonly #lanes: Promise<void>[]
  readonly #stop = new AbortController()
  /** In the order of the feed, or of the replay. */
  #waiting: Waiting[] = []
  #waitingEvents = 0
  readonly #counts: SubscriptionCounts = { handled: 0, failed: 0, deadLetters: 0 }
  #position = -1
  /** The replay that is under way, up to which everything was handled. */
  #replaying: SubscriptionPosition | undefined
  #unstored = 0
  #storing: Promise<void> = Promise.resolve()
  #canStore = true
  /** Whether an event was given up; those behind it wait for the next time, in their order. */
  #isBroken = false
  #failure: Error | undefined
  #running: Promise<void> = Promise.resolve()
  #wakers: (() => void)[] = []
  /** Resolves when an event has left its lane; undefined while the feed does not wait. */
  #room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

  private constructor(
    name: string,
    parts: SubscriptionParts,
    handler: EventHandler,
    options: SubscriptionOptions,
  ) {
    const { retriesMax = 5, retryMilliseconds = 100, lanes = 1 } = options
    for (const value of [retriesMax, retryMilliseconds, lanes]) {
      if (Number.isSafeInteger(value) && value >= 0) continue
      throw invalidArgument('numbers of a subscription are whole and not negative')
    }
    this.name = name
    this.#parts = parts
    this.#handler = handler
    this.#from = options.from ?? 'beginning'
    this.#beforePosition = options.beforePosition
    this.#retriesMax = retriesMax
    this.#retryMilliseconds = retryMilliseconds
    this.#lanes = Array.from({ length: Math.max(1, lanes) }, () => Promise.resolve())
  }

  /** Checks the arguments; nothing runs yet. @internal */
  static prepare(
    name: string,
    parts: SubscriptionParts,
    handler: EventHandler,
    options: SubscriptionOptions = {},
  ): Subscription {
    const given = readArguments(() => optionNames.copy(options))
    const { from = 'beginning', beforePosition } = given
    checkFunction(beforePosition, 'beforePosition')
    if (from !== 'beginning' && from !== 'now') throw invalidArgument("from: 'beginning' or 'now'")
    if (typeof handler !== 'function') throw invalidArgument('a subscription needs a handler')
    return new Subscription(name, parts, handler, given)
  }

  /** Goes on where the subscription was. @internal */
  async start(): Promise<void> {
    const { database, state } = this.#parts
    let start = await state.position()
    if (start === undefined) {
      const replay = this.#from === 'now' ? undefined : replayStart
      start = { sequence: newest(database), replay }
      await state.setPosition(start.sequence, replay)
    }
    this.#running = this.#run(start).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#failure = errorOf(error)
      this.#wake()
    })
  }

  /** Whether it neither was closed nor has ended by itself. */
  get isRunning(): boolean {
    return !this.#stop.signal.aborted && this.#failure === undefined
  }

  /** Sequence up to which every write was handled or set aside. */
  get position(): number {
    return this.#position
  }

  /** Writes of the database between the newest one and the position. */
  get lag(): number {
    return Math.max(0, newest(this.#parts.database) - this.#position)
  }

  /** Why the subscription has ended by itself; undefined while it runs. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** What was done since the subscription began to run. */
  get counts(): Readonly<SubscriptionCounts> {
    return { ...this.#counts }
  }

  /**
   * Resolves when a write was handled: by its sequence, default the newest one.
   * `ERR_INVALID_ARGUMENT`, also when the subscription is closed before.
   */
  async caughtUp(sequence: number = newest(this.#parts.database)): Promise<void> {
    if (!Number.isSafeInteger(sequence)) {
      throw invalidArgument(`a sequence is a whole number, got ${shown(sequence)}`)
    }
    while (this.#position < sequence) {
      if (this.#failure !== undefined) throw this.#failure
      if (this.#stop.signal.aborted) throw invalidArgument(`${this.name} is closed`)
      await new Promise<void>((resolve) => this.#wakers.push(resolve))
    }
  }

  /** Events that were set aside, in the order of the writes. */
  deadLetters(): Promise<DeadLetter[]> {
    return this.#parts.state.deadLetters()
  }

  /** Hands the dead letters to the handler again; those that it takes are gone. How many. */
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

  /** Ends; events under way are handled first. The position stays stored. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await Promise.all(this.#lanes)
    await this.#storePosition()
    this.#wake()
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
        if (isRecordTable(table)) events.push(JSON.parse(value.toString('utf8')) as StoredEvent)
      }
      await this.#deliver({ sequence, place: undefined, left: events.length }, events)
      if (signal.aborted) return
    }
  }

  /**
   * Tells of every record behind a place once; whether all of them were handled. One that is broken
   * off goes on where it was the next time.
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
        const event = row.value(eventColumn, 'json') as StoredEvent
        await this.#deliver({ sequence, place: { table: name, row: row.row! }, left: 1 }, [event])
      }
    }
    await Promise.all(this.#lanes)
    // An event that was not handled keeps its place, and all behind it.
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
      const lane = laneOf(event.id, this.#lanes.length)
      this.#waitingEvents++
      this.#lanes[lane] = this.#lanes[lane]
        .then(() => this.#handle({ event, sequence, isReplay }))
        .then((isDone) => {
          this.#waitingEvents--
          this.#room?.resolve()
          this.#room = undefined
          if (isDone) entry.left--
          else this.#isBroken = true
          return this.#settle()
        })
    }
    await this.#settle()
    // Not the first lane that is done: an idle lane is done at once, again and again.
    while (this.#waitingEvents >= waitingMax) {
      this.#room ??= deferred()
      await this.#room.promise
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Whether the event was handled or set aside; false if the subscription ends first. */
  async #handle(event: RecordEvent): Promise<boolean> {
    for (let attempt = 0; ; attempt++) {
      if (this.#failure !== undefined || this.#isBroken) return false
      try {
        await this.#handler(event)
        this.#counts.handled++
        return true
      } catch (error) {
        this.#counts.failed++
        if (attempt < this.#retriesMax) {
          if (this.#stop.signal.aborted) return false
          await this.#pause(Math.min(this.#retryMilliseconds * 2 ** attempt, waitMillisecondsMax))
          continue
        }
        const text = errorOf(error).message
        const time = this.#parts.clock.now()
        try {
          await this.#parts.state.addDeadLetter({ ...event, error: text, time })
          this.#counts.deadLetters++
          return true
        } catch (failure) {
          this.#failure = errorOf(failure)
          return false
        }
      }
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#stop
    if (milliseconds === 0 || signal.aborted) return
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, milliseconds)
      signal.addEventListener('abort', end)
    })
  }

  /** Moves the position over what is handled. */
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
    this.#wake()
  }

  /** Stores how far everything was handled; one call after the other. */
  #storePosition(): Promise<void> {
    this.#storing = this.#storing.then(async () => {
      if (this.#unstored === 0 || !this.#canStore) return
      this.#unstored = 0
      const { sequence, replay } = this.#replaying ?? {
        sequence: this.#position,
        replay: undefined,
      }
      try {
        await this.#beforePosition?.()
        await this.#parts.state.setPosition(sequence, replay)
      } catch (error) {
        this.#canStore = false
        this.#failure ??= errorOf(error)
      }
    })
    return this.#storing
  }

  #wake(): void {
    const wakers = this.#wakers
    this.#wakers = []
    for (const wake of wakers) wake()
  }
}

function newest(database: Database): number {
  const snapshot = database.snapshot()
  const { sequence } = snapshot
  snapshot.close()
  return sequence
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

/** Events of one record always go to the same lane. */
function laneOf(id: string, lanes: number): number {
  let hash = 0
  for (let i = 0; i < id.length; i++) hash = (Math.imul(hash, 31) + id.charCodeAt(i)) | 0
  return (hash >>> 0) % lanes
}
