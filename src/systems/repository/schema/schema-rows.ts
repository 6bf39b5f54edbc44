/**
 * Reads and writes the rows of the schema table (src/systems/repository/FORMAT.md).
 *
 * The row of a name holds the id of its type. Every create and rename checks that this row is
 * absent or empty, so names are unique without a clock and across managers.
 */
import type { AtomicCheck, AtomicMutation, Database, Result } from '../../../api/index.js'
import { corrupt } from '../errors.js'
import type { QualifiedName } from '../qualified-name.js'
import type { ValueTypes } from '../values/value-types.js'
import type { FieldType, Scope } from './field-type.js'
import type { FieldEntry, RecordType, Supertype } from './record-type.js'
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

/** Reads and encodes rows of the schema table. */
export class SchemaRows {
  readonly #database: Database
  readonly table: string

  constructor(database: Database, table: string) {
    this.#database = database
    this.table = table
  }

  async create(): Promise<void> {
    await this.#database.admin.ensureTable(this.table, { families: { [family]: {} } })
  }

  /** Loads all types into a cache. */
  async load(cache: SchemaCache, valueTypes: ValueTypes): Promise<void> {
    const table = this.#database.table(this.table)
    for await (const row of table.scan({ startRow: 'f', stopRow: 's' })) {
      this.put(row, cache, valueTypes)
    }
  }

  /** Puts the type of a row into a cache; rows without a definition are ignored. */
  put(row: Result, cache: SchemaCache, valueTypes: ValueTypes): void {
    const kind = row.row!.toString('latin1', 0, 1)
    const stored = row.value(definition)
    if (stored === undefined) return
    const id = uuidOf(row.row!.subarray(1))
    if (kind === prefixes.field) {
      const { ordinal, name, valueType, scope } = parse<StoredField>(stored, id)
      cache.putField({ id, ordinal, name, valueType, type: valueTypes.parse(valueType), scope })
    } else if (kind === prefixes.record) {
      const head = parse<StoredRecordType>(stored, id)
      const versions = row
        .cells()
        .filter(({ qualifier }) => qualifier.length === 5)
        .map(({ value }, index): RecordType => {
          return { id, ...head, version: index + 1, ...parse<StoredVersion>(value, id) }
        })
      if (versions.length > 0) cache.putRecordType(versions)
    }
  }

  /** The stored row of a type. */
  async read(kind: TypeKind, id: string): Promise<Result> {
    return this.#database.table(this.table).get({ row: rowOf(kind, id) })
  }

  async isNameTaken(kind: TypeKind, name: string): Promise<boolean> {
    const row = await this.#database.table(this.table).get({ row: nameRow(kind, name) })
    return row.hasNonEmpty(nameColumn)
  }

  /** The next free ordinal, and the stored counter that it was computed from. */
  async nextOrdinal(kind: TypeKind): Promise<{ ordinal: number; stored: Buffer | undefined }> {
    const column = counterColumns[kind]
    const row = await this.#database.table(this.table).get({ row: counterRow, columns: [column] })
    const stored = row.value(column)
    return { ordinal: stored === undefined ? 1 : stored.readUInt32BE(0) + 1, stored }
  }

  checkCounter(kind: TypeKind, stored: Buffer | undefined): AtomicCheck {
    const column = counterColumns[kind]
    return { table: this.table, row: counterRow, column, equals: stored ?? null }
  }

  checkNameFree(kind: TypeKind, name: string): AtomicCheck {
    // Also matches an abandoned name, whose cell is empty.
    return { table: this.table, row: nameRow(kind, name), column: nameColumn, equals: null }
  }

  /** Checks that no other writer renamed the type or added a version to it. */
  checkUnchanged(kind: TypeKind, id: string, stored: Result): AtomicCheck[] {
    const row = rowOf(kind, id)
    // The definition holds the name; the last cell is the newest version of a record type.
    const cells = stored.cells()
    return [cells[0], cells[cells.length - 1]].map(({ qualifier, value }) => ({
      table: this.table,
      row,
      column: { family, qualifier },
      equals: value,
    }))
  }

  putCounter(kind: TypeKind, ordinal: number): AtomicMutation {
    const value = Buffer.alloc(4)
    value.writeUInt32BE(ordinal)
    return this.#put(counterRow, { [counterColumns[kind]]: value })
  }

  putName(kind: TypeKind, name: string, id: string): AtomicMutation {
    return this.#put(nameRow(kind, name), { [nameColumn]: bytesOf(id) })
  }

  removeName(kind: TypeKind, name: string): AtomicMutation {
    return this.#put(nameRow(kind, name), { [nameColumn]: '' })
  }

  /** Writes a field type, or the name and one version of a record type. */
  putType(type: FieldType | RecordType): AtomicMutation {
    const { id, ordinal, name } = type
    if ('valueType' in type) {
      const { valueType, scope } = type
      const stored: StoredField = { ordinal, name, valueType, scope }
      return this.#put(rowOf('field', id), { [definition]: JSON.stringify(stored) })
    }
    const { version, fields, supertypes, isStrict } = type
    const head: StoredRecordType = { ordinal, name }
    const stored: StoredVersion = { fields, supertypes, isStrict }
    const qualifier = Buffer.alloc(5)
    qualifier.write('v', 'latin1')
    qualifier.writeUInt32BE(version, 1)
    const cells = [
      { column: definition, value: JSON.stringify(head), timestamp: 1 },
      { column: { family, qualifier }, value: JSON.stringify(stored), timestamp: 1 },
    ]
    const row = rowOf('record', id)
    return { table: this.table, row, mutations: [{ put: { cells } }] }
  }

  #put(row: string | Buffer, cells: Record<string, string | Buffer>): AtomicMutation {
    return { table: this.table, row, mutations: [{ put: { cells, timestamp: 1 } }] }
  }
}

/** The row of a type. */
export function rowOf(kind: TypeKind, id: string): Buffer {
  return Buffer.concat([Buffer.from(prefixes[kind]), bytesOf(id)])
}

function nameRow(kind: TypeKind, name: string): string {
  return `n${prefixes[kind]}${name}`
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function parse<T>(stored: Buffer, id: string): T {
  try {
    return JSON.parse(stored.toString('utf8')) as T
  } catch {
    throw corrupt(`the type ${id} of the schema is no JSON`)
  }
}
