/**
 * The steps of closing an engine: flush what is large or not in the log, then give everything back.
 *
 * Failure behaviour: every step is tried; the first error is thrown at the end, unless the engine
 * was poisoned before, when its writes have failed already.
 */
import type { FileRemover } from '../fs/file-remover.js'
import type { DirectoryLock } from '../fs/types.js'
import type { JobExecutor } from '../job/executor.js'
import type { Store } from '../store/store.js'
import { changeBytes, type SpaceReserve } from '../version/space-reserve.js'
import type { VersionSet } from '../version/version-set.js'
import type { Log } from '../wal/log.js'
import type { Compactor } from './compactor.js'
import type { Flusher } from './flusher.js'
import type { MemoryBudget } from './memory-budget.js'
import type { TableReaders } from './table-readers.js'

/** A memtable smaller than this is left to the log when the database is closed. */
const closeFlushBytesMin = 4 * 1024 * 1024
/** A log shorter than this is never too long to be replayed at the next open. */
const closeLogBytesMin = 8 * 1024 * 1024

/** What is closed, in the order of {@link closeParts}. */
export interface ClosingParts {
  readonly stores: ReadonlyMap<number, Store>
  readonly budget: MemoryBudget
  readonly compactor: Compactor
  readonly flusher: Flusher
  readonly executor: JobExecutor
  readonly log: Log
  readonly versions: VersionSet
  readonly readers: TableReaders
  readonly remover: FileRemover
  readonly reserve: SpaceReserve
  readonly lock: DirectoryLock
  readonly lastSequence: number
  /** Told of what went wrong without effect on the data. */
  warn(error: unknown): void
}

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
export async function flushForClose(parts: ClosingParts): Promise<void> {
  // A long log with little in it is not worth replaying.
  const longLog = parts.log.bytesTotal > closeLogBytesMin + 4 * parts.budget.bytesUsed
  for (const store of [...parts.stores.values()]) {
    const { active } = store
    const unlogged = active.hasUnloggedMutations
    if (longLog || unlogged || active.memtable.bytesUsed >= closeFlushBytesMin) {
      store.freeze(parts.lastSequence)
    }
    if (store.frozen.length > 0) await parts.flusher.drain(store)
  }
}

/** States what the next open must find, if everything before went well. */
function closeVersions(parts: ClosingParts, steps: ClosingSteps): void {
  const { versions, log } = parts
  const segment = log.segments.at(-1)
  if (steps.failure !== undefined || log.failure !== undefined || segment === undefined) {
    versions.close()
    return
  }
  try {
    versions.closeWithStatementSync(segment)
  } catch (error) {
    // Everything is durable. The next open takes the directory for one that a process left.
    parts.warn(error)
  }
}

/** Ends background work and closes files; the lock goes last. */
export async function closeParts(parts: ClosingParts, steps: ClosingSteps): Promise<void> {
  await steps.attempt(() => parts.compactor.stop())
  await steps.attempt(() => parts.flusher.stop())
  await steps.attempt(() => parts.executor.close())
  parts.reserve.makeRoom(changeBytes)
  await steps.attempt(() => parts.log.close())
  await steps.attempt(() => closeVersions(parts, steps))
  await steps.attempt(() => parts.readers.closeAll())
  await steps.attempt(() => parts.remover.idle())
  parts.reserve.restore(parts.versions.durableManifest.length)
  parts.reserve.closeSync()
  await steps.attempt(() => parts.lock.release())
}
