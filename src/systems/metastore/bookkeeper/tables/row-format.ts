/**
 * The layout of a row of the metastore in a table.
 *
 * One family, `r`. The column with the empty qualifier stores the version of the row, 8 bytes, big
 * endian. The column exists if and only if the row does, so a row without fields exists, too. A
 * field is a column with the qualifier `=` and the UTF-8 form of its name, so no field collides
 * with the version. A row is written atomically; a put writes only the version and the named
 * fields.
 */
import type { Mutation, PutCell, Result, TableOptions } from '../../../../api/index.js'
import { readUint64, uint64 } from '../../kernel/numbers.js'
import { MetastoreErrorCode, failed } from '../../errors.js'
import { compareKeys, keyOfRow } from '../keys.js'
import type { MetastoreItem } from '../types.js'
import { ALL_FIELDS, Value, type FieldChange, type FieldSelection } from '../value.js'
import { LongVersion, type Versioned } from './version.js'

const family = 'r'
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
    column = `${family}:=${name}`
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

/** The version of a row; 0 if the row does not exist. */
export function versionOf(result: Result): number {
  const bytes = result.value(versionColumn)
  return bytes === undefined ? 0 : readUint64(bytes, 0, result.row)
}

/** Removes a row. */
export const removal: readonly Mutation[] = [{ delete: {} }]

/** Puts fields into a row and sets its version. */
export function putMutations(changes: readonly FieldChange[], version: number): Mutation[] {
  const cells: PutCell[] = [{ column: versionColumn, value: uint64(version) }]
  const deleted: string[] = []
  for (const { name, data } of changes) {
    if (data === null) deleted.push(fieldColumn(name))
    else cells.push({ column: fieldColumn(name), value: data })
  }
  if (deleted.length === 0) return [{ put: { cells } }]
  return [{ put: { cells } }, { delete: { columns: deleted } }]
}

/**
 * Decodes the rows of one table. Remembers the field names of previous rows, because most rows have
 * the same few fields. Looking up known columns is cheaper than decoding whole cells.
 */
export class RowDecoder {
  /** The known fields, in the order of their columns. */
  #known: readonly { readonly name: string; readonly column: string }[] = []

  /** The fields and the version of a row; undefined if the row does not exist. */
  decode(result: Result): Versioned<Value> | undefined {
    if (result.isEmpty) return undefined
    const version = versionOf(result)
    if (version === 0) {
      const message = `row ${JSON.stringify(keyOfRow(result.row!))} has fields but no version`
      throw failed(MetastoreErrorCode.operationFailure, message)
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
