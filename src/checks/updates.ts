/** Checks increments and appends. */
import { checkArray, checkBoolean, checkBytesLike, shown } from '../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import type { BytesLike, ColumnName } from '../storage/cell/column-name.js'
import {
  checkTimestamp,
  latestTimestamp,
  type TimeRange,
  type Timestamp,
} from '../storage/cell/timestamp.js'
import {
  appendColumnOptions,
  appendOptions,
  incrementColumnOptions,
  incrementOptions,
  type Append,
  type AppendColumn,
  type Increment,
  type IncrementColumn,
  type RowOperation,
} from '../api/mutations.js'
import { checkTtl } from './puts.js'
import { parseTimeRange } from './reads.js'

/** A column of an increment or append, with the amount or the bytes to add. */
export interface ColumnUpdate<T> {
  readonly column: ColumnName
  readonly amount: T
}

/** The columns of an increment in the given order. Does not check amounts. */
export function columnsOfIncrement(
  increment: RowOperation<Increment>,
): ColumnUpdate<number | bigint>[] {
  incrementOptions.check(increment)
  return listColumns(increment.columns, 'increment', (entry: IncrementColumn) => {
    return incrementColumnOptions.check(entry).amount ?? 1
  })
}

/** The columns of an append in the given order. Does not check values. */
export function columnsOfAppend(append: RowOperation<Append>): ColumnUpdate<BytesLike>[] {
  appendOptions.check(append)
  return listColumns(append.columns, 'append', (entry: AppendColumn) => {
    return appendColumnOptions.check(entry).value
  })
}

/** Turns the columns of an increment or append, given in either form, into a list. */
function listColumns<T, C extends { readonly column: ColumnName }>(
  columns: Readonly<Record<string, T>> | readonly C[],
  what: string,
  read: (entry: C) => T,
): ColumnUpdate<T>[] {
  if (typeof columns !== 'object' || columns === null) {
    throw invalidArgument(`${what} needs columns: an object or an array`)
  }
  const list: ColumnUpdate<T>[] = []
  if (Array.isArray(columns)) {
    for (const entry of checkArray(columns as readonly C[], what)) {
      if (typeof entry !== 'object' || entry === null) {
        throw invalidArgument(`each column of ${what} must be an object`)
      }
      list.push({ column: entry.column, amount: read(entry) })
    }
  } else {
    for (const [column, amount] of Object.entries(columns))
      list.push({ column, amount: amount as T })
  }
  if (list.length === 0) throw invalidArgument(`${what} has no columns`)
  return list
}

/** Checks the amount of an increment: a signed 64-bit integer. */
export function checkAmount(amount: number | bigint): void {
  if (typeof amount === 'bigint') {
    if (BigInt.asIntN(64, amount) === amount) return
  } else if (Number.isSafeInteger(amount)) return
  throw invalidArgument(`increment amount must be a 64-bit integer, got ${shown(amount)}`)
}

/** Checks the bytes of an append. */
export function checkTail(tail: BytesLike): void {
  checkBytesLike(tail, 'appended value')
}

/** The options of an increment or append apart from its columns. */
export interface UpdateOptions {
  /** Cell TTL in milliseconds; 0 = the TTL of the old cell. */
  readonly ttlMilliseconds: number
  /** Timestamp for a column without a cell; undefined: the time of the engine's clock. */
  readonly timestamp: Timestamp | undefined
  readonly timeRange: TimeRange
  readonly returnResults: boolean
}

/** Checks the options of an increment or append. `checkAhead` refuses timestamps too far ahead. */
export function parseUpdate(
  operation: RowOperation<Increment> | RowOperation<Append>,
  checkAhead: (timestamp: Timestamp) => void,
): UpdateOptions {
  const ttlMilliseconds = checkTtl(operation.ttlMilliseconds)
  const { timestamp } = operation
  const returnResults = checkBoolean(operation.returnResults, 'returnResults', true)
  if (timestamp !== undefined && timestamp !== latestTimestamp) {
    checkTimestamp(timestamp, 'timestamp')
    checkAhead(timestamp)
  }
  return {
    ttlMilliseconds,
    timestamp,
    returnResults,
    timeRange: parseTimeRange(operation.timeRange),
  }
}

/** The error for a stored value that is no counter. */
export function notACounter(family: string, valueBytes: number): CellarError {
  return new CellarError(
    ErrorCode.notACounter,
    `cannot increment a column of family '${family}': ` +
      `its value is ${valueBytes * 8} bits wide, a counter has 64`,
  )
}
