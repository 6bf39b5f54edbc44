/**
 * Schema and maintenance under the names of HBase's `Admin`, as `Database.admin`.
 *
 * Every change of the catalog is one manifest edit, so after a crash either all or none of it is in
 * effect. It is durable when its promise resolves. Changes are serialized. Tables are named `table`
 * or `namespace:table`; `default:table` is `table`.
 */
import type { Admin as BackendAdmin } from '../api/database.js'
import { ensureTable } from '../checks/ensure-table.js'
import { checkText, readArguments } from '../base/arguments.js'
import { types } from 'node:util'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { boolean, declareOptions, type OptionsOf } from '../base/options.js'
import type { Ddl } from '../storage/engine/catalog/ddl.js'
import type { TableState } from '../storage/engine/catalog/catalog.js'
import type { Engine } from '../storage/engine/engine.js'
import type { Lifecycle } from '../storage/engine/lifecycle.js'
import { checkFamilyName, namespaceOf } from '../storage/cell/limits.js'
import { Ingest } from '../storage/engine/transfer/ingest.js'
import { TableSnapshots } from '../storage/engine/catalog/snapshots.js'
import type { TableDefinition } from '../storage/version/catalog.js'
import type { CoprocessorRegistry } from './observers/coprocessor-registry.js'
import { EmbeddedTable } from './embedded-table.js'
import { exportTable, type ExportOptions } from './transfer/export-table.js'
import { importTable, type Imported, type ImportOptions } from './transfer/import-table.js'
import {
  parseBulkLoad,
  type BulkLoaded,
  type BulkLoadOptions,
  parseCompaction,
  parseMajorCompaction,
  type CompactionWatch,
  type MajorCompaction,
} from './admin/options.js'
import { compactNamed, storesNamed } from './admin/upkeep.js'
import { Namespaces, type NamespaceDescription } from './admin/namespaces.js'
import { alterDefinition, defineTable, describeTable, restoredDefinition } from './admin/schema.js'
import { checkSnapshotName, newTableName, noSuchFamily, plainTableName } from '../api/names.js'
import type {
  FamilyOptions,
  TableAlteration,
  TableDescription,
  TableOptions,
  UnloggedState,
} from '../api/index.js'

/** A snapshot of a table. */
export interface SnapshotDescription {
  /** Name of the snapshot. */
  readonly name: string
  /** The table of the snapshot. */
  readonly table: string
  /** The snapshot holds the table's mutations up to this sequence. */
  readonly sequence: number
  /** Creation time in milliseconds since the Unix epoch. */
  readonly createdMilliseconds: number
  /** Size of its files, which need space of their own only once the table no longer has them. */
  readonly fileBytes: number
}

const snapshotOptions = declareOptions('a snapshot', {
  /** Whether the memtables are flushed first. Default true. */
  flush: boolean(true),
})

/** Schema and maintenance of one database; see the file header. */
export class Admin implements BackendAdmin {
  readonly #engine: Engine
  readonly #lifecycle: Lifecycle
  readonly #ddl: Ddl
  readonly #snapshots: TableSnapshots
  readonly #ingest: Ingest
  readonly #namespaces: Namespaces
  readonly #registry: CoprocessorRegistry

  /** @internal Made by `Database`. */
  constructor(engine: Engine, ddl: Ddl, registry: CoprocessorRegistry) {
    readArguments(() => {
      if (typeof engine?.lifecycle === 'object') return
      throw invalidArgument("an admin is the property 'admin' of an open database")
    })
    this.#engine = engine
    this.#lifecycle = engine.lifecycle
    this.#registry = registry
    this.#ddl = ddl
    this.#snapshots = new TableSnapshots(engine, ddl, restoredDefinition)
    this.#ingest = new Ingest(engine, ddl)
    this.#namespaces = new Namespaces(engine.lifecycle, engine.versions, ddl)
  }

  // Tables

  async createTable(name: string, options: TableOptions): Promise<EmbeddedTable> {
    this.#lifecycle.checkWritable()
    const plain = newTableName(name)
    const allocateId = this.#allocateId()
    const state = await this.#ddl.create(plain, () => defineTable(plain, options, allocateId))
    return this.#table(state)
  }

  async ensureTable(name: string, options: TableOptions): Promise<EmbeddedTable> {
    this.#lifecycle.checkOpen()
    await ensureTable(this, name, options)
    return this.#table(this.#find(name))
  }

  /** Creates an empty table with the options and families of another. */
  async cloneTableSchema(name: string, newName: string): Promise<EmbeddedTable> {
    this.#lifecycle.checkWritable()
    const plain = newTableName(newName)
    const allocateId = this.#allocateId()
    const state = await this.#ddl.create(plain, () => {
      const { families, options } = this.#find(name).definition
      const copies = families.map((family) => ({ ...family, storeId: allocateId() }))
      return { tableId: allocateId(), name: plain, families: copies, options: enabled(options) }
    })
    return this.#table(state)
  }

  /** Removes a table with all its rows; its snapshots stay. It need not be disabled first. */
  async deleteTable(name: string): Promise<void> {
    this.#lifecycle.checkWritable()
    await this.#ddl.drop(plainTableName(name))
  }

  /**
   * Removes all rows of a table at once. Running scans continue; views no longer see the rows.
   * There are no splits to preserve.
   */
  async truncateTable(name: string): Promise<void> {
    this.#lifecycle.checkWritable()
    await this.#ddl.truncate(plainTableName(name))
  }

  tableExists(name: string): boolean {
    this.#lifecycle.checkOpen()
    return this.#engine.catalog.tables.has(plainTableName(name))
  }

  /** Names of the tables, sorted; with a pattern, those that match it as a whole. */
  listTableNames(pattern?: RegExp): string[] {
    this.#lifecycle.checkOpen()
    return [...this.#engine.catalog.tables.keys()].sort().filter(matches(pattern, (name) => name))
  }

  /** Names of the tables of a namespace, sorted. `ERR_NAMESPACE_NOT_FOUND`. */
  listTableNamesByNamespace(namespace: string): string[] {
    this.#namespaces.get(namespace)
    return this.listTableNames().filter((table) => namespaceOf(table) === namespace)
  }

  /** The descriptions of all tables, by name. */
  listTableDescriptors(pattern?: RegExp): TableDescription[] {
    return this.listTableNames(pattern).map((name) => this.getDescriptor(name))
  }

  getDescriptor(name: string): TableDescription {
    this.#lifecycle.checkOpen()
    return describeTable(this.#find(name))
  }

  /**
   * Whether the table has changed by what no change feed shows: `SKIP_WAL`, bulk load, import,
   * truncation, restore. `ERR_TABLE_NOT_FOUND`.
   */
  unloggedState(name: string): UnloggedState {
    this.#lifecycle.checkOpen()
    const stores = this.#find(name).families.map(({ store }) => store)
    return {
      stores: stores.map(({ storeId }) => storeId).join(' '),
      mutations: stores.reduce((sum, { unloggedMutations }) => sum + unloggedMutations, 0),
    }
  }

  /** Changes options, adds and drops families; also takes effect for existing files. */
  async modifyTable(name: string, alteration: TableAlteration): Promise<TableDescription> {
    return this.#alter(name, () => alteration)
  }

  /** Adds a family. `ERR_COLUMN_FAMILY_EXISTS`. */
  async addColumnFamily(name: string, family: string, options: FamilyOptions = {}): Promise<void> {
    checkFamilyName(family)
    await this.#alter(name, (table) => {
      if (table.familyByName.has(family)) {
        const message = `table '${table.name}' has a column family '${family}' already`
        throw new CellarError(ErrorCode.columnFamilyExists, message)
      }
      return { families: Object.fromEntries([[family, options]]) }
    })
  }

  /** Changes the given options of a family. `ERR_NO_SUCH_COLUMN_FAMILY`. */
  async modifyColumnFamily(name: string, family: string, options: FamilyOptions): Promise<void> {
    checkText(family, 'family')
    await this.#alter(name, (table) => {
      if (!table.familyByName.has(family)) {
        throw noSuchFamily(family, table.name, table.familyNames)
      }
      return { families: Object.fromEntries([[family, options]]) }
    })
  }

  /** Removes a family with all its cells. `ERR_NO_SUCH_COLUMN_FAMILY`. */
  async deleteColumnFamily(name: string, family: string): Promise<void> {
    await this.#alter(name, () => ({ dropFamilies: [family] }))
  }

  /** Rejects reads and writes of the table (`ERR_TABLE_NOT_ENABLED`) until it is enabled. */
  async disableTable(name: string): Promise<void> {
    await this.#switch(name, true)
  }

  /** Enables a disabled table. */
  async enableTable(name: string): Promise<void> {
    await this.#switch(name, false)
  }

  /** Whether the table is enabled. */
  isTableEnabled(name: string): boolean {
    return !this.isTableDisabled(name)
  }

  /** Whether the table is disabled. */
  isTableDisabled(name: string): boolean {
    this.#lifecycle.checkOpen()
    return this.#find(name).settings.disabled
  }

  // Namespaces

  /** Creates a namespace. `ERR_NAMESPACE_EXISTS`, `ERR_INVALID_ARGUMENT`. */
  createNamespace(name: string, properties: Readonly<Record<string, string>> = {}): Promise<void> {
    return this.#namespaces.create(name, properties)
  }

  /** Sets properties; `null` removes one. `ERR_NAMESPACE_NOT_FOUND`. */
  modifyNamespace(
    name: string,
    properties: Readonly<Record<string, string | null>>,
  ): Promise<void> {
    return this.#namespaces.modify(name, properties)
  }

  /**
   * Removes a namespace. `ERR_NAMESPACE_NOT_FOUND`; `ERR_NAMESPACE_NOT_EMPTY` while it has tables.
   */
  deleteNamespace(name: string): Promise<void> {
    return this.#namespaces.delete(name)
  }

  /** The description of a namespace. `ERR_NAMESPACE_NOT_FOUND`. */
  getNamespaceDescriptor(name: string): NamespaceDescription {
    return this.#namespaces.get(name)
  }

  /** Names of the namespaces, sorted; always includes `default` and `hbase`. */
  listNamespaces(): string[] {
    return this.#namespaces.list()
  }

  /** All namespaces, by name. */
  listNamespaceDescriptors(): NamespaceDescription[] {
    return this.listNamespaces().map((name) => this.#namespaces.get(name))
  }

  // Snapshots

  /**
   * Takes a snapshot: exactly the table's mutations up to one point in time, over all families, as
   * links to its files. With `flush` false, only the mutations already in files (HBase: SKIPFLUSH).
   * `ERR_TABLE_NOT_FOUND`, `ERR_SNAPSHOT_EXISTS`.
   */
  async snapshot(
    name: string,
    table: string,
    options: OptionsOf<typeof snapshotOptions> = {},
  ): Promise<SnapshotDescription> {
    this.#lifecycle.checkWritable()
    checkSnapshotName(name)
    const { flush } = snapshotOptions.read(options)
    await this.#snapshots.take(plainTableName(table), name, flush)
    return this.listSnapshots().find((snapshot) => snapshot.name === name)!
  }

  /** All snapshots by name; with a pattern, those whose name matches it as a whole. */
  listSnapshots(pattern?: RegExp): SnapshotDescription[] {
    this.#lifecycle.checkOpen()
    return this.#snapshots
      .list()
      .filter(matches(pattern, ({ name }) => name))
      .map(({ name, table, sequence, createdMilliseconds, fileBytes }) => {
        return { name, table, sequence, createdMilliseconds, fileBytes }
      })
  }

  /** Snapshots of the tables whose names match. */
  listTableSnapshots(table: RegExp, pattern?: RegExp): SnapshotDescription[] {
    return this.listSnapshots(pattern).filter(matches(table, (snapshot) => snapshot.table))
  }

  /**
   * Creates a table from a snapshot, by links. Views from before see no rows of it.
   * `ERR_SNAPSHOT_NOT_FOUND`, `ERR_TABLE_EXISTS`.
   */
  async cloneSnapshot(name: string, table: string): Promise<EmbeddedTable> {
    this.#lifecycle.checkWritable()
    checkSnapshotName(name)
    const state = await this.#snapshots.clone(name, newTableName(table))
    return this.#table(state)
  }

  /**
   * Restores the options, families and rows of the snapshot's table. The table need not be
   * disabled, and is created again if it was dropped. Running scans continue; views from before no
   * longer see the rows. The table keeps the indexes that it has now: `ERR_NO_SUCH_COLUMN_FAMILY`
   * if the snapshot lacks a family of one. `ERR_SNAPSHOT_NOT_FOUND`.
   */
  async restoreSnapshot(name: string): Promise<EmbeddedTable> {
    this.#lifecycle.checkWritable()
    checkSnapshotName(name)
    const state = await this.#snapshots.restore(name)
    return this.#table(state)
  }

  /** Removes a snapshot; tables created from it stay. `ERR_SNAPSHOT_NOT_FOUND`. */
  async deleteSnapshot(name: string): Promise<void> {
    this.#lifecycle.checkWritable()
    checkSnapshotName(name)
    await this.#snapshots.delete(name)
  }

  /** Removes the snapshots whose names match as a whole; returns their names. */
  async deleteSnapshots(pattern: RegExp): Promise<string[]> {
    const names = this.listSnapshots(pattern).map(({ name }) => name)
    for (const name of names) await this.deleteSnapshot(name)
    return names
  }

  // Bulk load

  /**
   * Adds the files of finished bulk directories ({@link BulkWriter}) to a table: all of them at
   * once, over all families, or none. They are verified and then moved; with `copy` they stay in
   * place. Their cells count as written at the load, in the order of the directories and files. The
   * load is durable when the promise resolves. A change feed does not include it.
   *
   * No file is loaded after an error: `ERR_INVALID_ARGUMENT` (no finished bulk directory),
   * `ERR_CORRUPTION`, `ERR_NO_SUCH_COLUMN_FAMILY`, `ERR_TABLE_NOT_FOUND`, `ERR_READ_ONLY`,
   * `ERR_TABLE_NOT_ENABLED`, `ERR_ABORTED`, `ERR_NO_SPACE`.
   */
  async bulkLoad(
    table: string,
    directories: string | readonly string[],
    options: BulkLoadOptions = {},
  ): Promise<BulkLoaded> {
    this.#lifecycle.checkWritable()
    const { list, ...rest } = parseBulkLoad(directories, options)
    const name = plainTableName(table)
    const { chain } = this.#registry.of(name)
    chain.tell('preBulkLoad', [list])
    const loaded = await this.#ingest.load(name, list, rest)
    chain.tell('postBulkLoad', [list])
    return loaded
  }

  // Export and import

  /**
   * A stream of the table at one point in time, self-checking and compressed, in pieces of about
   * 128 KiB (HBase: Export): `pipeline(admin.exportTable('t'), createWriteStream(path))`. That
   * point is the read of the first piece. Later writes are not included.
   *
   * Errors occur while the stream is read: `ERR_TABLE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`,
   * `ERR_ABORTED`, `ERR_CORRUPTION`.
   */
  async *exportTable(name: string, options: ExportOptions = {}): AsyncGenerator<Buffer, void> {
    this.#lifecycle.checkOpen()
    yield* exportTable(this.#engine, this.#find(name), options)
  }

  /**
   * Adds the cells of an export to a table (HBase: Import), with their timestamps: all of them at
   * once when the stream was read to its end and verified, or none. An absent table is created as
   * exported; an existing one must have the families of the export. The import is durable when the
   * promise resolves. It writes SSTables and publishes them as a bulk load does. So the cells count
   * as written at the end of the import, and take precedence over equal cells. No observer is
   * called, and a change feed does not include it.
   *
   * No cell is imported after an error: `ERR_CORRUPTION` with the offset in the stream,
   * `ERR_ABORTED`, `ERR_NO_SUCH_COLUMN_FAMILY`, `ERR_READ_ONLY`, `ERR_FORMAT_VERSION`, errors of
   * the stream.
   */
  async importTable(
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    this.#lifecycle.checkWritable()
    const parts = { engine: this.#engine, ingest: this.#ingest }
    return importTable(parts, source, options)
  }

  // Upkeep

  /** Flushes the memtables of a table, of one of its families, or of all tables. */
  async flush(name?: string, family?: string): Promise<void> {
    this.#lifecycle.checkOpen()
    return this.#engine.background.flush(storesNamed(this.#engine, name, family))
  }

  /** Flushes, then merges the files chosen by the family's compaction policy. */
  async compact(name?: string, family?: string, watch: CompactionWatch = {}): Promise<void> {
    this.#lifecycle.checkOpen()
    await compactNamed(this.#engine, name, family, parseCompaction(watch))
  }

  /**
   * Flushes, then merges all files of each family, or all with rows in the range, and drops delete
   * markers. A single file that is known to keep all its cells is moved at most.
   */
  async majorCompact(name?: string, family?: string, watch: MajorCompaction = {}): Promise<void> {
    this.#lifecycle.checkOpen()
    await compactNamed(this.#engine, name, family, parseMajorCompaction(watch))
  }

  /** Enables or disables background compactions; returns the previous state. */
  compactionSwitch(on: boolean): boolean {
    this.#lifecycle.checkOpen()
    if (typeof on !== 'boolean') throw invalidArgument('compactionSwitch takes true or false')
    return this.#engine.background.enableCompaction(on)
  }

  /** Whether background compactions are enabled. */
  isCompactionEnabled(): boolean {
    this.#lifecycle.checkOpen()
    return this.#engine.background.compactor.isEnabled
  }

  /** Starts a new segment of the log. */
  rollWALWriter(): void {
    this.#lifecycle.checkWritable()
    this.#engine.log.roll()
  }

  async #alter(
    name: string,
    decide: (table: TableState) => TableAlteration,
  ): Promise<TableDescription> {
    this.#lifecycle.checkWritable()
    const allocateId = this.#allocateId()
    const state = await this.#ddl.alter(plainTableName(name), (table) =>
      alterDefinition(table, decide(table), allocateId),
    )
    return describeTable(state)
  }

  async #switch(name: string, disabled: boolean): Promise<void> {
    this.#lifecycle.checkWritable()
    await this.#ddl.alter(plainTableName(name), ({ definition }) => {
      return { ...definition, options: { ...definition.options, disabled } }
    })
  }

  #table(state: TableState): EmbeddedTable {
    return new EmbeddedTable(this.#engine, state, this.#registry)
  }

  #find(name: string): TableState {
    return this.#engine.catalog.find(plainTableName(name))
  }

  #allocateId(): () => number {
    return () => this.#engine.versions.allocateId()
  }
}

/** The options of a table, without the mark of a disabled table. */
function enabled(options: TableDefinition['options']): TableDefinition['options'] {
  return { ...options, disabled: false }
}

/** Whether a pattern matches the name of an element as a whole; without a pattern always. */
function matches<T>(pattern: RegExp | undefined, nameOf: (element: T) => string) {
  if (pattern === undefined) return () => true
  if (!types.isRegExp(pattern)) throw invalidArgument('the pattern must be a RegExp')
  const whole = readArguments(() => {
    return new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace(/[gy]/g, ''))
  })
  return (element: T): boolean => whole.test(nameOf(element))
}
