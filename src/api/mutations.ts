/**
 * The mutations of a table, as plain option objects: HBase's `Put`, `Delete`, `Increment`,
 * `Append`, `RowMutations`, `CheckAndMutate` and batches of them.
 *
 * Bytes are strings (UTF-8) or `Uint8Array`s. Timestamps are milliseconds by convention, `number`
 * or `bigint`, 0 to 2^63-1. The semantics are those of the HBase 2.6 client.
 */
import type { CellarError } from '../base/errors.js'
import type { CellTypeName } from '../storage/cell/cell-type.js'
import type { BytesLike, ColumnName } from '../storage/cell/column-name.js'
import type { Timestamp } from '../storage/cell/timestamp.js'
import type { Filter } from '../storage/filter/filter.js'
import type { DurabilityOption } from './durability.js'
import type { Get, TimeRangeOption } from './reads.js'
import type { Result } from './results/result.js'

/** A value, or a value with its own timestamp. */
export type PutValue =
  | BytesLike
  | {
      /** The bytes, or text as UTF-8. */
      readonly value: BytesLike
      /** Milliseconds. Default: the timestamp of the put. */
      readonly timestamp?: Timestamp | undefined
    }

/** One cell of a put, in the long form. */
export interface PutCell {
  /** `'family:qualifier'`, or the two apart as bytes. */
  readonly column: ColumnName
  /** Default: empty. */
  readonly value?: BytesLike | undefined
  /** Default: that of the put. */
  readonly timestamp?: Timestamp | undefined
  /** The type of the cell: a put, or a delete marker (HBase: Put.add(Cell)). Default 'Put'. */
  readonly type?: CellTypeName | undefined
}

/** Puts cells into one row. Needs at least one cell, else throws `ERR_INVALID_ARGUMENT`. */
export interface Put {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Values by `'family:qualifier'`, or a list of cells. */
  readonly cells: Readonly<Record<string, PutValue>> | readonly PutCell[]
  /** For cells without their own timestamp. Default: the time of the engine's clock. */
  readonly timestamp?: Timestamp | undefined
  /** Cell TTL, counted from the timestamp of the cell, 1 to 2^48-1. Default: none. */
  readonly ttlMilliseconds?: number | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/** A family, optionally with its own timestamp. */
export type FamilyTarget =
  | BytesLike
  | {
      /** Name of the family. */
      readonly family: BytesLike
      /** Milliseconds. Default: the timestamp of the delete. */
      readonly timestamp?: Timestamp | undefined
    }

/** A column, optionally with its own timestamp. */
export type ColumnTarget =
  | string
  | Uint8Array
  | {
      /** Name of the family. */
      readonly family: BytesLike
      /** The column's name within its family. */
      readonly qualifier?: BytesLike | undefined
      /** Milliseconds. Default: the timestamp of the delete. */
      readonly timestamp?: Timestamp | undefined
    }

/**
 * Deletes by writing markers. Without any of the four lists, deletes the whole row: one marker for
 * each family of the table. The order of the lists has no meaning; all markers that they name are
 * written.
 */
export interface Delete {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /**
   * For targets without their own timestamp. Default: the time of the engine's clock ("up to now").
   */
  readonly timestamp?: Timestamp | undefined
  /** All columns of these families, with timestamps <= t (HBase: addFamily). */
  readonly families?: readonly FamilyTarget[] | undefined
  /** All columns of these families, with timestamp t exactly (HBase: addFamilyVersion). */
  readonly familyVersions?:
    | readonly {
        /** Name of the family. */
        readonly family: BytesLike
        /** Milliseconds. */
        readonly timestamp: Timestamp
      }[]
    | undefined
  /** All versions of these columns with timestamps <= t (HBase: addColumns). */
  readonly columns?: readonly ColumnTarget[] | undefined
  /**
   * One version of each column (HBase: addColumn): the one with timestamp t exactly. Without t, the
   * n-th mention of a column in the list means its n-th newest version.
   */
  readonly columnVersions?: readonly ColumnTarget[] | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/**
 * Adds to 8-byte big-endian signed counters. A missing counter counts as 0. Overflow wraps around.
 * If a column is named twice, only the last mention takes effect, but the result has a cell for
 * each.
 */
export interface Increment {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Amounts by column; an absent amount is 1. */
  readonly columns:
    | Readonly<Record<string, number | bigint>>
    | readonly {
        /** `'family:qualifier'`. */
        readonly column: ColumnName
        /** What is added. Default 1. */
        readonly amount?: number | bigint | undefined
      }[]
  /** Timestamp for counters that do not exist yet. Others get max(now, old timestamp + 1). */
  readonly timestamp?: Timestamp | undefined
  /** Only versions within the range count as the old value. Default: all. */
  readonly timeRange?: TimeRangeOption | undefined
  /** Cell TTL, 1 to 2^48-1. Default: the TTL of the old cell. */
  readonly ttlMilliseconds?: number | undefined
  /** Whether the result has the new cells; false: it is empty. Default true. */
  readonly returnResults?: boolean | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/**
 * Appends bytes to values. A missing value counts as empty. If a column is named twice, only the
 * last mention takes effect, but the result has a cell for each. Options as in {@link Increment}.
 */
export interface Append {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Bytes to append, by column. */
  readonly columns:
    | Readonly<Record<string, BytesLike>>
    | readonly {
        /** `'family:qualifier'`. */
        readonly column: ColumnName
        /** Bytes to append. */
        readonly value: BytesLike
      }[]
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
 * An operation inside a row mutation. A row of its own must equal the outer row, else
 * `ERR_WRONG_ROW`.
 */
export type RowOperation<T> = Omit<T, 'row' | 'durability'> & {
  /** Default: the outer row. */
  readonly row?: BytesLike | undefined
}

/** The forms of a {@link Mutation}, by the member that names the form. */
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

/** The forms of a {@link BatchOperation}, by the member that names the form. */
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
  readonly checkAndMutate: {
    /** The condition. */
    readonly check: Check
    /** Applied if the condition holds. */
    readonly action: CheckAction
  }
}

/** Objects that have exactly one of the members of `Forms`. */
export type OneOf<Forms> = {
  readonly [Name in keyof Forms]: Readonly<Pick<Forms, Name>> & {
    readonly [Other in Exclude<keyof Forms, Name>]?: never
  }
}[keyof Forms]

/**
 * One mutation of a row: exactly one of `put`, `delete`, `increment` and `append`. The compiler
 * refuses a second one, and a call throws `ERR_INVALID_ARGUMENT`.
 */
export type Mutation = OneOf<MutationForms>

/**
 * Several mutations of one row, applied all or none, under one sequence (HBase: RowMutations). The
 * result has the cells of increments and appends, in the order of the operations.
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
 * Puts and deletes of several rows of a table, applied all or none, under one sequence. HBase's
 * MultiRowMutationEndpoint requires rows of one region; here a whole table is one.
 */
export interface MultiRowMutations {
  /** At least one. A row may be named several times. */
  readonly rows: readonly {
    /** 1 to 32,767 bytes. */
    readonly row: BytesLike
    /** Puts and deletes, at least one. */
    readonly mutations: readonly Mutation[]
  }[]
  /** If one check does not hold, nothing is applied. Default none. */
  readonly checks?: readonly Check[] | undefined
  /** Default: that of the table. */
  readonly durability?: DurabilityOption | undefined
}

/** HBase's CompareOperator. Checks compare `expected operator stored`, the reverse of filters. */
export type CompareOperator =
  'LESS' | 'LESS_OR_EQUAL' | 'EQUAL' | 'NOT_EQUAL' | 'GREATER_OR_EQUAL' | 'GREATER'

/** The row to check, and the time range of the versions to look at. */
export interface CheckTarget {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Only versions within the range are considered. Default: all. */
  readonly timeRange?: TimeRangeOption | undefined
}

/** The condition of a {@link Check}: one of these forms, without members of the others. */
export type CheckCondition =
  | CheckOf<{
      /** The column whose newest value is compared. */
      readonly column: ColumnName
      /** Holds if the value has these bytes; null or empty also if there is no cell. */
      readonly equals: BytesLike | null
    }>
  | CheckOf<{
      /** The column whose newest value is compared. */
      readonly column: ColumnName
      /** Holds if there is no cell. */
      readonly notExists: true
    }>
  | CheckOf<{
      /** The column whose newest value is compared. */
      readonly column: ColumnName
      /** Compares `value operator stored`. */
      readonly operator: CompareOperator
      /** What the stored value is compared with. */
      readonly value?: BytesLike | null | undefined
    }>
  | CheckOf<{
      /** Holds if a get of the row with this filter returns a cell. */
      readonly filter: Filter
    }>

/** The members by which the forms of a check differ. */
export type CheckMember = 'column' | 'equals' | 'notExists' | 'operator' | 'value' | 'filter'

/** One form of a check, which has no member of another form. */
export type CheckOf<T> = T & { readonly [Other in Exclude<CheckMember, keyof T>]?: undefined }

/**
 * The condition of a checkAndMutate, one of: `equals` (null or empty also matches an absent cell);
 * `notExists`; `operator` with `value`; `filter` (holds if a get with the filter returns a cell).
 * Anything else throws `ERR_INVALID_ARGUMENT`.
 */
export type Check = CheckTarget & CheckCondition

/** The mutations of a checkAndMutate, applied if the condition holds. */
export type CheckAction =
  | Mutation
  | {
      /** At least one; all or none. */
      readonly mutations: readonly Mutation[]
    }

/** The outcome of a checkAndMutate. */
export interface CheckAndMutateResult {
  /** Whether the condition held, so the action was applied. */
  readonly success: boolean
  /**
   * Cells of the increments and appends of the action, in the order of the operations. Empty if
   * `returnResults` is false; undefined if the action has no increment or append.
   */
  readonly result: Result | undefined
}

/** One operation of a batch: exactly one of the members of {@link BatchForms}. */
export type BatchOperation = OneOf<BatchForms>

/** The outcome of one operation of a batch, at the index of the operation. */
export type BatchResult =
  | {
      /** Whether the operation was carried out. */
      readonly ok: true
      /** The cells that the operation returns; may be empty. */
      readonly result: Result
      /** Of a checkAndMutate: whether its condition held. */
      readonly success?: boolean | undefined
    }
  | {
      /** Whether the operation was carried out. */
      readonly ok: false
      /** Why the operation failed. */
      readonly error: CellarError
    }

/**
 * Called with each outcome of a batch as soon as it is final (HBase: Batch.Callback). After all
 * operations the batch rejects with the first error that the callback threw.
 */
export type BatchCallback = (result: BatchResult, position: number) => void
