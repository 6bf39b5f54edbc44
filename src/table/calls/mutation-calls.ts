/**
 * Mutating calls: with a promise, and synchronously. Both wait for memory and for earlier calls
 * that name one of their rows. Both run their step in one turn of the event loop, and acknowledge
 * when the log is as durable as the mutation asks. With a promise, a step that misses a block which
 * cannot be read quickly runs again when the block is loaded.
 *
 * A call copies its arguments when it begins to wait, which is in the turn of the call. So it works
 * with the values it was given. `WaitingCalls` keeps its place in the order of calls.
 */
import { assert } from '../../base/assert.js'
import { copyArguments } from '../../base/copy-arguments.js'
import type { WaitingCall } from '../../storage/engine/write/waiting-calls.js'
import type { WritePath } from '../../storage/engine/write/write-path.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { isBlockMissing, loadAndRepeat } from '../reads/block-loading.js'
import type { CallPlace } from '../arguments/row-names.js'
import { blocking, nonBlocking, type Applied } from '../operations/table-operations.js'

/** Carries out an operation. May throw `BlockMissing` if the mode forbids it to block. */
export type MutationStep<O, T> = (operation: O, mode: ReadMode) => Applied<T>

/** Largest number of operations of a list that are carried out in the turn of the call. */
export const listTurnMax = 2048

/**
 * Runs a mutation that may read first. Reads and writes happen in one turn of the event loop.
 * `take` prepares the arguments of a step that need not wait.
 */
export async function mutate<O, T>(
  place: CallPlace,
  operation: O,
  step: MutationStep<O, T>,
  take?: (operation: O) => O,
): Promise<T> {
  const { writes } = place
  if (writes.waiting.count > 0 || writes.isHeld) return MutationCall.wait(place, operation, step)
  let applied: Applied<T>
  const taken = take === undefined ? operation : take(operation)
  try {
    applied = step(taken, nonBlocking)
  } catch (error) {
    if (!isBlockMissing(error)) throw error
    return MutationCall.load(place, taken, step)
  }
  await writes.commit(applied.durability)
  return applied.value
}

/** As {@link mutate}, blocking; the step may read from the disk. */
export function mutateSync<T>(place: CallPlace, operation: unknown, step: () => Applied<T>): T {
  finishWaiting(place, operation)
  const { writes } = place
  writes.admitSync()
  const applied = step()
  writes.commitSync(applied.durability)
  return applied.value
}

/** Completes the waiting calls that name a row of the operation, because they come first. */
export function finishWaiting(place: CallPlace, operation: unknown): void {
  const { waiting } = place.writes
  if (waiting.count > 0) waiting.finishSync(place.namesOf(operation))
}

/** One operation that waits. */
export class MutationCall<O, T> {
  private readonly place: CallPlace
  private readonly writes: WritePath
  private readonly operation: O
  private readonly step: MutationStep<O, T>
  private readonly call: WaitingCall
  private readonly resolve: (value: T | PromiseLike<T>) => void
  private readonly reject: (error: unknown) => void

  private constructor(
    place: CallPlace,
    operation: O,
    step: MutationStep<O, T>,
    resolve: (value: T | PromiseLike<T>) => void,
    reject: (error: unknown) => void,
  ) {
    const { value, bytes } = copyArguments(operation)
    const { writes } = place
    this.place = place
    this.writes = writes
    this.operation = value
    this.step = step
    this.resolve = resolve
    this.reject = reject
    this.call = writes.waiting.add(place.namesOf(value), bytes, () => this.finishSync())
  }

  /** Carries out an operation when writers may continue and earlier calls are done. */
  static wait<O, T>(place: CallPlace, operation: O, step: MutationStep<O, T>): Promise<T> {
    return new Promise((resolve, reject) => {
      new MutationCall(place, operation, step, resolve, reject).begin()
    })
  }

  /**
   * Carries out an operation that has just thrown `BlockMissing`. REQUIRES that no earlier call
   * waits.
   */
  static load<O, T>(place: CallPlace, operation: O, step: MutationStep<O, T>): Promise<T> {
    return new Promise((resolve, reject) => {
      new MutationCall(place, operation, step, resolve, reject).load()
    })
  }

  private begin(): void {
    const { writes, call } = this
    const run = (): void => writes.waiting.whenTurn(call, () => this.attempt())
    if (writes.isHeld) writes.admitLater(run, (error) => this.fail(error))
    else run()
  }

  private attempt(): void {
    const { writes, call } = this
    // Many calls of one row may be released together when the call before them ends.
    if (writes.turn.isFull && !call.isDone) {
      writes.admitLater(
        () => this.attempt(),
        (error) => this.fail(error),
      )
      return
    }
    try {
      this.carryOut(nonBlocking)
    } catch {
      this.load()
    }
  }

  private load(): void {
    loadAndRepeat(this.place, () => this.carryOut(nonBlocking)).catch((error: unknown) =>
      this.fail(error),
    )
  }

  private finishSync(): void {
    try {
      this.writes.admitSync()
      this.carryOut(blocking)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Carries out the operation and settles its promise. Throws only `BlockMissing`. */
  private carryOut(mode: ReadMode): void {
    const { call, writes } = this
    if (call.isDone) return
    assert(!call.isRunning, 'a waiting call does not run within itself')
    call.isRunning = true
    try {
      const { value, durability } = this.step(this.operation, mode)
      const committed = writes.commit(durability)
      this.resolve(value === undefined ? (committed as Promise<T>) : committed.then(() => value))
    } catch (error) {
      if (isBlockMissing(error)) throw error
      this.reject(error)
    } finally {
      call.isRunning = false
    }
    writes.waiting.done(call)
  }

  private fail(error: unknown): void {
    this.reject(error)
    this.writes.waiting.done(this.call)
  }
}

/**
 * Carries out one or several operations from index `at` on. Returns the index after them. Throws
 * only `BlockMissing`.
 */
export type ListStep<O> = (operations: readonly O[], at: number, mode: ReadMode) => number

/** Copies the operations of a list that are not done. */
export function copyList<O>(
  list: readonly O[],
  isDone: (position: number) => boolean,
): { readonly operations: readonly O[]; readonly bytes: number } {
  let total = 0
  const operations = list.map((operation, position) => {
    if (isDone(position)) return operation
    const { value, bytes } = copyArguments(operation)
    total += bytes
    return value
  })
  return { operations, bytes: total }
}

/** A list of operations that are carried out in order. */
export class ListCall<O> {
  private readonly writes: WritePath
  private readonly place: CallPlace
  private operations: readonly O[]
  private readonly step: ListStep<O>
  private at = 0
  private call: WaitingCall | undefined = undefined

  constructor(place: CallPlace, operations: readonly O[], step: ListStep<O>) {
    this.writes = place.writes
    this.place = place
    this.operations = operations
    this.step = step
  }

  /** Resolves when all operations are applied. Rejects if writers cannot continue. */
  async run(): Promise<void> {
    const { writes } = this
    if (!writes.isHeld && writes.waiting.count === 0 && this.runInTurn()) return
    const call = (this.call = this.wait())
    try {
      await new Promise<void>((resolve) => writes.waiting.whenTurn(call, resolve))
      while (this.isOpen) await this.runNext()
    } finally {
      writes.waiting.done(call)
    }
  }

  private get isOpen(): boolean {
    return this.at < this.operations.length
  }

  /** Carries out operations until one has to wait. Returns true if all are done. */
  private runInTurn(): boolean {
    const { writes } = this
    try {
      while (this.isOpen && this.at < listTurnMax && !writes.isHeld) {
        const from = this.at
        this.runStep(nonBlocking)
        writes.turn.spend(this.at - from)
      }
    } catch (error) {
      if (!isBlockMissing(error)) throw error
    }
    return !this.isOpen
  }

  /** Copies the remaining arguments. From now on later calls with these rows wait for this list. */
  private wait(): WaitingCall {
    const { writes, place, at } = this
    const { operations, bytes } = copyList(this.operations, (position) => position < at)
    this.operations = operations
    const names = place.namesOf({ rows: operations.slice(at) })
    return writes.waiting.add(names, bytes, () => this.finishSync())
  }

  private async runNext(): Promise<void> {
    const { writes } = this
    if (writes.isHeld) await writes.admit()
    const from = this.at
    if (!this.isOpen) return
    try {
      this.runStep(nonBlocking)
    } catch (error) {
      if (!isBlockMissing(error)) throw error
      // A synchronous call may have carried out the operation meanwhile.
      const repeat = (): void => {
        if (this.at === from) this.runStep(nonBlocking)
      }
      await loadAndRepeat(this.place, repeat)
    }
    if (!writes.turn.spend(this.at - from)) await writes.turn.waitForTurn()
  }

  private runStep(mode: ReadMode): void {
    const { call } = this
    if (call !== undefined) call.isRunning = true
    try {
      const from = this.at
      this.at = this.step(this.operations, from, mode)
      assert(this.at > from, 'a step of a list carries out at least one operation')
    } finally {
      if (call !== undefined) call.isRunning = false
    }
  }

  private finishSync(): void {
    while (this.isOpen) this.runStep(blocking)
    this.writes.waiting.done(this.call!)
  }
}
