/**
 * The tables as the engine runs them: definitions of the current version joined with their stores.
 *
 * A `TableState` is immutable except for `live`; altering or truncating a table makes a new one and
 * marks the old as not live, so that holders look up the current one.
 */
import type { ValueSource } from '../scan/value-source.js'
import type { ArenaPool } from '../store/arena-pool.js'
import { Store, type LeveledTables } from '../store/store.js'
import { decodeFamilySettings, type FamilySettings } from '../store/family-settings.js'
import type { TableDefinition } from '../version/catalog.js'
import type { Durability } from '../wal/log.js'

/** Options of a table, defaults filled in. */
export interface TableSettings {
  readonly durability: Durability
  readonly readOnly: boolean
  /** A memtable of the table is flushed at so many bytes; Infinity = the database decides. */
  readonly flushBytes: number
  /** What users keep with the table; means nothing here. */
  readonly metadata: Readonly<Record<string, string>>
  /** Nothing is read or written until it is enabled again. */
  readonly disabled: boolean
  /** Modules that the table layer loads when the table is opened, in their form in the manifest. */
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
  /** In the order of their names' bytes, as results list them. */
  readonly families: readonly FamilyState[]
  readonly familyNames: readonly string[]
  readonly familyByName: ReadonlyMap<string, FamilyState>
  /** False once the table was dropped, altered or truncated. */
  live: boolean
}

/** Reads table settings from a definition. */
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

/**
 * Builds the state of a table. Existing stores are kept and get their new settings; missing ones
 * are made with the tables that `readersOf` gives for them.
 */
export function makeTableState(
  definition: TableDefinition,
  stores: Map<number, Store>,
  readersOf: (storeId: number) => LeveledTables,
  values: ValueSource,
  arenas: ArenaPool,
): TableState {
  const tableSettings = decodeTableSettings(definition)
  const sorted = [...definition.families].sort((a, b) =>
    Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)),
  )
  const families = sorted.map(({ storeId, name, options }, index): FamilyState => {
    const settings = decodeFamilySettings(options)
    let store = stores.get(storeId)
    if (store === undefined) {
      store = new Store(storeId, name, settings, readersOf(storeId), values, arenas)
      stores.set(storeId, store)
    }
    store.settings = settings
    store.flushBytes = tableSettings.flushBytes
    return { index, name, settings, store }
  })
  return {
    tableId: definition.tableId,
    name: definition.name,
    definition,
    settings: tableSettings,
    families,
    familyNames: families.map((family) => family.name),
    familyByName: new Map(families.map((family) => [family.name, family])),
    live: true,
  }
}
