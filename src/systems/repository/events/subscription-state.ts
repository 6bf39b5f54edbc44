/** The stored state of a subscription: its position, and its dead letters. */
import type { Result, Table } from '../../../api/index.js'
import { isStoredEvent, type StoredEvent } from '../records/writes/commit.js'
import { damaged, hasMembers, placeOf, storedJson } from '../stored-cells.js'

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
    const deadLetters = await state.deadLetterCount()
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

  /** The stored position; undefined for a new subscription. `ERR_CORRUPTION`. */
  async position(): Promise<SubscriptionPosition | undefined> {
    const columns = [positionColumn, replayColumn]
    const row = await this.#table.get({ row: this.#name, columns })
    const stored = row.value(positionColumn)
    if (stored === undefined) return undefined
    const sequence = stored.length === 8 ? Number(stored.readBigInt64BE()) : -1
    if (sequence < 0 || !Number.isSafeInteger(sequence)) {
      throw damaged(placeOf(row, positionColumn, 'the position of a subscription'))
    }
    return { sequence, replay: replayIn(row) }
  }

  async setPosition(sequence: number, replay?: ReplayPlace): Promise<void> {
    const value = Buffer.alloc(8)
    value.writeBigInt64BE(BigInt(sequence))
    const text = replay === undefined ? '' : `${replay.table}/${replay.row.toString('hex')}`
    const cells = { [positionColumn]: value, [replayColumn]: text }
    await this.#table.put({ row: this.#name, cells, timestamp: 1 })
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    const cells = { [deadColumn]: JSON.stringify(letter) }
    await this.#table.put({ row: this.#deadRow(letter), cells, timestamp: 1 })
  }

  /** The dead letters in the order of their writes. `ERR_CORRUPTION`. */
  async deadLetters(): Promise<DeadLetter[]> {
    const rows = await this.#deadRows()
    return rows.map((row) => storedJson(row, deadColumn, 'a dead letter', isDeadLetter)!)
  }

  /** The number of dead letters, also of damaged ones. */
  async deadLetterCount(): Promise<number> {
    return (await this.#deadRows()).length
  }

  #deadRows(): Promise<Result[]> {
    return this.#table.scan({ prefix: `${this.#name}/`, columns: [deadColumn] }).all()
  }

  async removeDeadLetter(letter: DeadLetter): Promise<void> {
    await this.#remove(this.#deadRow(letter), 'd')
  }

  async #remove(row: string | Buffer, ...qualifiers: readonly string[]): Promise<void> {
    const columns = qualifiers.map((qualifier) => ({ family: 's', qualifier, timestamp: 1 }))
    await this.#table.delete({ row, columns })
  }

  async remove(): Promise<void> {
    for (const { row } of await this.#deadRows()) await this.#remove(row!, 'd')
    await this.#remove(this.#name, 'p', 'r')
  }

  #deadRow({ sequence, event }: DeadLetter): string {
    const number = String(sequence).padStart(16, '0')
    return `${this.#name}/${number}/${event.repository}/${event.table}/${event.id}`
  }
}

/** The replay in progress of a row. `ERR_CORRUPTION`. */
function replayIn(row: Result): ReplayPlace | undefined {
  const text = row.value(replayColumn)?.toString('latin1') ?? ''
  if (text === '') return undefined
  const [, table, hex] = /^([^/]*)\/((?:[0-9a-f]{2})*)$/.exec(text) ?? []
  if (table !== undefined) return { table, row: Buffer.from(hex, 'hex') }
  throw damaged(placeOf(row, replayColumn, 'the position of a subscription'))
}

function isDeadLetter(value: unknown): value is DeadLetter {
  const members = { sequence: 'number', isReplay: 'boolean', error: 'string', time: 'number' }
  return hasMembers(value, members) && isStoredEvent((value as DeadLetter).event)
}
