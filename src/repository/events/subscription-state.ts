/** What a subscription keeps: how far it has come, and the events that it could not deliver. */
import type { Table } from '../../api/index.js'
import type { StoredEvent } from '../records/commit.js'

const positionColumn = 's:p'
const deadColumn = 's:d'

/** An event as a subscriber gets it. */
export interface RecordEvent {
  /** What has changed. */
  readonly event: StoredEvent
  /** Sequence of the write in the change feed. */
  readonly sequence: number
  /**
   * Whether the feed no longer had the writes: then every record is told once, with the event of
   * its last write.
   */
  readonly isReplay: boolean
}

/** An event that a subscriber has refused too often. */
export interface DeadLetter extends RecordEvent {
  /** Message of the last error. */
  readonly error: string
  /** Milliseconds. */
  readonly time: number
}

/** The rows of one subscription. */
export class SubscriptionState {
  readonly #table: Table
  readonly #name: string

  constructor(table: Table, name: string) {
    this.#table = table
    this.#name = name
  }

  /** Sequence up to which everything was delivered; undefined for a new subscription. */
  async position(): Promise<number | undefined> {
    const row = await this.#table.get({ row: this.#name, columns: [positionColumn] })
    const stored = row.value(positionColumn, 'int64')
    return stored === undefined ? undefined : Number(stored)
  }

  async setPosition(sequence: number): Promise<void> {
    const value = Buffer.alloc(8)
    value.writeBigInt64BE(BigInt(sequence))
    await this.#table.put({ row: this.#name, cells: { [positionColumn]: value }, timestamp: 1 })
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    const cells = { [deadColumn]: JSON.stringify(letter) }
    await this.#table.put({ row: this.#deadRow(letter), cells, timestamp: 1 })
  }

  /** In the order of the writes. */
  async deadLetters(): Promise<DeadLetter[]> {
    const rows = await this.#table.scan({ prefix: `${this.#name}/` }).all()
    return rows.map((row) => row.value(deadColumn, 'json') as DeadLetter)
  }

  async removeDeadLetter(letter: DeadLetter): Promise<void> {
    const columns = [{ family: 's', qualifier: 'd', timestamp: 1 }]
    await this.#table.delete({ row: this.#deadRow(letter), columns })
  }

  /** Forgets the subscription. */
  async remove(): Promise<void> {
    for (const letter of await this.deadLetters()) await this.removeDeadLetter(letter)
    const columns = [{ family: 's', qualifier: 'p', timestamp: 1 }]
    await this.#table.delete({ row: this.#name, columns })
  }

  #deadRow({ sequence, event }: DeadLetter): string {
    const number = String(sequence).padStart(16, '0')
    return `${this.#name}/${number}/${event.repository}/${event.table}/${event.id}`
  }
}
