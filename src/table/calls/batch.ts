/**
 * Mixed batches: each operation on its own, with an outcome per index.
 *
 * Operations that find their blocks in memory are carried out immediately, in the given order. An
 * operation that misses a block is carried out when the block is loaded. Later operations continue,
 * except those of the same row, which wait for it. One commit serves all mutations.
 */
import { checkArray, checkBytesLike, readArguments } from '../../base/arguments.js'
import { assert } from '../../base/assert.js'
import { toBytes } from '../../base/bytes.js'
import { checkBatchCallback, tellOutcome } from '../../checks/batch-callback.js'
import { asCellarError, checkOperation, noResult, readCheck } from '../../checks/lists.js'
import type { WaitingCall } from '../../storage/engine/write/waiting-calls.js'
import type { WritePath } from '../../storage/engine/write/write-path.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { Durability } from '../../storage/wal/log-options.js'
import { isBlockMissing, loadAndRepeat } from '../reads/block-loading.js'
import { copyList, listTurnMax } from './mutation-calls.js'
import { RowNames, type CallPlace } from '../arguments/row-names.js'
import { Result } from '../../api/results/result.js'
import {
  blocking,
  nonBlocking,
  type MutationKind,
  type TableOperations,
  type Value,
} from '../operations/table-operations.js'
import type { BatchCallback, BatchOperation, BatchResult } from '../../api/index.js'

/** The kinds of mutations that a batch may have. */
type BatchKind = Exclude<MutationKind, 'mutateRows'>

const done: BatchResult = { ok: true, result: noResult }

/** A running batch. */
export class Batch {
  private readonly place: CallPlace
  private readonly writes: WritePath
  private readonly table: string
  private operations: readonly BatchOperation[]
  private readonly callback: BatchCallback | undefined
  private readonly results: BatchResult[]
  private readonly target: TableOperations
  /** Operations that have begun, by index. Each is repeated until its blocks are in memory. */
  private readonly begun: TableOperations[] = []
  /** Indexes of applied mutations, by the durability that they wait for. */
  private readonly applied = new Map<Durability, number[]>()
  /** Operations carried out in this turn of the event loop. */
  private countInTurn = 0
  /** The batch's place in the order of calls, once the batch has had to wait. */
  private call: WaitingCall | undefined = undefined
  /** The first error that the callback threw. */
  private thrown: { readonly error: unknown } | undefined = undefined

  /** Prepares a batch. Throws `ERR_INVALID_ARGUMENT`. */
  constructor(
    place: CallPlace,
    table: string,
    target: TableOperations,
    operations: readonly BatchOperation[],
    callback: BatchCallback | undefined,
  ) {
    this.place = place
    this.writes = place.writes
    this.table = table
    this.target = target
    this.operations = target.own(readArguments(() => checkArray(operations, 'operations')))
    this.callback = checkBatchCallback(callback)
    this.results = new Array<BatchResult>(this.operations.length)
  }

  /** Runs the batch. Rejects only with an error of the callback. */
  async run(): Promise<BatchResult[]> {
    const { writes } = this
    if (writes.waiting.count > 0 || writes.isHeld) {
      const call = this.own()
      await new Promise<void>((resolve) => writes.waiting.whenTurn(call, resolve))
    }
    await this.runAll()
    if (this.call !== undefined) writes.waiting.done(this.call)
    for (const [durability, positions] of this.applied) {
      try {
        await writes.commit(durability)
        for (const position of positions) this.tell(position)
      } catch (error) {
        // It is unknown whether a mutation with a failed commit is durable, so its outcome is the
        // failure.
        for (const position of positions) this.fail(position, error)
      }
    }
    return this.end()
  }

  /** Carries out all operations, except those that a synchronous call carries out meanwhile. */
  private async runAll(): Promise<void> {
    const { writes } = this
    const loading = new Map<string, Promise<void>>()
    for (let i = 0; i < this.operations.length; i++) {
      if (!writes.turn.spend() && ++this.countInTurn >= listTurnMax) {
        this.own()
        this.countInTurn = 0
        await writes.turn.waitForTurn()
      }
      // The batch owns its arguments before it loads the first block.
      if (loading.size > 0) await loading.get(rowOf(this.operations[i]))
      try {
        if (writes.isHeld && !isGet(this.operations[i])) {
          this.own()
          await writes.admit()
        }
        this.attempt(i, nonBlocking)
      } catch (error) {
        // A synchronous call may have carried out the operation while it waited for memory.
        if (!isBlockMissing(error)) {
          if (!this.isDone(i)) this.fail(i, error)
        } else {
          this.own()
          loading.set(rowOf(this.operations[i]), this.load(i))
        }
      }
    }
    for (const each of loading.values()) await each
  }

  /**
   * Copies the remaining arguments. From now on later calls with these rows wait for this batch.
   */
  private own(): WaitingCall {
    if (this.call !== undefined) return this.call
    const { operations, bytes } = copyList(this.operations, (position) => this.isDone(position))
    this.operations = operations
    const rows = new RowNames()
    for (const [position, operation] of operations.entries()) {
      if (!this.isDone(position)) rows.addOfBatch(this.table, operation)
    }
    const finish = (): void => this.finishSync()
    return (this.call = this.writes.waiting.add(rows.names, bytes, finish))
  }

  private isDone(position: number): boolean {
    return this.results[position] !== undefined
  }

  /**
   * Carries out an operation unless that was done. May throw `BlockMissing`, or the error of the
   * operation.
   */
  private attempt(position: number, mode: ReadMode): void {
    if (this.isDone(position)) return
    if (this.call !== undefined) this.call.isRunning = true
    try {
      this.carryOut(position, mode)
    } finally {
      if (this.call !== undefined) this.call.isRunning = false
    }
  }

  /**
   * Carries out the remaining operations, blocking, because a synchronous call must come after
   * them.
   */
  private finishSync(): void {
    for (let i = 0; i < this.operations.length; i++) {
      if (this.isDone(i)) continue
      try {
        this.writes.admitSync()
        this.attempt(i, blocking)
      } catch (error) {
        this.fail(i, error)
      }
    }
    this.writes.waiting.done(this.call!)
  }

  /** As {@link run}, blocking. */
  runSync(): BatchResult[] {
    const { writes, operations } = this
    if (writes.waiting.count > 0) {
      const rows = new RowNames()
      for (const operation of operations) rows.addOfBatch(this.table, operation)
      writes.waiting.finishSync(rows.names)
    }
    for (let i = 0; i < operations.length; i++) {
      try {
        if (!isGet(operations[i])) writes.admitSync()
        this.carryOut(i, blocking)
      } catch (error) {
        this.fail(i, error)
      }
    }
    for (const [durability, positions] of this.applied) {
      try {
        writes.commitSync(durability)
        for (const position of positions) this.tell(position)
      } catch (error) {
        for (const position of positions) this.fail(position, error)
      }
    }
    return this.end()
  }

  /** Loads the block that the operation has just missed, and carries the operation out. */
  private load(position: number): Promise<void> {
    return loadAndRepeat(this.place, () => this.attempt(position, nonBlocking)).catch(
      (error: unknown) => this.fail(position, error),
    )
  }

  /** Carries out the operation at `position` and stores its outcome. May throw `BlockMissing`. */
  private carryOut(position: number, mode: ReadMode): void {
    const operation = checkOperation(this.operations[position])
    const target = (this.begun[position] ??= this.target.forNextCall())
    const [[kind, given]] = Object.entries(operation) as [['get' | BatchKind, never]]
    if (kind === 'get') {
      this.results[position] = { ok: true, result: target.get(given, mode) }
      this.tell(position)
      return
    }
    const own = kind === 'checkAndMutate' ? readCheck(given) : given
    const { value, durability } = target.mutate(kind, own, mode)
    this.mutated(position, durability, outcomeOf(value))
  }

  private mutated(position: number, durability: Durability, result: BatchResult): void {
    assert(!this.isDone(position), 'an operation of a batch is carried out once')
    this.results[position] = result
    const positions = this.applied.get(durability)
    if (positions === undefined) this.applied.set(durability, [position])
    else positions.push(position)
  }

  /** Sets the outcome to the error, in place of any earlier outcome. */
  private fail(position: number, error: unknown): void {
    this.results[position] = { ok: false, error: asCellarError(error) }
    this.tell(position)
  }

  private tell(position: number): void {
    if (this.callback === undefined) return
    try {
      tellOutcome(this.callback, this.results[position], position)
    } catch (error) {
      this.thrown ??= { error }
    }
  }

  private end(): BatchResult[] {
    if (this.thrown !== undefined) throw this.thrown.error
    return this.results
  }
}

function outcomeOf(value: Value<BatchKind>): BatchResult {
  if (value === undefined) return done
  if (value instanceof Result) return { ok: true, result: value }
  if (!('success' in value)) return done
  return { ok: true, success: value.success, result: value.result ?? noResult }
}

/**
 * Whether an operation is a get, which does not wait for memory. Unreadable operations fail later.
 */
function isGet(operation: BatchOperation): boolean {
  try {
    return typeof operation === 'object' && operation !== null && operation.get !== undefined
  } catch {
    return false
  }
}

/** The name of an operation's row; empty if it has none, and then the operation itself fails. */
function rowOf(operation: BatchOperation): string {
  try {
    const [inner] = Object.values(operation as object) as unknown[]
    const { row, check } = (inner ?? {}) as { row?: unknown; check?: { row?: unknown } }
    const given = check === undefined ? row : check?.row
    checkBytesLike(given, 'row')
    return toBytes(given).toString('latin1')
  } catch {
    return ''
  }
}
