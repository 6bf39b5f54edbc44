/** Snapshots: read points held by users. */
import { closedError, invalidArgument } from '../../base/errors.js'
import { checkIsolation } from '../../checks/reads.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { ReadOptions, Snapshot } from '../../api/index.js'

export class EngineSnapshot implements Snapshot {
  readonly sequence: number
  /** @internal Time of creation: for reads through the snapshot, cells expire as of this time. */
  readonly milliseconds: number
  readonly #engine: Engine
  readonly #readPoint: number
  #open = true

  /** @internal Taken by `Database.snapshot`. */
  constructor(engine: Engine) {
    this.#engine = engine
    this.sequence = engine.lastSequence
    this.milliseconds = engine.now()
    this.#readPoint = engine.readPoints.add(this.sequence)
    engine.readPoints.snapshotCount++
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#engine.readPoints.snapshotCount--
    this.#engine.readPoints.remove(this.#readPoint)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** @internal The read point. Throws unless the snapshot is open and of this engine. */
  readPoint(engine: Engine): number {
    if (engine !== this.#engine) throw invalidArgument('the snapshot belongs to another database')
    if (!this.#open) throw closedError('the snapshot')
    return this.#readPoint
  }
}

/** The read point of a read: the snapshot's, the newest, or none at all. */
export function readPointOf({ snapshot, isolation }: ReadOptions, engine: Engine): number {
  if (isolation !== undefined) checkIsolation(isolation, snapshot)
  if (isolation === 'READ_UNCOMMITTED') return Number.MAX_SAFE_INTEGER
  if (snapshot === undefined) return engine.lastSequence
  if (snapshot instanceof EngineSnapshot) return snapshot.readPoint(engine)
  throw invalidArgument('snapshot must come from Database.snapshot')
}

/** The read time for expiry: that of the snapshot; undefined: now. */
export function readTimeOf({ snapshot }: ReadOptions): number | undefined {
  return snapshot instanceof EngineSnapshot ? snapshot.milliseconds : undefined
}
