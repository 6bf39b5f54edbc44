/** The stored state of a subscription: its position, and its dead letters. */
import type { Table } from '../../../api/index.js'
import type { StoredEvent } from '../records/writes/commit.js'

const positionColumn = 's:p'
const replayColumn = 's:r'
const deadColumn = 's:d'

/** An event as a subscriber receives it. */
export interface RecordEvent {
  /** The write that the event reports. */
  readonly event: StoredEvent
  /** Sequence of the write in the change feed. */
  readonly sequence: number
  /**
   * Whether the event is part of a replay, which delivers every record once, with the event of its
   * last write. A replay starts a subscription, or replaces writes that the feed no longer has.
   */
  readonly isReplay: boolean
}

/** An event that the handler refused too often. */
export interface DeadLetter extends RecordEvent {
  /** Message of the last error. */
  readonly error: string
  /** Time of the last error in milliseconds. */
  readonly time: number
}

/** Position of a replay: it has delivered the records up to this row of this table. */
export interface ReplayPlace {
  /** Name of the table in the database; empty at the start. */
  readonly table: string
  /** Row of the last record; empty at the start of the table. */
  readonly row: Buffer
}

/** Start of a replay. */
export const replayStart: ReplayPlace = { table: '', row: Buffer.alloc(0) }

/** Position of a subscription. */
export interface SubscriptionPosition {
  /** Sequence up to which everything was delivered once the replay has ended. */
  readonly sequence: number
  /** The replay in progress; undefined if there is none. */
  readonly replay: ReplayPlace | undefined
}

/** Summary of a stored subscription. */
export interface StoredSubscription {
  /** Name of the subscription. */
  readonly name: string
  /** Sequence up to which every write was handled or set aside, once the replay has ended. */
  readonly sequence: number
  /** Whether the replay is still in progress. */
  readonly isReplaying: boolean
  /** Events that were set aside. */
  readonly deadLetters: number
}

/** All subscriptions of a table, sorted by name. */
export async function storedSubscriptions(table: Table): Promise<StoredSubscription[]> {
  const found: StoredSubscription[] = []
  for await (const row of table.scan({ columns: [positionColumn] })) {
    const name = row.row!.toString('utf8')
    const state = new SubscriptionState(table, name)
    const position = await state.position()
    if (position === undefined) continue
    const { sequence, replay } = position
    const deadLetters = (await state.deadLetters()).length
    found.push({ name, sequence, isReplaying: replay !== undefined, deadLetters })
  }
  return found
}

/** The rows of one subscription. */
export class SubscriptionState {
  readonly #table: Table
  readonly #name: string

  constructor(table: Table, name: string) {
    this.#table = table
    this.#name = name
  }

  /** The stored position; undefined for a new subscription. */
  async position(): Promise<SubscriptionPosition | undefined> {
    const columns = [positionColumn, replayColumn]
    const row = await this.#table.get({ row: this.#name, columns })
    const sequence = row.value(positionColumn, 'int64')
    const replay = row.value(replayColumn, 'utf8') ?? ''
    if (sequence === undefined) return undefined
    return { sequence: Number(sequence), replay: replay === '' ? undefined : placeOf(replay) }
  }

  async setPosition(sequence: number, replay?: ReplayPlace): Promise<void> {
    const value = Buffer.alloc(8)
    value.writeBigInt64BE(BigInt(sequence))
    const cells = { [positionColumn]: value, [replayColumn]: replayText(replay) }
    await this.#table.put({ row: this.#name, cells, timestamp: 1 })
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    const cells = { [deadColumn]: JSON.stringify(letter) }
    await this.#table.put({ row: this.#deadRow(letter), cells, timestamp: 1 })
  }

  /** The dead letters in the order of their writes. */
  async deadLetters(): Promise<DeadLetter[]> {
    const rows = await this.#table.scan({ prefix: `${this.#name}/` }).all()
    return rows.map((row) => row.value(deadColumn, 'json') as DeadLetter)
  }

  async removeDeadLetter(letter: DeadLetter): Promise<void> {
    const columns = [{ family: 's', qualifier: 'd', timestamp: 1 }]
    await this.#table.delete({ row: this.#deadRow(letter), columns })
  }

  /** Removes all rows of the subscription. */
  async remove(): Promise<void> {
    for (const letter of await this.deadLetters()) await this.removeDeadLetter(letter)
    const columns = ['p', 'r'].map((qualifier) => ({ family: 's', qualifier, timestamp: 1 }))
    await this.#table.delete({ row: this.#name, columns })
  }

  #deadRow({ sequence, event }: DeadLetter): string {
    const number = String(sequence).padStart(16, '0')
    return `${this.#name}/${number}/${event.repository}/${event.table}/${event.id}`
  }
}

function replayText(replay: ReplayPlace | undefined): string {
  return replay === undefined ? '' : `${replay.table}/${replay.row.toString('hex')}`
}

function placeOf(text: string): ReplayPlace {
  const slash = text.lastIndexOf('/')
  return { table: text.slice(0, slash), row: Buffer.from(text.slice(slash + 1), 'hex') }
}
