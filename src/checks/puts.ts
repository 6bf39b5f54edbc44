/** Checks puts, and passes their cells to the code that stores them. */
import { checkBytesLike, isBytes, shown } from '../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { CellType, cellTypeCode, type CellTypeCode } from '../storage/cell/cell-type.js'
import type { BytesLike, ColumnName } from '../storage/cell/column-name.js'
import type { Timestamp } from '../storage/cell/timestamp.js'
import {
  putCellOptions,
  putOptions,
  timedValueOptions,
  type Put,
  type PutCell,
  type RowOperation,
  type TimedValue,
} from '../api/mutations.js'

/** Receives the cells of a put one by one. */
export interface PutTarget {
  /**
   * Receives one cell. `place` is its index in the put, `ttl` its TTL in milliseconds, 0 = none.
   * Must check the column and the value.
   */
  addCell(
    column: ColumnName,
    place: number,
    type: CellTypeCode,
    timestamp: Timestamp | undefined,
    ttl: number,
    value: BytesLike,
  ): void
}

/** Passes the cells of a put to a target. Throws `ERR_INVALID_ARGUMENT`. */
export function readPut(put: RowOperation<Put>, target: PutTarget): void {
  const { cells, timestamp } = put
  putOptions.checkNames(put)
  const ttl = checkTtl(put.ttlMilliseconds)
  if (typeof cells !== 'object' || cells === null) {
    throw invalidArgument('put needs cells: an object of columns or an array of cells')
  }
  let place = 0
  if (Array.isArray(cells)) {
    for (const cell of cells as readonly PutCell[]) readCell(target, cell, place++, timestamp, ttl)
  } else {
    for (const name in cells as Readonly<Record<string, unknown>>) {
      const value = (cells as Readonly<Record<string, unknown>>)[name]
      readNamedValue(target, name, place++, value, timestamp, ttl)
    }
  }
  if (place === 0) throw invalidArgument('put has no cells')
}

function readNamedValue(
  target: PutTarget,
  name: string,
  place: number,
  value: unknown,
  timestamp: Timestamp | undefined,
  ttl: number,
): void {
  if (typeof value === 'string' || isBytes(value)) {
    target.addCell(name, place, CellType.put, timestamp, ttl, value)
    return
  }
  if (typeof value !== 'object' || value === null) throw wrongValue(name, value)
  const { value: content, timestamp: own, ttlMilliseconds: lifetime } = value as TimedValue
  if (typeof content !== 'string' && !isBytes(content)) {
    timedValueOptions.checkNear(value)
    throw wrongValue(name, content ?? value)
  }
  timedValueOptions.checkNames(value as TimedValue)
  const at = own === undefined ? timestamp : own
  const age = lifetime === undefined ? ttl : checkTtl(lifetime)
  target.addCell(name, place, CellType.put, at, age, content)
}

function readCell(
  target: PutTarget,
  cell: PutCell,
  place: number,
  timestamp: Timestamp | undefined,
  ttl: number,
): void {
  if (typeof cell !== 'object' || cell === null) {
    throw invalidArgument('each cell of a put must be an object {column, value}')
  }
  const { column, type: typeName, timestamp: own = timestamp, value = '' } = cell
  const { ttlMilliseconds: lifetime } = cell
  putCellOptions.checkNames(cell)
  if (typeof value !== 'string' && !isBytes(value)) throw wrongValue(column, value)
  const type = typeName === undefined ? CellType.put : cellTypeCode(typeName)
  if (type === undefined) throw invalidArgument(`unknown cell type ${shown(typeName)}`)
  target.addCell(column, place, type, own, lifetime === undefined ? ttl : checkTtl(lifetime), value)
}

/** The error for a value that is neither text nor bytes. */
function wrongValue(column: ColumnName, value: unknown): CellarError {
  const name = typeof column === 'string' ? `'${column}'` : 'a cell'
  return invalidArgument(
    `the value of ${name} must be a string, bytes or { value, timestamp }, got ${shown(value)}; ` +
      'encodings and defineTable make bytes of other values',
  )
}

/** Checks the value of a cell. */
export function checkValue(value: BytesLike): void {
  if (typeof value !== 'string') checkBytesLike(value, 'value')
}

/** The error for a family marker with a qualifier. */
export function markerWithQualifier(): CellarError {
  return invalidArgument('a marker of a whole family has the empty qualifier')
}

/** Checks a cell TTL in milliseconds: 1 to 2^48-1. Returns 0 for undefined. */
export function checkTtl(ttl: number | undefined): number {
  if (ttl === undefined) return 0
  if (typeof ttl !== 'number' || !Number.isInteger(ttl) || ttl < 1 || ttl >= 2 ** 48) {
    throw invalidArgument(`ttlMilliseconds must be an integer of 1 to 2^48-1, got ${shown(ttl)}`)
  }
  return ttl
}

/**
 * Throws `ERR_FAILED_SANITY_CHECK` for a timestamp of a put, an increment or an append that is more
 * than `slop` milliseconds ahead of the clock. As in HBase deletes have no such limit, so that
 * cells written before the limit was set can be deleted.
 */
export function checkSlop(timestamp: Timestamp, now: number, slop: number): void {
  if (timestamp <= now + slop) return
  throw new CellarError(
    ErrorCode.failedSanityCheck,
    `timestamp ${timestamp} is more than ${slop} ms ahead of the clock`,
  )
}
