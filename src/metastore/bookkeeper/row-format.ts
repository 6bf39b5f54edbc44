/**
 * How a row of the metastore lies in a table.
 *
 * One family, `r`. The column with the empty qualifier holds the version of the row, 8 bytes, big
 * endian; it exists if and only if the row does, so a row without fields exists too. A field is a
 * column whose qualifier is `=` and the UTF-8 form of its name, so no field can be taken for the
 * version. Rows are written whole or not at all, and a put writes the version and the named fields
 * only.
 */
import type { Check, CheckAction, ColumnName, Result, TableOptions } from '../../index.js'
import type { FieldChanges } from './arguments.js'
import { MetastoreError, MetastoreErrorCode } from './errors.js'
import { keyOfRow } from './keys.js'
import type { MetastoreItem } from './types.js'
import { ALL_FIELDS, Value, type FieldSelection } from './value.js'
import { LongVersion, Version, type Versioned } from './version.js'

const family = 'r'
const fieldMark = '='

/** The column that holds the version. */
export const versionColumn = `${family}:`

/** The families of a table of the metastore. */
export const rowFamilies: TableOptions['families'] = { [family]: {} }

function fieldColumn(name: string): ColumnName {
  return { family, qualifier: fieldMark + name }
}

/** The columns that a read of some fields needs; undefined = all. */
export function columnsOf(fields: FieldSelection): readonly ColumnName[] | undefined {
  if (fields === ALL_FIELDS) return undefined
  return [versionColumn, ...Array.from(fields, fieldColumn)]
}

/** The bytes of a version. */
export function versionBytes(version: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeBigInt64BE(version)
  return bytes
}

/** The version of a row that was read; undefined if the row does not exist. */
export function versionOf(result: Result): bigint | undefined {
  return result.value(versionColumn)?.readBigInt64BE(0)
}

/** The fields and the version of a row that was read; undefined if it does not exist. */
export function versionedOf(result: Result): Versioned<Value> | undefined {
  if (result.isEmpty) return undefined
  const value = new Value()
  let version: LongVersion | undefined
  for (const { qualifier, value: bytes } of result.cells()) {
    if (qualifier.length === 0) version = new LongVersion(bytes.readBigInt64BE(0))
    else value.setField(qualifier.toString('utf8', 1), bytes)
  }
  if (version !== undefined) return { value, version }
  const message = `row ${JSON.stringify(keyOfRow(result.row!))} has fields but no version`
  throw new MetastoreError(MetastoreErrorCode.operationFailure, message)
}

/** A row of a scan. */
export function itemOf(result: Result): MetastoreItem {
  return { key: keyOfRow(result.row!), value: versionedOf(result)! }
}

/**
 * The condition under which a put or a remove may be carried out. `ANY` asks a put for a row with
 * an older version than the new one, which is any row that exists.
 */
export function conditionOf(row: Buffer, expected: Version, next: Buffer | undefined): Check {
  const column = versionColumn
  if (expected === Version.NEW) return { row, column, notExists: true }
  if (expected instanceof LongVersion) return { row, column, equals: versionBytes(expected.value) }
  return next === undefined
    ? { row, column, operator: 'NOT_EQUAL', value: null }
    : { row, column, operator: 'GREATER', value: next }
}

/** What a put does under the condition. */
export function putAction(changes: FieldChanges, next: Buffer): CheckAction {
  const cells = [{ column: versionColumn as ColumnName, value: next }]
  const deleted: ColumnName[] = []
  for (const [name, data] of changes) {
    const column = fieldColumn(name)
    if (data === null) deleted.push(column)
    else cells.push({ column, value: data })
  }
  if (deleted.length === 0) return { put: { cells } }
  return { mutations: [{ put: { cells } }, { delete: { columns: deleted } }] }
}
