/**
 * The database: what users open.
 *
 * Events (`on`, `once`, `off` as in Node's EventEmitter): see {@link DatabaseEvents}. An event
 * without listener is ignored.
 */
import {
  checkArray,
  OptionNames,
  checkBoolean,
  checkFunction,
  checkSignal,
  readArguments,
} from '../base/arguments.js'
import { EventEmitter } from 'node:events'
import { boolean, checked, declareOptions, type OptionsOf } from '../base/options.js'
import { invalidArgument, type CellarError } from '../base/errors.js'
import type { TableState } from '../storage/engine/catalog/catalog.js'
import { backUp, type BackupOptions, type BackupSummary } from '../storage/engine/transfer/backup.js'
import { Ddl } from '../storage/engine/catalog/ddl.js'
import type { Engine } from '../storage/engine/engine.js'
import { flushRecovered, openEngine } from '../storage/engine/open/open-engine.js'
import {
  checkDirectory,
  databaseOptions,
  fileSystemOption,
  rateOption,
} from '../storage/engine/options.js'
import { TimedOperation } from '../storage/engine/write/operation-times.js'
import type { Recovery } from '../storage/engine/open/recovery.js'
import { restoreBackup, type RestoreOptions } from '../storage/engine/transfer/restore.js'
import type { Pressure } from '../storage/engine/write/write-pacer.js'
import type { Database as BackendDatabase } from '../api/database.js'
import { inspectSymbol, type Inspect } from '../api/results/display.js'
import { Admin } from './admin.js'
import { AtomicRequest, rowsOfAtomic, type AtomicTarget } from './calls/atomic-request.js'
import type { Coprocessor, CoprocessorRegistration } from '../api/coprocessor.js'
import { checkCoprocessorList, CoprocessorRegistry } from './observers/coprocessor-registry.js'
import { changes } from './changes.js'
import { EmbeddedTable } from './embedded-table.js'
import { checkListener, eventsOf, type DatabaseEvents } from './database-events.js'
import { mutate, mutateSync } from './calls/mutating.js'
import { blocking } from './operations/table-operations.js'
import { EngineSnapshot } from './reads/snapshot.js'
import type { CallPlace } from './arguments/row-names.js'
import { plainTableName } from '../api/checks/names.js'
import { collectStatistics, type DatabaseStatistics } from './admin/statistics.js'
import type {
  AtomicBatch,
  AtomicResult,
  BytesLike,
  Capabilities,
  Change,
  ChangeOptions,
  Snapshot,
  Table,
  TableAlteration,
  TableDescription,
  TableOptions,
} from '../api/index.js'

const embeddedCapabilities: Capabilities = Object.freeze({
  sync: true,
  snapshots: true,
  changes: true,
  atomicAcrossRows: true,
  atomicAcrossTables: true,
  coprocessors: true,
  filters: true,
  rawScans: true,
  upkeep: true,
})

const openOptions = declareOptions('Database.open', {
  ...databaseOptions,
  /** Live coprocessors, as by `registerCoprocessor`; they are there before any table is used. */
  coprocessors: checked<readonly Coprocessor[]>(checkCoprocessorList, []),
  /**
   * False opens tables without the coprocessors of their schemas, to repair a schema whose module
   * is lost (HBase: hbase.coprocessor.user.enabled). Default true.
   */
  schemaCoprocessorsEnabled: boolean(true),
})

/** What {@link Database.open} takes. */
export interface OpenOptions extends OptionsOf<typeof openOptions> {}

/** Options of {@link Database.compact}. */
export interface CompactOptions {
  /** Default true. */
  readonly major?: boolean | undefined
  /** Only this family of the table. */
  readonly family?: string | undefined
  /**
   * Only files with rows from this one on, and what shares rows with them. Default: from the first.
   * Only with `major`.
   */
  readonly startRow?: BytesLike | undefined
  /** Only files with rows before this one. Default: to the last. */
  readonly stopRow?: BytesLike | undefined
  /** Called with the part that is done, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
  /** Aborting it ends the compaction with `ERR_ABORTED`; nothing is lost. */
  readonly signal?: AbortSignal | undefined
}

/** An open database directory: tables, snapshots, statistics. Made by {@link Database.open}. */
export class Database implements BackendDatabase<EmbeddedTable> {
  /** What this backend can do: everything. */
  readonly capabilities = embeddedCapabilities
  readonly #engine: Engine
  readonly #ddl: Ddl
  readonly #admin: Admin
  readonly #emitter: EventEmitter
  readonly #registry: CoprocessorRegistry
  /** Where atomic batches wait. */
  readonly #place: CallPlace

  private constructor(engine: Engine, emitter: EventEmitter, registry: CoprocessorRegistry) {
    this.#engine = engine
    this.#ddl = new Ddl(engine, registry)
    this.#admin = new Admin(engine, this.#ddl, registry)
    this.#emitter = emitter
    this.#registry = registry
    this.#place = { engine, namesOf: rowsOfAtomic }
  }

  /**
   * Opens the database in a directory, creating it if it is absent or empty (see
   * `createIfMissing`), and recovers what the log holds. With `readOnly` nothing is written.
   *
   * @throws CellarError `ERR_LOCKED` if it is open already, here or elsewhere; `ERR_NOT_A_DATABASE`
   * if the directory holds something else; `ERR_CORRUPTION` with file and offset if files are
   * damaged; `ERR_FORMAT_VERSION` if a newer version wrote them; `ERR_READ_ONLY` if the directory
   * cannot be written; `ERR_COPROCESSOR` if a coprocessor of a table cannot be loaded;
   * `ERR_INVALID_ARGUMENT`; `ERR_IO`; `ERR_NO_SPACE`.
   */
  static async open(directory: string, options: OpenOptions = {}): Promise<Database> {
    const { coprocessors, schemaCoprocessorsEnabled, ...engineOptions } = readArguments(() => {
      checkDirectory(directory)
      return openOptions.read(options)
    })
    const emitter = new EventEmitter()
    const registry: CoprocessorRegistry = new CoprocessorRegistry(
      (name) => database.table(name),
      (error) => emitter.emit('warning', error),
      schemaCoprocessorsEnabled,
    )
    const engine = await openEngine(directory, engineOptions, eventsOf(emitter), registry)
    const database = new Database(engine, emitter, registry)
    try {
      for (const coprocessor of coprocessors) await registry.register(coprocessor)
      await registry.openTables(engine.tables.values())
      flushRecovered(engine)
    } catch (error) {
      await engine.close().catch((failure: unknown) => emitter.emit('warning', failure))
      throw error
    }
    return database
  }

  /** Whether the option `readOnly` was given. */
  get isReadOnly(): boolean {
    return this.#engine.options.readOnly
  }

  /** The option `cellBytesMax`; Infinity if it is 0. */
  get cellBytesMax(): number {
    return this.#engine.options.cellBytesMax || Infinity
  }

  /** Path of the directory as given to {@link open}. */
  get directory(): string {
    return this.#engine.directory
  }

  /**
   * What the open found: whether the last close was clean, what came back from the log, and which
   * torn tails were cut. The event `warning` tells of each cut as well, right after the open.
   */
  get recovery(): Recovery {
    return this.#engine.recovery
  }

  /** The error that made the database read-only, if one did. */
  get failure(): CellarError | undefined {
    return this.#engine.failure
  }

  /** Calls `listener` whenever the event happens. */
  on<E extends keyof DatabaseEvents>(
    event: E,
    listener: (...values: DatabaseEvents[E]) => void,
  ): this {
    checkListener(event, listener)
    this.#emitter.on(event, listener as (...values: unknown[]) => void)
    return this
  }

  /** Calls `listener` when the event happens next. */
  once<E extends keyof DatabaseEvents>(
    event: E,
    listener: (...values: DatabaseEvents[E]) => void,
  ): this {
    checkListener(event, listener)
    this.#emitter.once(event, listener as (...values: unknown[]) => void)
    return this
  }

  /** Takes back {@link on}. */
  off<E extends keyof DatabaseEvents>(
    event: E,
    listener: (...values: DatabaseEvents[E]) => void,
  ): this {
    checkListener(event, listener)
    this.#emitter.off(event, listener as (...values: unknown[]) => void)
    return this
  }

  /** Schema and upkeep under HBase's names: namespaces, snapshots, everything below. */
  get admin(): Admin {
    return this.#admin
  }

  /** Creates a table: `Admin.createTable`. Durable when it resolves. */
  createTable(name: string, options: TableOptions): Promise<EmbeddedTable> {
    return this.#admin.createTable(name, options)
  }

  /** The table of that name, created if it is absent: `Admin.ensureTable`. */
  ensureTable(name: string, options: TableOptions): Promise<EmbeddedTable> {
    return this.#admin.ensureTable(name, options)
  }

  /** Tables of the same options, as {@link ensureTable}, one after the other. */
  async ensureTables(names: readonly string[], options: TableOptions): Promise<EmbeddedTable[]> {
    const tables: EmbeddedTable[] = []
    for (const name of checkArray(names, 'names'))
      tables.push(await this.ensureTable(name, options))
    return tables
  }

  /** The table of that name. `ERR_TABLE_NOT_FOUND`. */
  table(name: string): EmbeddedTable {
    this.#engine.checkOpen()
    return new EmbeddedTable(this.#engine, this.#ddl.find(plainTableName(name)), this.#registry)
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
  describeTable(name: string): TableDescription {
    return this.#admin.getDescriptor(name)
  }

  /**
   * Changes options, adds and drops families: `Admin.modifyTable`. Takes effect for existing files
   * too. Durable when it resolves.
   */
  alterTable(name: string, alteration: TableAlteration): Promise<TableDescription> {
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
   * Adds a coprocessor to its tables, those that exist and those that will. `ERR_INVALID_ARGUMENT`,
   * `ERR_COPROCESSOR` if the module of its hook cannot be loaded.
   */
  async registerCoprocessor(coprocessor: Coprocessor): Promise<CoprocessorRegistration> {
    this.#engine.checkOpen()
    return this.#registry.register(coprocessor)
  }

  /**
   * A view of all tables at this moment, taken synchronously; give it to reads as `snapshot`.
   * Every read through it gives the same answer until it is closed, whatever is written, flushed or
   * compacted: also a raw scan, and a time range that shows versions beyond VERSIONS. Cells expire
   * as of the moment of the snapshot. Settings of families count as they are at the read. While it
   * is open, flushes drop nothing that it sees, and files that compactions replace stay on the
   * disk, so close it.
   */
  snapshot(): Snapshot {
    this.#engine.checkOpen()
    return new EngineSnapshot(this.#engine)
  }

  /**
   * Applies puts and deletes of any rows and tables, all or none, if all checks hold: under one
   * sequence, in one frame of the log, and as one element of the change feed. The promise resolves
   * when the batch is as durable as it asks.
   *
   * Nothing is applied after an error: `ERR_INVALID_ARGUMENT` (no mutation, a table of another
   * database, an increment or append), `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_COLUMN_FAMILY`,
   * `ERR_READ_ONLY`, `ERR_TABLE_NOT_ENABLED`, `ERR_TOO_LARGE`, `ERR_POISONED`, `ERR_CLOSED`.
   */
  atomic(batch: AtomicBatch): Promise<AtomicResult> {
    const { times } = this.#engine.reports
    const startedAt = times.begin(TimedOperation.batch)
    const done = this.#atomic(batch)
    if (startedAt === 0) return done
    return times.endLater(TimedOperation.batch, startedAt, done, '', batch)
  }

  #atomic(batch: AtomicBatch): Promise<AtomicResult> {
    let request: AtomicRequest
    try {
      request = this.#atomicRequest(batch)
    } catch (error) {
      return Promise.reject(error)
    }
    const observed = request.ownBatch()
    if (observed !== undefined) {
      return mutate(this.#place, observed, (_own, mode) => request.apply(mode))
    }
    let waiting: AtomicRequest | undefined
    return mutate(this.#place, batch, (own, mode) => {
      if (own === batch) return request.apply(mode)
      waiting ??= this.#atomicRequest(own)
      return waiting.apply(mode)
    })
  }

  /** As {@link atomic}, before it returns. */
  atomicSync(batch: AtomicBatch): AtomicResult {
    const request = this.#atomicRequest(batch)
    return mutateSync(this.#place, batch, () => request.apply(blocking))
  }

  #atomicRequest(batch: AtomicBatch): AtomicRequest {
    this.#engine.checkOpen()
    return new AtomicRequest(this.#atomicTarget, batch)
  }

  /** Tables that atomic batches named: a handle is made once, and goes with its table. */
  readonly #handles = new WeakMap<TableState, EmbeddedTable>()

  readonly #atomicTarget = (given: string | Table): AtomicTarget | undefined => {
    if (typeof given !== 'string') {
      return given instanceof EmbeddedTable ? given.atomicTarget(this.#engine) : undefined
    }
    const state = this.#ddl.find(plainTableName(given))
    let table = this.#handles.get(state)
    if (table === undefined) {
      table = new EmbeddedTable(this.#engine, state, this.#registry)
      this.#handles.set(state, table)
    }
    return table.atomicTarget(this.#engine)
  }

  /** Writes the memtables of a table, or of all, to disk: `Admin.flush`. */
  flush(tableName?: string): Promise<void> {
    return this.#admin.flush(tableName)
  }

  /**
   * Compacts a table, one of its families, or everything: with `major` all files of each store
   * become one and delete markers go, else what the policy finds worth merging. A single file in
   * which all cells are known to stay is at most moved.
   * Memtables are flushed first. With `startRow` or `stopRow` only files that hold such rows are
   * merged, and those that share rows with them. `onProgress` is told which part is done, 0 to 1;
   * `signal` ends it with `ERR_ABORTED` and leaves the files as they were. `ERR_TABLE_NOT_FOUND` if
   * the table is dropped meanwhile, `ERR_CLOSED` by a close.
   */
  async compact(tableName?: string, options: CompactOptions = {}): Promise<void> {
    this.#engine.checkOpen()
    const { major, family, watch } = readArguments(() => {
      const { major, family, ...watch } = compactNames.copy(options)
      return { major: checkBoolean(major, 'major', true), family, watch }
    })
    if (major) {
      await this.#admin.majorCompact(tableName, family, watch)
      return
    }
    if (watch.startRow !== undefined || watch.stopRow !== undefined) {
      throw invalidArgument('startRow and stopRow of a compaction need major')
    }
    await this.#admin.compact(tableName, family, watch)
  }

  /** Compactions rest, running ones too, until {@link resumeCompaction}; flushes do not. */
  pauseCompaction(): void {
    this.#engine.checkOpen()
    this.#engine.background.pauseCompaction(true)
  }

  /** Takes back {@link pauseCompaction}. */
  resumeCompaction(): void {
    this.#engine.checkOpen()
    this.#engine.background.pauseCompaction(false)
  }

  /**
   * Changes what all compactions together may read and write per second, running ones too; see the
   * option `compactionBytesPerSecondMax`. Infinity = no limit.
   */
  limitCompaction(bytesPerSecondMax: number): void {
    this.#engine.checkOpen()
    const rate = rateOption.read(bytesPerSecondMax ?? NaN, 'compactionBytesPerSecondMax')
    this.#engine.background.compactor.limit(rate)
  }

  /** How far compactions lag, and the effect on writers. */
  get pressure(): Pressure {
    return this.#engine.writes.pacer.pressure
  }

  /**
   * The mutations of the log from a sequence on, whole and in order, then those to come: an endless
   * stream. Whoever notes the `sequence` of the last change together with what it made of it goes
   * on exactly after it, also after a crash, with `fromSequence: sequence + 1`.
   *
   * The log holds neither mutations of `SKIP_WAL` nor what changes tables as a whole (schema,
   * truncation, bulk load, import, restore), and cells of tables that were dropped or truncated are
   * left out. A running feed keeps the log after it; `logRetentionBytes` keeps it between feeds.
   *
   * Ends with `ERR_CHANGES_GONE` if the log no longer reaches back so far (nothing was shown then),
   * `ERR_ABORTED`, `ERR_CLOSED`, `ERR_POISONED`, `ERR_CORRUPTION`, `ERR_INVALID_ARGUMENT`,
   * `ERR_TABLE_NOT_FOUND`.
   */
  changes(options: ChangeOptions = {}): AsyncGenerator<Change, void> {
    this.#engine.checkOpen()
    return changes(this.#engine, options)
  }

  /**
   * Makes `directory` a backup of all tables and snapshots at one moment between the call and its
   * end; the `sequence` of the summary names the moment. The directory is made if it is absent, and
   * brought up to date if it holds an earlier backup of this database: files that are there are
   * kept. Files are hard links to those of the database, or copies where links are not possible, as
   * on another disk. Writes go on meanwhile.
   *
   * The backup before stays in force until the new one is complete, also over a crash.
   * {@link Database.restore} makes a database of it; `open` with `readOnly` shows it.
   *
   * `ERR_NOT_A_BACKUP` if the directory holds something else or a backup of another database,
   * `ERR_LOCKED` by another backup into it, `ERR_CORRUPTION` if the backup there is damaged,
   * `ERR_ABORTED`, `ERR_READ_ONLY`, `ERR_NO_SPACE`, `ERR_IO`, `ERR_CLOSED`, `ERR_POISONED`,
   * `ERR_INVALID_ARGUMENT`.
   */
  async backup(directory: string, options: BackupOptions = {}): Promise<BackupSummary> {
    this.#engine.checkWritable()
    const given = readArguments(() => {
      checkDirectory(directory)
      return checkWatch(backupNames.copy(options))
    })
    return backUp(this.#engine, this.#ddl, directory, given)
  }

  /**
   * Makes the database that a backup holds, in an empty or absent directory. Every byte of the
   * backup is checked first. Links or copies its files, so the backup stays as it is.
   *
   * The directory is as before after: `ERR_NOT_A_BACKUP`, `ERR_BACKUP_INCOMPLETE` if the first
   * backup was interrupted, `ERR_CORRUPTION` with file and offset, `ERR_FORMAT_VERSION`,
   * `ERR_DIRECTORY_NOT_EMPTY`, `ERR_ABORTED`, `ERR_NO_SPACE`, `ERR_IO`, `ERR_INVALID_ARGUMENT`.
   */
  static async restore(
    backupDirectory: string,
    directory: string,
    options: RestoreOptions = {},
  ): Promise<void> {
    const given = readArguments(() => {
      checkDirectory(backupDirectory)
      checkDirectory(directory)
      const given = checkWatch(restoreNames.copy(options))
      fileSystemOption.read(given.fileSystem, 'fileSystem')
      return given
    })
    await restoreBackup(backupDirectory, directory, given)
  }

  /** Counters and sizes of this moment. */
  statistics(): DatabaseStatistics {
    this.#engine.checkOpen()
    return collectStatistics(this.#engine, this.#registry)
  }

  /**
   * Closes the database: ends background work, makes the log durable and gives the directory back.
   * Calling it again waits for the same close.
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
  toJSON(): {
    /** Where the database lies. */
    directory: string
    /** Whether the database is open. */
    open: boolean
    /** Names of the tables. */
    tables: string[]
  } {
    const { directory, state, tables } = this.#engine
    return {
      /** Where the database lies. */
      directory,
      /** Whether the database is open. */
      open: state === 'open',
      /** Names of the tables. */
      tables: [...tables.keys()].sort(),
    }
  }

  /** The same, for `console.log`. */
  [inspectSymbol](_depth: number, options: object, inspect: Inspect): string {
    return `Database ${inspect(this.toJSON(), options)}`
  }
}

const backupNames = new OptionNames<BackupOptions>('a backup', { onProgress: true, signal: true })
const restoreNames = new OptionNames<RestoreOptions>('a restore', {
  onProgress: true,
  signal: true,
  fileSystem: true,
})

function checkWatch<T extends BackupOptions>(options: T): T {
  checkFunction(options.onProgress, 'onProgress')
  checkSignal(options.signal)
  return options
}

const compactNames = new OptionNames<CompactOptions>('a compaction', {
  major: true,
  family: true,
  startRow: true,
  stopRow: true,
  onProgress: true,
  signal: true,
})
