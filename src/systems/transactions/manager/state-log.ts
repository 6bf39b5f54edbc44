/**
 * Writes the manager's state: atomic batches to the state table, in the order of the calls. A batch
 * that fails for another reason than its content closes the log permanently, because memory and
 * disk may then differ.
 */
import {
  hasCode,
  CellarError,
  checkDatabase,
  isRefusal,
  requireCapability,
  type AtomicMutation,
  type Database,
} from '../../../api/index.js'
import { claim } from '../../../comfort/claims.js'
import { openTable } from '../../../comfort/tables.js'
import { stateError, TransactionErrorCode } from '../errors.js'
import type { ManagerSettings } from '../options.js'
import { readState, stateFamily, StateRows, type StoredState } from './state-rows.js'

/** Most rows of one batch when many rows change. */
const batchRowsMax = 4096

export class StateLog {
  readonly rows: StateRows
  readonly #database: Database
  readonly #settings: ManagerSettings
  readonly #release: () => void
  /** Deletions of removed change sets, for the frame of the next commit. */
  #late: AtomicMutation[] = []
  #pending = new Set<Promise<unknown>>()
  #failure: unknown
  #closing: Promise<void> | undefined = undefined

  private constructor(database: Database, settings: ManagerSettings, release: () => void) {
    this.#database = database
    this.#release = release
    this.#settings = settings
    this.rows = new StateRows(settings.table)
  }

  /** Opens or creates the state table. `ERR_TRANSACTION_STATE` if it is already open. */
  static async open(database: Database, settings: ManagerSettings): Promise<StateLog> {
    checkDatabase(database, 'a transaction manager')
    requireCapability(database.capabilities, 'atomicAcrossTables', 'a transaction manager')
    const { table } = settings
    const release = claim(database, table)
    if (release === undefined) {
      throw stateError(`a transaction manager is open for the table '${table}' of this database`)
    }
    try {
      await openTable(database, table, { families: { [stateFamily]: {} } })
      return new StateLog(database, settings, release)
    } catch (error) {
      release()
      throw error
    }
  }

  get isOpen(): boolean {
    return this.#closing === undefined && this.#failure === undefined
  }

  /** Whether a write failed with an unknown outcome. */
  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** `ERR_TRANSACTIONS_UNAVAILABLE` if the log is closed or has failed. */
  checkOpen(): void {
    if (this.isOpen) return
    const message =
      this.#closing === undefined
        ? 'the state of transactions could not be written'
        : 'the transaction manager is closed'
    const options = this.#failure === undefined ? {} : { cause: this.#failure }
    throw new CellarError(TransactionErrorCode.unavailable, message, options)
  }

  /** The stored state; undefined if there is none. Removes what an unfinished import left. */
  async read(): Promise<StoredState | undefined> {
    const { state, isWhole } = await this.#stored()
    if (isWhole) return state
    await this.appendMany(this.#removals(state))
    return undefined
  }

  /** Writes without waiting for the disk: the frames of later commits follow in the log. */
  async append(mutations: readonly AtomicMutation[]): Promise<void> {
    await this.#write(() => this.#database.atomic({ mutations, durability: 'ASYNC_WAL' }))
  }

  /** As `append`, in batches of bounded size. */
  async appendMany(mutations: readonly AtomicMutation[]): Promise<void> {
    for (let at = 0; at < mutations.length; at += batchRowsMax) {
      await this.append(mutations.slice(at, at + batchRowsMax))
    }
  }

  /** Writes the frame of a commit, through `carry` if given. */
  async commit(
    mutations: readonly AtomicMutation[],
    carry?: (mutations: readonly AtomicMutation[]) => Promise<void>,
  ): Promise<void> {
    const late = this.#late
    this.#late = []
    const frame = late.length === 0 ? mutations : [...mutations, ...late]
    const { durability } = this.#settings
    try {
      await this.#write(() =>
        carry === undefined
          ? this.#database.atomic({ mutations: frame, durability })
          : carry(frame),
      )
    } catch (error) {
      this.later(late)
      throw error
    }
  }

  /** Adds mutations to the frame of the next commit. */
  later(mutations: readonly AtomicMutation[]): void {
    for (const mutation of mutations) this.#late.push(mutation)
  }

  /** Removes all rows, and writes the given one. */
  async clear(pointers: AtomicMutation): Promise<void> {
    const { state } = await this.#stored()
    await this.append([...this.#removals(state), pointers])
  }

  /** Writes the mutations of `later` that no commit has included, and waits for pending writes. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#pending)
    const late = this.#failure === undefined ? this.#late : []
    this.#late = []
    try {
      await this.appendMany(late)
    } finally {
      this.#release()
    }
  }

  #stored(): ReturnType<typeof readState> {
    return readState(this.#database.table(this.#settings.table))
  }

  /** The mutations that remove all rows of a state but that of the pointers. */
  #removals({ running, committed, invalid }: StoredState): AtomicMutation[] {
    return [
      ...Array.from(running.keys(), (id) => this.rows.ended(id)),
      ...committed.map(({ pointer, id }) => this.rows.forgotten(pointer, id)),
      ...Array.from(invalid, (pointer) => this.rows.valid(pointer)),
    ]
  }

  async #write(apply: () => Promise<unknown>): Promise<void> {
    const written = apply()
    this.#pending.add(written)
    try {
      await written
    } catch (error) {
      if (hasCode(error, TransactionErrorCode.notCarried)) throw error.cause as Error
      if (!isRefusal(error)) this.#failure ??= error
      throw error
    } finally {
      this.#pending.delete(written)
    }
  }
}
