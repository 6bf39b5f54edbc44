/**
 * The two ways to call every operation of a table: with a promise, and synchronously.
 *
 * Calls with a promise wait for memory if the budget is exceeded, and resolve when the log is as
 * durable as asked. They load missing blocks through another thread, unless such reads are quick
 * (`quickReads`, storage/sstable/read-gate.ts). Synchronous calls do all of that before they
 * return.
 */
import type { ByteRange } from '../../base/bytes.js'
import { copyArguments } from '../../base/copy-arguments.js'
import type {
  BatchCallback,
  BatchOperation,
  BatchResult,
  Get,
  Put,
  PutReceipt,
  ReadOptions,
} from '../../api/index.js'
import type { Result } from '../../api/results/result.js'
import { unescape } from '../../storage/cell/cell-key.js'
import { isTraced } from '../../storage/engine/diagnostics.js'
import { TimedOperation, type TableTimes } from '../../storage/engine/write/operation-times.js'
import type { TableParts } from '../../storage/engine/engine.js'
import type { WritePath } from '../../storage/engine/write/write-path.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { RowNames, type CallPlace } from '../arguments/row-names.js'
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
import { Batch } from './batch.js'
import { finishWaiting, ListCall, mutate, mutateSync, MutationCall } from './mutation-calls.js'

/** The kinds of mutations that lists have. */
type ListKind = 'put' | 'delete'

/** The figures in which the calls of a kind count. */
const timedAs: Readonly<Record<MutationKind, TimedOperation>> = {
  put: TimedOperation.put,
  delete: TimedOperation.delete,
  increment: TimedOperation.update,
  append: TimedOperation.update,
  checkAndMutate: TimedOperation.checkAndMutate,
  mutateRow: TimedOperation.batch,
  mutateRows: TimedOperation.batch,
}

/** The calls of one table; see the file header. */
export class TableCalls {
  private readonly writes: WritePath
  private readonly table: string
  private readonly place: CallPlace
  private readonly times: TableTimes
  /** Returns the operations of one call, with observers if the table has any. */
  private readonly operations: () => TableOperations

  constructor(parts: TableParts, table: string, operations: () => TableOperations) {
    const { readPoints, versions, writes } = parts
    const namesOf: CallPlace['namesOf'] = (given) => new RowNames().add(table, given).names
    this.writes = writes
    this.table = table
    this.place = { readPoints, versions, writes, namesOf }
    this.times = parts.reports.times.ofTable(table)
    this.operations = operations
  }

  /** Runs a read, without a promise in between if all its blocks are in memory. */
  read<K extends ReadKind>(kind: K, get: Get): Promise<ReadValue<K>> {
    if (!isTraced()) return this.readTimed(kind, get)
    return this.times.trace(TimedOperation.get, get, () => this.readTimed(kind, get))
  }

  private readTimed<K extends ReadKind>(kind: K, get: Get): Promise<ReadValue<K>> {
    const startedAt = this.times.begin(TimedOperation.get)
    const value = this.readNow(kind, get)
    const result =
      value instanceof Promise
        ? value
        : this.writes.turn.spend()
          ? Promise.resolve(value)
          : this.nextTurn(value)
    if (startedAt === 0) return result
    return this.times.endLater(TimedOperation.get, startedAt, result, get)
  }

  /** As {@link read}, blocking. */
  readSync<K extends ReadKind>(kind: K, get: Get): ReadValue<K> {
    if (!isTraced()) return this.readTimedSync(kind, get)
    return this.times.traceSync(TimedOperation.get, get, () => this.readTimedSync(kind, get))
  }

  private readTimedSync<K extends ReadKind>(kind: K, get: Get): ReadValue<K> {
    const startedAt = this.times.begin(TimedOperation.get)
    const value = readStep(this.operations(), kind, get, blocking)
    if (startedAt !== 0) this.times.end(TimedOperation.get, startedAt, get)
    return value
  }

  /**
   * Runs the reads of a list in one loop; only rows whose blocks are not in memory need promises.
   * Fails with the first that fails.
   */
  readList<K extends ReadKind>(kind: K, gets: readonly Get[]): Promise<ReadValue<K>[]> {
    if (!isTraced()) return this.readListTimed(kind, gets)
    return this.times.trace(TimedOperation.get, gets, () => this.readListTimed(kind, gets))
  }

  private readListTimed<K extends ReadKind>(
    kind: K,
    gets: readonly Get[],
  ): Promise<ReadValue<K>[]> {
    const read = (i: number): ReadValue<K> | Promise<ReadValue<K>> => this.readNow(kind, gets[i])
    return this.readEach(gets.length, read, (i) => gets[i])
  }

  /** As {@link readList}, of rows by their escaped keys, with the same options. */
  readKeys(keys: readonly ByteRange[], options: ReadOptions): Promise<Result[]> {
    if (!isTraced()) return this.readKeysTimed(keys, options)
    return this.times.trace(TimedOperation.get, keys, () => this.readKeysTimed(keys, options))
  }

  private readKeysTimed(keys: readonly ByteRange[], options: ReadOptions): Promise<Result[]> {
    const read = this.operations().getter(options, nonBlocking)
    const getOf = (i: number): Get => {
      const { source, start, end } = keys[i]
      return { ...options, row: unescape(source, start, end) }
    }
    const readOne = (i: number): Result | Promise<Result> => {
      try {
        if (read !== undefined) return read(keys[i])
      } catch {
        // A get of the row loads its blocks, or fails as the row did.
      }
      return this.readNow('get', getOf(i))
    }
    return this.readEach(keys.length, readOne, getOf)
  }

  /** The values of so many reads, each timed. `getOf` tells the read of an index. */
  private readEach<T>(
    count: number,
    read: (i: number) => T | Promise<T>,
    getOf: (i: number) => Get,
  ): Promise<T[]> {
    const { times } = this
    const values: (T | Promise<T>)[] = []
    let mustWait = false
    for (let i = 0; i < count; i++) {
      const startedAt = times.begin(TimedOperation.get)
      const value = read(i)
      if (value instanceof Promise) {
        mustWait = true
        if (startedAt !== 0) void times.endLater(TimedOperation.get, startedAt, value, getOf(i))
      } else if (startedAt !== 0) times.end(TimedOperation.get, startedAt, getOf(i))
      values.push(value)
    }
    const hasTime = this.writes.turn.spend(count)
    if (mustWait) return Promise.all(values)
    const results = values as T[]
    return hasTime ? Promise.resolve(results) : this.nextTurn(results)
  }

  /** Runs a put, without a function for its step if it need not wait. */
  put(put: Put): Promise<PutReceipt> {
    if (!isTraced()) return this.putTimed(put)
    return this.times.trace(TimedOperation.put, put, () => this.putTimed(put))
  }

  private putTimed(put: Put): Promise<PutReceipt> {
    const startedAt = this.times.begin(TimedOperation.put)
    const done = this.putNow(this.operations(), put)
    if (startedAt === 0) return done
    return this.times.endLater(TimedOperation.put, startedAt, done, put)
  }

  /** As {@link put}, blocking. */
  putSync(put: Put): PutReceipt {
    if (!isTraced()) return this.putTimedSync(put)
    return this.times.traceSync(TimedOperation.put, put, () => this.putTimedSync(put))
  }

  private putTimedSync(put: Put): PutReceipt {
    const startedAt = this.times.begin(TimedOperation.put)
    finishWaiting(this.place, put)
    this.writes.admitSync()
    const { value, durability } = this.operations().mutate('put', put, blocking)
    this.writes.commitSync(durability)
    if (startedAt !== 0) this.times.end(TimedOperation.put, startedAt, put)
    return value
  }

  /** Runs a mutation. */
  mutate<K extends MutationKind>(kind: K, operation: Given<K>): Promise<Value<K>> {
    const operations = this.operations()
    return this.tracked(timedAs[kind], operation, () => {
      return this.mutateBy(operations, kind, operation)
    })
  }

  /** As {@link mutate}, blocking. */
  mutateSync<K extends MutationKind>(kind: K, operation: Given<K>): Value<K> {
    const operations = this.operations()
    return this.trackedSync(timedAs[kind], operation, () =>
      mutateSync(this.place, operation, () => operations.mutate(kind, operation, blocking)),
    )
  }

  /** Carries out a list with one commit for all of it. */
  list<K extends ListKind>(kind: K, list: readonly Given<K>[]): Promise<void> {
    return this.tracked(TimedOperation.batch, list, () => this.runList(kind, list))
  }

  /** As {@link list}, blocking. */
  listSync<K extends ListKind>(kind: K, list: readonly Given<K>[]): void {
    this.trackedSync(TimedOperation.batch, list, () => this.runListSync(kind, list))
  }

  /** Runs a mixed batch. Rejects only with an error of the callback. */
  batch(list: readonly BatchOperation[], callback?: BatchCallback): Promise<BatchResult[]> {
    return this.tracked(TimedOperation.batch, list, () => this.makeBatch(list, callback).run())
  }

  /** As {@link batch}, blocking. */
  batchSync(list: readonly BatchOperation[], callback?: BatchCallback): BatchResult[] {
    return this.trackedSync(TimedOperation.batch, list, () => {
      return this.makeBatch(list, callback).runSync()
    })
  }

  /** A batch of these operations, which is not timed. */
  makeBatch(list: readonly BatchOperation[], callback?: BatchCallback): Batch {
    return new Batch(this.place, this.table, this.operations(), list, callback)
  }

  /** The value of a read, or a promise if blocks have to be loaded or the read fails. */
  private readNow<K extends ReadKind>(kind: K, get: Get): ReadValue<K> | Promise<ReadValue<K>> {
    const operations = this.operations()
    let own = get
    try {
      own = operations.own(get)
      return readStep(operations, kind, own, nonBlocking)
    } catch (error) {
      if (!isBlockMissing(error)) return Promise.reject(error)
      const kept = own === get ? copyArguments(get).value : own
      return loadAndRepeat(this.place, () => readStep(operations, kind, kept, nonBlocking))
    }
  }

  private putNow(operations: TableOperations, put: Put): Promise<PutReceipt> {
    const { writes } = this
    if (writes.waiting.count > 0 || writes.isHeld) return this.mutateBy(operations, 'put', put)
    try {
      const own = operations.own(put)
      try {
        const { value, durability } = operations.mutate('put', own, nonBlocking)
        return writes.commitOf(durability, value)
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

  private mutateBy<K extends MutationKind>(
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

  private async runList<K extends ListKind>(kind: K, given: readonly Given<K>[]): Promise<void> {
    const operations = this.operations()
    const outcome = new ListOutcome()
    const call = new ListCall(this.place, operations.own(given), (list, at, mode) =>
      listStep(operations, kind, list, at, mode, outcome),
    )
    await call.run()
    if (outcome.strongest !== undefined) await this.writes.commit(outcome.strongest)
    outcome.throwFailures(given.length)
  }

  private runListSync<K extends ListKind>(kind: K, list: readonly Given<K>[]): void {
    const { writes } = this
    const operations = this.operations()
    const outcome = new ListOutcome()
    finishWaiting(this.place, { rows: list })
    for (let at = 0; at < list.length;) {
      try {
        writes.admitSync()
        at = listStep(operations, kind, list, at, blocking, outcome)
      } catch (error) {
        outcome.failed(at++, error)
      }
    }
    if (outcome.strongest !== undefined) writes.commitSync(outcome.strongest)
    outcome.throwFailures(list.length)
  }

  /** Runs a call, and times the call or the promise that it returns. */
  private timed<T>(kind: TimedOperation, operation: unknown, run: () => T): T {
    const startedAt = this.times.begin(kind)
    const result = run()
    if (startedAt === 0) return result
    if (result instanceof Promise) {
      return this.times.endLater(kind, startedAt, result, operation) as T
    }
    this.times.end(kind, startedAt, operation)
    return result
  }

  /** Runs a call with a promise, timed, and tells who traces operations. */
  private tracked<T>(kind: TimedOperation, operation: unknown, run: () => Promise<T>): Promise<T> {
    const timed = (): Promise<T> => this.timed(kind, operation, run)
    return isTraced() ? this.times.trace(kind, operation, timed) : timed()
  }

  /** As {@link tracked}, of a call without a promise. */
  private trackedSync<T>(kind: TimedOperation, operation: unknown, run: () => T): T {
    const timed = (): T => this.timed(kind, operation, run)
    return isTraced() ? this.times.traceSync(kind, operation, timed) : timed()
  }

  private async nextTurn<T>(value: T): Promise<T> {
    await this.writes.turn.waitForTurn()
    return value
  }
}

function readStep<K extends ReadKind>(
  operations: TableOperations,
  kind: K,
  get: Get,
  mode: ReadMode,
): ReadValue<K> {
  const value = kind === 'get' ? operations.get(get, mode) : operations.exists(get, mode)
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
