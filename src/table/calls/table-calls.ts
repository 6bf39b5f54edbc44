/**
 * The two ways to call every operation of a table: with a promise, and synchronously.
 *
 * Calls with a promise never block the event loop by the disk. They wait for memory if the budget
 * is exceeded, load missing blocks asynchronously, and resolve when the log is as durable as asked.
 * Synchronous calls do all of that before they return.
 */
import { copyArguments } from '../../base/copy-arguments.js'
import type { Put } from '../../api/index.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { TablePlace } from '../arguments/row-names.js'
import { ListOutcome } from '../operations/list-outcome.js'
import {
  blocking,
  nonBlocking,
  type Applied,
  type TableOperations,
} from '../operations/table-operations.js'
import { isBlockMissing, loadAndRepeat } from '../reads/block-loading.js'
import { finishWaiting, mutate, mutateSync } from './mutating.js'
import { ListCall, MutationCall } from './mutation-calls.js'

/** Carries out a read. May throw `BlockMissing` if the mode forbids it to block. */
export type ReadStep<O, T> = (operations: TableOperations, operation: O, mode: ReadMode) => T

/** Carries out a mutation. May throw `BlockMissing` if the mode forbids it to block. */
export type TableStep<O, T> = ReadStep<O, Applied<T>>

/**
 * Carries out operations of a list from index `at` on, and reports to `outcome`. Returns the index
 * after them. May throw `BlockMissing`.
 */
export type TableListStep<O> = (
  operations: TableOperations,
  list: readonly O[],
  at: number,
  mode: ReadMode,
  outcome: ListOutcome,
) => number

const putStep: TableStep<Put, void> = (operations, put, mode) => ({
  value: undefined,
  durability: operations.put(put, mode),
})

/** The calls of one table; see the file header. */
export class TableCalls {
  private readonly engine: Engine
  private readonly place: TablePlace

  constructor(engine: Engine, table: string) {
    this.engine = engine
    this.place = new TablePlace(engine, table)
  }

  /** Runs a read, without a promise in between if all its blocks are in memory. */
  read<O, T>(operations: TableOperations, get: O, step: ReadStep<O, T>): Promise<T> {
    const value = this.readNow(operations, get, step)
    if (value instanceof Promise) return value
    return this.engine.turn.spend() ? Promise.resolve(value) : this.nextTurn(value)
  }

  /** Runs a read of a list: its value, or a promise if blocks have to be loaded or it fails. */
  readNow<O, T>(operations: TableOperations, get: O, step: ReadStep<O, T>): T | Promise<T> {
    let own = get
    try {
      own = operations.own(get)
      return step(operations, own, nonBlocking)
    } catch (error) {
      if (!isBlockMissing(error)) return Promise.reject(error)
      return this.readLater(operations, own === get ? copyArguments(get).value : own, step)
    }
  }

  /** Waits for the reads of a list that have to wait. Fails with the first that fails. */
  listRead<T>(values: (T | Promise<T>)[]): Promise<T[]> {
    const hasTime = this.engine.turn.spend(values.length)
    for (let i = 0; i < values.length; i++) {
      if (values[i] instanceof Promise) return Promise.all(values)
    }
    return hasTime ? Promise.resolve(values as T[]) : this.nextTurn(values as T[])
  }

  /** Runs a put. A put that need not wait returns the promise of its commit. */
  put(operations: TableOperations, put: Put): Promise<void> {
    const { engine } = this
    if (engine.writes.waiting.count > 0 || engine.writes.isHeld)
      return this.mutate(operations, put, putStep)
    try {
      const own = operations.own(put)
      try {
        return engine.writes.commit(operations.put(own, nonBlocking))
      } catch (error) {
        if (!isBlockMissing(error)) throw error
        return MutationCall.load(this.place, own, (own, mode) => putStep(operations, own, mode))
      }
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** As {@link put}, blocking. */
  putSync(operations: TableOperations, put: Put): void {
    finishWaiting(this.place, put)
    this.engine.writes.admitSync()
    this.engine.writes.commitSync(operations.put(put, blocking))
  }

  /** Runs a mutation. */
  mutate<O, T>(operations: TableOperations, operation: O, step: TableStep<O, T>): Promise<T> {
    return mutate(
      this.place,
      operation,
      (own, mode) => step(operations, own, mode),
      (given) => operations.own(given),
    )
  }

  /** As {@link mutate}, blocking. */
  mutateSync<O, T>(operations: TableOperations, operation: O, step: TableStep<O, T>): T {
    return mutateSync(this.place, operation, () => step(operations, operation, blocking))
  }

  /** Carries out a list with one commit for all of it. */
  async list<O>(
    operations: TableOperations,
    given: readonly O[],
    step: TableListStep<O>,
  ): Promise<void> {
    const outcome = new ListOutcome()
    const call = new ListCall(this.place, operations.own(given), (list, at, mode) =>
      step(operations, list, at, mode, outcome),
    )
    await call.run()
    if (outcome.strongest !== undefined) await this.engine.writes.commit(outcome.strongest)
    outcome.throwFailures(given.length)
  }

  /** As {@link list}, blocking. */
  listSync<O>(operations: TableOperations, list: readonly O[], step: TableListStep<O>): void {
    const { engine } = this
    const outcome = new ListOutcome()
    finishWaiting(this.place, { rows: list })
    for (let at = 0; at < list.length;) {
      try {
        engine.writes.admitSync()
        at = step(operations, list, at, blocking, outcome)
      } catch (error) {
        outcome.failed(at++, error)
      }
    }
    if (outcome.strongest !== undefined) engine.writes.commitSync(outcome.strongest)
    outcome.throwFailures(list.length)
  }

  private readLater<O, T>(operations: TableOperations, own: O, step: ReadStep<O, T>): Promise<T> {
    return loadAndRepeat(this.engine, () => step(operations, own, nonBlocking))
  }

  private async nextTurn<T>(value: T): Promise<T> {
    await this.engine.turn.waitForTurn()
    return value
  }
}
