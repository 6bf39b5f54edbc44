/**
 * The tables in use: definitions of the current version, joined with their stores.
 *
 * A `TableState` is immutable except for `live`. Altering or truncating a table makes a new state
 * and marks the old one as not live, so that its holders look up the current one.
 */
import type { ValueSource } from '../../scan/store-read.js'
import type { ArenaPool } from '../../store/arena-pool.js'
import { Store, type LeveledTables } from '../../store/store.js'
import { decodeFamilySettings, type FamilySettings } from '../../store/family-settings.js'
import type { TableDefinition } from '../../version/catalog.js'
import type { Durability } from '../../wal/log.js'

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

/**
 * Builds the state of a table. Existing stores are kept and get their new settings. Missing stores
 * are made with the SSTables that `readersOf` returns.
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
