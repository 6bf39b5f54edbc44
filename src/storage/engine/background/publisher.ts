/**
 * Publishes edits. At the moment when the new version becomes current, the files of the stores are
 * replaced: by the publisher, or by a flush itself, whose memtable must go at the same moment. No
 * file comes into use in another way.
 *
 * A failed replacement poisons the version set, and so the engine: the store would go on to read
 * files that are about to be removed.
 */
import type { Store } from '../../store/store.js'
import type { VersionEdit } from '../../version/version-edit.js'
import type { OnCurrent } from '../../version/version-set.js'
import type { Version } from '../../version/version.js'
import type { OpenedParts } from '../engine.js'

/** The parts of an engine that publishing needs. */
export interface PublisherParts extends Pick<OpenedParts, 'readers' | 'readPoints' | 'versions'> {
  readonly catalog: { readonly stores: ReadonlyMap<number, Store> }
}

export class Publisher {
  private readonly parts: PublisherParts

  constructor(parts: PublisherParts) {
    this.parts = parts
  }

  /**
   * Publishes an edit; errors as `VersionSet.publish`. `onCurrent` is called when the edit becomes
   * visible and the stores have the files of the new version.
   */
  async publish(edit: VersionEdit, onCurrent?: OnCurrent): Promise<void> {
    await this.parts.versions.publish(edit, this.exchanging(edit, onCurrent))
  }

  /** As {@link publish}, blocking. */
  publishSync(edit: VersionEdit, onCurrent?: OnCurrent): void {
    this.parts.versions.publishSync(edit, this.exchanging(edit, onCurrent))
  }

  private exchanging(edit: VersionEdit, onCurrent: OnCurrent | undefined): OnCurrent {
    return (version, before) => {
      this.exchangeFiles(edit, version, before)
      onCurrent?.(version, before)
    }
  }

  /** Gives each store of an edit the files that the version names. */
  private exchangeFiles(edit: VersionEdit, version: Version, before: Version): void {
    const { catalog, readers, readPoints } = this.parts
    const flushed = new Set(edit.flushedSequences?.map(({ storeId }) => storeId))
    const changed = new Set([
      ...(edit.filesRemoved ?? []).map(({ storeId }) => storeId),
      ...(edit.filesAdded ?? []).map(({ storeId }) => storeId),
    ])
    for (const storeId of changed) {
      const store = catalog.stores.get(storeId)
      const levels = version.stores.get(storeId)?.levels
      if (store === undefined || levels === undefined || flushed.has(storeId)) continue
      const replaced = before.stores.get(storeId)?.levels ?? []
      readPoints.filesReplaced(store, replaced.flat(), levels.flat(), (file) => readers.open(file))
      store.installTables(readers.openLevels(levels))
    }
  }
}
