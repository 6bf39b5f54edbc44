/**
 * The asynchronous shell of reads: runs a synchronous step on the data in memory. When a block is
 * missing that cannot be read quickly (storage/sstable/read-gate.ts), loads the block off the event
 * loop and repeats the step.
 *
 * Loaded blocks stay pinned until the step succeeds, so that repetitions make progress with any
 * cache size. The version last seen by the step stays pinned, so that its files are not removed. A
 * repeated step reads the version that is then current.
 */
import { argumentError } from '../../base/arguments.js'
import { blockMissing, type BlockLoader } from '../../storage/cursor/cursor.js'
import type { Version } from '../../storage/version/version.js'

/** Provides the version whose files a step reads. */
interface VersionHolder {
  readonly versions: { readonly current: Version }
  /** Pins the sources of open snapshots, since the step may read through one. */
  readonly readPoints: {
    holdAll(): readonly number[]
    remove(sequence: number): void
    /** Set while a step is repeated: a snapshot that it names may be closed meanwhile. */
    isRepeating: boolean
  }
}

interface Pin {
  readonly loader: BlockLoader
  readonly index: number
}

/** Whether an error is the request for a block. */
export function isBlockMissing(error: unknown): boolean {
  return error === blockMissing
}

/** Completes a step that has just thrown `BlockMissing`. */
export async function loadAndRepeat<T>(holder: VersionHolder, step: () => T): Promise<T> {
  let version = holder.versions.current.acquire()
  const held = holder.readPoints.holdAll()
  const pins: Pin[] = []
  try {
    for (;;) {
      const { loader, index } = blockMissing
      await loader!.loadBlock(index)
      pins.push({ loader: loader!, index })
      holder.readPoints.isRepeating = true
      try {
        return step()
      } catch (error) {
        if (!isBlockMissing(error)) throw error
      } finally {
        holder.readPoints.isRepeating = false
      }
      version.release()
      version = holder.versions.current.acquire()
    }
  } finally {
    for (const { loader, index } of pins) loader.releaseBlock(index)
    version.release()
    for (const sequence of held) holder.readPoints.remove(sequence)
  }
}

/** Runs a step now if all its blocks are in memory, else once they are loaded. */
export function runLoading<T>(holder: VersionHolder, step: () => T): T | Promise<T> {
  try {
    return step()
  } catch (error) {
    if (isBlockMissing(error)) return loadAndRepeat(holder, step)
    throw error
  }
}

/**
 * Runs code that reads and encodes the arguments of an operation. The code may also read stored
 * cells, so `BlockMissing` passes through.
 */
export function encode<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    throw isBlockMissing(error) ? error : argumentError(error)
  }
}
