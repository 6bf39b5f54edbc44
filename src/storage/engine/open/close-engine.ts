/**
 * The steps of closing an engine: flush large memtables and unlogged mutations, then release
 * everything.
 *
 * Every step is tried. The first error is thrown at the end, unless the engine was poisoned before:
 * then its writes have already failed.
 */
import { changeBytes } from '../../version/space-reserve.js'
import type { Engine } from '../engine.js'

/** A smaller memtable is not flushed by a close; the log keeps its mutations. */
const closeFlushBytesMin = 4 * 1024 * 1024
/** A shorter log is always fast to replay at the next open. */
const closeLogBytesMin = 8 * 1024 * 1024

/** Closes an engine; see the file header. */
export async function closeEngine(engine: Engine): Promise<void> {
  const { lifecycle } = engine
  const poisonedBefore = lifecycle.failure !== undefined
  const mayFlush = lifecycle.isWritable
  lifecycle.state = 'closing'
  const steps = new ClosingSteps()
  if (mayFlush) await steps.attempt(() => flushForClose(engine))
  // After the release of the lock, the directory may belong to another process.
  await lifecycle.changesEnded()
  for (const end of lifecycle.endedByClose) await steps.attempt(end)
  lifecycle.hasClosed()
  await closeParts(engine, steps)
  if (steps.failure !== undefined && !poisonedBefore) throw steps.failure as Error
}

/** Collects the first error of several steps. */
class ClosingSteps {
  failure: unknown = undefined

  /** Runs a step. Keeps an error instead of throwing it. */
  async attempt(step: () => Promise<void> | void): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.failure ??= error
    }
  }
}

/** Flushes the memtables that the next open should not have to replay, or could not. */
async function flushForClose(engine: Engine): Promise<void> {
  const { background, budget, catalog, log, readPoints } = engine
  // A long log that holds few needed mutations is not worth replaying.
  const longLog = log.bytesTotal > closeLogBytesMin + 4 * budget.bytesUsed
  for (const store of [...catalog.stores.values()]) {
    const { active } = store
    const unlogged = active.hasUnloggedMutations
    if (longLog || unlogged || active.memtable.bytesUsed >= closeFlushBytesMin) {
      store.freeze(readPoints.lastSequence)
    }
    if (store.frozen.length > 0) await background.flusher.drain(store)
  }
}

/** Writes the statement of a clean close, if no step has failed. */
function closeVersions(engine: Engine, steps: ClosingSteps): void {
  const { log, versions } = engine
  const segment = log.segments.at(-1)
  if (steps.failure !== undefined || log.failure !== undefined || segment === undefined) {
    versions.close()
    return
  }
  try {
    versions.closeWithStatementSync(segment)
  } catch (error) {
    // Everything is durable. Without a statement the next open recovers as after a kill.
    engine.reports.warn(error)
  }
}

/** Ends background work and closes files; releases the lock last. */
async function closeParts(engine: Engine, steps: ClosingSteps): Promise<void> {
  await steps.attempt(() => engine.background.scrubber.stop())
  await steps.attempt(() => engine.background.compactor.stop())
  await steps.attempt(() => engine.background.flusher.stop())
  await steps.attempt(() => engine.executor.close())
  engine.reserve.makeRoom(changeBytes)
  await steps.attempt(() => engine.log.close())
  await steps.attempt(() => closeVersions(engine, steps))
  await steps.attempt(() => engine.readers.closeAll())
  await steps.attempt(() => engine.remover.idle())
  engine.reserve.restore(engine.versions.durableManifest.length)
  engine.reserve.closeSync()
  await steps.attempt(() => engine.lock.release())
}
