/**
 * The rows in which an owned database keeps its owner and its log, on a store that is atomic per
 * row and offers no more.
 *
 * Each row has one cell for its state. All changes of a row compare this cell and replace it, so
 * two owners cannot both change one state. No state is ever written twice: each holds a version
 * that grows. Hence a call that is repeated, or that arrives late, either finds the state that it
 * expects or changes nothing.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRefusal } from '../../../base/errors.js'

/** A row of the log. */
export interface LogRow {
  /** The state; undefined if there is no such row. */
  readonly state: Buffer | undefined
  /** The batches of a chunk by sequence, in ascending order. */
  readonly batches: ReadonlyMap<number, Buffer>
}

/** A batch as a chunk stores it. */
export interface StoredBatch {
  /** Position in the log, from 1. */
  readonly sequence: number
  /** The result of `encodeBatch`. */
  readonly bytes: Buffer
}

/** A change of a row: the state is compared and replaced, and batches are added, in one step. */
export interface RowChange {
  /** The state that the row must have; undefined: none. */
  readonly expected: Buffer | undefined
  /** The state after the change. */
  readonly state: Buffer
  /** Timestamp of the state's cell, so that its newest version does not depend on a clock. */
  readonly version: number
  /** Cells to add. */
  readonly batches: readonly StoredBatch[]
}

/** The calls that the log needs. Each may fail although it took effect, or will take effect. */
export interface LogStore {
  /** Reads a row; without `batches` only its state. */
  read(row: string, what: 'all' | 'state'): Promise<LogRow>
  /** Applies a change if the state is as expected. Resolves to false if it is not. */
  change(row: string, change: RowChange): Promise<boolean>
  /**
   * Removes a row for good: a later change may seem to be applied, but nobody reads its cells.
   * Absent rows are no error.
   */
  remove(row: string): Promise<void>
}

/**
 * Decides after a failed call whether to try again. Resolves when the next attempt may begin, and
 * throws to give up. `since` is the time of the first failure of this call, by the monotonic clock.
 */
export type Patience = (error: unknown, since: number) => Promise<void>

/** Milliseconds between two attempts of a call. */
const retryPause = 100

/** Gives up at a refusal, and when the next attempt would come later than `retryMilliseconds`. */
export function patienceOf(retryMilliseconds: number): Patience {
  return async (error, since) => {
    const passed = performance.now() - since
    if (isRefusal(error) || passed + retryPause > retryMilliseconds) throw error
    await sleep(retryPause)
  }
}

/** Carries out a call, as often as it takes. */
export async function repeated<T>(patience: Patience, call: () => Promise<T>): Promise<T> {
  let since: number | undefined
  for (;;) {
    try {
      return await call()
    } catch (error) {
      since ??= performance.now()
      await patience(error, since)
    }
  }
}

/** Where the log of one owned database lies. */
export interface LogPlace {
  readonly store: LogStore
  /** Name of the owned database. */
  readonly name: string
  readonly patience: Patience
}

/** The row of the owner. */
export function ownerRow({ name }: LogPlace): string {
  return `${name}/owner`
}

/** The row of a chunk of the log. Rows sort by number. */
export function chunkRow({ name }: LogPlace, chunk: number): string {
  return `${name}/log/${chunk.toString(16).padStart(14, '0')}`
}

/** Reads a row, as often as it takes. */
export async function readRow(
  { store, patience }: LogPlace,
  row: string,
  what: 'all' | 'state' = 'all',
): Promise<LogRow> {
  return repeated(patience, () => store.read(row, what))
}

/** A state, and its bytes in the row. */
export interface Stored<State> {
  readonly state: State
  readonly bytes: Buffer
}

/** Adds the bytes of a state. */
export function stored<State>(state: State): Stored<State> {
  return { state, bytes: Buffer.from(JSON.stringify(state)) }
}

/**
 * Replaces the state of a row, and adds batches. Finds out whether the change was applied: a call
 * whose answer was lost is repeated as it is. If the row has another state than expected, the row
 * is read, because an earlier attempt may have put the new state there.
 */
export async function changeRow(
  place: LogPlace,
  row: string,
  before: Buffer | undefined,
  { state: { version }, bytes }: Stored<{ readonly version: number }>,
  batches: readonly StoredBatch[] = [],
): Promise<boolean> {
  const { store, patience } = place
  const change: RowChange = { expected: before, state: bytes, version, batches }
  if (await repeated(patience, () => store.change(row, change))) return true
  const { state } = await readRow(place, row, 'state')
  return state !== undefined && state.equals(change.state)
}
