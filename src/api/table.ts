/** A table: HBase's `Table` with promises, and the same operations without promises. */
import type { BytesLike, ColumnName } from '../cell/column-name.js'
import type {
  Append,
  BatchCallback,
  BatchOperation,
  BatchResult,
  Check,
  CheckAction,
  CheckAndMutateResult,
  Delete,
  DurabilityOption,
  Increment,
  MultiRowMutations,
  Put,
  RowMutations,
} from './mutations.js'
import type { Get, Scan } from './reads.js'
import type { Result } from './result.js'
import type { ResultScanner, SyncResultScanner } from './scanners.js'
import type { TableDescription } from './schema.js'

/**
 * A table: HBase's `Table` with promises, and the same operations without promises.
 *
 * Everything that is built on tables uses this interface only, so that another backend (Apache
 * HBase through its gateway) can stand in for the embedded engine. A backend with the capability
 * `sync` has the synchronous forms too, see {@link SyncTable}.
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
   * Puts and deletes of several rows, all or none; false if a check does not hold. Needs the
   * capability `atomicAcrossRows`.
   */
  mutateRows(request: MultiRowMutations): Promise<boolean>
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
  mutateRowsSync(request: MultiRowMutations): boolean
  batchSync(operations: readonly BatchOperation[], callback?: BatchCallback): BatchResult[]
}
