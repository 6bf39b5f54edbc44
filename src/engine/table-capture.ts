/**
 * The files that hold a table's data at one moment, exactly.
 *
 * The moment is the call: every mutation of the table up to `sequence` is in the files, and none
 * behind it. The memtables of all families are frozen in one turn; a family's files are taken from
 * the very version in which the last of those memtables became a file, before any later one.
 *
 * REQUIRES that nothing but flushes and compactions changes the table's files meanwhile (`Ddl`
 * runs one change at a time). The versions taken are held until {@link CapturedTable.release}, so
 * no file disappears.
 *
 * Failure behaviour: a flush that fails rejects the capture; nothing was changed.
 */
import { assert } from '../base/assert.js'
import { deferred } from '../base/deferred.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { Version } from '../version/version.js'
import type { TableState } from './catalog.js'
import type { Engine } from './engine.js'

/** Files of a table by family; see the file header. */
export interface CapturedTable {
  /** Every mutation of the table up to this sequence is in the files. */
  readonly sequence: number
  /** The files of each family, in the order of `TableState.families`. */
  readonly files: readonly (readonly FileMetadata[])[]
  /** Lets the files go. */
  release(): void
}

/** Takes the table as it is now: what is in memory is flushed first. */
export async function captureFlushed(engine: Engine, table: TableState): Promise<CapturedTable> {
  const sequence = engine.lastSequence
  const versions: (Version | undefined)[] = []
  /** By position of the family: how far its files must reach. */
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
      if ((version.store(storeId)?.flushedSequence ?? 0) < covered) continue
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
      // Writers that never pause could keep a drain going, so the capture does not wait for its
      // end.
      await Promise.race([complete.promise, drainAll(engine, stores)])
    }
    assert(awaited.size === 0, 'every family of a captured table is flushed')
    return { sequence, files: filesOf(table, versions), release }
  } catch (error) {
    release()
    throw error
  } finally {
    engine.versions.removeListener(listener)
  }
}

/** Takes the table's files without what is in memory. */
export function captureFiles(engine: Engine, table: TableState): CapturedTable {
  const version = engine.versions.current.acquire()
  const versions = table.families.map(() => version)
  const sequence = Math.max(
    0,
    ...table.families.map(({ store }) => version.store(store.storeId)?.flushedSequence ?? 0),
  )
  return { sequence, files: filesOf(table, versions), release: () => version.release() }
}

async function drainAll(
  engine: Engine,
  stores: readonly TableState['families'][number]['store'][],
) {
  for (const store of stores) await engine.background.flusher.drain(store)
}

function filesOf(table: TableState, versions: readonly (Version | undefined)[]): FileMetadata[][] {
  return table.families.map(({ store }, position) =>
    (versions[position]?.store(store.storeId)?.levels ?? []).flat(),
  )
}
