/**
 * The one way by which files come into use: publishes edits, and exchanges the files of the stores
 * in the moment in which the version with them becomes current.
 *
 * Flushes exchange their files themselves, because a memtable goes in the same moment.
 *
 * Failure behaviour: a failed write of the manifest poisons the engine. So does a failed exchange:
 * a store that went on with the files of before would read files that are about to be removed.
 */
import type { CellarError } from '../base/errors.js'
import type { Store } from '../store/store.js'
import type { VersionEdit } from '../version/version-edit.js'
import type { OnCurrent, VersionSet } from '../version/version-set.js'
import type { Version } from '../version/version.js'
import type { ReadPoints } from './read-points.js'
import type { SsTableReaders } from '../files/sstable-readers.js'

/** What publishing needs of an engine. */
export interface PublisherParts {
  readonly versions: VersionSet
  readonly stores: ReadonlyMap<number, Store>
  readonly readers: SsTableReaders
  readonly readPoints: ReadPoints
  /** Stops all writes for good. */
  poison(error: CellarError): void
}

/** Publishes the edits of one engine; see the file header. */
export class Publisher {
  private readonly parts: PublisherParts

  constructor(parts: PublisherParts) {
    this.parts = parts
  }

  /**
   * Publishes an edit; errors as of `VersionSet.publish`. `onCurrent` is called in the moment in
   * which the edit becomes visible, when the stores have the files of the version.
   */
  async publish(edit: VersionEdit, onCurrent?: OnCurrent): Promise<void> {
    try {
      await this.parts.versions.publish(edit, this.exchanging(edit, onCurrent))
    } finally {
      this.poisonIfFailed()
    }
  }

  /** As {@link publish}, before returning. */
  publishSync(edit: VersionEdit, onCurrent?: OnCurrent): void {
    try {
      this.parts.versions.publishSync(edit, this.exchanging(edit, onCurrent))
    } finally {
      this.poisonIfFailed()
    }
  }

  private exchanging(edit: VersionEdit, onCurrent: OnCurrent | undefined): OnCurrent {
    return (version, before) => {
      this.exchangeFiles(edit, version, before)
      onCurrent?.(version, before)
    }
  }

  /** Gives the stores that an edit concerns the files that a version names. */
  private exchangeFiles(edit: VersionEdit, version: Version, before: Version): void {
    const { stores, readers, readPoints } = this.parts
    const flushed = new Set(edit.flushedSequences?.map(({ storeId }) => storeId))
    const changed = new Set([
      ...(edit.filesRemoved ?? []).map(({ storeId }) => storeId),
      ...(edit.filesAdded ?? []).map(({ storeId }) => storeId),
    ])
    for (const storeId of changed) {
      const store = stores.get(storeId)
      const levels = version.store(storeId)?.levels
      if (store === undefined || levels === undefined || flushed.has(storeId)) continue
      const replaced = before.store(storeId)?.levels ?? []
      readPoints.filesReplaced(store, replaced.flat(), levels.flat())
      store.installTables(readers.openLevels(levels))
    }
  }

  private poisonIfFailed(): void {
    const { failure } = this.parts.versions
    if (failure !== undefined) this.parts.poison(failure)
  }
}
