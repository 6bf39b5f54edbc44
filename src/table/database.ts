/**
 * The database class of the embedded engine.
 *
 * Events (`on`, `once`, `off` as in Node's EventEmitter): see {@link DatabaseEvents}. An event
 * without listeners is ignored.
 */
import type { EventEmitter } from 'node:events'
import { checkArray, readArguments } from '../base/arguments.js'
import { invalidArgument, type CellarError } from '../base/errors.js'
import {
  backUp,
  type BackupOptions,
  type BackupSummary,
} from '../storage/engine/transfer/backup.js'
import { Ddl } from '../storage/engine/catalog/ddl.js'
import type { Engine } from '../storage/engine/engine.js'
import type { DatabaseEvents } from '../storage/engine/events.js'
import type { Lifecycle } from '../storage/engine/lifecycle.js'
import { rateOption } from '../storage/engine/options.js'
import type { Recovery } from '../storage/engine/open/recovery.js'
import { restoreBackup, type RestoreOptions } from '../storage/engine/transfer/restore.js'
import type { Salvage, Verification } from '../storage/engine/inspection/findings.js'
import {
  repairDatabase,
  salvageDatabase,
  type RepairOptions,
  type SalvageOptions,
} from '../storage/engine/inspection/salvage-database.js'
import {
  inspectDatabase,
  type InspectOptions,
} from '../storage/engine/inspection/inspect-database.js'
import type { Inspection } from '../storage/engine/inspection/inspection.js'
import { verifyDatabase, type VerifyOptions } from '../storage/engine/inspection/verify-database.js'
import type { Pressure } from '../storage/engine/write/write-pacer.js'
import { allCapabilities } from '../api/capabilities.js'
import type { Coprocessor, CoprocessorRegistration } from '../api/coprocessor.js'
import type { Database as BackendDatabase } from '../api/database.js'
import { inspectSymbol, type Inspect } from '../api/results/display.js'
import type * as api from '../api/index.js'
import {
  transaction,
  type Transaction,
  type TransactionOptions,
} from '../comfort/transactions/transaction.js'
import { Admin } from './admin.js'
import { parseCompact, type CompactOptions } from './admin/options.js'
import { collectStatistics, type DatabaseStatistics } from './admin/statistics.js'
import { compactNamed } from './admin/upkeep.js'
import type { AtomicBatches } from './atomic-batches.js'
import { changes } from './changes.js'
import { checkListener, type DatabaseListener } from './database-events.js'
import type { EmbeddedTable } from './embedded-table.js'
import type { CoprocessorRegistry } from './observers/coprocessor-registry.js'
import { openDatabase, openTable, type OpenedDatabase, type OpenOptions } from './open-database.js'
import { EngineSnapshot } from './reads/snapshot.js'

/** An open database directory: tables, snapshots, statistics. Made by {@link Database.open}. */
export class Database implements BackendDatabase<EmbeddedTable> {
  /** The capabilities of this backend: all of them. */
  readonly capabilities = allCapabilities
  readonly #engine: Engine
  readonly #lifecycle: Lifecycle
  readonly #ddl: Ddl
  readonly #admin: Admin
  readonly #emitter: EventEmitter
  readonly #registry: CoprocessorRegistry
  readonly #batches: AtomicBatches

  private constructor(opened: OpenedDatabase) {
    // JavaScript does not know that the constructor is private.
    readArguments(() => {
      if (typeof opened?.engine === 'object') return
      throw invalidArgument('a database is opened by Database.open(directory), not by new')
    })
    const { engine, emitter, registry, batches } = opened
    this.#engine = engine
    this.#lifecycle = engine.lifecycle
    this.#ddl = new Ddl(engine, registry)
    this.#admin = new Admin(engine, this.#ddl, registry)
    this.#emitter = emitter
    this.#registry = registry
    this.#batches = batches
  }

  /**
   * Opens the database in a directory and recovers the mutations of the log. An absent or empty
   * directory becomes a new database (see `createIfMissing`). With `readOnly` no file is written.
   *
   * @throws CellarError `ERR_LOCKED` if it is open already, here or elsewhere; `ERR_NOT_A_DATABASE`
   * if the directory holds something else; `ERR_CORRUPTION` with file and offset if files are
   * damaged; `ERR_FORMAT_VERSION` if a newer version wrote them; `ERR_READ_ONLY` if the directory
   * cannot be written; `ERR_COPROCESSOR` if a coprocessor of a table cannot be loaded;
   * `ERR_INVALID_ARGUMENT`; `ERR_IO`; `ERR_NO_SPACE`.
   */
  static async open(directory: string, options: OpenOptions = {}): Promise<Database> {
    return new Database(await openDatabase(directory, options))
  }

  /** Whether the database was opened with `readOnly`. */
  get isReadOnly(): boolean {
    return this.#engine.options.readOnly
  }

  get cellBytesMax(): number {
    return this.#engine.options.cellBytesMax || Infinity
  }

  /** Path of the directory as given to {@link open}. */
  get directory(): string {
    return this.#engine.directory
  }

  /**
   * The result of the recovery at the open: whether the last close was clean, the mutations
   * recovered from the log, and the torn tails that were cut. Each cut also raises the event
   * `warning` directly after the open.
   */
  get recovery(): Recovery {
    return this.#engine.recovery
  }

  /** The error that made the database read-only, if any. */
  get failure(): CellarError | undefined {
    return this.#lifecycle.failure
  }

  /** Calls `listener` at each event. */
  on<E extends keyof DatabaseEvents>(event: E, listener: DatabaseListener<E>): this {
    return this.#listen('on', event, listener)
  }

  /** Calls `listener` at the next event. */
  once<E extends keyof DatabaseEvents>(event: E, listener: DatabaseListener<E>): this {
    return this.#listen('once', event, listener)
  }

  /** Removes a listener added by {@link on}. */
  off<E extends keyof DatabaseEvents>(event: E, listener: DatabaseListener<E>): this {
    return this.#listen('off', event, listener)
  }

  #listen(how: 'on' | 'once' | 'off', event: string, listener: unknown): this {
    checkListener(event, listener)
    this.#emitter[how](event, listener as (...values: unknown[]) => void)
    return this
  }

  /** Schema and maintenance under HBase's names, including namespaces and snapshots. */
  get admin(): Admin {
    return this.#admin
  }

  createTable(name: string, options: api.TableOptions): Promise<EmbeddedTable> {
    return this.#admin.createTable(name, options)
  }

  /** The table with that name, created if absent: `Admin.ensureTable`. */
  ensureTable(name: string, options: api.TableOptions): Promise<EmbeddedTable> {
    return this.#admin.ensureTable(name, options)
  }

  /** Tables with the same options, as {@link ensureTable}, one after the other. */
  async ensureTables(
    names: readonly string[],
    options: api.TableOptions,
  ): Promise<EmbeddedTable[]> {
    const tables: EmbeddedTable[] = []
    for (const name of checkArray(names, 'names'))
      tables.push(await this.ensureTable(name, options))
    return tables
  }

  table(name: string): EmbeddedTable {
    return openTable(this.#engine, this.#registry, name)
  }

  /** Whether the table exists: `Admin.tableExists`. */
  hasTable(name: string): boolean {
    return this.#admin.tableExists(name)
  }

  /** Names of all tables, sorted: `Admin.listTableNames`. */
  listTables(): string[] {
    return this.#admin.listTableNames()
  }

  /** Options of a table and its families: `Admin.getDescriptor`. `ERR_TABLE_NOT_FOUND`. */
  describeTable(name: string): api.TableDescription {
    return this.#admin.getDescriptor(name)
  }

  /**
   * Changes options, adds and drops families: `Admin.modifyTable`. Also takes effect for existing
   * files. Durable when the promise resolves.
   */
  alterTable(name: string, alteration: api.TableAlteration): Promise<api.TableDescription> {
    return this.#admin.modifyTable(name, alteration)
  }

  /** Removes all rows of a table at once: `Admin.truncateTable`. */
  truncateTable(name: string): Promise<void> {
    return this.#admin.truncateTable(name)
  }

  /** Removes a table with all its data: `Admin.deleteTable`. */
  dropTable(name: string): Promise<void> {
    return this.#admin.deleteTable(name)
  }

  /**
   * Adds a coprocessor to its tables, present and future. `ERR_INVALID_ARGUMENT`, `ERR_COPROCESSOR`
   * if the module of its hook cannot be loaded.
   */
  async registerCoprocessor(coprocessor: Coprocessor): Promise<CoprocessorRegistration> {
    this.#lifecycle.checkOpen()
    return this.#registry.register(coprocessor)
  }

  /**
   * Takes a snapshot of all tables synchronously; reads use it as their option `snapshot`. Until
   * its close every read through it has the same result, independent of writes, flushes and
   * compactions. This includes raw scans, and time ranges that show versions beyond VERSIONS. Cells
   * expire as of the time of the snapshot. Settings of families are those at the time of the read.
   * An open snapshot keeps flushes from dropping visible cells, and keeps the files that
   * compactions replace on disk, so it must be closed.
   */
  snapshot(): api.Snapshot {
    this.#lifecycle.checkOpen()
    return new EngineSnapshot(this.#engine.readPoints, this.#engine.clock.now())
  }

  atomic(batch: api.AtomicBatchOption): Promise<api.AtomicResult> {
    return this.#batches.atomic(batch)
  }

  /** As the function `transaction`, over this database. */
  transaction<T>(
    work: (transaction: Transaction) => T | Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    return transaction(this, work, options)
  }

  /** As {@link atomic}, synchronously. */
  atomicSync(batch: api.AtomicBatchOption): api.AtomicResult {
    return this.#batches.atomicSync(batch)
  }

  /** Flushes the memtables of a table, or of all tables: `Admin.flush`. */
  flush(tableName?: string): Promise<void> {
    return this.#admin.flush(tableName)
  }

  /**
   * Compacts a table, one of its families, or all tables, after a flush: `Admin.majorCompact`, or
   * `Admin.compact` without `major`. `ERR_ABORTED` by the signal leaves the files unchanged;
   * `ERR_TABLE_NOT_FOUND` if the table is dropped during the call, `ERR_CLOSED` by a close.
   */
  async compact(tableName?: string, options: CompactOptions = {}): Promise<void> {
    this.#lifecycle.checkOpen()
    const { family, request } = parseCompact(options)
    await compactNamed(this.#engine, tableName, family, request)
  }

  /**
   * Pauses all compactions, including running ones, until {@link resumeCompaction}. Flushes
   * continue.
   */
  pauseCompaction(): void {
    this.#lifecycle.checkOpen()
    this.#engine.background.pauseCompaction(true)
  }

  /** Ends {@link pauseCompaction}. */
  resumeCompaction(): void {
    this.#lifecycle.checkOpen()
    this.#engine.background.pauseCompaction(false)
  }

  /**
   * Changes the number of bytes per second that all compactions together may read and write,
   * including running ones; see the option `compactionBytesPerSecondMax`. Infinity: no limit.
   */
  limitCompaction(bytesPerSecondMax: number): void {
    this.#lifecycle.checkOpen()
    const rate = rateOption.read(bytesPerSecondMax ?? NaN, 'compactionBytesPerSecondMax')
    this.#engine.background.compactor.limit(rate)
  }

  /** How far compactions lag, and the effect on writers. */
  get pressure(): Pressure {
    return this.#engine.pacer.pressure
  }

  /**
   * The mutations of the log from a sequence on, whole and in order, followed by new ones: an
   * endless stream. A consumer stores the `sequence` of its last change together with the results.
   * It then continues exactly after that change, even after a crash, with `fromSequence: sequence +
   * 1`.
   *
   * The log does not hold mutations with `SKIP_WAL` or changes of whole tables (schema, truncation,
   * bulk load, import, restore). Cells of dropped or truncated tables are left out. A running feed
   * pins the log after its position; `logRetentionBytes` keeps the log between feeds.
   *
   * Ends with `ERR_CHANGES_GONE` if the log no longer reaches back to the start (no change was
   * returned then), `ERR_ABORTED`, `ERR_CLOSED`, `ERR_POISONED`, `ERR_CORRUPTION`,
   * `ERR_INVALID_ARGUMENT`, `ERR_TABLE_NOT_FOUND`.
   */
  changes(options: api.ChangeOptions = {}): AsyncGenerator<api.Change, void> {
    this.#lifecycle.checkOpen()
    return changes(this.#engine, options)
  }

  /**
   * Writes a backup of all tables and snapshots at one point in time during the call to
   * `directory`; the `sequence` of the summary identifies that point. An absent directory is
   * created. A directory with an earlier backup of this database is updated: files already in it
   * are kept. Files are hard links to those of the database, or copies where links are not
   * possible, as on another disk. Writes continue during the backup.
   *
   * The previous backup stays in force until the new one is complete, even after a crash.
   * {@link Database.restore} makes a database of the backup; `open` with `readOnly` shows it.
   *
   * `ERR_NOT_A_BACKUP` if the directory holds something else or a backup of another database,
   * `ERR_LOCKED` by another backup into it, `ERR_CORRUPTION` if the backup in it is damaged,
   * `ERR_ABORTED`, `ERR_READ_ONLY`, `ERR_NO_SPACE`, `ERR_IO`, `ERR_CLOSED`, `ERR_POISONED`,
   * `ERR_INVALID_ARGUMENT`.
   */
  async backup(directory: string, options: BackupOptions = {}): Promise<BackupSummary> {
    this.#lifecycle.checkWritable()
    return backUp(this.#engine, this.#ddl, directory, options)
  }

  /**
   * Restores the database of a backup into an empty or absent directory. Every byte of the backup
   * is checked first. Its files are linked or copied, so the backup stays unchanged.
   *
   * The directory is unchanged after an error: `ERR_NOT_A_BACKUP`, `ERR_BACKUP_INCOMPLETE` if the
   * first backup was interrupted, `ERR_CORRUPTION` with file and offset, `ERR_FORMAT_VERSION`,
   * `ERR_DIRECTORY_NOT_EMPTY`, `ERR_ABORTED`, `ERR_NO_SPACE`, `ERR_IO`, `ERR_INVALID_ARGUMENT`.
   */
  static async restore(
    backupDirectory: string,
    directory: string,
    options: RestoreOptions = {},
  ): Promise<void> {
    await restoreBackup(backupDirectory, directory, options)
  }

  /**
   * Reads every byte of a database directory, or of a backup, and lists all that is wrong: files
   * that are missing or of another size, checksums, the order of keys, counts, references into
   * value files, the log, the manifest. Writes nothing and takes no lock: the directory is read as
   * it is at one moment, also while a process has it open.
   *
   * `ERR_NOT_A_DATABASE`, `ERR_FORMAT_VERSION` if a newer version wrote the files,
   * `ERR_MISSING_PACKAGE` for a codec that is not installed, `ERR_LOCKED` if a writer changes the
   * directory faster than it can be read, `ERR_IO` if the process has too many open files or the
   * system lacks memory, `ERR_ABORTED`, `ERR_INVALID_ARGUMENT`. Damage is part of the result, and
   * so are files that the system cannot read.
   */
  static async verify(directory: string, options: VerifyOptions = {}): Promise<Verification> {
    return verifyDatabase(directory, options)
  }

  /**
   * Shows the structure of a database directory, or of a backup: manifest, segments of the log, the
   * SSTables of all families by level, and with `file` the blocks of one SSTable. Writes nothing
   * and takes no lock, as {@link Database.verify}. Files are not read to find damage; damage that
   * is met is in `problems`.
   *
   * `ERR_NOT_A_DATABASE`, `ERR_CORRUPTION` if there is no manifest, `ERR_FORMAT_VERSION`,
   * `ERR_MISSING_PACKAGE` for a codec that is not installed, `ERR_LOCKED` if a writer changes the
   * directory faster than it can be read, `ERR_IO`, `ERR_INVALID_ARGUMENT`, also for a `file` that
   * the manifest does not name.
   */
  static async inspect(directory: string, options: InspectOptions = {}): Promise<Inspection> {
    return inspectDatabase(directory, options)
  }

  /**
   * Saves what can be read of a damaged database into an empty or absent directory, which then is a
   * database, and lists exactly what is lost: rows by file, mutations of the log. All that
   * {@link Database.verify} finds sound is saved. The damaged directory is never written to. With
   * `backup`, files of a backup take the place of damaged ones that it names too.
   *
   * `ERR_CORRUPTION` if no manifest can be read, so that nothing tells the tables;
   * `ERR_DIRECTORY_NOT_EMPTY`, `ERR_NOT_A_DATABASE`, `ERR_NOT_A_BACKUP`, `ERR_FORMAT_VERSION`,
   * `ERR_MISSING_PACKAGE`, `ERR_ABORTED`, `ERR_NO_SPACE`, `ERR_IO`, `ERR_INVALID_ARGUMENT`.
   */
  static async salvage(
    directory: string,
    newDirectory: string,
    options: SalvageOptions = {},
  ): Promise<Salvage> {
    return salvageDatabase(directory, newDirectory, options)
  }

  /**
   * As {@link Database.salvage}, in the directory itself. Without `apply` nothing is written, and
   * the result is the plan. Damaged files are moved into a folder of the directory, and nothing is
   * removed. A sound directory stays as it is. `ERR_LOCKED` with `apply` if the directory is open;
   * other errors as `salvage`.
   */
  static async repair(directory: string, options: RepairOptions = {}): Promise<Salvage> {
    return repairDatabase(directory, options)
  }

  /** Current counters and sizes. */
  statistics(): DatabaseStatistics {
    this.#lifecycle.checkOpen()
    return collectStatistics(this.#engine, this.#registry)
  }

  /**
   * Closes the database: ends background work, makes the log durable and unlocks the directory.
   * Repeated calls wait for the same close.
   */
  close(): Promise<void> {
    this.#registry.closing()
    return this.#engine.close().finally(() => this.#registry.hasClosed())
  }

  /** As {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Directory, state and names of the tables, for `JSON.stringify`. */
  toJSON(): object {
    const { catalog, directory, lifecycle } = this.#engine
    const tables = [...catalog.tables.keys()].sort()
    return { directory, open: lifecycle.state === 'open', tables }
  }

  /** The text for `console.log`, with the same content. */
  [inspectSymbol](_depth: number, options: object, inspect: Inspect): string {
    return `Database ${inspect(this.toJSON(), options)}`
  }
}
