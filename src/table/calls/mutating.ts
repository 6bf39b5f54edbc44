/**
 * The two ways to run a mutation: with a promise, and synchronously.
 *
 * Both wait for memory and for earlier calls that name one of the mutation's rows. Both run the
 * step in one turn of the event loop, and acknowledge when the log is as durable as the mutation
 * asks. With a promise, the event loop is never blocked by the disk. A step that misses a block
 * runs again when the block is loaded, with the arguments as they were at the call.
 */
import { isBlockMissing } from '../reads/block-loading.js'
import { MutationCall, type MutationStep } from './mutation-calls.js'
import type { CallPlace } from '../arguments/row-names.js'
import { nonBlocking, type Applied } from '../operations/table-operations.js'

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
  const { engine } = place
  if (engine.writes.waiting.count > 0 || engine.writes.isHeld)
    return MutationCall.wait(place, operation, step)
  let applied: Applied<T>
  const taken = take === undefined ? operation : take(operation)
  try {
    applied = step(taken, nonBlocking)
  } catch (error) {
    if (!isBlockMissing(error)) throw error
    return MutationCall.load(place, taken, step)
  }
  await engine.writes.commit(applied.durability)
  return applied.value
}

/** As {@link mutate}, blocking; the step may read from the disk. */
export function mutateSync<T>(place: CallPlace, operation: unknown, step: () => Applied<T>): T {
  finishWaiting(place, operation)
  const { engine } = place
  engine.writes.admitSync()
  const applied = step()
  engine.writes.commitSync(applied.durability)
  return applied.value
}

/** Completes the waiting calls that name a row of the operation, because they come first. */
export function finishWaiting(place: CallPlace, operation: unknown): void {
  const { waiting } = place.engine.writes
  if (waiting.count > 0) waiting.finishSync(place.namesOf(operation))
}
