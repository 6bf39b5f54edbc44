/**
 * The mutations of a table, as plain option objects: HBase's `Put`, `Delete`, `Increment`,
 * `Append`, `RowMutations`, `CheckAndMutate` and batches of them.
 *
 * Bytes are strings (UTF-8) or `Uint8Array`s. Timestamps are milliseconds by convention, `number`
 * or `bigint`, 0 to 2^63-1. The semantics are those of the HBase 2.6 client.
 */
import type { CellarError } from '../base/errors.js'
import type { CellTypeName } from '../cell/cell-type.js'
import type { BytesLike, ColumnName } from '../cell/column-name.js'
import type { Timestamp } from '../cell/timestamp.js'
import type { Filter } from '../filter/filter.js'
import type { Get, TimeRangeOption } from './reads.js'
import type { Result } from './result.js'

/** How durable a mutation is before it is acknowledged (HBase: Durability). */
export type DurabilityOption = 'USE_DEFAULT' | 'SKIP_WAL' | 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL'

/** A value, or a value with its own timestamp. */
export type PutValue =
  BytesLike | { readonly value: BytesLike; readonly timestamp?: Timestamp | undefined }

/** One cell of a put, in the long form. */
export interface PutCell {
  /** `'family:qualifier'`, or the two apart as bytes. */
  readonly column: ColumnName
  /** Absent means empty. */
  readonly value?: BytesLike | undefined
  /** Default: that of the put. */
  readonly timestamp?: Timestamp | undefined
  /** A raw delete marker may be put as well (HBase: Put.add(Cell)). Default 'Put'. */
  readonly type?: CellTypeName | undefined
}

/** Cells for one row. Needs at least one cell, else `ERR_INVALID_ARGUMENT`. */
export interface Put {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Values by `'family:qualifier'`, or a list of cells. */
  readonly cells: Readonly<Record<string, PutValue>> | readonly PutCell[]
  /** For the cells that have none of their own; default: the engine's clock. */
  readonly timestamp?: Timestamp | undefined
  /** Time to live of the cells; they expire so long after their timestamp. */
  readonly ttlMilliseconds?: number | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/** A family, with a timestamp of its own if wanted. */
export type FamilyTarget =
  BytesLike | { readonly family: BytesLike; readonly timestamp?: Timestamp | undefined }

/** A column, with a timestamp of its own if wanted. */
export type ColumnTarget =
  | string
  | Uint8Array
  | {
      readonly family: BytesLike
      readonly qualifier?: BytesLike | undefined
      readonly timestamp?: Timestamp | undefined
    }

/**
 * Deletes by writing markers. With none of the four lists: the whole row, that is, one family
 * marker for each family of the table. The lists have no order: all that they name counts.
 */
export interface Delete {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** For targets that have none of their own; default: the engine's clock ("up to now"). */
  readonly timestamp?: Timestamp | undefined
  /** All columns of the families, timestamps <= t (HBase: addFamily). */
  readonly families?: readonly FamilyTarget[] | undefined
  /** All columns of the families, timestamp = t exactly (HBase: addFamilyVersion). */
  readonly familyVersions?:
    readonly { readonly family: BytesLike; readonly timestamp: Timestamp }[] | undefined
  /** All versions of the columns with timestamps <= t (HBase: addColumns). */
  readonly columns?: readonly ColumnTarget[] | undefined
  /**
   * One version of each column: the one at t exactly; without t the newest, the n-th mention of a
   * column in the list meaning its n-th newest version (HBase: addColumn).
   */
  readonly columnVersions?: readonly ColumnTarget[] | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/**
 * Adds to 8-byte big-endian signed counters; an absent one counts as 0. Overflow wraps. Of a column
 * that is named twice the last mention counts, and the result has a cell for each.
 */
export interface Increment {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Amounts by column; an absent amount is 1. */
  readonly columns:
    | Readonly<Record<string, number | bigint>>
    | readonly { readonly column: ColumnName; readonly amount?: number | bigint | undefined }[]
  /**
   * Takes effect for counters that do not exist yet; else the new timestamp is max(now, old + 1).
   */
  readonly timestamp?: Timestamp | undefined
  /** Only versions inside the range serve as base. */
  readonly timeRange?: TimeRangeOption | undefined
  /** Time to live of the cells; they expire so long after their timestamp. */
  readonly ttlMilliseconds?: number | undefined
  /** False: the result is empty. Default true. */
  readonly returnResults?: boolean | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/**
 * Appends bytes to values; an absent one counts as empty. Of a column that is named twice the last
 * mention counts, and the result has a cell for each.
 */
export interface Append {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Bytes to append, by column. */
  readonly columns:
    | Readonly<Record<string, BytesLike>>
    | readonly { readonly column: ColumnName; readonly value: BytesLike }[]
  /** Default: the clock; at least that of the stored value and 1. */
  readonly timestamp?: Timestamp | undefined
  /** Only versions inside the range serve as base. */
  readonly timeRange?: TimeRangeOption | undefined
  /** Time to live of the cells; they expire so long after their timestamp. */
  readonly ttlMilliseconds?: number | undefined
  /** False: the result is empty. Default true. */
  readonly returnResults?: boolean | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/**
 * An operation inside a row mutation; a row of its own must equal the outer one (`ERR_WRONG_ROW`).
 */
export type RowOperation<T> = Omit<T, 'row' | 'durability'> & {
  readonly row?: BytesLike | undefined
}

/** What the forms of a {@link Mutation} hold, by the member that names the form. */
export interface MutationForms {
  /** Writes cells. */
  readonly put: RowOperation<Put>
  /** Writes delete markers. */
  readonly delete: RowOperation<Delete>
  /** Adds to counters. */
  readonly increment: RowOperation<Increment>
  /** Appends to values. */
  readonly append: RowOperation<Append>
}

/** What the forms of a {@link BatchOperation} hold, by the member that names the form. */
export interface BatchForms {
  /** Reads a row. */
  readonly get: Get
  /** Writes cells. */
  readonly put: Put
  /** Writes delete markers. */
  readonly delete: Delete
  /** Adds to counters. */
  readonly increment: Increment
  /** Appends to values. */
  readonly append: Append
  /** Several mutations of one row. */
  readonly mutateRow: RowMutations
  /** A mutation under a condition. */
  readonly checkAndMutate: { readonly check: Check; readonly action: CheckAction }
}

/** Objects that have exactly one of the members of `Forms`. */
export type OneOf<Forms> = {
  readonly [Name in keyof Forms]: Readonly<Pick<Forms, Name>> & {
    readonly [Other in Exclude<keyof Forms, Name>]?: never
  }
}[keyof Forms]

/**
 * One mutation of a row: exactly one of `put`, `delete`, `increment` and `append`. A second one is
 * refused by the compiler, and by `ERR_INVALID_ARGUMENT`.
 */
export type Mutation = OneOf<MutationForms>

/**
 * Several mutations of one row, applied all or none, under one sequence (HBase: RowMutations). The
 * result has the cells of increments and appends in the order of the operations.
 */
export interface RowMutations {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** At least one. */
  readonly mutations: readonly Mutation[]
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
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
  readonly checks?: readonly Check[] | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/** HBase's CompareOperator. In checks: `expected operator stored` (the reverse of filters). */
export type CompareOperator =
  'LESS' | 'LESS_OR_EQUAL' | 'EQUAL' | 'NOT_EQUAL' | 'GREATER_OR_EQUAL' | 'GREATER'

/** The row that is checked, and which part of its time line. */
export interface CheckTarget {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Only versions inside the range are looked at. Default: all. */
  readonly timeRange?: TimeRangeOption | undefined
}

/** The conditions of a {@link Check}: one of these forms, without members of the others. */
export type CheckCondition =
  | CheckOf<{ readonly column: ColumnName; readonly equals: BytesLike | null }>
  | CheckOf<{ readonly column: ColumnName; readonly notExists: true }>
  | CheckOf<{
      readonly column: ColumnName
      readonly operator: CompareOperator
      readonly value?: BytesLike | null | undefined
    }>
  | CheckOf<{ readonly filter: Filter }>

/** The members by which the forms of a check differ. */
export type CheckMember = 'column' | 'equals' | 'notExists' | 'operator' | 'value' | 'filter'

/** One form of a check, which has no member of another form. */
export type CheckOf<T> = T & { readonly [Other in Exclude<CheckMember, keyof T>]?: undefined }

/**
 * The condition of a checkAndMutate. One of: `equals` (null or empty also matches an absent cell),
 * `notExists`, `operator` with `value`, or `filter` (matches if a get with it yields a cell).
 * Anything else: `ERR_INVALID_ARGUMENT`.
 */
export type Check = CheckTarget & CheckCondition

/** What a checkAndMutate does when the condition holds. */
export type CheckAction = Mutation | { readonly mutations: readonly Mutation[] }

/** Outcome of a checkAndMutate. */
export interface CheckAndMutateResult {
  /** Whether the condition held and the action was applied. */
  readonly success: boolean
  /**
   * Cells that increments and appends of the action produced, in the order of the operations; empty
   * if `returnResults` is false, undefined if the action has neither.
   */
  readonly result: Result | undefined
}

/** One operation of a batch: exactly one of the members of {@link BatchForms}. */
export type BatchOperation = OneOf<BatchForms>

/** Outcome of one operation of a batch, at the position of the operation. */
export type BatchResult =
  | { readonly ok: true; readonly result: Result; readonly success?: boolean | undefined }
  | { readonly ok: false; readonly error: CellarError }

/**
 * Told of each outcome of a batch as soon as it is final (HBase: Batch.Callback). The batch rejects
 * with what it throws first, once all operations are carried out.
 */
export type BatchCallback = (result: BatchResult, position: number) => void
