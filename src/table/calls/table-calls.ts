/**
 * The two ways to call every operation of a table: with a promise, and synchronously.
 *
 * Calls with a promise never block the event loop by the disk. They wait for memory if the budget
 * is exceeded, load missing blocks asynchronously, and resolve when the log is as durable as asked.
 * Synchronous calls do all of that before they return.
 */
import { copyArguments } from '../../base/copy-arguments.js'
import type { Get, Put } from '../../api/index.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { TablePlace } from '../arguments/row-names.js'
import { ListOutcome } from '../operations/list-outcome.js'
import {
  blocking,
  nonBlocking,
  type MutationKind,
  type TableOperations,
  type Given,
  type Value,
  type ReadKind,
  type ReadValue,
} from '../operations/table-operations.js'
import { isBlockMissing, loadAndRepeat } from '../reads/block-loading.js'
import { finishWaiting, mutate, mutateSync } from './mutating.js'
import { ListCall, MutationCall } from './mutation-calls.js'

/** The kinds of mutations that lists have. */
type ListKind = 'put' | 'delete'

/** The calls of one table; see the file header. */
export class TableCalls {
  private readonly engine: Engine
  private readonly place: TablePlace

  constructor(engine: Engine, table: string) {
    this.engine = engine
    this.place = new TablePlace(engine, table)
  }

  /** Runs a read, without a promise in between if all its blocks are in memory. */
  read<K extends ReadKind>(operations: TableOperations, kind: K, get: Get): Promise<ReadValue<K>> {
    const value = this.readNow(operations, kind, get)
    if (value instanceof Promise) return value
    return this.engine.turn.spend() ? Promise.resolve(value) : this.nextTurn(value)
  }

  /** Runs a read of a list: its value, or a promise if blocks have to be loaded or it fails. */
  readNow<K extends ReadKind>(
    operations: TableOperations,
    kind: K,
    get: Get,
  ): ReadValue<K> | Promise<ReadValue<K>> {
    let own = get
    try {
      own = operations.own(get)
      return readStep(operations, kind, own)
    } catch (error) {
      if (!isBlockMissing(error)) return Promise.reject(error)
      const kept = own === get ? copyArguments(get).value : own
      return loadAndRepeat(this.engine, () => readStep(operations, kind, kept))
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
      return this.mutate(operations, 'put', put)
    try {
      const own = operations.own(put)
      try {
        return engine.writes.commit(operations.put(own, nonBlocking))
      } catch (error) {
        if (!isBlockMissing(error)) throw error
        return MutationCall.load(this.place, own, (put, mode) => {
          return operations.mutate('put', put, mode)
        })
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
  mutate<K extends MutationKind>(
    operations: TableOperations,
    kind: K,
    operation: Given<K>,
  ): Promise<Value<K>> {
    return mutate(
      this.place,
      operation,
      (own, mode) => operations.mutate(kind, own, mode),
      (given) => operations.own(given),
    )
  }

  /** As {@link mutate}, blocking. */
  mutateSync<K extends MutationKind>(
    operations: TableOperations,
    kind: K,
    operation: Given<K>,
  ): Value<K> {
    return mutateSync(this.place, operation, () => operations.mutate(kind, operation, blocking))
  }

  /** Carries out a list with one commit for all of it. */
  async list<K extends ListKind>(
    operations: TableOperations,
    kind: K,
    given: readonly Given<K>[],
  ): Promise<void> {
    const outcome = new ListOutcome()
    const call = new ListCall(this.place, operations.own(given), (list, at, mode) =>
      listStep(operations, kind, list, at, mode, outcome),
    )
    await call.run()
    if (outcome.strongest !== undefined) await this.engine.writes.commit(outcome.strongest)
    outcome.throwFailures(given.length)
  }

  /** As {@link list}, blocking. */
  listSync<K extends ListKind>(
    operations: TableOperations,
    kind: K,
    list: readonly Given<K>[],
  ): void {
    const { engine } = this
    const outcome = new ListOutcome()
    finishWaiting(this.place, { rows: list })
    for (let at = 0; at < list.length;) {
      try {
        engine.writes.admitSync()
        at = listStep(operations, kind, list, at, blocking, outcome)
      } catch (error) {
        outcome.failed(at++, error)
      }
    }
    if (outcome.strongest !== undefined) engine.writes.commitSync(outcome.strongest)
    outcome.throwFailures(list.length)
  }

  private async nextTurn<T>(value: T): Promise<T> {
    await this.engine.turn.waitForTurn()
    return value
  }
}

function readStep<K extends ReadKind>(
  operations: TableOperations,
  kind: K,
  get: Get,
): ReadValue<K> {
  const value =
    kind === 'get' ? operations.get(get, nonBlocking) : operations.exists(get, nonBlocking)
  return value as ReadValue<K>
}

/**
 * Carries out operations of a list from index `at` on, and reports to `outcome`. Returns the index
 * after them. May throw `BlockMissing`.
 */
function listStep<K extends ListKind>(
  operations: TableOperations,
  kind: K,
  list: readonly Given<K>[],
  at: number,
  mode: ReadMode,
  outcome: ListOutcome,
): number {
  if (kind === 'put') return operations.putGroup(list as readonly Put[], at, mode, outcome)
  return outcome.attempt(at, () => operations.mutate(kind, list[at], mode).durability)
}
