/**
 * The types of the public table interface: HBase's operations as plain option objects.
 *
 * Bytes are strings (UTF-8) or `Uint8Array`s. Timestamps are milliseconds by convention, `number`
 * or `bigint`, 0 to 2^63-1. Sources of the semantics: the HBase 2.6 client API (`Get`, `Put`,
 * `Delete`, `Scan`, `Increment`, `Append`, `CheckAndMutate`, `RowMutations`).
 */
import type { CellTypeName } from '../cell/cell-type.js'
import type { BytesLike, ColumnName } from '../cell/column-name.js'
import type { Timestamp } from '../cell/timestamp.js'
import type { CellarError } from '../base/errors.js'
import type { PolicyName } from '../compaction/choice.js'
import type { CompactionSetting } from '../compaction/setting.js'
import type { Filter } from '../filter/filter.js'
import type { TableCoprocessor } from './coprocessor.js'
import type { Result } from './result.js'

export type { BytesLike, ColumnName }

/** How durable a mutation is before it is acknowledged (HBase: Durability). */
export type DurabilityOption = 'USE_DEFAULT' | 'SKIP_WAL' | 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL'

/** A value, or a value with its own timestamp. */
export type PutValue = BytesLike | { readonly value: BytesLike; readonly timestamp?: Timestamp }

/** One cell of a put, in the long form. */
export interface PutCell {
  readonly column: ColumnName
  /** Absent means empty. */
  readonly value?: BytesLike
  readonly timestamp?: Timestamp
  /** A raw delete marker may be put as well (HBase: Put.add(Cell)). Default 'Put'. */
  readonly type?: CellTypeName
}

/** Cells for one row. Needs at least one cell, else `ERR_INVALID_ARGUMENT`. */
export interface Put {
  readonly row: BytesLike
  readonly cells: Readonly<Record<string, PutValue>> | readonly PutCell[]
  /** For the cells that have none of their own; default: the engine's clock. */
  readonly timestamp?: Timestamp
  /** Cell TTL in milliseconds. */
  readonly ttl?: number
  readonly durability?: DurabilityOption
}

/** A family, with a timestamp of its own if wanted. */
export type FamilyTarget =
  BytesLike | { readonly family: BytesLike; readonly timestamp?: Timestamp }
/** A column, with a timestamp of its own if wanted. */
export type ColumnTarget =
  | string
  | Uint8Array
  | {
      readonly family: BytesLike
      readonly qualifier?: BytesLike
      readonly timestamp?: Timestamp
    }

/**
 * Deletes by writing markers. With none of the four lists: the whole row, that is, one family
 * marker for each family of the table.
 */
export interface Delete {
  readonly row: BytesLike
  /** For targets that have none of their own; default: the engine's clock ("up to now"). */
  readonly timestamp?: Timestamp
  /** All columns of the families, timestamps <= t (HBase: addFamily). */
  readonly families?: readonly FamilyTarget[]
  /** All columns of the families, timestamp = t exactly (HBase: addFamilyVersion). */
  readonly familyVersions?: readonly { readonly family: BytesLike; readonly timestamp: Timestamp }[]
  /** All versions of the columns with timestamps <= t (HBase: addColumns). */
  readonly columns?: readonly ColumnTarget[]
  /**
   * One version of each column: the one at t exactly; without t the newest, the n-th mention of a
   * column in the list meaning its n-th newest version (HBase: addColumn).
   */
  readonly columnVersions?: readonly ColumnTarget[]
  readonly durability?: DurabilityOption
}

/** Which part of the time line a read looks at: `[min, max)`. */
export type TimeRangeOption = readonly [min: Timestamp, max: Timestamp]

/** Adds to 8-byte big-endian signed counters; an absent one counts as 0. Overflow wraps. */
export interface Increment {
  readonly row: BytesLike
  readonly columns:
    | Readonly<Record<string, number | bigint>>
    | readonly { readonly column: ColumnName; readonly amount?: number | bigint }[]
  /**
   * Takes effect for counters that do not exist yet; else the new timestamp is max(now, old + 1).
   */
  readonly timestamp?: Timestamp
  /** Only versions inside the range serve as base. */
  readonly timeRange?: TimeRangeOption
  /** Cell TTL in milliseconds. */
  readonly ttl?: number
  /** False: the result is empty. Default true. */
  readonly returnResults?: boolean
  readonly durability?: DurabilityOption
}

/** Appends bytes to values; an absent one counts as empty. */
export interface Append {
  readonly row: BytesLike
  readonly columns:
    | Readonly<Record<string, BytesLike>>
    | readonly { readonly column: ColumnName; readonly value: BytesLike }[]
  readonly timestamp?: Timestamp
  readonly timeRange?: TimeRangeOption
  readonly ttl?: number
  readonly returnResults?: boolean
  readonly durability?: DurabilityOption
}

/**
 * An operation inside a row mutation; a row of its own must equal the outer one (`ERR_WRONG_ROW`).
 */
export type RowOperation<T> = Omit<T, 'row' | 'durability'> & { readonly row?: BytesLike }

/** One mutation of a row. Exactly one of the members is given. */
export type Mutation =
  | { readonly put: RowOperation<Put> }
  | { readonly delete: RowOperation<Delete> }
  | { readonly increment: RowOperation<Increment> }
  | { readonly append: RowOperation<Append> }

/** Several mutations of one row, applied all or none, under one sequence (HBase: RowMutations). */
export interface RowMutations {
  readonly row: BytesLike
  readonly mutations: readonly Mutation[]
  readonly durability?: DurabilityOption
}

/**
 * Puts and deletes of several rows of a table, applied all or none, under one sequence (HBase:
 * MultiRowMutationEndpoint, where the rows must lie in one region; here a table is one).
 */
export interface MultiRowMutations {
  /** At least one; a row may be named more than once. */
  readonly rows: readonly {
    readonly row: BytesLike
    readonly mutations: readonly Mutation[]
  }[]
  /** All must hold, or nothing is applied. */
  readonly checks?: readonly Check[]
  readonly durability?: DurabilityOption
}

/** HBase's CompareOperator. In checks: `expected operator stored` (the reverse of filters). */
export type CompareOperator =
  'LESS' | 'LESS_OR_EQUAL' | 'EQUAL' | 'NOT_EQUAL' | 'GREATER_OR_EQUAL' | 'GREATER'

/**
 * The condition of a checkAndMutate. One of: `equals` (null or empty also matches an absent cell),
 * `notExists`, `operator` with `value`, or `filter` (matches if a get with it yields a cell).
 * None of them: `ERR_INVALID_ARGUMENT`.
 */
export interface Check {
  readonly row: BytesLike
  /** The checked column; not used with `filter`. */
  readonly column?: ColumnName
  readonly equals?: BytesLike | null
  readonly notExists?: true
  readonly operator?: CompareOperator
  readonly value?: BytesLike | null
  readonly filter?: Filter
  readonly timeRange?: TimeRangeOption
}

/** What a checkAndMutate does when the condition holds. */
export type CheckAction = Mutation | { readonly mutations: readonly Mutation[] }

/** Outcome of a checkAndMutate. */
export interface CheckAndMutateResult {
  /** Whether the condition held and the action was applied. */
  readonly success: boolean
  /** Cells that increments and appends of the action produced; undefined if there were none. */
  readonly result: Result | undefined
}

/** A consistent view of the whole database at one moment; see `Database.snapshot`. */
export interface Snapshot {
  /** Sequence up to which the view sees mutations. */
  readonly sequence: number
  /** Lets go of the view. Reads with it fail afterwards with `ERR_CLOSED`. */
  close(): void
  [Symbol.dispose](): void
}

/** What gets and scans have in common. */
export interface ReadOptions {
  /** Families and columns; absent or empty = all. */
  readonly columns?: readonly ColumnName[]
  /**
   * Versions per column, 1 by default, capped by the family's VERSIONS; 'all' = as many as it
   * keeps.
   */
  readonly versions?: number | 'all'
  readonly timeRange?: TimeRangeOption
  /** Only cells with exactly this timestamp. Not together with `timeRange`. */
  readonly timestamp?: Timestamp
  /** Overrides the time range for single families. */
  readonly familyTimeRanges?: Readonly<Record<string, TimeRangeOption>>
  readonly filter?: Filter
  /** Most cells per family and row (HBase: setMaxResultsPerColumnFamily). */
  readonly cellsPerFamilyMax?: number
  /** Cells skipped per family and row (HBase: setRowOffsetPerColumnFamily). */
  readonly cellsPerFamilyOffset?: number
  /** Whether blocks that are read enter the block cache. Default true. */
  readonly cacheBlocks?: boolean
  /** Read this view instead of the newest state. */
  readonly snapshot?: Snapshot
  /**
   * 'READ_UNCOMMITTED' also shows what is written while a scan is under way, of a row maybe only
   * some families; a get shows the same with both. Not together with `snapshot`. Default
   * 'READ_COMMITTED': the state at the moment of the call.
   */
  readonly isolation?: 'READ_COMMITTED' | 'READ_UNCOMMITTED'
  /**
   * Read the families that the filter does not judge by only for rows that pass
   * (HBase: setLoadColumnFamiliesOnDemand). The results are the same. Default false.
   */
  readonly loadFamiliesOnDemand?: boolean
}

/** Reads one row. */
export interface Get extends ReadOptions {
  readonly row: BytesLike
  /** Return no cells, but set `exists` of the result. Default false. */
  readonly checkExistenceOnly?: boolean
}

/** Reads rows in order. */
export interface Scan extends ReadOptions {
  /** First row; absent or empty = the first of the table (the last if reversed). */
  readonly startRow?: BytesLike
  /** Default true. */
  readonly startInclusive?: boolean
  /** Where to stop; absent or empty = the end of the table (the first row if reversed). */
  readonly stopRow?: BytesLike
  /** Default false. */
  readonly stopInclusive?: boolean
  /** Rows with this prefix, in either direction. Not together with `startRow` and `stopRow`. */
  readonly prefix?: BytesLike
  /** Rows descending; columns and versions inside a row keep their order. Default false. */
  readonly reversed?: boolean
  /** Most rows. */
  readonly limit?: number
  /** Most cells per result; longer rows come in pieces with `partial` set on all but the last. */
  readonly batch?: number
  /**
   * Bytes of a result beyond which, with `allowPartialResults`, the rest of the row comes in
   * another one; a result has at least one cell. Rows are not cut for filters that judge whole
   * rows.
   */
  readonly maxResultBytes?: number
  /** Let `maxResultBytes` cut rows. Default false: rows come whole. */
  readonly allowPartialResults?: boolean
  /**
   * When the scan has looked at many rows in vain, return a result without cells whose `cursor` is
   * the row where it is; a later scan may start there. Default false.
   */
  readonly needCursorResult?: boolean
  /** Taken for HBase's sake, without effect: a row costs no call over the network. */
  readonly caching?: number
  /** Without effect: blocks are read ahead as soon as a scan reads neighbours. */
  readonly readType?: 'DEFAULT' | 'STREAM' | 'PREAD'
  /** Without effect: results are made a batch ahead anyway. */
  readonly asyncPrefetch?: boolean
  /**
   * Return delete markers and masked cells too; not together with columns that name a qualifier.
   */
  readonly raw?: boolean
  /** Ends the scan with `ERR_ABORTED`. */
  readonly signal?: AbortSignal
}

/** One operation of a batch. Exactly one of the members is given. */
export type BatchOperation =
  | { readonly get: Get }
  | { readonly put: Put }
  | { readonly delete: Delete }
  | { readonly increment: Increment }
  | { readonly append: Append }
  | { readonly mutateRow: RowMutations }
  | { readonly checkAndMutate: { readonly check: Check; readonly action: CheckAction } }

/** Outcome of one operation of a batch, at the position of the operation. */
export type BatchResult =
  | { readonly ok: true; readonly result: Result; readonly success?: boolean }
  | { readonly ok: false; readonly error: CellarError }

/**
 * Told of each outcome of a batch as soon as it is final (HBase: Batch.Callback). The batch rejects
 * with what it throws first, once all operations are carried out.
 */
export type BatchCallback = (result: BatchResult, position: number) => void

/** Options of a column family (HBase: ColumnFamilyDescriptor; spec 1.4). */
export interface FamilyOptions {
  /** VERSIONS: most versions kept per column. Default 1. */
  readonly versions?: number
  /** MIN_VERSIONS: versions kept although expired. Default 0, at most `versions`. */
  readonly minVersions?: number
  /** TTL in seconds. Default Infinity. */
  readonly ttl?: number
  /** KEEP_DELETED_CELLS. Default false. */
  readonly keepDeletedCells?: boolean | 'TTL'
  /**
   * NEW_VERSION_BEHAVIOR: markers mask only what was written before them, and versions are counted
   * in the order of writing. Not together with `keepDeletedCells`. Default false.
   */
  readonly newVersionBehavior?: boolean
  /**
   * hbase.hstore.time.to.purge.deletes: a major compaction keeps delete markers for so long,
   * counted from their timestamp, so that late writes with old timestamps stay masked. Default 0.
   */
  readonly timeToPurgeDeletesMilliseconds?: number
  /** BLOOMFILTER. Default 'ROW'. */
  readonly bloomFilter?: 'NONE' | 'ROW' | 'ROWCOL' | 'ROWPREFIX_FIXED_LENGTH'
  /**
   * RowPrefixBloomFilter.prefix_length: bytes of a row, 1 to 32,767, that the filter
   * ROWPREFIX_FIXED_LENGTH takes; it then also serves scans whose rows share so many bytes. Needed
   * with that filter. 0 (the default) with the others.
   */
  readonly rowPrefixBytes?: number
  /** BLOCKSIZE: target bytes of a block before compression, 1 KiB to 16 MiB. Default 16 KiB. */
  readonly blockBytes?: number
  /** COMPRESSION. Default 'LZ4'. ZSTD needs Node 22.15, else `ERR_MISSING_PACKAGE`. */
  readonly compression?: 'NONE' | 'LZ4' | 'GZ' | 'ZSTD'
  /** BLOCKCACHE: whether reads admit blocks of the family to the cache. Default true. */
  readonly blockCache?: boolean
  /**
   * Which files are merged in the background, and when: the name of a policy, or its name and
   * options (HBase: hbase.hstore.defaultengine.compactionpolicy.class). Default 'lazy-leveled'.
   * 'fifo'
   * needs a `ttl` and no `minVersions`.
   */
  readonly compaction?: PolicyName | CompactionSetting
  /**
   * IN_MEMORY: blocks that were read stay in the cache before those of other families. Default
   * false.
   */
  readonly inMemory?: boolean
  /**
   * IS_MOB: values of more than `mobThreshold` bytes are stored in files of their own, which
   * compactions leave alone until half of one is garbage. Default false.
   */
  readonly mob?: boolean
  /** MOB_THRESHOLD in bytes. Default 100 KiB. */
  readonly mobThreshold?: number
  /** METADATA: texts kept with the family; they mean nothing here. An alteration replaces all. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Options of a table. */
export interface TableOptions {
  /** Column families by name; at least one. */
  readonly families: Readonly<Record<string, FamilyOptions>>
  /** DURABILITY of mutations that say 'USE_DEFAULT' or nothing. Default 'SYNC_WAL'. */
  readonly durability?: Exclude<DurabilityOption, 'USE_DEFAULT'>
  /** READONLY: mutations fail with `ERR_READ_ONLY`. Default false. */
  readonly readOnly?: boolean
  /**
   * MEMSTORE_FLUSHSIZE: a memtable of a family of the table is flushed at so many bytes, if the
   * database's `flushBytes` does not come first. At least 64 KiB. Default Infinity.
   */
  readonly flushBytes?: number
  /** METADATA: texts kept with the table; they mean nothing here. An alteration replaces all. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Coprocessors that are loaded whenever the table is opened; `ERR_COPROCESSOR`. */
  readonly coprocessors?: readonly TableCoprocessor[]
}

/** A table with all defaults filled in. */
export interface TableDescription {
  readonly name: string
  readonly families: Readonly<Record<string, Required<FamilyOptions>>>
  readonly durability: Exclude<DurabilityOption, 'USE_DEFAULT'>
  readonly readOnly: boolean
  readonly flushBytes: number
  readonly metadata: Readonly<Record<string, string>>
  /** Absent if there are none. */
  readonly coprocessors?: readonly TableCoprocessor[]
}

/** Changes of an existing table; what is not mentioned stays. */
export interface TableAlteration {
  /** Families to add, or whose options to change. */
  readonly families?: Readonly<Record<string, FamilyOptions>>
  /** Families to remove with all their cells. */
  readonly dropFamilies?: readonly string[]
  readonly durability?: Exclude<DurabilityOption, 'USE_DEFAULT'>
  readonly readOnly?: boolean
  readonly flushBytes?: number
  readonly metadata?: Readonly<Record<string, string>>
  /** Takes the place of the whole list; empty = none. */
  readonly coprocessors?: readonly TableCoprocessor[]
}

/** What a scan has done so far (HBase: ScanMetrics). */
export interface ScanMetrics {
  /** Rows looked at, whether or not they came through. */
  readonly rowsScanned: number
  /** Rows that the filter dropped. */
  readonly rowsFiltered: number
  /** Results handed out, without those that are only a cursor. */
  readonly results: number
  readonly cells: number
  /** Encoded keys and values of those cells. */
  readonly bytes: number
  /** How often a block that was not in memory had to be read; neighbours come with it. */
  readonly blockMisses: number
}

/** Rows of a scan, one result at a time. */
export type ResultScanner = AsyncIterableIterator<Result> & {
  readonly metrics: ScanMetrics
  /** The next up to `count` results; fewer only at the end. */
  nextBatch(count: number): Promise<Result[]>
  /** Ends the scan early. */
  close(): void
  [Symbol.asyncDispose](): Promise<void>
}

/** Rows of a synchronous scan. */
export type SyncResultScanner = IterableIterator<Result> & {
  readonly metrics: ScanMetrics
  /** The next up to `count` results; fewer only at the end. */
  nextBatch(count: number): Result[]
  /** Ends the scan early. */
  close(): void
  [Symbol.dispose](): void
}

/**
 * A table: HBase's `Table` with promises, and the same operations without promises.
 *
 * Everything above the table layer uses this interface only, so that another backend (Apache HBase
 * through its gateway) can stand in for the embedded engine (design D13); the synchronous forms are
 * an extension of the embedded backend, see {@link SyncTable}.
 *
 * Errors common to all: `ERR_CLOSED`, `ERR_TABLE_NOT_FOUND` (dropped meanwhile),
 * `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`, `ERR_CORRUPTION`, `ERR_IO`; for mutations
 * also `ERR_POISONED`, `ERR_NO_SPACE`, `ERR_READ_ONLY`, `ERR_TOO_LARGE`.
 */
export interface Table {
  readonly name: string
  describe(): TableDescription
  /** An absent row gives a result that is empty. */
  get(get: Get): Promise<Result>
  /** Results in the order of the gets. */
  getList(gets: readonly Get[]): Promise<Result[]>
  exists(get: Get): Promise<boolean>
  existsList(gets: readonly Get[]): Promise<boolean[]>
  scan(scan?: Scan): ResultScanner
  put(put: Put): Promise<void>
  /** Independent puts; those that fail are reported together by `ERR_BATCH_FAILED`. */
  putList(puts: readonly Put[]): Promise<void>
  delete(deletion: Delete): Promise<void>
  deleteList(deletions: readonly Delete[]): Promise<void>
  increment(increment: Increment): Promise<Result>
  /** Adds `amount` (default 1) to one counter and returns its new value. */
  incrementColumnValue(
    row: BytesLike,
    column: ColumnName,
    amount?: number | bigint,
    durability?: DurabilityOption,
  ): Promise<bigint>
  append(append: Append): Promise<Result>
  checkAndMutate(check: Check, action: CheckAction): Promise<CheckAndMutateResult>
  /**
   * Each element on its own; results by position. Those that fail are reported together by
   * `ERR_BATCH_FAILED`, the others are applied.
   */
  checkAndMutateList(
    list: readonly { readonly check: Check; readonly action: CheckAction }[],
  ): Promise<CheckAndMutateResult[]>
  /**
   * All mutations or none. The result carries the cells of increments and appends, and `exists`.
   */
  mutateRow(mutations: RowMutations): Promise<Result>
  /**
   * Mixed operations, each on its own, those of one row in the order given; outcomes by position,
   * never rejects for one of them.
   */
  batch(operations: readonly BatchOperation[], callback?: BatchCallback): Promise<BatchResult[]>
}

/**
 * The synchronous forms. They may block on the disk; mutations are acknowledged by returning.
 * A mutation that meets a full memory budget flushes before it returns.
 */
export interface SyncTable {
  getSync(get: Get): Result
  getListSync(gets: readonly Get[]): Result[]
  existsSync(get: Get): boolean
  existsListSync(gets: readonly Get[]): boolean[]
  scanSync(scan?: Scan): SyncResultScanner
  putSync(put: Put): void
  putListSync(puts: readonly Put[]): void
  deleteSync(deletion: Delete): void
  deleteListSync(deletions: readonly Delete[]): void
  incrementSync(increment: Increment): Result
  incrementColumnValueSync(
    row: BytesLike,
    column: ColumnName,
    amount?: number | bigint,
    durability?: DurabilityOption,
  ): bigint
  appendSync(append: Append): Result
  checkAndMutateSync(check: Check, action: CheckAction): CheckAndMutateResult
  checkAndMutateListSync(
    list: readonly { readonly check: Check; readonly action: CheckAction }[],
  ): CheckAndMutateResult[]
  mutateRowSync(mutations: RowMutations): Result
  batchSync(operations: readonly BatchOperation[], callback?: BatchCallback): BatchResult[]
}
