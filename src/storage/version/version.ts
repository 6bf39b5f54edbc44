/**
 * A version: the tables of the database, and the files of each store, at one moment.
 *
 * Versions are immutable. A reader acquires the current version, reads from its files and releases
 * the version. Files that a later version dropped stay on the disk until then.
 */

import { assert } from '../../base/assert.js'
import type { NamespaceDefinition, TableDefinition } from './catalog.js'
import type { FileMetadata } from './file-metadata.js'

/** The files of one store (one family of one table). Immutable. */
export interface StoreVersion {
  readonly storeId: number
  /** Every mutation of the store up to and including this sequence is in SSTables. */
  readonly flushedSequence: number
  /**
   * Files by level. There is always a level 0, whose files are ordered newest first (`maxSequence`,
   * then file number, descending). The files of a deeper level are ordered by key and do not
   * overlap.
   */
  readonly levels: readonly (readonly FileMetadata[])[]
}

/** The content of a version, without its reference count. Immutable. */
export interface VersionState {
  /** Tables and snapshots, by identifier. */
  readonly tables: ReadonlyMap<number, TableDefinition>
  /** Namespaces by name, without the two that every database has. */
  readonly namespaces: ReadonlyMap<string, NamespaceDefinition>
  /** Stores by identifier: exactly those that the families of {@link tables} name. */
  readonly stores: ReadonlyMap<number, StoreVersion>
  /** Greater than every file number that the state names. */
  readonly nextFileNumber: number
  /** Greater than every table and store identifier that the state names. */
  readonly nextId: number
  /** Log segments with a smaller number are not needed. */
  readonly logFileNumberFloor: number
  /** At least the sequence of every entry in a file and every flushed sequence. */
  readonly lastSequence: number
  /** Highest timestamp that the engine's clock is known to have assigned; 0 = none. */
  readonly lastServerTimestamp: number
}

/** The state of a new database. */
export const emptyState: VersionState = {
  tables: new Map(),
  namespaces: new Map(),
  stores: new Map(),
  nextFileNumber: 1,
  nextId: 1,
  logFileNumberFloor: 0,
  lastSequence: 0,
  lastServerTimestamp: 0,
}

/** An immutable, reference counted version. */
export class Version implements VersionState {
  /** Number of the version within its version set, ascending. Not stored. */
  readonly versionNumber: number
  readonly tables: ReadonlyMap<number, TableDefinition>
  readonly namespaces: ReadonlyMap<string, NamespaceDefinition>
  readonly stores: ReadonlyMap<number, StoreVersion>
  readonly nextFileNumber: number
  readonly nextId: number
  readonly logFileNumberFloor: number
  readonly lastSequence: number
  readonly lastServerTimestamp: number
  private references = 1
  private readonly onUnreferenced: (version: Version) => void

  /** The creator holds the first reference. The last release calls `onUnreferenced` once. */
  constructor(
    versionNumber: number,
    state: VersionState,
    onUnreferenced: (version: Version) => void,
  ) {
    this.versionNumber = versionNumber
    this.tables = state.tables
    this.namespaces = state.namespaces
    this.stores = state.stores
    this.nextFileNumber = state.nextFileNumber
    this.nextId = state.nextId
    this.logFileNumberFloor = state.logFileNumberFloor
    this.lastSequence = state.lastSequence
    this.lastServerTimestamp = state.lastServerTimestamp
    this.onUnreferenced = onUnreferenced
  }

  /** Keeps the files of this version on the disk until the matching {@link release}. */
  acquire(): this {
    assert(this.references > 0, 'a version that nobody holds cannot be acquired')
    this.references++
    return this
  }

  /** Gives one reference back. */
  release(): void {
    assert(this.references > 0, 'a version is released more often than it was acquired')
    this.references--
    if (this.references === 0) this.onUnreferenced(this)
  }

  /** The files of a store, level 0 first; none if no such store exists. */
  filesOf(storeId: number): readonly FileMetadata[] {
    return (this.stores.get(storeId)?.levels ?? []).flat()
  }

  /** The snapshot with that name; undefined if there is none. */
  snapshotNamed(name: string): TableDefinition | undefined {
    for (const table of this.tables.values()) {
      if (table.name === name && table.snapshot !== undefined) return table
    }
    return undefined
  }
}

/** Calls `visit` for every file of every store. */
export function forEachFile(
  state: Pick<VersionState, 'stores'>,
  visit: (file: FileMetadata, storeId: number) => void,
): void {
  for (const store of state.stores.values()) {
    for (const level of store.levels) for (const file of level) visit(file, store.storeId)
  }
}

/** Lengths in bytes of the value files to which the files of a state refer, by file number. */
export function valueFilesOf(state: Pick<VersionState, 'stores'>): Map<number, number> {
  const found = new Map<number, number>()
  forEachFile(state, ({ valueFiles = [] }) => {
    for (const { fileNumber, fileBytes } of valueFiles) found.set(fileNumber, fileBytes)
  })
  return found
}
