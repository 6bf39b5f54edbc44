/**
 * The mutations of a table, as plain option objects: HBase's `Put`, `Delete`, `Increment`,
 * `Append`, `RowMutations`, `CheckAndMutate` and batches of them.
 *
 * Each object is declared once: its type and the check of its names come from the declaration. The
 * values are checked where a call uses them (`src/checks/`).
 *
 * Bytes are strings (UTF-8) or `Uint8Array`s. Timestamps are milliseconds by convention, `number`
 * or `bigint`, 0 to 2^63-1. The semantics are those of the HBase 2.6 client.
 */
import type { CompareOperator } from '../base/compare-operator.js'
import type { CellarError } from '../base/errors.js'
import {
  declareOptions,
  unchecked,
  required,
  type GivenOptions,
  type OptionsOf,
} from '../base/options.js'
import type { CellTypeName } from '../storage/cell/cell-type.js'
import type { BytesLike, ColumnName } from '../storage/cell/column-name.js'
import type { Timestamp } from '../storage/cell/timestamp.js'
import type { Filter } from '../storage/filter/filter.js'
import type { DurabilityOption } from './durability.js'
import { rowMember, type Get, type TimeRangeOption } from './reads.js'
import type { Result } from './results/result.js'

/** The member that mutations which are committed have. */
const durabilityMember = {
  /** Default: that of the table. */
  durability: unchecked<DurabilityOption>(),
}

/** The declaration of a value with its own timestamp or TTL. */
export const timedValueOptions = declareOptions('a value of a put', {
  /** The bytes, or text as UTF-8. */
  value: required(unchecked<BytesLike>()),
  /** Milliseconds. Default: the timestamp of the put. */
  timestamp: unchecked<Timestamp>(),
  /** TTL of the cell, 1 to 2^48-1. Default: that of the put. */
  ttlMilliseconds: unchecked<number>(),
})

/** A value with its own timestamp or TTL. */
export interface TimedValue extends OptionsOf<typeof timedValueOptions> {}

/** A value, or a value with its own timestamp or TTL. */
export type PutValue = BytesLike | TimedValue

/** The declaration of {@link PutCell}. */
export const putCellOptions = declareOptions('a cell of a put', {
  /** `'family:qualifier'`, or the two apart as bytes. */
  column: required(unchecked<ColumnName>()),
  /** Default: empty. */
  value: unchecked<BytesLike>(),
  /** Default: that of the put. */
  timestamp: unchecked<Timestamp>(),
  /** TTL of the cell, 1 to 2^48-1. Default: that of the put. */
  ttlMilliseconds: unchecked<number>(),
  /** The type of the cell: a put, or a delete marker (HBase: Put.add(Cell)). Default 'Put'. */
  type: unchecked<CellTypeName>(),
})

/** One cell of a put, in the long form. */
export interface PutCell extends OptionsOf<typeof putCellOptions> {}

/** The declaration of {@link Put}. */
export const putOptions = declareOptions('a put', {
  ...rowMember,
  /** Values by `'family:qualifier'`, or a list of cells. */
  cells: required(unchecked<Readonly<Record<string, PutValue>> | readonly PutCell[]>()),
  /** For cells without their own timestamp. Default: the time of the engine's clock. */
  timestamp: unchecked<Timestamp>(),
  /** TTL of cells without their own, counted from their timestamp, 1 to 2^48-1. Default: none. */
  ttlMilliseconds: unchecked<number>(),
  ...durabilityMember,
})

/** Puts cells into one row. Needs at least one cell, else throws `ERR_INVALID_ARGUMENT`. */
export interface Put extends OptionsOf<typeof putOptions> {}

/** Members of a family or a column of a delete. */
const targetMembers = {
  /** Name of the family. */
  family: required(unchecked<BytesLike>()),
  /** Milliseconds. Default: the timestamp of the delete. */
  timestamp: unchecked<Timestamp>(),
}

/** The declaration of a family of a delete with its own timestamp. */
export const familyTargetOptions = declareOptions('a family of a delete', targetMembers)

/** The declaration of a column of a delete, in parts. */
export const columnTargetOptions = declareOptions('a column of a delete', {
  ...targetMembers,
  /** The column's name within its family. */
  qualifier: unchecked<BytesLike>(),
})

/** A family, optionally with its own timestamp. */
export type FamilyTarget = BytesLike | OptionsOf<typeof familyTargetOptions>

/** A column, optionally with its own timestamp. */
export type ColumnTarget = BytesLike | OptionsOf<typeof columnTargetOptions>

/** One version of a family. */
export interface FamilyVersion {
  /** Name of the family. */
  readonly family: BytesLike
  /** Milliseconds. */
  readonly timestamp: Timestamp
}

/** The declaration of {@link Delete}. */
export const deleteOptions = declareOptions('a delete', {
  ...rowMember,
  /**
   * For targets without their own timestamp. Default: the time of the engine's clock ("up to now").
   */
  timestamp: unchecked<Timestamp>(),
  /** All columns of these families, with timestamps <= t (HBase: addFamily). */
  families: unchecked<readonly FamilyTarget[]>(),
  /** All columns of these families, with timestamp t exactly (HBase: addFamilyVersion). */
  familyVersions: unchecked<readonly FamilyVersion[]>(),
  /** All versions of these columns with timestamps <= t (HBase: addColumns). */
  columns: unchecked<readonly ColumnTarget[]>(),
  /**
   * One version of each column (HBase: addColumn): the one with timestamp t exactly. Without t, the
   * n-th mention of a column in the list means its n-th newest version.
   */
  columnVersions: unchecked<readonly ColumnTarget[]>(),
  ...durabilityMember,
})

/**
 * Deletes by writing markers. Without any of the four lists, deletes the whole row: one marker for
 * each family of the table. The order of the lists has no meaning; all markers that they name are
 * written.
 */
export interface Delete extends OptionsOf<typeof deleteOptions> {}

/** Members of increments and appends. */
const updateMembers = {
  ...rowMember,
  /** Timestamp for columns that do not exist yet. Others get max(now, old timestamp + 1). */
  timestamp: unchecked<Timestamp>(),
  /** Only versions within the range count as the old value. Default: all. */
  timeRange: unchecked<TimeRangeOption>(),
  /** Cell TTL, 1 to 2^48-1. Default: the TTL of the old cell. */
  ttlMilliseconds: unchecked<number>(),
  /** Whether the result has the new cells; false: it is empty. Default true. */
  returnResults: unchecked<boolean>(),
  ...durabilityMember,
}

/** The declaration of a column of an increment. */
export const incrementColumnOptions = declareOptions('a column of an increment', {
  /** `'family:qualifier'`. */
  column: required(unchecked<ColumnName>()),
  /** The number to add. Default 1. */
  amount: unchecked<number | bigint>(),
})

/** A column of an increment, with the number to add. */
export interface IncrementColumn extends OptionsOf<typeof incrementColumnOptions> {}

/** The declaration of {@link Increment}. */
export const incrementOptions = declareOptions('an increment', {
  ...updateMembers,
  /** Amounts by column; an absent amount is 1. */
  columns:
    required(unchecked<Readonly<Record<string, number | bigint>> | readonly IncrementColumn[]>()),
})

/**
 * Adds to 8-byte big-endian signed counters. A missing counter counts as 0. Overflow wraps around.
 * If a column is named twice, only the last mention takes effect, but the result has a cell for
 * each.
 */
export interface Increment extends OptionsOf<typeof incrementOptions> {}

/** The declaration of a column of an append. */
export const appendColumnOptions = declareOptions('a column of an append', {
  /** `'family:qualifier'`. */
  column: required(unchecked<ColumnName>()),
  /** Bytes to append. */
  value: required(unchecked<BytesLike>()),
})

/** A column of an append, with the bytes to append. */
export interface AppendColumn extends OptionsOf<typeof appendColumnOptions> {}

/** The declaration of {@link Append}. */
export const appendOptions = declareOptions('an append', {
  ...updateMembers,
  /** Bytes to append, by column. */
  columns: required(unchecked<Readonly<Record<string, BytesLike>> | readonly AppendColumn[]>()),
})

/**
 * Appends bytes to values. A missing value counts as empty. If a column is named twice, only the
 * last mention takes effect, but the result has a cell for each. Options as in {@link Increment}.
 */
export interface Append extends OptionsOf<typeof appendOptions> {}

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
  readonly checkAndMutate: CheckedAction
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

/** The declaration of {@link RowMutations}. */
export const rowMutationsOptions = declareOptions('a mutateRow', {
  ...rowMember,
  /** At least one. */
  mutations: required(unchecked<readonly Mutation[]>()),
  ...durabilityMember,
})

/**
 * Several mutations of one row, applied all or none, under one sequence (HBase: RowMutations). The
 * result has the cells of increments and appends, in the order of the operations.
 */
export interface RowMutations extends OptionsOf<typeof rowMutationsOptions> {}

/** The mutations of one row of several, by the member that names the form. */
export interface RowForms {
  /** Writes cells. */
  readonly put: RowOperation<Put>
  /** Writes delete markers. */
  readonly delete: RowOperation<Delete>
  /** Puts and deletes, at least one. */
  readonly mutations: readonly Mutation[]
}

/** The members of one row of several. */
export const mutatedRowMembers = {
  ...rowMember,
  put: unchecked<RowForms['put']>(),
  delete: unchecked<RowForms['delete']>(),
  mutations: unchecked<RowForms['mutations']>(),
}

/** The declaration of {@link MutatedRow}. */
export const mutatedRowOptions = declareOptions('a row of mutateRows', mutatedRowMembers)

/** One row of a `mutateRows`: `{ row, put }`, `{ row, delete }`, or `{ row, mutations }`. */
export type MutatedRow = GivenOptions<typeof rowMember> & OneOf<RowForms>

/** The declaration of {@link MultiRowMutations}. */
export const multiRowOptions = declareOptions('a mutateRows', {
  /** At least one. A row may be named several times. */
  rows: required(unchecked<readonly MutatedRow[]>()),
  /** If one check does not hold, nothing is applied. Default none. */
  checks: unchecked<readonly Check[]>(),
  ...durabilityMember,
})

/**
 * Puts and deletes of several rows of a table, applied all or none, under one sequence. HBase's
 * MultiRowMutationEndpoint requires rows of one region; here a whole table is one.
 */
export interface MultiRowMutations extends OptionsOf<typeof multiRowOptions> {}

const targetOfCheck = {
  ...rowMember,
  /** Only versions within the range are considered. Default: all. */
  timeRange: unchecked<TimeRangeOption>(),
}

/** The row to check, and the time range of the versions to look at. */
export interface CheckTarget extends GivenOptions<typeof targetOfCheck> {}

const conditionMembers = {
  /** The column whose newest value is compared. */
  column: unchecked<ColumnName>(),
  /** Holds if the value has these bytes; null or empty also if there is no cell. */
  equals: unchecked<BytesLike | null>(),
  /** Holds if there is no cell. */
  notExists: unchecked<true>(),
  /** Compares `value operator stored`. */
  operator: unchecked<CompareOperator>(),
  /** The bytes with which the stored value is compared. */
  value: unchecked<BytesLike | null>(),
  /** Holds if a get of the row with this filter returns a cell. */
  filter: unchecked<Filter>(),
}

/** The declaration of {@link Check}. */
export const checkOptions = declareOptions('a check', { ...targetOfCheck, ...conditionMembers })

/** The members by which the forms of a check differ. */
export type CheckMembers = GivenOptions<typeof conditionMembers>

/** One form of a check: it has the members `Must`, perhaps `May`, and no other. */
export type CheckOf<Must extends keyof CheckMembers, May extends keyof CheckMembers = never> = {
  readonly [Name in Must]: Exclude<CheckMembers[Name], undefined>
} & { readonly [Name in May]?: CheckMembers[Name] } & {
  readonly [Other in Exclude<keyof CheckMembers, Must | May>]?: undefined
}

/** The condition of a {@link Check}: one of these forms, without members of the others. */
export type CheckCondition =
  | CheckOf<'column' | 'equals'>
  | CheckOf<'column' | 'notExists'>
  | CheckOf<'column' | 'operator', 'value'>
  | CheckOf<'filter'>

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

/** The names of a {@link CheckedAction}. */
export const checkedActionOptions = declareOptions('a checkAndMutate', {
  check: required(unchecked<Check>()),
  action: required(unchecked<CheckAction>()),
})

/** A check, and the action that depends on it. */
export interface CheckedAction {
  /** The condition. */
  readonly check: Check
  /** Applied if the condition holds. */
  readonly action: CheckAction
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
 * operations the batch rejects with the first error that the callback threw. No batch waits for a
 * callback: an async function, and one that returns a promise, is an `ERR_INVALID_ARGUMENT`.
 */
export type BatchCallback = (result: BatchResult, position: number) => void
