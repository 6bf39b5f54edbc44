/**
 * Group commit: the single writer of some tables of a database.
 *
 * Submissions are collected while the preceding group becomes durable, and are written as one
 * atomic batch. So a thousand conditional writes share one sync; a single write costs one sync and
 * is not delayed. Every batch stores the newest sequence, and checks that the stored sequence is
 * the one that this writer knows, so a second writer of the same tables is detected.
 *
 * After a failed batch the tables may show its changes, which may be lost after a restart: the
 * state is in doubt. Reads use a snapshot from before the batch until a later write is durable.
 */
import {
  assert,
  CellarError,
  ErrorCode,
  GroupQueue,
  isRefusal,
  type AtomicBatch,
  type AtomicMutation,
  type Database,
  type GroupWork,
  type Snapshot,
  type Table,
} from '../../../api/index.js'
import { readUint64, uint64 } from './uint64.js'
import { Turns } from './turns.js'

/** The cell of the newest sequence: 8 bytes, big endian. */
export interface SequenceCell {
  readonly table: Table
  readonly row: string
  readonly column: string
}

/** The work of a group commit. `S` is a submission. */
export interface CommitWork<S> extends GroupWork<S> {
  /** Called if a batch has become durable although it reported a failure. */
  recovered(before: number, stored: number): Promise<void>
}

type Durability = NonNullable<AtomicBatch['durability']>

interface Inflight<C> {
  readonly change: C
  readonly done: Promise<unknown>
}

/** The queue and the writes of one writer; see the file header. `C` describes a batch for reads. */
export class GroupCommit<S, C> {
  readonly #database: Database
  readonly #cell: SequenceCell
  readonly #work: CommitWork<S>
  readonly #queue: GroupQueue<S>
  readonly #turns = new Turns()
  #sequence: number
  #inflight: Inflight<C> | undefined = undefined
  /** The state before a batch that failed. */
  #doubt: Snapshot | undefined = undefined

  /** `sequence` is the stored one; see {@link storedSequence}. */
  constructor(database: Database, cell: SequenceCell, sequence: number, work: CommitWork<S>) {
    this.#database = database
    this.#cell = cell
    this.#sequence = sequence
    this.#work = work
    this.#queue = new GroupQueue({
      take: (waiting) => work.take(waiting),
      write: async (group) => {
        // In memory a commit takes only microtasks, so timers would starve.
        if (this.#turns.isSpent) await this.#turns.next()
        await work.write(group)
      },
    })
  }

  /** The newest durable sequence. */
  get sequence(): number {
    return this.#sequence
  }

  /** Number of submissions that wait for their group. */
  get waiting(): number {
    return this.#queue.waiting
  }

  /** Whether a batch has failed and no later write was durable. */
  get isInDoubt(): boolean {
    return this.#doubt !== undefined
  }

  /** Adds a submission to the next group; submissions of the same turn share a group. */
  submit(submission: S): void {
    this.#queue.add(submission)
  }

  /** Resolves when all submissions have ended. */
  drain(): Promise<void> {
    return this.#queue.settled()
  }

  /**
   * Reads the durable state; `read` gets the snapshot to use, or undefined for the newest state. If
   * a batch in progress is `affecting` the result, the read waits for the batch and is repeated if
   * the batch fails. Default: every batch is.
   */
  async read<T>(
    read: (snapshot: Snapshot | undefined) => Promise<T>,
    affecting: (change: C) => boolean = () => true,
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
      if (inflight !== undefined && affecting(inflight.change)) {
        await inflight.done.catch(() => undefined)
      }
      if (!this.isInDoubt) return found
    }
  }

  /**
   * Writes a batch with sequences up to `last`. Calls `onDurable` when the batch is durable, before
   * any read can see the batch.
   */
  async write(
    mutations: AtomicMutation[],
    last: number,
    change: C,
    onDurable: () => void,
    durability: Durability = 'FSYNC_WAL',
  ): Promise<void> {
    assert(last > this.#sequence, 'sequences only grow')
    assert(this.#inflight === undefined, 'one batch at a time')
    const before = this.#database.snapshot()
    const done = this.#write(mutations, last, durability)
    this.#inflight = { change, done }
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

  async #write(mutations: AtomicMutation[], last: number, durability: Durability): Promise<void> {
    const before = this.#sequence
    const { table, row, column } = this.#cell
    mutations.push({ table, row, mutations: [{ put: { cells: { [column]: uint64(last) } } }] })
    const unchanged = { table, row, column }
    const check =
      before === 0
        ? { ...unchanged, notExists: true as const }
        : { ...unchanged, equals: uint64(before) }
    const { success } = await this.#database.atomic({ checks: [check], mutations, durability })
    if (success) return
    throw new CellarError(ErrorCode.locked, 'another writer has changed the tables of the store')
  }

  /**
   * Ends the doubt, if there is any: reads the stored sequence again, after a durable write,
   * because a sync of the log also makes all preceding entries durable.
   */
  async recover(): Promise<void> {
    const before = this.#doubt
    if (before === undefined) return
    const { table, column } = this.#cell
    const mutations = [{ put: { cells: { [column]: '' } } }]
    await this.#database.atomic({
      mutations: [{ table, row: recoveredRow, mutations }],
      durability: 'FSYNC_WAL',
    })
    const stored = await storedSequence(this.#cell)
    assert(stored >= this.#sequence, 'a durable sequence stays')
    const known = this.#sequence
    if (stored > known) {
      await this.#work.recovered(known, stored)
      this.#sequence = stored
    }
    this.#doubt = undefined
    before.close()
  }
}

/** Row that is written to test whether the database accepts writes again. */
const recoveredRow = 'recovered'

/** The newest stored sequence; 0 in a new store. */
export async function storedSequence({ table, row, column }: SequenceCell): Promise<number> {
  const bytes = (await table.get({ row })).value(column)
  return bytes === undefined ? 0 : readUint64(bytes, 0)
}

/**
 * Checks the version of the layout of a store, and writes it into a new store.
 * `ERR_FORMAT_VERSION`.
 */
export async function checkLayout(table: Table, column: string, version: string): Promise<void> {
  const row = 'layout'
  const put = { cells: { [column]: version } }
  await table.checkAndMutate({ row, column, notExists: true }, { put })
  const found = (await table.get({ row })).value(column)?.toString()
  if (found === version) return
  const message = `the layout has version ${found}; this package knows ${version}`
  throw new CellarError(ErrorCode.formatVersion, message)
}
