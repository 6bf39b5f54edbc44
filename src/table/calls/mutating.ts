/**
 * The two shells of mutations: with a promise, and synchronous.
 *
 * Both wait for room in memory and for earlier calls that name one of their rows, run the step in
 * one turn, and acknowledge when the log is as durable as the mutation asks. The shell with a
 * promise never blocks the event loop on the disk: a step that misses a block runs again once the
 * block is loaded, with the arguments as they were at the call.
 */
import { isBlockMissing } from '../reads/block-loading.js'
import { MutationCall, type MutationStep } from './mutation-calls.js'
import type { CallPlace } from '../arguments/row-names.js'
import { nonBlocking, type Applied } from '../operations/table-operations.js'

/**
 * Runs a mutation that may read first. Between its reads and its writes no turn is given up. `take`
 * makes the arguments for a step that is not delayed.
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

/** As {@link mutate}, before it returns; the step may block on the disk. */
export function mutateSync<T>(place: CallPlace, operation: unknown, step: () => Applied<T>): T {
  finishWaiting(place, operation)
  const { engine } = place
  engine.writes.admitSync()
  const applied = step()
  engine.writes.commitSync(applied.durability)
  return applied.value
}

/** Carries out the calls that wait and name a row of the operation: they come first. */
export function finishWaiting(place: CallPlace, operation: unknown): void {
  const { waiting } = place.engine.writes
  if (waiting.count > 0) waiting.finishSync(place.namesOf(operation))
}
