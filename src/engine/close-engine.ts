/**
 * The steps of closing an engine: flush what is large or not in the log, then give everything back.
 *
 * Failure behaviour: every step is tried; the first error is thrown at the end, unless the engine
 * was poisoned before, when its writes have failed already.
 */
import { changeBytes } from '../version/space-reserve.js'
import type { Engine } from './engine.js'

/** A memtable smaller than this is left to the log when the database is closed. */
const closeFlushBytesMin = 4 * 1024 * 1024
/** A log shorter than this is never too long to be replayed at the next open. */
const closeLogBytesMin = 8 * 1024 * 1024

/** Collects the first error of several steps. */
export class ClosingSteps {
  failure: unknown = undefined

  /** Runs a step; an error is kept, not thrown. */
  async attempt(step: () => Promise<void> | void): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.failure ??= error
    }
  }
}

/** Flushes what the log should not have to bring back. */
export async function flushForClose(engine: Engine): Promise<void> {
  // A long log with little in it is not worth replaying.
  const longLog =
    engine.writes.log.bytesTotal > closeLogBytesMin + 4 * engine.writes.budget.bytesUsed
  for (const store of [...engine.stores.values()]) {
    const { active } = store
    const unlogged = active.hasUnloggedMutations
    if (longLog || unlogged || active.memtable.bytesUsed >= closeFlushBytesMin) {
      store.freeze(engine.lastSequence)
    }
    if (store.frozen.length > 0) await engine.background.flusher.drain(store)
  }
}

/** States what the next open must find, if everything before went well. */
function closeVersions(engine: Engine, steps: ClosingSteps): void {
  const { versions, writes } = engine
  const { log } = writes
  const segment = log.segments.at(-1)
  if (steps.failure !== undefined || log.failure !== undefined || segment === undefined) {
    versions.close()
    return
  }
  try {
    versions.closeWithStatementSync(segment)
  } catch (error) {
    // Everything is durable. The next open takes the directory for one that a process left.
    engine.reports.warn(error)
  }
}

/** Ends background work and closes files; the lock goes last. */
export async function closeParts(engine: Engine, steps: ClosingSteps): Promise<void> {
  await steps.attempt(() => engine.background.compactor.stop())
  await steps.attempt(() => engine.background.flusher.stop())
  await steps.attempt(() => engine.background.executor.close())
  engine.reserve.makeRoom(changeBytes)
  await steps.attempt(() => engine.writes.log.close())
  await steps.attempt(() => closeVersions(engine, steps))
  await steps.attempt(() => engine.readers.closeAll())
  await steps.attempt(() => engine.remover.idle())
  engine.reserve.restore(engine.versions.durableManifest.length)
  engine.reserve.closeSync()
  await steps.attempt(() => engine.lock.release())
}
