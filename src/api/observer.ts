/**
 * The half of a coprocessor that watches a table's operations (HBase: RegionObserver).
 *
 * All methods are optional and **synchronous**: they run in the same turn as the operation, so that
 * nothing can come between a check and its mutation. A method that returns a promise is refused
 * with `ERR_COPROCESSOR`.
 *
 * Observers are called in the order of their priorities. A `pre` method may return a changed
 * operation, which goes to the observers that follow and to the table; a `post` method may return a
 * changed result. Undefined leaves it as it is. Where the context has `bypass`, calling it skips
 * the table's own action and the observers that follow, and the operation returns what `bypass` was
 * given; no `post` method is called then.
 *
 * An error fails the operation and nothing else. A {@link CellarError} reaches the caller as it is,
 * any other error as the cause of an `ERR_COPROCESSOR`. In a `pre` method nothing was changed; in a
 * `post` method of a mutation the mutation is part of the database all the same.
 *
 * `post` methods of mutations run when the mutation is visible; the log may not yet be durable.
 *
 * An observer may read and write through `context.table`, whose operations call observers again; it
 * must not write between the check and the mutation of a checkAndMutate (that fails the operation).
 */
import type { JobObserver } from '../coprocessor/job-observer.js'
import type { Timestamp } from '../cell/timestamp.js'
import type { Result } from './result.js'
import type {
  Append,
  Check,
  CheckAction,
  CheckAndMutateResult,
  ColumnTarget,
  Delete,
  Get,
  Increment,
  Mutation,
  Put,
  RowMutations,
  Scan,
  SyncTable,
  Table,
} from './index.js'

/** What every method of an observer is told. */
export interface ObserverContext {
  /** The table, for reads and writes of the observer itself. */
  readonly table: Table & SyncTable
}

/** The context of a method that may put itself in the place of the table's own action. */
export interface BypassContext<T> extends ObserverContext {
  /** The operation is done and returns `result`; see the file header. */
  bypass(result: T): void
}

/** The mutations that one put, delete, row mutation or `mutateRows` applies under one sequence. */
export interface MutationBatch {
  readonly mutations: readonly Mutation[]
  /**
   * Adds a put or a delete, of any row, that becomes part of the same sequence and log entry: all
   * of it is applied or nothing.
   */
  add(mutation: { readonly put: Put } | { readonly delete: Delete }): void
}

/** A running scan, to tell scans apart. */
export interface ObservedScan {
  /** As `preScannerOpen` left it. */
  readonly scan: Scan
}

/** Watches the operations of a table; see the file header. */
export interface Observer extends JobObserver {
  /**
   * The observer is about to watch the table: the database opens, or the table or the coprocessor
   * is new. An error refuses that. The table may not exist yet.
   */
  preOpen?(): void
  /** The observer watches the table. An error here and below is a warning. */
  postOpen?(context: ObserverContext): void
  /** The database is about to close, or the coprocessor was taken away, or the table dropped. */
  preClose?(context: ObserverContext): void
  postClose?(): void

  /** (HBase: preGetOp.) */
  preGet?(context: BypassContext<Result>, get: Get): Get | void
  postGet?(context: ObserverContext, get: Get, result: Result): Result | void
  /** An `exists` calls these two, and inside of them the methods of its get. */
  preExists?(context: BypassContext<boolean>, get: Get): Get | void
  postExists?(context: ObserverContext, get: Get, exists: boolean): boolean | void

  preScannerOpen?(context: ObserverContext, scan: Scan): Scan | void
  postScannerOpen?(context: ObserverContext, scan: ObservedScan): void
  /** Called once per result; `bypass(undefined)` ends the scan. */
  preScannerNext?(context: BypassContext<Result | undefined>, scan: ObservedScan): void
  /** `result` is undefined at the end. */
  postScannerNext?(
    context: ObserverContext,
    scan: ObservedScan,
    result: Result | undefined,
  ): Result | void
  /**
   * A row was looked at and gives nothing, mostly because the scan's filter dropped it. False ends
   * the scan; `goesOn` is what the observers before answered.
   */
  postScannerFilterRow?(
    context: ObserverContext,
    scan: ObservedScan,
    row: Buffer,
    goesOn: boolean,
  ): boolean | void
  /** The scan ends: at its last row, by its consumer, or by an error. */
  preScannerClose?(context: ObserverContext, scan: ObservedScan): void
  postScannerClose?(context: ObserverContext, scan: ObservedScan): void

  /**
   * These four are also called for the puts and deletes inside of row mutations, mutations of
   * several rows and checks, behind the methods of those. There `bypass` leaves that one out.
   */
  prePut?(context: BypassContext<void>, put: Put): Put | void
  postPut?(context: ObserverContext, put: Put): void
  preDelete?(context: BypassContext<void>, deletion: Delete): Delete | void
  postDelete?(context: ObserverContext, deletion: Delete): void
  /**
   * A version delete without timestamp is about to look for its version; with `bypass(timestamp)`
   * the marker gets that one.
   */
  prePrepareTimeStampForDeleteVersion?(
    context: BypassContext<Timestamp>,
    deletion: Delete,
    column: ColumnTarget,
  ): void
  preIncrement?(context: BypassContext<Result>, increment: Increment): Increment | void
  /**
   * The row is in memory and nothing can come in between any more; called once, behind
   * `preIncrement`. Increments and appends inside of other operations do not call it.
   */
  preIncrementAfterRowLock?(context: BypassContext<Result>, increment: Increment): void
  postIncrement?(context: ObserverContext, increment: Increment, result: Result): Result | void
  preAppend?(context: BypassContext<Result>, append: Append): Append | void
  /** As {@link preIncrementAfterRowLock}. */
  preAppendAfterRowLock?(context: BypassContext<Result>, append: Append): void
  postAppend?(context: ObserverContext, append: Append, result: Result): Result | void
  preMutateRow?(context: BypassContext<Result>, mutations: RowMutations): RowMutations | void
  postMutateRow?(context: ObserverContext, mutations: RowMutations, result: Result): Result | void

  /** Everything that is applied under one sequence, after the methods of the operation itself. */
  preBatchMutate?(context: ObserverContext, batch: MutationBatch): void
  postBatchMutate?(context: ObserverContext, batch: MutationBatch): void
  /** Called whether the batch was applied or not, if `preBatchMutate` was. */
  postBatchMutateIndispensably?(
    context: ObserverContext,
    batch: MutationBatch,
    success: boolean,
  ): void

  /** Before files of these directories become part of the table (HBase: preBulkLoadHFile). */
  preBulkLoad?(context: ObserverContext, directories: readonly string[]): void
  postBulkLoad?(context: ObserverContext, directories: readonly string[]): void

  preCheckAndMutate?(
    context: BypassContext<CheckAndMutateResult>,
    check: Check,
    action: CheckAction,
  ): void
  /** The row is read and the condition judged; nothing can come in between any more. */
  preCheckAndMutateAfterRowLock?(
    context: BypassContext<CheckAndMutateResult>,
    check: Check,
    action: CheckAction,
    matched: boolean,
  ): void
  postCheckAndMutate?(
    context: ObserverContext,
    check: Check,
    action: CheckAction,
    result: CheckAndMutateResult,
  ): CheckAndMutateResult | void
}
