/** Records of one definition: fields by property, with the types that the definition gives. */
import { checkObject, readArguments } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import type { RecordId, RecordIdLike } from '../record-id.js'
import type { RecordTypeDefinition } from '../schema/define.js'
import type { ReadOptions } from '../records/reads/record-reader.js'
import { checkScan, type RecordScan } from '../records/reads/record-scanner.js'
import type { RecordTable } from './record-table.js'
import type { UpdateOptions } from '../records/writes/write-options.js'
import type { StoredRecord, WriteResult } from '../records/record.js'

/** A record of a definition. Fields outside the definition are only in `record`. */
export interface TypedRecord<T> {
  /** Id of the record. */
  readonly id: RecordId
  /** The version that was read; undefined for a record without versions. */
  readonly version: number | undefined
  /** Values by property of the definition. */
  readonly fields: T
  /** The whole record. */
  readonly record: StoredRecord
}

/** Typed access to the records of a table; made by `RecordTable.typed`. */
export class TypedRecords<D extends RecordTypeDefinition, T> {
  readonly #table: RecordTable
  readonly #definition: D

  /** @internal */
  constructor(table: RecordTable, definition: D) {
    this.#table = table
    this.#definition = definition
  }

  /** Creates a record, by default with a random UUID. Errors of `RecordTable.create`. */
  async create(fields: T, id?: RecordIdLike): Promise<WriteResult> {
    const { sets } = this.#split(fields as object)
    return this.#table.create({ id, type: this.#definition.name, fields: sets })
  }

  /** Changes the given properties; null removes one. Errors of `RecordTable.update`. */
  async update(
    id: RecordIdLike,
    fields: { readonly [P in keyof T]?: T[P] | null },
    options?: UpdateOptions,
  ): Promise<WriteResult> {
    const { sets, deletes } = this.#split(fields)
    return this.#table.update({ id, fields: sets, fieldsToDelete: deletes }, options)
  }

  /** Reads a record. Errors of `RecordTable.read`. */
  async read(id: RecordIdLike, options?: Pick<ReadOptions, 'version'>): Promise<TypedRecord<T>> {
    return this.#typed(await this.#table.read(id, options))
  }

  /** The records of the type and its subtypes, in the order of their ids. */
  async *scan(scan: Omit<RecordScan, 'fields'> = {}): AsyncGenerator<TypedRecord<T>, void> {
    const own = { instanceOf: this.#definition.name }
    const given = checkScan(scan)
    const filter = given.filter === undefined ? own : { all: [own, given.filter] }
    for await (const record of this.#table.scan({ ...given, filter })) yield this.#typed(record)
  }

  #typed(record: StoredRecord): TypedRecord<T> {
    const fields: Record<string, unknown> = {}
    for (const [property, name] of Object.entries(this.#definition.fieldNames)) {
      if (name in record.fields) fields[property] = record.fields[name]
    }
    return { id: record.id, version: record.version, fields: fields as T, record }
  }

  #split(fields: object): { sets: Record<string, unknown>; deletes: string[] } {
    const sets: Record<string, unknown> = {}
    const deletes: string[] = []
    const names = this.#definition.fieldNames as Readonly<Record<string, string>>
    const given = readArguments(() => ({ ...checkObject(fields, 'the fields of a record') }))
    for (const [property, value] of Object.entries(given)) {
      if (!Object.hasOwn(names, property)) {
        throw invalidArgument(`${this.#definition.name} has no property '${property}'`)
      }
      if (value === null) deletes.push(names[property])
      else if (value !== undefined) sets[names[property]] = value
    }
    return { sets, deletes }
  }
}
