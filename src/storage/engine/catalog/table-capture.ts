/**
 * Finds the files that hold exactly the data of a table, or of several, at one moment.
 *
 * The moment is the call: the files hold every mutation of the table up to `sequence` and no later
 * one. The memtables of all families are frozen in one turn. The files of a family are those of the
 * first version in which the last of its frozen memtables has become a file.
 *
 * REQUIRES that only flushes and compactions change the table's files meanwhile (`Ddl` runs one
 * change at a time). The versions are held until {@link CapturedTable.release}, so no file
 * disappears.
 *
 * A flush that fails rejects the capture. Nothing was changed then.
 */
import { assert } from '../../../base/assert.js'
import { deferred } from '../../../base/deferred.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import type { Store } from '../../store/store.js'
import type { StoreVersion, Version } from '../../version/version.js'
import type { Engine } from '../engine.js'

/** The families of one table, or of several. */
export interface CapturedFamilies {
  readonly families: readonly { readonly store: Store }[]
}

/** The files of a table by family; see the file header. */
export interface CapturedTable {
  /** Every mutation of the table up to this sequence is in the files. */
  readonly sequence: number
  /** The files of each family, in the order of `TableState.families`. */
  readonly files: readonly (readonly FileMetadata[])[]
  /** The stores of the families in the versions that have just these files. */
  readonly stores: readonly StoreVersion[]
  /** Releases the versions that hold the files. */
  release(): void
}

type CaptureParts = Pick<Engine, 'background' | 'readPoints' | 'versions'>

/** Captures the table as it is now; memtables are flushed first. */
export async function captureFlushed(
  engine: CaptureParts,
  table: CapturedFamilies,
): Promise<CapturedTable> {
  const { background, readPoints } = engine
  const sequence = readPoints.lastSequence
  const versions: (Version | undefined)[] = []
  /** Flushed sequence that the files of a family must reach, by index of the family. */
  const awaited = new Map<number, number>()
  table.families.forEach(({ store }, position) => {
    store.freeze(sequence)
    const newest = store.frozen.at(0)
    if (newest === undefined) versions[position] = engine.versions.current.acquire()
    else awaited.set(position, newest.sequenceCovered)
  })
  const complete = deferred<void>()
  const listener = (version: Version): void => {
    for (const [position, covered] of awaited) {
      const { storeId } = table.families[position].store
      if ((version.stores.get(storeId)?.flushedSequence ?? 0) < covered) continue
      versions[position] = version.acquire()
      awaited.delete(position)
    }
    if (awaited.size === 0) complete.resolve()
  }
  const release = (): void => versions.splice(0).forEach((version) => version?.release())
  engine.versions.addListener(listener)
  try {
    if (awaited.size > 0) {
      const stores = table.families.map(({ store }) => store)
      // Writers that never pause could keep a drain running, so the capture does not wait for its
      // end.
      await Promise.race([complete.promise, background.drain(stores)])
    }
    assert(awaited.size === 0, 'every family of a captured table is flushed')
    return { sequence, ...contentOf(table, versions), release }
  } catch (error) {
    release()
    throw error
  } finally {
    engine.versions.removeListener(listener)
  }
}

/** Captures the files of the table, without the mutations in memtables. */
export function captureFiles(current: Version, table: CapturedFamilies): CapturedTable {
  const version = current.acquire()
  const versions = table.families.map(() => version)
  const sequence = Math.max(
    0,
    ...table.families.map(({ store }) => version.stores.get(store.storeId)?.flushedSequence ?? 0),
  )
  return { sequence, ...contentOf(table, versions), release: () => version.release() }
}

function contentOf(
  table: CapturedFamilies,
  versions: readonly (Version | undefined)[],
): Pick<CapturedTable, 'files' | 'stores'> {
  const stores = table.families.map(({ store }, position) => {
    const found = versions[position]?.stores.get(store.storeId)
    assert(found !== undefined, 'a captured store is in its version')
    return found
  })
  return { stores, files: stores.map(({ levels }) => levels.flat()) }
}
