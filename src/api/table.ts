/** A table: HBase's `Table` with promises, and the same operations without promises. */
import type { ByteRange } from '../base/bytes.js'
import type { BytesLike, ColumnName } from '../storage/cell/column-name.js'
import type { TableCoprocessor } from './coprocessor.js'
import type { DurabilityOption } from './durability.js'
import type {
  Append,
  BatchCallback,
  BatchOperation,
  BatchResult,
  Check,
  CheckAction,
  CheckAndMutateResult,
  CheckedAction,
  Delete,
  Increment,
  MultiRowMutations,
  Put,
  RowMutations,
} from './mutations.js'
import type { PutReceipt } from './put-receipt.js'
import type { Get, ReadOptions, Scan } from './reads.js'
import type { Result } from './results/result.js'
import type { ResultScanner, SyncResultScanner } from './scanners.js'
import type { TableDescription } from './schema.js'

/**
 * A table: HBase's `Table` with promises.
 *
 * Systems built on tables use this interface only. So another backend, such as Apache HBase through
 * its gateway, can replace the embedded engine. A backend with the capability `sync` also has the
 * methods of {@link SyncTable}.
 *
 * Errors common to all methods: `ERR_CLOSED`, `ERR_TABLE_NOT_FOUND` (the table was dropped),
 * `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`, `ERR_CORRUPTION`, `ERR_IO`. Mutations also:
 * `ERR_POISONED`, `ERR_NO_SPACE`, `ERR_READ_ONLY`, `ERR_TOO_LARGE`.
 */
export interface Table {
  /** Name of the table, with its namespace unless that is the default one. */
  readonly name: string
  /** Options of the table and its families, with all defaults filled in. */
  describe(): TableDescription
  /** Reads one row. The result of an absent row is empty. */
  get(get: Get): Promise<Result>
  /** Reads several rows. Results are in the order of the gets. */
  getList(gets: readonly Get[]): Promise<Result[]>
  /** Whether a get would find cells; reads as little as it can. */
  exists(get: Get): Promise<boolean>
  /** As {@link exists} for each get, in their order. */
  existsList(gets: readonly Get[]): Promise<boolean[]>
  /** Rows in their order, as an async iterator with the standard helpers. Reads lazily. */
  scan(scan?: Scan): ResultScanner
  /**
   * Writes cells of one row, all or none. The receipt has the timestamp and the sequence of the
   * put; both are undefined if the backend lacks the capability `changes`.
   */
  put(put: Put): Promise<PutReceipt>
  /**
   * Applies independent puts. Failures are reported together by `ERR_BATCH_FAILED`; the others are
   * applied.
   */
  putList(puts: readonly Put[]): Promise<void>
  /** Removes cells of one row by delete markers, all or none. */
  delete(deletion: Delete): Promise<void>
  /** Independent deletes; those that fail are reported together by `ERR_BATCH_FAILED`. */
  deleteList(deletions: readonly Delete[]): Promise<void>
  /** Adds to counters of one row, all or none; the result has their new values. */
  increment(increment: Increment): Promise<Result>
  /** Adds `amount` (default 1) to one counter and returns its new value. */
  incrementColumnValue(
    row: BytesLike,
    column: ColumnName,
    amount?: number | bigint,
    durability?: DurabilityOption,
  ): Promise<bigint>
  /** Appends bytes to values of one row, all or none; the result has the new values. */
  append(append: Append): Promise<Result>
  /** Applies the action if the condition holds; nothing comes in between. */
  checkAndMutate(check: Check, action: CheckAction): Promise<CheckAndMutateResult>
  /**
   * Checks and mutates each element on its own; results by index. Failures are reported together by
   * `ERR_BATCH_FAILED`; the others are applied.
   */
  checkAndMutateList(list: readonly CheckedAction[]): Promise<CheckAndMutateResult[]>
  /**
   * Applies all mutations or none. The result has the cells of increments and appends, and
   * `exists`.
   */
  mutateRow(mutations: RowMutations): Promise<Result>
  /**
   * Throws the error with which {@link mutateRow} would refuse these mutations before sending them,
   * and sends nothing: wrong arguments, a form that the backend lacks, a cell or a message that is
   * too large, a family that the table lacks, a read-only table. The table must have been described
   * before; `ERR_TABLE_NOT_FOUND` otherwise. For callers that log mutations before they apply them.
   * Only remote backends have it.
   */
  checkMutateRow?(mutations: RowMutations): void
  /**
   * Applies puts and deletes of several rows, all or none. Resolves to false if a check does not
   * hold. Needs the capability `atomicAcrossRows`.
   */
  mutateRows(request: MultiRowMutations): Promise<boolean>
  /**
   * Applies mixed operations, each on its own; those of one row in the given order. Outcomes by
   * index: the failure of an operation does not reject the promise.
   */
  batch(operations: readonly BatchOperation[], callback?: BatchCallback): Promise<BatchResult[]>
}

/** @internal The name of a method that only this package can call: it does not check its keys. */
export const getByKeys: unique symbol = Symbol('getByKeys')

/**
 * The synchronous methods of a table. They may block on the disk. A mutation is acknowledged by
 * returning. A mutation that meets a full memory budget flushes before it returns.
 */
export interface SyncTable {
  /**
   * @internal The coprocessors of the schema: the same list until the schema changes, so that
   * `describe` need not be called to see that. Throws as `describe`.
   */
  readonly coprocessors: readonly TableCoprocessor[]
  /**
   * @internal As {@link Table.getList}, of rows with the same options, whose keys lie in other
   * results with the escapes of keys (storage/cell/cell-key.ts). For the rows of an index.
   */
  [getByKeys](keys: readonly ByteRange[], options: ReadOptions): Promise<Result[]>
  /** As {@link Table.get}, before it returns. */
  getSync(get: Get): Result
  /** As {@link Table.getList}, before it returns. */
  getListSync(gets: readonly Get[]): Result[]
  /** As {@link Table.exists}, before it returns. */
  existsSync(get: Get): boolean
  /** As {@link Table.existsList}, before it returns. */
  existsListSync(gets: readonly Get[]): boolean[]
  /** As {@link Table.scan}, without promises. */
  scanSync(scan?: Scan): SyncResultScanner
  /** As {@link Table.put}, before it returns. */
  putSync(put: Put): PutReceipt
  /** As {@link Table.putList}, before it returns. */
  putListSync(puts: readonly Put[]): void
  /** As {@link Table.delete}, before it returns. */
  deleteSync(deletion: Delete): void
  /** As {@link Table.deleteList}, before it returns. */
  deleteListSync(deletions: readonly Delete[]): void
  /** As {@link Table.increment}, before it returns. */
  incrementSync(increment: Increment): Result
  /** As {@link Table.incrementColumnValue}, before it returns. */
  incrementColumnValueSync(
    row: BytesLike,
    column: ColumnName,
    amount?: number | bigint,
    durability?: DurabilityOption,
  ): bigint
  /** As {@link Table.append}, before it returns. */
  appendSync(append: Append): Result
  /** As {@link Table.checkAndMutate}, before it returns. */
  checkAndMutateSync(check: Check, action: CheckAction): CheckAndMutateResult
  /** As {@link Table.checkAndMutateList}, before it returns. */
  checkAndMutateListSync(list: readonly CheckedAction[]): CheckAndMutateResult[]
  /** As {@link Table.mutateRow}, before it returns. */
  mutateRowSync(mutations: RowMutations): Result
  /** As {@link Table.mutateRows}, before it returns. */
  mutateRowsSync(request: MultiRowMutations): boolean
  /** As {@link Table.batch}, before it returns. */
  batchSync(operations: readonly BatchOperation[], callback?: BatchCallback): BatchResult[]
}
