/**
 * The tables in use: definitions of the current version, joined with their stores.
 *
 * A `TableState` is immutable except for `live`. Altering or truncating a table makes a new state
 * and marks the old one as not live, so that its holders look up the current one.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { defaultNamespace, namespaceOf } from '../../cell/limits.js'
import type { SsTableReaders } from '../../files/sstable-readers.js'
import type { ArenaPool } from '../../store/arena-pool.js'
import { Store } from '../../store/store.js'
import { decodeFamilySettings, type FamilySettings } from '../../store/family-settings.js'
import type { TableDefinition } from '../../version/catalog.js'
import type { VersionSet } from '../../version/version-set.js'
import type { Durability } from '../../wal/log-options.js'

/** Options of a table, with defaults filled in. */
export interface TableSettings {
  readonly durability: Durability
  readonly readOnly: boolean
  /**
   * The memtable of a family is flushed at this many bytes; Infinity = the option of the database.
   */
  readonly flushBytes: number
  /** Metadata that users attach to the table; the engine does not read it. */
  readonly metadata: Readonly<Record<string, string>>
  /** Whether reads and writes are refused until the table is enabled again. */
  readonly disabled: boolean
  /** Modules that the table layer loads when the table is opened, as the manifest stores them. */
  readonly coprocessors: readonly CoprocessorSetting[]
}

/** A coprocessor that the schema of a table names. */
export interface CoprocessorSetting {
  readonly module: string
  readonly options: Readonly<Record<string, unknown>>
  readonly priority: number
}

/** One family of a table. */
export interface FamilyState {
  /** Position in {@link TableState.families}. */
  readonly index: number
  readonly name: string
  readonly settings: FamilySettings
  readonly store: Store
}

/** One table. */
export interface TableState {
  readonly tableId: number
  readonly name: string
  readonly definition: TableDefinition
  readonly settings: TableSettings
  /** Ordered by the bytes of their names, as results list them. */
  readonly families: readonly FamilyState[]
  readonly familyNames: readonly string[]
  readonly familyByName: ReadonlyMap<string, FamilyState>
  /** False once the table was dropped, altered or truncated. */
  live: boolean
}

/** Decodes the settings in a table's definition; missing ones get their defaults. */
export function decodeTableSettings(definition: TableDefinition): TableSettings {
  const stored = definition.options as Partial<TableSettings>
  return {
    durability: stored.durability ?? 'SYNC_WAL',
    readOnly: stored.readOnly ?? false,
    flushBytes: stored.flushBytes ?? Infinity,
    metadata: stored.metadata ?? {},
    disabled: stored.disabled ?? false,
    coprocessors: stored.coprocessors ?? [],
  }
}

export class Catalog {
  /** Memory of the memtables. */
  readonly arenas: ArenaPool
  readonly tables = new Map<string, TableState>()
  readonly stores = new Map<number, Store>()
  private readonly versions: VersionSet
  private readonly readers: SsTableReaders
  private readonly namesByStore = new Map<Store, string>()

  /** Puts the tables of the current version into use. */
  constructor(versions: VersionSet, readers: SsTableReaders, arenas: ArenaPool) {
    this.versions = versions
    this.readers = readers
    this.arenas = arenas
    for (const definition of versions.current.tables.values()) {
      if (definition.snapshot === undefined) this.install(definition)
    }
  }

  /** The table with that name. Throws `ERR_TABLE_NOT_FOUND`. */
  find(name: string): TableState {
    const table = this.tables.get(name)
    if (table !== undefined) return table
    throw new CellarError(ErrorCode.tableNotFound, `table '${name}' does not exist`)
  }

  /** Name of the table that a store belongs to; empty if the table was dropped. */
  tableNameOf(store: Store): string {
    return this.namesByStore.get(store) ?? ''
  }

  /** Throws `ERR_TABLE_EXISTS` if there is a table with that name. */
  checkNew(name: string): void {
    if (!this.tables.has(name)) return
    throw new CellarError(ErrorCode.tableExists, `table '${name}' exists already`)
  }

  /** Throws `ERR_NAMESPACE_NOT_FOUND` unless the table's namespace exists. */
  checkNamespace(table: string): void {
    const namespace = namespaceOf(table)
    if (namespace === defaultNamespace) return
    if (!this.versions.current.namespaces.has(namespace)) throw noSuchNamespace(namespace)
  }

  /**
   * Puts a table of the current version into use. Existing stores are kept and get their new
   * settings. Missing stores are made with the SSTables that the version names.
   */
  install(definition: TableDefinition): TableState {
    const { name } = definition
    const settings = decodeTableSettings(definition)
    const sorted = [...definition.families].sort((a, b) =>
      Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)),
    )
    const families = sorted.map(({ storeId, name, options }, index): FamilyState => {
      const familySettings = decodeFamilySettings(options)
      const store = this.stores.get(storeId) ?? this.makeStore(storeId, name, familySettings)
      store.settings = familySettings
      store.flushBytes = settings.flushBytes
      this.namesByStore.set(store, definition.name)
      return { index, name, settings: familySettings, store }
    })
    const before = this.tables.get(name)
    if (before !== undefined) before.live = false
    const state: TableState = {
      ...{ tableId: definition.tableId, name, definition, settings, families },
      familyNames: families.map((family) => family.name),
      familyByName: new Map(families.map((family) => [family.name, family])),
      live: true,
    }
    this.tables.set(name, state)
    return state
  }

  /** Gives up the stores of a table for which `gone` is true, and returns them. */
  forget(table: TableState, gone: (storeId: number) => boolean): Store[] {
    table.live = false
    const forgotten = table.families.map(({ store }) => store).filter((s) => gone(s.storeId))
    for (const store of forgotten) {
      store.dropped = true
      this.stores.delete(store.storeId)
      this.namesByStore.delete(store)
    }
    return forgotten
  }

  private makeStore(storeId: number, family: string, settings: FamilySettings): Store {
    const { readers, versions, arenas } = this
    const tables = readers.openLevels(versions.current.stores.get(storeId)?.levels)
    const store = new Store(storeId, family, settings, tables, readers.values, arenas)
    this.stores.set(storeId, store)
    return store
  }
}

/** Makes an `ERR_NAMESPACE_NOT_FOUND`. */
export function noSuchNamespace(name: string): CellarError {
  return new CellarError(ErrorCode.namespaceNotFound, `namespace '${name}' does not exist`)
}
