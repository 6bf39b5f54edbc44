/** Snapshots: read points held by users. */
import { closedError, invalidArgument } from '../../base/errors.js'
import { checkIsolation } from '../../checks/reads.js'
import type { ReadPoints } from '../../storage/engine/catalog/read-points.js'
import type { ReadOptions, Snapshot } from '../../api/index.js'

export class EngineSnapshot implements Snapshot {
  readonly sequence: number
  /** @internal Time of creation: for reads through the snapshot, cells expire as of this time. */
  readonly milliseconds: number
  readonly #readPoints: ReadPoints
  readonly #readPoint: number
  #open = true

  /** @internal Taken by `Database.snapshot`. */
  constructor(readPoints: ReadPoints, milliseconds: number) {
    this.#readPoints = readPoints
    this.sequence = readPoints.lastSequence
    this.milliseconds = milliseconds
    this.#readPoint = readPoints.add(this.sequence)
    readPoints.snapshotCount++
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#readPoints.snapshotCount--
    this.#readPoints.remove(this.#readPoint)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /**
   * @internal The read point. Throws unless the snapshot is of this database, and open or in use by
   * a read that was called before it was closed.
   */
  readPointIn(readPoints: ReadPoints): number {
    if (readPoints !== this.#readPoints) {
      throw invalidArgument('the snapshot belongs to another database')
    }
    if (!this.#open && !readPoints.holdsForRead(this.#readPoint)) throw closedError('the snapshot')
    return this.#readPoint
  }
}

/** The read point of a read: the snapshot's, the newest, or none at all. */
export function readPointOf({ snapshot, isolation }: ReadOptions, readPoints: ReadPoints): number {
  if (isolation !== undefined) checkIsolation(isolation, snapshot)
  if (isolation === 'READ_UNCOMMITTED') return Number.MAX_SAFE_INTEGER
  if (snapshot === undefined) return readPoints.lastSequence
  if (snapshot instanceof EngineSnapshot) return snapshot.readPointIn(readPoints)
  throw invalidArgument('snapshot must come from Database.snapshot')
}

/** The read time for expiry: that of the snapshot; undefined: now. */
export function readTimeOf({ snapshot }: ReadOptions): number | undefined {
  return snapshot instanceof EngineSnapshot ? snapshot.milliseconds : undefined
}
