/**
 * Changes of the catalog: create, alter, truncate and drop tables and namespaces. Each is one
 * manifest edit. Snapshots and bulk loads use the same queue.
 *
 * Changes run one at a time. They are short, and so no change meets a table that another one is
 * changing.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { namespaceOf } from '../../cell/limits.js'
import type { JsonObject } from '../../version/json-fields.js'
import type { TableDefinition } from '../../version/catalog.js'
import { changeBytes } from '../../version/space-reserve.js'
import type { VersionEdit } from '../../version/version-edit.js'
import { decodeFamilySettings } from '../../store/family-settings.js'
import { noSuchNamespace, type Catalog, type TableState } from './catalog.js'
import type { Engine } from '../engine.js'

/** Receives changes of the catalog; the table layer loads coprocessors by it. */
export interface CatalogWatcher {
  /** Called before a table is created or changed. An error refuses the change. */
  prepare(definition: TableDefinition): Promise<void>
  /** Called when the table is in use as `prepare` was told. */
  installed(table: TableState): void
  dropped(name: string): void
}

export class Ddl {
  private readonly engine: Engine
  private readonly catalog: Catalog
  private readonly watcher: CatalogWatcher
  private running: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine, watcher: CatalogWatcher) {
    this.engine = engine
    this.catalog = engine.catalog
    this.watcher = watcher
  }

  /** Creates a table. Throws `ERR_TABLE_EXISTS`. `define` is called when the change begins. */
  create(name: string, define: () => TableDefinition): Promise<TableState> {
    return this.enqueue(async () => {
      this.catalog.checkNew(name)
      this.catalog.checkNamespace(name)
      const definition = define()
      await this.publish({ tablesCreated: [definition] }, definition)
      return this.install(definition)
    })
  }

  /** Replaces a table's definition. Families that are missing in the new one lose their data. */
  alter(name: string, define: (table: TableState) => TableDefinition): Promise<TableState> {
    return this.enqueue(async () => {
      const table = this.catalog.find(name)
      const definition = define(table)
      await this.publish({ tablesAltered: [definition] }, definition)
      const kept = new Set(definition.families.map((family) => family.storeId))
      this.forget(table, (storeId) => !kept.has(storeId))
      return this.install(definition)
    })
  }

  /** Gives a table new, empty stores. */
  truncate(name: string): Promise<TableState> {
    return this.enqueue(async () => {
      const table = this.catalog.find(name)
      const { definition } = table
      const families = definition.families.map((family) => {
        return { ...family, storeId: this.engine.versions.allocateId() }
      })
      const emptied = { ...definition, families }
      await this.publish({ tablesAltered: [emptied] }, emptied)
      this.forget(table, () => true)
      return this.install(emptied)
    }, true)
  }

  /** Removes a table with all its data. */
  drop(name: string): Promise<void> {
    return this.enqueue(async () => {
      const table = this.catalog.find(name)
      await this.publish({ tablesDropped: [table.tableId] })
      this.catalog.tables.delete(name)
      this.forget(table, () => true)
      this.engine.reports.times.dropTable(name)
      this.watcher.dropped(name)
    }, true)
  }

  /**
   * Creates a namespace, or replaces its properties by those that `decide` returns for the known
   * ones.
   */
  putNamespace(name: string, decide: (known: JsonObject | undefined) => JsonObject): Promise<void> {
    return this.enqueue(async () => {
      const known = this.engine.versions.current.namespaces.get(name)
      const properties = decide(known?.properties)
      await this.publish({ namespacesPut: [{ name, properties }] })
    })
  }

  /**
   * Removes a namespace without tables. Throws `ERR_NAMESPACE_NOT_FOUND` or
   * `ERR_NAMESPACE_NOT_EMPTY`.
   */
  dropNamespace(name: string): Promise<void> {
    return this.enqueue(async () => {
      if (!this.engine.versions.current.namespaces.has(name)) throw noSuchNamespace(name)
      for (const table of this.catalog.tables.keys()) {
        if (namespaceOf(table) !== name) continue
        const message = `namespace '${name}' still has the table '${table}'`
        throw new CellarError(ErrorCode.namespaceNotEmpty, message)
      }
      await this.publish({ namespacesDropped: [name] })
    })
  }

  /**
   * @internal Publishes an edit of the catalog. New stores count as flushed up to now, so that
   * recovery does not look for older log segments because of them.
   */
  async publish(edit: VersionEdit, definition?: TableDefinition): Promise<void> {
    if (definition !== undefined) await this.prepare(definition)
    // The edit must not survive a power cut that takes mutations from before: rows would be torn.
    await this.engine.log.commit('FSYNC_WAL')
    const { lastSequence } = this.engine.readPoints
    const flushedSequences = (definition?.families ?? [])
      .filter(({ storeId }) => !this.catalog.stores.has(storeId))
      .map(({ storeId }) => ({ storeId, sequence: lastSequence }))
    await this.engine.publisher.publish({ ...edit, flushedSequences, lastSequence })
  }

  /** @internal Called before the edit with a definition, which {@link install} puts into use. */
  async prepare(definition: TableDefinition): Promise<void> {
    // A codec that this Node lacks is refused now, not at the first flush.
    for (const { options } of definition.families) {
      this.engine.codecs.byName(decodeFamilySettings(options).codec)
    }
    await this.watcher.prepare(definition)
  }

  /** @internal Puts a table of the current version into use. */
  install(definition: TableDefinition): TableState {
    const state = this.catalog.install(definition)
    this.watcher.installed(state)
    return state
  }

  /** @internal Gives up the stores that a change has dropped from the table. */
  forget(table: TableState, gone: (storeId: number) => boolean): void {
    this.engine.background.forget(this.catalog.forget(table, gone))
    this.engine.versions.removeObsoleteFiles()
  }

  /**
   * @internal Runs a change after all earlier ones. Settles after the obsolete files were removed.
   *
   * @param freesSpace - the change frees space, so it may use the reserve on a full disk.
   */
  enqueue<T>(step: () => Promise<T>, freesSpace = false): Promise<T> {
    const { reserve, remover, versions } = this.engine
    const run = this.running.then(() =>
      this.engine.lifecycle.change(async () => {
        if (freesSpace) reserve.makeRoom(changeBytes)
        try {
          return await step()
        } finally {
          await remover.idle()
          if (freesSpace) reserve.restore(versions.durableManifest.length)
        }
      }),
    )
    this.running = run.catch(() => undefined)
    return run
  }
}
