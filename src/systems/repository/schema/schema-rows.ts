/**
 * Reads and writes the rows of the schema table (src/systems/repository/FORMAT.md).
 *
 * The row of a name holds the id of its type. Every create and rename checks that this row is
 * absent or empty, so names are unique without a clock and across managers.
 */
import type {
  AtomicCheck,
  AtomicMutation,
  ColumnName,
  Database,
  Put,
  Result,
} from '../../../api/index.js'
import { uint32 } from '../../bytes/byte-writer.js'
import { corrupt } from '../errors.js'
import type { QualifiedName } from '../qualified-name.js'
import { uuidText } from '../record-id.js'
import { hasMembers, jsonOf } from '../stored-cells.js'
import type { ValueType } from '../values/value-type.js'
import type { ValueTypes } from '../values/value-types.js'
import {
  scopes,
  type FieldEntry,
  type FieldType,
  type RecordType,
  type Scope,
  type Supertype,
} from './types.js'
import type { SchemaCache } from './schema-cache.js'

/** A field type or a record type. */
export type TypeKind = 'field' | 'record'

const family = 's'
const prefixes = { field: 'f', record: 'r' } as const
const definition = 's:d'
const nameColumn = 's:i'
const counterRow = 'c'
const counterColumns = { field: 's:f', record: 's:r' } as const

interface StoredField {
  readonly ordinal: number
  readonly name: QualifiedName
  readonly valueType: string
  readonly scope: Scope
}

interface StoredRecordType {
  readonly ordinal: number
  readonly name: QualifiedName
}

interface StoredVersion {
  readonly fields: readonly FieldEntry[]
  readonly supertypes: readonly Supertype[]
  readonly isStrict: boolean
}

/** A type before a change: its name, and its row. */
export interface StoredType {
  readonly name: QualifiedName
  readonly row: Result
}

/** Reads and writes the rows of the schema table. */
export class SchemaRows {
  readonly #database: Database
  readonly #table: string
  readonly #valueTypes: ValueTypes

  constructor(database: Database, table: string, valueTypes: ValueTypes) {
    this.#database = database
    this.#table = table
    this.#valueTypes = valueTypes
  }

  async load(cache: SchemaCache): Promise<void> {
    const table = this.#database.table(this.#table)
    for await (const row of table.scan({ startRow: 'f', stopRow: 's' })) this.#put(row, cache)
  }

  /** Loads one type into a cache, by its row; an empty result if there is none. */
  async loadRow(row: Buffer, cache: SchemaCache): Promise<Result> {
    const stored = await this.#database.table(this.#table).get({ row })
    if (!stored.isEmpty) this.#put(stored, cache)
    return stored
  }

  /** Puts the type of a row into a cache; rows without a definition are ignored. */
  #put(row: Result, cache: SchemaCache): void {
    const kind = row.row!.toString('latin1', 0, 1)
    const stored = row.value(definition)
    if (stored === undefined) return
    const id = uuidText(row.row!.subarray(1))
    const place = `the type ${id} of the schema`
    if (kind === prefixes.field) {
      const { ordinal, name, valueType, scope } = jsonOf(stored, place, isField)
      const type = this.#typeOf(valueType, id)
      cache.putField({ id, ordinal, name, valueType, type, scope })
    } else if (kind === prefixes.record) {
      const head = jsonOf(stored, place, isNamed)
      const versions = row
        .cells()
        .filter(({ qualifier }) => qualifier.length === 5)
        .map(({ value }, index): RecordType => {
          return { id, ...head, version: index + 1, ...jsonOf(value, place, isVersion) }
        })
      if (versions.length > 0) cache.putRecordType(versions)
    }
  }

  #typeOf(valueType: string, id: string): ValueType {
    try {
      return this.#valueTypes.parse(valueType)
    } catch {
      throw corrupt(`the type ${id} of the schema has damaged values`)
    }
  }

  /** The next free ordinal. `ERR_CORRUPTION`. */
  async nextOrdinal(kind: TypeKind): Promise<number> {
    const column = counterColumns[kind]
    const row = await this.#database.table(this.#table).get({ row: counterRow, columns: [column] })
    const stored = row.value(column)
    if (stored === undefined) return 1
    if (stored.length === 4) return 1 + stored.readUInt32BE(0)
    throw corrupt(`the counter ${column} of the schema has ${stored.length} bytes`)
  }

  /**
   * Writes a new type, or a new name or version of a type. `taken`: another type has the name.
   * `changed`: another writer has changed the type, or taken the ordinal, since they were read.
   */
  async write(
    type: FieldType | RecordType,
    before: StoredType | undefined,
  ): Promise<'written' | 'taken' | 'changed'> {
    const kind = kindOf(type)
    const { id, ordinal, name } = type
    const checks: AtomicCheck[] = []
    const mutations = [this.#definitionOf(type)]
    const isNamed = before?.name !== name
    if (isNamed) {
      // The check also passes for an abandoned name, whose cell is empty.
      checks.push(this.#check(nameRow(kind, name), nameColumn, null))
      mutations.push(this.#mutation(nameRow(kind, name), { [nameColumn]: bytesOf(id) }))
    }
    if (before === undefined) {
      const column = counterColumns[kind]
      checks.push(this.#check(counterRow, column, ordinal === 1 ? null : uint32(ordinal - 1)))
      mutations.push(this.#mutation(counterRow, { [column]: uint32(ordinal) }))
    } else {
      // The definition holds the name; the last cell is the newest version of a record type.
      const cells = before.row.cells()
      for (const { qualifier, value } of [cells[0], cells[cells.length - 1]]) {
        checks.push(this.#check(rowOf(type), { family, qualifier }, value))
      }
      if (isNamed) mutations.push(this.#mutation(nameRow(kind, before.name), { [nameColumn]: '' }))
    }
    const { success, failedCheck } = await this.#database.atomic({ checks, mutations })
    if (success) return 'written'
    return isNamed && failedCheck === 0 ? 'taken' : 'changed'
  }

  /** Writes a field type, or the name and one version of a record type. */
  #definitionOf(type: FieldType | RecordType): AtomicMutation {
    const { ordinal, name } = type
    if ('valueType' in type) {
      const { valueType, scope } = type
      const stored: StoredField = { ordinal, name, valueType, scope }
      return this.#mutation(rowOf(type), { [definition]: JSON.stringify(stored) })
    }
    const { version, fields, supertypes, isStrict } = type
    const head: StoredRecordType = { ordinal, name }
    const stored: StoredVersion = { fields, supertypes, isStrict }
    const qualifier = Buffer.concat([Buffer.from('v'), uint32(version)])
    return this.#mutation(rowOf(type), [
      { column: definition, value: JSON.stringify(head) },
      { column: { family, qualifier }, value: JSON.stringify(stored) },
    ])
  }

  #check(row: string | Buffer, column: ColumnName, equals: Buffer | null): AtomicCheck {
    return { table: this.#table, row, column, equals }
  }

  #mutation(row: string | Buffer, cells: Put['cells']): AtomicMutation {
    return { table: this.#table, row, mutations: [{ put: { cells, timestamp: 1 } }] }
  }
}

/** Whether a type is that of fields or of records. */
export function kindOf(type: FieldType | RecordType): TypeKind {
  return 'valueType' in type ? 'field' : 'record'
}

/** The row of a type. */
export function rowOf(type: FieldType | RecordType): Buffer {
  return rowOfId(kindOf(type), type.id)
}

/** The row of the type of an id. */
export function rowOfId(kind: TypeKind, id: string): Buffer {
  return Buffer.concat([Buffer.from(prefixes[kind]), bytesOf(id)])
}

function nameRow(kind: TypeKind, name: string): string {
  return `n${prefixes[kind]}${name}`
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

function isNamed(value: unknown): value is StoredRecordType {
  if (!hasMembers(value, { ordinal: 'number', name: 'string' })) return false
  const { ordinal } = value as StoredRecordType
  return Number.isSafeInteger(ordinal) && ordinal > 0
}

function isField(value: unknown): value is StoredField {
  if (!isNamed(value) || !hasMembers(value, { valueType: 'string' })) return false
  return scopes.includes((value as StoredField).scope)
}

function isVersion(value: unknown): value is StoredVersion {
  const members = { fields: 'array', supertypes: 'array', isStrict: 'boolean' }
  if (!hasMembers(value, members)) return false
  const { fields, supertypes } = value as StoredVersion
  return (
    fields.every((each) => hasMembers(each, { field: 'string', mandatory: 'boolean' })) &&
    supertypes.every((each) => {
      return hasMembers(each, { id: 'string' }) && Number.isSafeInteger(each.version)
    })
  )
}
