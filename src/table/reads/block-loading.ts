/**
 * The asynchronous shell of reads: runs a synchronous step against what is in memory
 * and, when a block is missing, loads it off the event loop and runs the step again.
 *
 * Loaded blocks stay pinned until the step succeeds, so that repeating it makes progress however
 * small the cache is. The version that the step has seen last is held meanwhile, so that no file
 * disappears that it asks for: a step that is repeated reads what is current by then.
 */
import { BlockMissing, blockMissing, type BlockLoader } from '../../storage/cursor/cursor.js'
import type { Version } from '../../storage/version/version.js'

/** What names the version whose files a step reads: an engine. */
interface VersionHolder {
  readonly versions: { readonly current: Version }
  /** Holds what open snapshots read: the step may read through one. */
  readonly readPoints: {
    holdAll(): readonly number[]
    remove(sequence: number): void
  }
}

interface Pin {
  readonly loader: BlockLoader
  readonly index: number
}

/** Whether an error is the request for a block. */
export function isBlockMissing(error: unknown): error is BlockMissing {
  return error === blockMissing
}

/** Finishes a step that has just thrown `BlockMissing`. */
export async function loadAndRepeat<T>(engine: VersionHolder, step: () => T): Promise<T> {
  let version = engine.versions.current.acquire()
  const held = engine.readPoints.holdAll()
  const pins: Pin[] = []
  try {
    for (;;) {
      const { loader, index } = blockMissing
      await loader!.loadBlock(index)
      pins.push({ loader: loader!, index })
      try {
        return step()
      } catch (error) {
        if (!isBlockMissing(error)) throw error
      }
      version.release()
      version = engine.versions.current.acquire()
    }
  } finally {
    for (const { loader, index } of pins) loader.releaseBlock(index)
    version.release()
    for (const sequence of held) engine.readPoints.remove(sequence)
  }
}

/** Runs a step now if everything it needs is in memory, else as soon as it has been loaded. */
export function runLoading<T>(engine: VersionHolder, step: () => T): T | Promise<T> {
  try {
    return step()
  } catch (error) {
    if (isBlockMissing(error)) return loadAndRepeat(engine, step)
    throw error
  }
}
