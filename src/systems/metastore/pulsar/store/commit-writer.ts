/**
 * The batches of one store: written one after the other, and read by others only when durable.
 *
 * Every batch stores the newest sequence, and checks that the stored sequence is the one that this
 * writer knows, so a second writer of the same tables is detected.
 *
 * After a failed batch the tables may show its changes, which may be lost after a restart: the
 * state is in doubt. Reads use a snapshot from before the batch until a later write is durable.
 */
import {
  assert,
  CellarError,
  ErrorCode,
  isRefusal,
  type AtomicMutation,
  type Database,
  type Snapshot,
  type Table,
} from '../../../../api/index.js'
import { numberCheck, storedNumber, uint64 } from '../../kernel/control-cells.js'
import { plainColumn, sequenceRow } from './rows.js'
import type { WorkingState } from './working-state.js'

/** The cell of the newest sequence: 8 bytes, big endian. */
const sequenceCell = { row: sequenceRow, column: plainColumn }

/** The writer; see the file header. */
export class CommitWriter {
  readonly #database: Database
  readonly #control: Table
  #sequence: number
  #inflight: { readonly state: WorkingState; readonly done: Promise<void> } | undefined = undefined
  /** The state before a batch that failed. */
  #doubt: Snapshot | undefined = undefined

  private constructor(database: Database, control: Table, sequence: number) {
    this.#database = database
    this.#control = control
    this.#sequence = sequence
  }

  /** `control` is the table of the newest sequence. */
  static async open(database: Database, control: Table): Promise<CommitWriter> {
    return new CommitWriter(database, control, await storedNumber(control, sequenceCell))
  }

  /** The newest durable sequence. */
  get sequence(): number {
    return this.#sequence
  }

  /** Whether a batch has failed and no later write was durable. */
  get isInDoubt(): boolean {
    return this.#doubt !== undefined
  }

  /**
   * Reads the durable state; `read` gets the snapshot to use, or undefined for the newest state. If
   * a batch in progress changes `path`, the read waits for the batch and is repeated if the batch
   * fails. An undefined path means all.
   */
  async read<T>(
    path: string | undefined,
    read: (snapshot: Snapshot | undefined) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const doubt = this.#doubt
      let found: T
      try {
        found = await read(doubt)
      } catch (error) {
        // The snapshot was closed by a write that ended the doubt.
        if (doubt !== this.#doubt) continue
        throw error
      }
      if (doubt !== undefined) return found
      const inflight = this.#inflight
      if (inflight !== undefined && (path === undefined || inflight.state.isChanged(path))) {
        await inflight.done.catch(() => undefined)
      }
      if (!this.isInDoubt) return found
    }
  }

  /**
   * Writes a batch, the mutations of `state` and others, with sequences up to `last`. Calls
   * `onDurable` when the batch is durable, before any read can see the batch.
   */
  async write(
    state: WorkingState,
    others: readonly AtomicMutation[],
    last: number,
    onDurable: () => void,
  ): Promise<void> {
    assert(last > this.#sequence, 'sequences only grow')
    assert(this.#inflight === undefined, 'one batch at a time')
    const before = this.#database.snapshot()
    const mutations = state.mutations(last)
    for (const each of others) mutations.push(each)
    const done = this.#write(mutations, last)
    this.#inflight = { state, done }
    try {
      await done
      before.close()
    } catch (error) {
      if (isRefusal(error)) before.close()
      else this.#doubt = before
      throw error
    } finally {
      this.#inflight = undefined
    }
    this.#sequence = last
    onDurable()
  }

  async #write(mutations: AtomicMutation[], last: number): Promise<void> {
    const checks = [numberCheck(this.#control, sequenceCell, this.#sequence)]
    mutations.push(this.#put(sequenceRow, uint64(last)))
    const durability = 'FSYNC_WAL'
    const { success } = await this.#database.atomic({ checks, mutations, durability })
    if (success) return
    throw new CellarError(ErrorCode.locked, 'another writer has changed the tables of the store')
  }

  #put(row: string, value: Buffer | string): AtomicMutation {
    const cells = { [plainColumn]: value }
    return { table: this.#control, row, mutations: [{ put: { cells } }] }
  }

  /**
   * Ends the doubt, if there is any: reads the stored sequence again, after a durable write,
   * because a sync of the log also makes all preceding entries durable. Calls `onFound` if a batch
   * has become durable although it reported a failure.
   */
  async recover(onFound: (before: number, stored: number) => Promise<void>): Promise<void> {
    const before = this.#doubt
    if (before === undefined) return
    const mutations = [this.#put(recoveredRow, '')]
    await this.#database.atomic({ mutations, durability: 'FSYNC_WAL' })
    const stored = await storedNumber(this.#control, sequenceCell)
    const known = this.#sequence
    assert(stored >= known, 'a durable sequence stays')
    if (stored > known) {
      await onFound(known, stored)
      this.#sequence = stored
    }
    this.#doubt = undefined
    before.close()
  }
}

/** Row that is written to test whether the database accepts writes again. */
const recoveredRow = 'recovered'
