/**
 * The layout of a row of the metastore in a table.
 *
 * One family, `r`. The column with the empty qualifier stores the version of the row, 8 bytes, big
 * endian. The column exists if and only if the row does, so a row without fields exists, too. A
 * field is a column with the qualifier `=` and the UTF-8 form of its name, so no field collides
 * with the version. A row is written atomically; a put writes only the version and the named
 * fields.
 */
import type {
  Check,
  CheckAction,
  Mutation,
  PutCell,
  Result,
  TableOptions,
} from '../../../../api/index.js'
import { MetastoreError, MetastoreErrorCode } from '../errors.js'
import { compareKeys, keyOfRow } from '../keys.js'
import type { MetastoreItem } from '../types.js'
import { ALL_FIELDS, Value, type FieldChange, type FieldSelection } from '../value.js'
import { LongVersion, Version, type Versioned } from './version.js'

const family = 'r'
const fieldMark = '='

const versionLength = 8
/** High word of the greatest version that a number represents exactly. */
const highMax = 0x1f_ffff
const knownFieldsMax = 16

/** The version column. */
export const versionColumn = `${family}:`

/** The families of a table of the metastore. */
export const rowFamilies: TableOptions['families'] = { [family]: {} }

/** A cache: field names are few and repeat. The bound guards against generated names. */
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

/** The columns of a read of some fields; undefined = all. */
export function columnsOf(fields: FieldSelection): readonly string[] | undefined {
  if (fields === ALL_FIELDS) return undefined
  return [versionColumn, ...Array.from(fields, fieldColumn)]
}

/** Encodes a version. Safe integers avoid the allocations of bigint arithmetic. */
export function versionBytes(version: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(versionLength)
  const number = Number(version)
  if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) {
    writeUint32(bytes, 0, Math.floor(number / 0x1_0000_0000))
    writeUint32(bytes, 4, number)
  } else {
    bytes.writeBigInt64BE(version)
  }
  return bytes
}

function writeUint32(bytes: Buffer, at: number, value: number): void {
  const word = value >>> 0
  bytes[at] = word >>> 24
  bytes[at + 1] = (word >>> 16) & 0xff
  bytes[at + 2] = (word >>> 8) & 0xff
  bytes[at + 3] = word & 0xff
}

/** The version of a row; undefined if the row does not exist. */
export function versionOf(result: Result): bigint | undefined {
  const bytes = result.value(versionColumn)
  return bytes === undefined ? undefined : readVersion(bytes)
}

function readVersion(bytes: Buffer): bigint {
  const high = bytes.readUInt32BE(0)
  if (high > highMax) return bytes.readBigInt64BE(0)
  return BigInt(high * 0x1_0000_0000 + bytes.readUInt32BE(4))
}

interface KnownField {
  readonly name: string
  readonly column: string
}

/**
 * Decodes the rows of one table. Remembers the field names of previous rows, because most rows have
 * the same few fields. Looking up known columns is cheaper than decoding whole cells.
 */
export class RowDecoder {
  /** The known fields, in the order of their columns. */
  #known: readonly KnownField[] = []

  /** The fields and the version of a row; undefined if the row does not exist. */
  decode(result: Result): Versioned<Value> | undefined {
    if (result.isEmpty) return undefined
    const version = versionOf(result)
    if (version === undefined) {
      const message = `row ${JSON.stringify(keyOfRow(result.row!))} has fields but no version`
      throw new MetastoreError(MetastoreErrorCode.operationFailure, message)
    }
    return { value: this.#fields(result), version: new LongVersion(version) }
  }

  /** A row of a scan; a scan returns only existing rows. */
  item(result: Result): MetastoreItem {
    return { key: keyOfRow(result.row!), value: this.decode(result)! }
  }

  #fields(result: Result): Value {
    const value = new Value()
    const expected = result.size - 1
    for (const { name, column } of this.#known) {
      if (value.size === expected) break
      const data = result.value(column)
      if (data !== undefined) value.setField(name, data)
    }
    return value.size === expected ? value : this.#allFields(result)
  }

  #allFields(result: Result): Value {
    const value = new Value()
    for (const { qualifier, value: data } of result.cells()) {
      if (qualifier.length > 0) value.setField(qualifier.toString('utf8', 1), data)
    }
    const names = new Set([...this.#known.map(({ name }) => name), ...value.getFields()])
    if (names.size <= knownFieldsMax) {
      this.#known = [...names]
        .sort(compareKeys)
        .map((name) => ({ name, column: fieldColumn(name) }))
    }
    return value
  }
}

/** A conditional mutation, the arguments of `checkAndMutate`. */
export interface ConditionalMutation {
  readonly check: Check
  readonly action: CheckAction
}

/** Puts fields into a row and sets its version to `next`, if the row has the expected version. */
export function putMutation(
  row: string,
  expected: Version,
  changes: readonly FieldChange[],
  next: bigint,
): ConditionalMutation {
  const nextBytes = versionBytes(next)
  const check = putCheck(row, expected, nextBytes)
  const version: PutCell = { column: versionColumn, value: nextBytes }
  // Fast path for a put of one field, such as the update of a subscription.
  if (changes.length === 1 && changes[0].data !== null) {
    const [{ name, data }] = changes
    return {
      check,
      action: { put: { cells: [version, { column: fieldColumn(name), value: data }] } },
    }
  }
  const cells = [version]
  const deleted: string[] = []
  for (const { name, data } of changes) {
    if (data === null) deleted.push(fieldColumn(name))
    else cells.push({ column: fieldColumn(name), value: data })
  }
  const put: Mutation = { put: { cells } }
  if (deleted.length === 0) return { check, action: put }
  return { check, action: { mutations: [put, { delete: { columns: deleted } }] } }
}

/** The check of a put. `ANY` requires a version below the new one, which every existing row has. */
function putCheck(row: string, expected: Version, nextBytes: Buffer): Check {
  const column = versionColumn
  if (expected === Version.NEW) return { row, column, notExists: true }
  if (expected instanceof LongVersion) return versionCheck(row, expected)
  return { row, column, operator: 'GREATER', value: nextBytes }
}

/** The check that a row has a given version. */
export function versionCheck(row: string, version: LongVersion): Check {
  return { row, column: versionColumn, equals: versionBytes(version.value) }
}

/** Removes a row if it has the expected version. REQUIRES: `expected` is not `NEW`. */
export function removeMutation(row: string, expected: Version): ConditionalMutation {
  const column = versionColumn
  const check: Check =
    expected instanceof LongVersion
      ? versionCheck(row, expected)
      : { row, column, operator: 'NOT_EQUAL', value: null }
  return { check, action: { delete: {} } }
}
