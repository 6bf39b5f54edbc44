/**
 * How a row of the metastore lies in a table.
 *
 * One family, `r`. The column with the empty qualifier holds the version of the row, 8 bytes, big
 * endian; it exists if and only if the row does, so a row without fields exists too. A field is a
 * column whose qualifier is `=` and the UTF-8 form of its name, so no field can be taken for the
 * version. Rows are written whole or not at all, and a put writes the version and the named fields
 * only.
 */
import type { Check, CheckAction, Mutation, PutCell, Result, TableOptions } from '../../index.js'
import { MetastoreError, MetastoreErrorCode } from './errors.js'
import { keyOfRow } from './keys.js'
import type { MetastoreItem } from './types.js'
import { ALL_FIELDS, Value, type FieldChange, type FieldSelection } from './value.js'
import { LongVersion, Version, type Versioned } from './version.js'

const family = 'r'
const fieldMark = '='

/** The column that holds the version. */
export const versionColumn = `${family}:`

/** The families of a table of the metastore. */
export const rowFamilies: TableOptions['families'] = { [family]: {} }

/** Names of fields are few and repeat; the bound guards against generated ones. */
const columnsMax = 1024
const columnsByField = new Map<string, string>()

function fieldColumn(name: string): string {
  let column = columnsByField.get(name)
  if (column === undefined) {
    column = `${family}:${fieldMark}${name}`
    if (columnsByField.size >= columnsMax) columnsByField.clear()
    columnsByField.set(name, column)
  }
  return column
}

/** The columns that a read of some fields needs; undefined = all. */
export function columnsOf(fields: FieldSelection): readonly string[] | undefined {
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

/** A mutation under a condition, as `checkAndMutate` takes it. */
export interface ConditionalMutation {
  readonly check: Check
  readonly action: CheckAction
}

/** Puts fields into a row and gives it the version `next`, if its version is as expected. */
export function putMutation(
  row: string,
  expected: Version,
  changes: readonly FieldChange[],
  next: bigint,
): ConditionalMutation {
  const nextBytes = versionBytes(next)
  const cells: PutCell[] = [{ column: versionColumn, value: nextBytes }]
  let deleted: string[] | undefined
  for (const { name, data } of changes) {
    if (data === null) (deleted ??= []).push(fieldColumn(name))
    else cells.push({ column: fieldColumn(name), value: data })
  }
  const put: Mutation = { put: { cells } }
  return {
    check: putCheck(row, expected, nextBytes),
    action: deleted === undefined ? put : { mutations: [put, { delete: { columns: deleted } }] },
  }
}

/** `ANY` asks for an older version than the new one, which is what any row that exists has. */
function putCheck(row: string, expected: Version, nextBytes: Buffer): Check {
  const column = versionColumn
  if (expected === Version.NEW) return { row, column, notExists: true }
  if (expected instanceof LongVersion) return { row, column, equals: versionBytes(expected.value) }
  return { row, column, operator: 'GREATER', value: nextBytes }
}

/** Removes a row if its version is as expected, which is not `NEW`. */
export function removeMutation(row: string, expected: Version): ConditionalMutation {
  const column = versionColumn
  const check: Check =
    expected instanceof LongVersion
      ? { row, column, equals: versionBytes(expected.value) }
      : { row, column, operator: 'NOT_EQUAL', value: null }
  return { check, action: { delete: {} } }
}
