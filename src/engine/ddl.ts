/**
 * Changes of the catalog: create, alter, truncate and drop tables, each one manifest edit (design
 * D7).
 *
 * Only one change runs at a time; they are short, and waiting for each other spares every caller
 * from thinking about half-made tables.
 */
import { CellarError, ErrorCode } from '../base/errors.js'
import type { TableDefinition } from '../version/catalog.js'
import type { VersionEdit } from '../version/version-edit.js'
import { decodeFamilySettings } from '../store/family-settings.js'
import { makeTableState, type TableState } from './catalog.js'
import type { Engine } from './engine.js'

export class Ddl {
  private readonly engine: Engine
  private running: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** Creates a table; `ERR_TABLE_EXISTS`. `define` is called when its turn has come. */
  create(name: string, define: () => TableDefinition): Promise<TableState> {
    return this.enqueue(async () => {
      if (this.engine.tables.has(name)) {
        throw new CellarError(ErrorCode.tableExists, `table '${name}' exists already`)
      }
      const definition = define()
      await this.publish({ tablesCreated: [definition] }, definition)
      return this.install(definition)
    })
  }

  /** Replaces a table's definition; families that are no longer named lose their data. */
  alter(name: string, define: (table: TableState) => TableDefinition): Promise<TableState> {
    return this.enqueue(async () => {
      const table = this.find(name)
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
      const table = this.find(name)
      const { definition } = table
      const families = definition.families.map((family) => {
        return { ...family, storeId: this.engine.versions.allocateId() }
      })
      const emptied = { ...definition, families }
      await this.publish({ tablesAltered: [emptied] }, emptied)
      this.forget(table, () => true)
      return this.install(emptied)
    })
  }

  /** Removes a table with all its data. */
  drop(name: string): Promise<void> {
    return this.enqueue(async () => {
      const table = this.find(name)
      await this.publish({ tablesDropped: [table.tableId] })
      this.engine.tables.delete(name)
      this.forget(table, () => true)
    })
  }

  private find(name: string): TableState {
    const table = this.engine.tables.get(name)
    if (table !== undefined) return table
    throw new CellarError(ErrorCode.tableNotFound, `table '${name}' does not exist`)
  }

  /**
   * Stores that are new count as flushed up to now, so that recovery does not look for older log
   * segments on their account.
   */
  private async publish(edit: VersionEdit, definition?: TableDefinition): Promise<void> {
    // Codecs that this Node lacks are refused here, not at the first flush.
    for (const { options } of definition?.families ?? []) {
      this.engine.codecs.byName(decodeFamilySettings(options).codec)
    }
    await this.engine.syncLog()
    const { lastSequence, stores } = this.engine
    const flushedSequences = (definition?.families ?? [])
      .filter(({ storeId }) => !stores.has(storeId))
      .map(({ storeId }) => ({ storeId, sequence: lastSequence }))
    await this.engine.publish({ ...edit, flushedSequences, lastSequence })
  }

  private install(definition: TableDefinition): TableState {
    const state = makeTableState(definition, this.engine.stores, () => [], this.engine.arenas)
    const before = this.engine.tables.get(definition.name)
    if (before !== undefined) before.live = false
    this.engine.tables.set(definition.name, state)
    this.engine.versions.removeObsoleteFiles()
    return state
  }

  /** Lets go of a table's stores, or of some of them, and of the memory of their memtables. */
  private forget(table: TableState, gone: (storeId: number) => boolean): void {
    table.live = false
    for (const { store } of table.families) {
      if (!gone(store.storeId)) continue
      store.dropped = true
      this.engine.compactor.forget(store)
      this.engine.stores.delete(store.storeId)
    }
    this.engine.relief.account()
    this.engine.versions.removeObsoleteFiles()
  }

  private enqueue<T>(step: () => Promise<T>): Promise<T> {
    const run = this.running.then(() => {
      this.engine.checkWritable()
      return step()
    })
    this.running = run.catch(() => undefined)
    return run
  }
}
