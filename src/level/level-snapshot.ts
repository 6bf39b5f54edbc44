/** Explicit snapshots: what `TableLevel.snapshot` returns. */
import { AbstractSnapshot } from 'abstract-level'
import type { Snapshot } from '../api/index.js'

/** The published types lack the argument of the constructor, which names the owner. */
const OwnedSnapshot = AbstractSnapshot as unknown as new (options: object) => AbstractSnapshot

/** A view of the database at one read time; reads take it as the option `snapshot`. */
export class CellarSnapshot extends OwnedSnapshot {
  /** @internal The snapshot of the database that the Level reads. */
  readonly view: Snapshot

  /** @internal Made by `TableLevel.snapshot`. */
  constructor(view: Snapshot, options: object) {
    super(options)
    this.view = view
  }

  /** @internal */
  async _close(): Promise<void> {
    this.view.close()
  }
}
