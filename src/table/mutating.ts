/**
 * The two shells of mutations: with a promise, and synchronous.
 *
 * Both wait for room in memory, run the step in one turn, and acknowledge when the log is as
 * durable as the mutation asks. The shell with a promise never blocks the event loop on the disk: a
 * step that misses a block runs again once the block is loaded.
 */
import type { Engine } from '../engine/engine.js'
import type { ReadMode } from '../store/store-reader.js'
import { isBlockMissing, loadAndRepeat } from './block-loading.js'
import { nonBlocking, type Applied } from './table-core.js'

/** Runs a mutation that may read first. Between its reads and its writes no turn is given up. */
export async function mutate<T>(engine: Engine, step: (mode: ReadMode) => Applied<T>): Promise<T> {
  if (engine.isHeld) await engine.admit()
  let applied: Applied<T>
  try {
    applied = step(nonBlocking)
  } catch (error) {
    if (!isBlockMissing(error)) throw error
    applied = await loadAndRepeat(engine, () => step(nonBlocking))
  }
  await engine.commit(applied.durability)
  return applied.value
}

/** As {@link mutate}, before it returns; the step may block on the disk. */
export function mutateSync<T>(engine: Engine, step: () => Applied<T>): T {
  engine.admitSync()
  const applied = step()
  engine.commitSync(applied.durability)
  return applied.value
}
