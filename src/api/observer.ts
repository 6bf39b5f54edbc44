/**
 * The half of a coprocessor that observes a table's operations (HBase: RegionObserver).
 *
 * All methods are optional and **synchronous**. They run in the same turn of the event loop as the
 * operation, so nothing can come between a check and its mutation. A method that returns a promise
 * fails with `ERR_COPROCESSOR`.
 *
 * Observers are called in the order of their priorities. A `pre` method may return a changed
 * operation, which is passed to the later observers and to the table. A `post` method may return a
 * changed result. Undefined changes nothing. Where the context has `bypass`, calling it skips the
 * table's own action and the later observers. The operation then returns the argument of `bypass`,
 * and no `post` method is called.
 *
 * An error fails only the operation. A {@link CellarError} reaches the caller unchanged, any other
 * error as the cause of an `ERR_COPROCESSOR`. After an error in a `pre` method nothing was changed.
 * After an error in a `post` method of a mutation, the mutation is part of the database
 * nevertheless.
 *
 * `post` methods of mutations run when the mutation is visible; it may not be durable yet.
 *
 * An observer may read and write through `context.table`, whose operations call observers again.
 * Writing between the check and the mutation of a checkAndMutate fails the operation.
 */
import type { JobObserver } from '../storage/coprocessor/job-observer.js'
import type { BytesLike, ColumnName } from '../storage/cell/column-name.js'
import type { Timestamp } from '../storage/cell/timestamp.js'
import type { Cell, Result } from './results/result.js'
import type {
  Append,
  Check,
  CheckAction,
  CheckAndMutateResult,
  ColumnTarget,
  Delete,
  Increment,
  Mutation,
  Put,
  RowMutations,
} from './mutations.js'
import type { Get, Scan } from './reads.js'
import type { SyncTable, Table } from './table.js'

/** The argument of every method of an observer. */
export interface ObserverContext {
  /** The table, for reads and writes of the observer itself. */
  readonly table: Table & SyncTable
}

/** The context of a method that may replace the table's own action. */
export interface BypassContext<T> extends ObserverContext {
  /** Ends the operation with `result`; see the file header. */
  bypass(result: T): void
}

/** The mutations that one put, delete, row mutation or `mutateRows` applies under one sequence. */
export interface MutationBatch {
  /** In the order of the call. */
  readonly mutations: readonly Mutation[]
  /**
   * Adds a put or a delete of any row to the same sequence and log entry: all of them are applied
   * or none.
   */
  add(mutation: { readonly put: Put } | { readonly delete: Delete }): void
}

/** The cells that a mutation is about to write, and the state before the mutation. */
export interface WrittenMutation {
  /**
   * The cells of this table in the order of writing, as they will be stored: deletes are delete
   * markers, increments and appends are puts of the new values, and every cell has its timestamp.
   */
  readonly cells: readonly WrittenCell[]
  /**
   * The rows of this table whose values in some columns and families the mutation may change, in
   * the order of writing. A list that the caller keeps for later mutations is read faster.
   */
  rowsOf(columns: readonly ColumnName[]): readonly WrittenRow[]
  /** Reads a row of any table of the database by its name, without the mutation. */
  get(table: string, get: Get): Result
  /**
   * Reads all versions and delete markers of families of a row of this table that have not expired,
   * likewise.
   */
  rawRow(row: BytesLike, families: readonly string[]): Result
  /**
   * Adds a put or a delete of a row of any other table to the same sequence and log entry: all of
   * them are applied or none. That table's observers are not called.
   */
  add(table: string, mutation: { readonly put: Put } | { readonly delete: Delete }): void
}

/** A row of a mutation, seen through some columns. Borrowed until the observer returns. */
export interface WrittenRow {
  /** The key of the row. */
  readonly row: Buffer
  /** Its cells in these columns, and the delete markers that concern them, in order of writing. */
  readonly cells: readonly WrittenCell[]
  /**
   * Whether the cells are puts that no stored delete marker can mask. The values after the mutation
   * are then the newest ones among `before` and these cells.
   */
  readonly isPlain: boolean
  /** The newest values of the columns without the mutation, as a get reads them. */
  before(): Result
}

/** A cell that is about to be written. Its bytes are borrowed until the observer returns. */
export interface WrittenCell extends Cell {
  /** The column, as reads name it: a text if the name is of ASCII. */
  readonly column: ColumnName
  /** Cell TTL in milliseconds; 0 = none. */
  readonly ttlMilliseconds: number
}

/** A running scan; the same object for all calls of one scan. */
export interface ObservedScan {
  /** The options of the scan, as `preScannerOpen` left them. */
  readonly scan: Scan
}

/** Observes the operations of a table; see the file header. */
export interface Observer extends JobObserver {
  /**
   * Called before the observer observes the table: the database is being opened, or the table or
   * coprocessor is new. An error refuses that. The table may not exist yet.
   */
  preOpen?(): void
  /**
   * Called when the observer observes the table. An error of this and the next methods is a
   * warning.
   */
  postOpen?(context: ObserverContext): void
  /** Called before the database closes, or after the coprocessor or the table was removed. */
  preClose?(context: ObserverContext): void
  /** After the table was closed; the observer is not called again. */
  postClose?(): void

  /** (HBase: preGetOp.) */
  preGet?(context: BypassContext<Result>, get: Get): Get | void
  /** After a get; may return another result. */
  postGet?(context: ObserverContext, get: Get, result: Result): Result | void
  /** `exists` calls these two methods, and between them the methods of its get. */
  preExists?(context: BypassContext<boolean>, get: Get): Get | void
  /** After an existence check; may return another answer. */
  postExists?(context: ObserverContext, get: Get, exists: boolean): boolean | void

  /** Before a scanner is opened; may change the scan. */
  preScannerOpen?(context: ObserverContext, scan: Scan): Scan | void
  /** After a scanner was opened. */
  postScannerOpen?(context: ObserverContext, scan: ObservedScan): void
  /** Called once per result. `bypass(undefined)` ends the scan. */
  preScannerNext?(context: BypassContext<Result | undefined>, scan: ObservedScan): void
  /** `result` is undefined at the end of the scan. */
  postScannerNext?(
    context: ObserverContext,
    scan: ObservedScan,
    result: Result | undefined,
  ): Result | void
  /**
   * Called for a row that was read without giving a result, mostly because the scan's filter
   * dropped it. Returning false ends the scan. `goesOn` is the answer of the observers before.
   */
  postScannerFilterRow?(
    context: ObserverContext,
    scan: ObservedScan,
    row: Buffer,
    goesOn: boolean,
  ): boolean | void
  /** Called when the scan ends: after its last row, by its consumer, or by an error. */
  preScannerClose?(context: ObserverContext, scan: ObservedScan): void
  /** After a scanner was closed. */
  postScannerClose?(context: ObserverContext, scan: ObservedScan): void

  /**
   * These four methods are also called for puts and deletes inside row mutations, mutations of
   * several rows and checks, after the methods of those operations. There `bypass` skips only this
   * put or delete.
   */
  prePut?(context: BypassContext<void>, put: Put): Put | void
  /** After a put was applied. */
  postPut?(context: ObserverContext, put: Put): void
  /** As {@link prePut}. */
  preDelete?(context: BypassContext<void>, deletion: Delete): Delete | void
  /** After a delete was applied. */
  postDelete?(context: ObserverContext, deletion: Delete): void
  /**
   * Called before a delete of one version without timestamp looks for that version.
   * `bypass(timestamp)` sets the timestamp of the marker.
   */
  prePrepareTimeStampForDeleteVersion?(
    context: BypassContext<Timestamp>,
    deletion: Delete,
    column: ColumnTarget,
  ): void
  /** Before an increment; may change it, or bypass it with a result. */
  preIncrement?(context: BypassContext<Result>, increment: Increment): Increment | void
  /**
   * Called once, after `preIncrement`, when the row is in memory and no other operation can come in
   * between. Increments and appends inside other operations do not call it.
   */
  preIncrementAfterRowLock?(context: BypassContext<Result>, increment: Increment): void
  /** After an increment; may return another result. */
  postIncrement?(context: ObserverContext, increment: Increment, result: Result): Result | void
  /** Before an append; may change it, or bypass it with a result. */
  preAppend?(context: BypassContext<Result>, append: Append): Append | void
  /** As {@link preIncrementAfterRowLock}. */
  preAppendAfterRowLock?(context: BypassContext<Result>, append: Append): void
  /** After an append; may return another result. */
  postAppend?(context: ObserverContext, append: Append, result: Result): Result | void
  /** Before a row mutation; may change it, or bypass it with a result. */
  preMutateRow?(context: BypassContext<Result>, mutations: RowMutations): RowMutations | void
  /** After a row mutation was applied. */
  postMutateRow?(context: ObserverContext, mutations: RowMutations, result: Result): Result | void

  /**
   * Called with all mutations that are applied under one sequence, after the operation's own
   * methods.
   */
  preBatchMutate?(context: ObserverContext, batch: MutationBatch): void
  /** After the mutations of a batch were applied. */
  postBatchMutate?(context: ObserverContext, batch: MutationBatch): void
  /** Called whether or not the batch was applied, if `preBatchMutate` was called. */
  postBatchMutateIndispensably?(
    context: ObserverContext,
    batch: MutationBatch,
    success: boolean,
  ): void

  /**
   * Called last before the mutations of one sequence are applied, whichever call makes them, with
   * their cells as they will be stored (HBase: preWALAppend). An error fails the call; nothing was
   * changed. Called again if a read of the method, or of the call, has to wait for a block: only
   * the additions of the last time count. Must not write.
   */
  preWrite?(context: ObserverContext, mutation: WrittenMutation): void

  /**
   * Called before files of these directories become part of the table (HBase: preBulkLoadHFile).
   */
  preBulkLoad?(context: ObserverContext, directories: readonly string[]): void
  /** After files were loaded into the table. */
  postBulkLoad?(context: ObserverContext, directories: readonly string[]): void

  /** Before the row of a checkAndMutate is read; may bypass the call with an outcome. */
  preCheckAndMutate?(
    context: BypassContext<CheckAndMutateResult>,
    check: Check,
    action: CheckAction,
  ): void
  /**
   * Called when the row was read and the condition evaluated; no other operation can come in
   * between.
   */
  preCheckAndMutateAfterRowLock?(
    context: BypassContext<CheckAndMutateResult>,
    check: Check,
    action: CheckAction,
    matched: boolean,
  ): void
  /** After a checkAndMutate; may return another outcome. */
  postCheckAndMutate?(
    context: ObserverContext,
    check: Check,
    action: CheckAction,
    result: CheckAndMutateResult,
  ): CheckAndMutateResult | void
}
