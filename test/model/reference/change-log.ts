/** The mutations of a database in order, for the change feed. */
import { CellarError, ErrorCode } from '../../../src/base/errors.js'
import type { SettingsOf } from '../../../src/base/options.js'
import {
  changeOptions,
  spanOfFeed,
  type Change,
  type ChangeOptions,
} from '../../../src/api/changes.js'
import { noSuchTable } from '../../../src/api/names.js'
import { asChangedCell } from './encoded-cell.js'
import type { ModelWrite } from './reference-model.js'
import type { ReferenceTable } from './reference-table.js'

/** The part of a database that a feed needs. */
export interface ChangeSource {
  /** Throws `ERR_CLOSED` if the database is closed. */
  checkOpen(): void
  /** Sequence of the newest mutation. */
  readonly sequence: number
  /** The table with that name; undefined if there is none. */
  tableOf(name: string): ReferenceTable | undefined
}

/** Keeps the newest mutations, and wakes feeds that wait for the next one. */
export class ChangeLog {
  readonly #source: ChangeSource
  readonly #changesMax: number
  #writes: ModelWrite[] = []
  /** Sequence of the newest mutation that is not kept any more. */
  #goneUpTo = 0
  #waiting: (() => void)[] = []

  constructor(source: ChangeSource, changesMax: number) {
    this.#source = source
    this.#changesMax = changesMax
  }

  add(write: ModelWrite): void {
    this.#writes.push(write)
    // One copy of the array now and then is cheaper than removing an element for each mutation.
    if (this.#writes.length > 2 * this.#changesMax) {
      const gone = this.#writes.splice(0, this.#writes.length - this.#changesMax)
      this.#goneUpTo = gone[gone.length - 1].sequence
    }
    this.wake()
  }

  /** Wakes the waiting feeds, because there is a mutation or the database was closed. */
  wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** A feed; begins behind the last mutation of this moment. */
  read(options: ChangeOptions): AsyncGenerator<Change, void> {
    return this.#follow(options, this.#source.sequence)
  }

  async *#follow(options: ChangeOptions, last: number): AsyncGenerator<Change, void> {
    this.#source.checkOpen()
    const settings = changeOptions.read(options)
    const { signal } = settings
    for (const name of settings.table ?? []) {
      if (this.#source.tableOf(name) === undefined) throw noSuchTable(name)
    }
    const { from, to } = spanOfFeed(settings, last)
    let next = from
    for (;;) {
      this.#check(signal, next)
      const write = this.#firstFrom(next)
      if (write === undefined) {
        if (this.#source.sequence >= to) return
        await this.#more(signal)
        continue
      }
      if (write.sequence > to) return
      next = write.sequence + 1
      const change = this.#changeOf(write, settings)
      if (change.cells.length > 0) yield change
    }
  }

  #check(signal: AbortSignal | undefined, next: number): void {
    if (signal?.aborted === true) {
      const cause: unknown = signal.reason
      throw new CellarError(ErrorCode.aborted, 'the change feed was aborted', { cause })
    }
    this.#source.checkOpen()
    if (next > this.#goneUpTo) return
    const message = `changes from sequence ${next} on are no longer kept; changesMax keeps more`
    throw new CellarError(ErrorCode.changesGone, message)
  }

  /** The first mutation from a sequence on, found by binary search. */
  #firstFrom(sequence: number): ModelWrite | undefined {
    let low = 0
    let high = this.#writes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#writes[middle].sequence < sequence) low = middle + 1
      else high = middle
    }
    return this.#writes.at(low)
  }

  #more(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener('abort', done)
        resolve()
      }
      signal?.addEventListener('abort', done)
      this.#waiting.push(done)
    })
  }

  /** Leaves out cells of dropped tables and families, which have no name any more. */
  #changeOf(
    { sequence, serverTime, cells }: ModelWrite,
    { table: tables, family: families }: SettingsOf<typeof changeOptions>,
  ): Change {
    const shown = cells.filter(({ table, cell }) => {
      if (this.#source.tableOf(table.name) !== table || !table.hasFamily(cell)) return false
      if (tables?.includes(table.name) === false) return false
      return families?.includes(asChangedCell(table.name, cell).family) ?? true
    })
    return {
      sequence,
      timestamp: serverTime === 0n ? undefined : Number(serverTime),
      cells: shown.map(({ table, cell }) => asChangedCell(table.name, cell)),
    }
  }
}
