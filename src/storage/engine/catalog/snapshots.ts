/**
 * Snapshots of tables: a second name (hard link) for every file of a table, and a definition in the
 * catalog.
 *
 * In the manifest a snapshot is a table definition with `snapshot`, whose stores own the linked
 * files. So no change of the table, not even its drop, affects them. All rules for files of tables
 * apply to them too: files are checked at open, and removed when no version shows them.
 *
 * Each operation is one manifest edit, which is durable when the promise resolves. A crash at any
 * step leaves the state before or after it, and the next open removes links that no edit names. An
 * error before the edit removes the links.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import type { SnapshotOrigin, TableDefinition } from '../../version/catalog.js'
import type { VersionEdit } from '../../version/version-edit.js'
import type { TableState } from './catalog.js'
import type { Ddl } from './ddl.js'
import type { Engine } from '../engine.js'
import { FileAdoption } from './file-adoption.js'
import { captureFiles, captureFlushed } from './table-capture.js'

/** A snapshot, as `list` returns it. */
export interface SnapshotState extends SnapshotOrigin {
  readonly name: string
  readonly definition: TableDefinition
  /** Bytes of its files, including those that the table still shares. */
  readonly fileBytes: number
}

/**
 * Turns the definition of a snapshot into that of the table that receives its rows; `table`: the
 * existing table, undefined if it is new.
 */
type Adapt = (definition: TableDefinition, table: TableState | undefined) => TableDefinition

export class TableSnapshots {
  private readonly engine: Engine
  private readonly ddl: Ddl
  private readonly adapt: Adapt

  constructor(engine: Engine, ddl: Ddl, adapt: Adapt) {
    this.engine = engine
    this.ddl = ddl
    this.adapt = adapt
  }

  /** All snapshots, by name. */
  list(): SnapshotState[] {
    const { current } = this.engine.versions
    const found: SnapshotState[] = []
    for (const definition of current.tables.values()) {
      const { snapshot, name } = definition
      if (snapshot === undefined) continue
      const files = definition.families.flatMap(({ storeId }) => current.filesOf(storeId))
      const fileBytes = files.reduce((sum, file) => sum + file.fileBytes, 0)
      found.push({ ...snapshot, name, definition, fileBytes })
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Takes a snapshot of a table when its turn in the queue of changes of tables comes: exactly the
   * mutations up to one sequence, over all families. With `flush` false, only the mutations in
   * SSTables. Throws `ERR_TABLE_NOT_FOUND` or `ERR_SNAPSHOT_EXISTS`.
   */
  take(tableName: string, name: string, flush: boolean): Promise<SnapshotOrigin> {
    return this.ddl.enqueue(async () => {
      const table = this.engine.catalog.find(tableName)
      if (this.engine.versions.current.snapshotNamed(name) !== undefined) {
        throw new CellarError(ErrorCode.snapshotExists, `snapshot '${name}' exists already`)
      }
      const { engine } = this
      const captured = flush
        ? await captureFlushed(engine, table)
        : captureFiles(engine.versions.current, table)
      try {
        const createdMilliseconds = engine.clock.now()
        const snapshot = { table: tableName, sequence: captured.sequence, createdMilliseconds }
        const copy = { ...this.copyOf(table.definition, name), snapshot }
        await this.adopting(async (adoption) => {
          for (const [position, { name: family }] of table.families.entries()) {
            const { storeId } = copy.families.find((other) => other.name === family)!
            for (const file of captured.files[position]) await adoption.share(file, storeId)
          }
          adoption.prepare(false)
          await this.ddl.publish({ tablesCreated: [copy], filesAdded: adoption.filesAdded })
        })
        return snapshot
      } finally {
        captured.release()
      }
    })
  }

  /** Makes a new table from a snapshot. Throws `ERR_SNAPSHOT_NOT_FOUND` or `ERR_TABLE_EXISTS`. */
  clone(name: string, tableName: string): Promise<TableState> {
    return this.ddl.enqueue(async () => {
      const source = this.find(name)
      this.engine.catalog.checkNew(tableName)
      this.engine.catalog.checkNamespace(tableName)
      const copy = this.adapt(this.copyOf(source, tableName), undefined)
      await this.publishShared(source, copy, { tablesCreated: [copy] })
      return this.install(copy)
    })
  }

  /**
   * Gives the table of a snapshot the definition and rows that it had, in one edit. A dropped table
   * is created again. Running scans continue to read the rows from before.
   */
  restore(name: string): Promise<TableState> {
    return this.ddl.enqueue(async () => {
      const source = this.find(name)
      const tableName = source.snapshot!.table
      const table = this.engine.catalog.tables.get(tableName)
      this.engine.catalog.checkNamespace(tableName)
      const fresh = this.adapt(this.copyOf(source, tableName), table)
      const copy = table === undefined ? fresh : { ...fresh, tableId: table.tableId }
      const change = table === undefined ? { tablesCreated: [copy] } : { tablesAltered: [copy] }
      await this.publishShared(source, copy, change)
      if (table !== undefined) this.ddl.forget(table, () => true)
      return this.install(copy)
    })
  }

  /** Removes a snapshot. Tables made from it stay. Throws `ERR_SNAPSHOT_NOT_FOUND`. */
  delete(name: string): Promise<void> {
    return this.ddl.enqueue(async () => {
      await this.ddl.publish({ tablesDropped: [this.find(name).tableId] })
      this.engine.versions.removeObsoleteFiles()
    }, true)
  }

  private find(name: string): TableDefinition {
    const found = this.engine.versions.current.snapshotNamed(name)
    if (found !== undefined) return found
    throw new CellarError(ErrorCode.snapshotNotFound, `snapshot '${name}' does not exist`)
  }

  /** A copy of the definition with another name and new stores. */
  private copyOf(definition: TableDefinition, name: string): TableDefinition {
    const { versions } = this.engine
    const { families, options } = definition
    return {
      tableId: versions.allocateId(),
      name,
      families: families.map((family) => ({ ...family, storeId: versions.allocateId() })),
      options,
    }
  }

  /** Puts a table with the files of a snapshot into use. */
  private install(copy: TableDefinition): TableState {
    const table = this.ddl.install(copy)
    for (const { store } of table.families) this.engine.readPoints.storeFilled(store)
    return table
  }

  /** Publishes `copy` with the files of a snapshot, which has the same families. */
  private async publishShared(
    source: TableDefinition,
    copy: TableDefinition,
    change: VersionEdit,
  ): Promise<void> {
    const version = this.engine.versions.current.acquire()
    try {
      await this.adopting(async (adoption) => {
        for (const [position, { storeId }] of source.families.entries()) {
          for (const file of version.filesOf(storeId))
            await adoption.share(file, copy.families[position].storeId)
        }
        adoption.prepare(true)
        await this.ddl.publish({ ...change, filesAdded: adoption.filesAdded }, copy)
      })
    } finally {
      version.release()
    }
  }

  /** Adopts files and publishes them. An error before the edit removes them. */
  private async adopting(steps: (adoption: FileAdoption) => Promise<void>): Promise<void> {
    const adoption = new FileAdoption(this.engine)
    try {
      await steps(adoption)
    } catch (error) {
      // A failed edit may be in the manifest, so its files must stay.
      if (this.engine.lifecycle.failure === undefined) adoption.abandon()
      throw error
    }
  }
}
