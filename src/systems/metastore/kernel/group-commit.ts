/**
 * The group commit of the stores. Calls wait while the batch before them becomes durable. A group
 * of them is planned in memory, and its writes are one atomic batch, so they share one sync. A
 * single call is not delayed. Promises settle in the order of the calls, when the group has ended.
 *
 * The tables of a store have one writer. A cell has a number that only the writer changes, and each
 * batch checks it, so a second writer is detected. After a failed batch the tables may show its
 * changes, which a restart may lose: the writer is in doubt until a later write is durable, because
 * a sync of the log makes all earlier entries durable.
 */
import {
  assert,
  CellarError,
  ErrorCode,
  GroupQueue,
  isRefusal,
  requireCapability,
  type AtomicBatch,
  type AtomicCheck,
  type AtomicMutation,
  type Database,
  type Table,
} from '../../../api/index.js'
import { readUint64, uint64 } from './numbers.js'
import { Turns } from './turns.js'

/** A call that waits for its group. */
export class Call<T> {
  /** Approximate bytes of its changes. */
  readonly bytes: number
  /** Settles when {@link settle} is called. */
  readonly promise: Promise<T>
  outcome: T | undefined = undefined
  failure: CellarError | undefined = undefined
  #resolve!: (outcome: never) => void
  #reject!: (failure: CellarError) => void

  constructor(bytes: number) {
    this.bytes = bytes
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Settles the promise of the caller. */
  settle(): void {
    if (this.failure === undefined) this.#resolve(this.outcome as never)
    else this.#reject(this.failure)
  }
}

/** Limits of a group: larger groups occupy memory and the event loop for too long. */
export interface GroupLimits {
  readonly groupCallsMax: number
  readonly groupBytesMax: number
}

/** The default limits. */
export const groupLimits: GroupLimits = Object.freeze({
  groupCallsMax: 20_000,
  groupBytesMax: 32 * 1024 * 1024,
})

/**
 * Number of the waiting calls that form the next group. `joins` says whether a call may be in the
 * group of all calls before it, of which it gets the first.
 */
export function groupSize<C extends Call<unknown>>(
  waiting: readonly C[],
  { groupCallsMax, groupBytesMax }: GroupLimits,
  joins: (call: C, first: C) => boolean,
): number {
  const [first] = waiting
  let { bytes } = first
  let count = 1
  for (; count < waiting.length && count < groupCallsMax; count++) {
    const next = waiting[count]
    bytes += next.bytes
    if (bytes > groupBytesMax || !joins(next, first)) break
  }
  return count
}

/** A queue of calls, in groups of `take`, in turns of bounded time. `run` must not reject. */
export function callQueue<C extends Call<unknown>>(
  take: (waiting: readonly C[]) => number,
  run: (group: readonly C[]) => Promise<void>,
): GroupQueue<C> {
  const turns = new Turns()
  const write = async (group: readonly C[]): Promise<void> => {
    if (turns.isSpent) await turns.next()
    await run(group)
    for (const call of group) call.settle()
  }
  return new GroupQueue({ take, write })
}

/**
 * Commits calls as one batch, and sets their outcomes and failures. If the database refuses the
 * content of the batch, nothing of it was applied: the halves of the calls are committed one after
 * the other, so only calls with such content fail.
 */
export async function commitCalls<C extends Call<unknown>>(
  calls: readonly C[],
  commit: (calls: readonly C[]) => Promise<void>,
  failureOf: (error: unknown) => CellarError,
): Promise<void> {
  try {
    await commit(calls)
  } catch (error) {
    if (isRefusal(error) && calls.length > 1) {
      const half = calls.length >> 1
      await commitCalls(calls.slice(0, half), commit, failureOf)
      return commitCalls(calls.slice(half), commit, failureOf)
    }
    const failure = failureOf(error)
    // A refusal may depend on writes of the same group, so the failure replaces it.
    for (const call of calls) call.failure = failure
  }
}

/** Checks that a backend has what a {@link BatchWriter} needs. `ERR_UNSUPPORTED`. */
export function checkBackend({ capabilities }: Database, store: string): void {
  requireCapability(capabilities, 'atomicAcrossTables', store)
  requireCapability(capabilities, 'snapshots', store)
}

/** A cell of the table of control rows, with a number of 8 bytes; absent = 0. */
interface NumberCell {
  readonly row: string
  readonly column: string
}

/** The only writer of the tables of a store; see the file header. */
export class BatchWriter {
  /** Whether a batch has failed and no later write was durable. */
  isInDoubt = false
  readonly #database: Database
  readonly #control: Table
  readonly #cell: NumberCell
  #number = 0
  /** Holds while no other writer has changed the number. */
  #check!: AtomicCheck

  private constructor(database: Database, control: Table, cell: NumberCell) {
    this.#database = database
    this.#control = control
    this.#cell = cell
  }

  /** `cell` of the table `control` has the number, `layoutColumn` the version of the layout. */
  static async open(
    database: Database,
    control: Table,
    cell: NumberCell,
    layoutColumn: string,
  ): Promise<BatchWriter> {
    await checkLayout(control, layoutColumn)
    const writer = new BatchWriter(database, control, cell)
    await writer.#read()
    return writer
  }

  /** The number, as the newest write has stored it that did not fail. */
  get number(): number {
    return this.#number
  }

  /** Writes a batch, with a new number if one is given. `ERR_LOCKED` if there is another writer. */
  async write(
    mutations: AtomicMutation[],
    durability: AtomicBatch['durability'],
    number?: number,
  ): Promise<void> {
    if (number !== undefined) mutations.push(this.#put(number))
    try {
      const batch = { checks: [this.#check], mutations, durability }
      const { success } = await this.#database.atomic(batch)
      if (!success) {
        const message = 'another writer has changed the tables of the store'
        throw new CellarError(ErrorCode.locked, message)
      }
    } catch (error) {
      if (!isRefusal(error)) this.isInDoubt = true
      throw error
    }
    if (number !== undefined) this.#set(number)
  }

  /**
   * Adds to the number, durably, which ends the doubt. Returns the number before. After a doubt the
   * stored one counts: a failed batch may have been applied, and another writer may have written.
   */
  async advance(step: number): Promise<number> {
    if (this.isInDoubt) await this.#read()
    const before = this.#number
    await this.write([], 'FSYNC_WAL', before + step)
    this.isInDoubt = false
    return before
  }

  #put(number: number): AtomicMutation {
    const { row, column } = this.#cell
    const put = { cells: { [column]: uint64(number) } }
    return { table: this.#control, row, mutations: [{ put }] }
  }

  async #read(): Promise<void> {
    const { row, column } = this.#cell
    const bytes = (await this.#control.get({ row })).value(column)
    this.#set(bytes === undefined ? 0 : readUint64(bytes, 0, row))
  }

  #set(number: number): void {
    assert(number >= this.#number, 'the number of a writer only grows')
    this.#number = number
    this.#check = {
      table: this.#control,
      ...this.#cell,
      equals: number === 0 ? null : uint64(number),
    }
  }
}

const layoutVersion = '1'

/** Checks the version of the layout of a store, and writes it into a new store. */
async function checkLayout(table: Table, column: string): Promise<void> {
  const row = 'layout'
  const put = { cells: { [column]: layoutVersion } }
  await table.checkAndMutate({ row, column, notExists: true }, { put })
  const found = (await table.get({ row })).value(column)?.toString()
  if (found === layoutVersion) return
  const message = `the layout has version ${found}; this package knows ${layoutVersion}`
  throw new CellarError(ErrorCode.formatVersion, message)
}
