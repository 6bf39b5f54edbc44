/** A record table: all operations on records, also as objects of a definition. */
import {
  checkArray,
  checked,
  checkObject,
  declareOptions,
  integer,
  readArguments,
  shown,
  type OptionsOf,
} from '../../../api/index.js'
import { blobAt } from '../blobs/blob-references.js'
import { blobDamaged, rangeOptions, type ByteRange } from '../blobs/blob-store.js'
import type { Blobs } from '../blobs/blobs.js'
import { hasCode, invalidArgument } from '../errors.js'
import type { TableIndexes } from '../fields/field-index.js'
import { queryRecords, type FieldQuery, type RecordPage } from '../fields/field-query.js'
import { RecordIndexes } from '../fields/record-indexes.js'
import { RecordId, type RecordIdLike } from '../record-id.js'
import { type ReadOptions } from '../records/reads/record-reader.js'
import { type StoredRecord, type WriteResult } from '../records/record.js'
import type { TableContext } from '../records/table-context.js'
import { RecordHistory } from '../records/writes/record-history.js'
import type { UpdateOptions } from '../records/writes/write-options.js'
import { checkDefinition, type FieldsOf, type RecordTypeDefinition } from '../schema/define.js'
import type { Blob } from '../values/blob-value.js'
import { scanOptions, type RecordScan } from '../records/reads/record-scanner.js'

const placeOptions = declareOptions('the place of a blob', {
  /** One index for each list or path around the blob. */
  indexes: checked(checkArray<number>, []),
  /** Version of the record. Default: the newest. */
  version: integer({ min: 0, default: undefined }),
  /** Default: all bytes. */
  range: checked((given: ByteRange) => rangeOptions.read(given)),
})

/** The position of a blob in a field, and the range of bytes to read. */
export interface BlobPlace extends OptionsOf<typeof placeOptions> {}

/** A blob with its bytes. */
export interface BlobContent {
  /** Media type, size and name of the blob. */
  readonly blob: Blob
  /** The requested bytes in pieces; each piece is read when the consumer asks for it. */
  readonly bytes: AsyncGenerator<Buffer, void>
}

/**
 * A record table.
 *
 * A write changes the record, its event, its unique values, its index rows and the states of its
 * blobs together or not at all. Errors of writes besides those named: `ERR_INVALID_ARGUMENT`,
 * `ERR_INVALID_RECORD`, `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_RECORD_TYPE_NOT_FOUND`,
 * `ERR_RECORD_TOO_LARGE`, `ERR_NOT_UNIQUE`, and `ERR_CONCURRENT_RECORD_UPDATE` if another writer
 * changed the record meanwhile.
 */
export class RecordTable extends RecordHistory {
  /** Ordered indexes on fields. */
  readonly indexes: RecordIndexes
  readonly #blobs: Blobs

  /** @internal Made by `Repository.table`. */
  constructor(context: TableContext, indexes: TableIndexes, blobs: Blobs) {
    super(context)
    this.#blobs = blobs
    this.indexes = new RecordIndexes(context, indexes)
  }

  /** Checks that a value is a record table. `ERR_INVALID_ARGUMENT`. @internal */
  static check(value: unknown): RecordTable {
    if (typeof value === 'object' && value !== null && #blobs in value) return value
    throw invalidArgument(`a record table is wanted, got ${shown(value)}`)
  }

  /** The description of a blob in a field. Errors of {@link readBlob}. */
  async blob(id: RecordIdLike, field: string, place: BlobPlace = {}): Promise<Blob> {
    const { indexes, version } = placeOptions.read(place)
    if (typeof field !== 'string') throw invalidArgument('a blob is in a field, given by its name')
    const fieldType = this.context.schema.field(field)
    return blobAt(await this.read(id, { fields: [field], version }), fieldType, indexes)
  }

  /**
   * A blob in a field, with its bytes in pieces. `ERR_RECORD_NOT_FOUND`, `ERR_VERSION_NOT_FOUND`,
   * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_FIELD_NOT_FOUND`, `ERR_BLOB` for a field without blobs,
   * `ERR_BLOB_NOT_FOUND`, `ERR_BLOB_DAMAGED`, `ERR_INVALID_ARGUMENT`.
   */
  async readBlob(id: RecordIdLike, field: string, place: BlobPlace = {}): Promise<BlobContent> {
    const copy = placeOptions.read(place)
    const blob = await this.blob(id, field, copy)
    return { blob, bytes: this.#bytesOf(id, field, copy, blob) }
  }

  async *#bytesOf(
    id: RecordIdLike,
    field: string,
    place: BlobPlace,
    blob: Blob,
  ): AsyncGenerator<Buffer, void> {
    try {
      yield* this.#blobs.read(blob, place.range)
    } catch (error) {
      throw await blobReadError(this, error, id, field, place, blob)
    }
  }

  /**
   * Queries records by the values of their fields, in the order of an index, page by page.
   * `ERR_FIELD_INDEX_NOT_FOUND` if no index fits, `ERR_FIELD_TYPE_NOT_FOUND`,
   * `ERR_RECORD_TYPE_NOT_FOUND`, `ERR_INVALID_RECORD` for a value that does not fit its field,
   * `ERR_INVALID_ARGUMENT`, `ERR_UNSUPPORTED` if the backend has no snapshots.
   */
  query(query: FieldQuery): Promise<RecordPage> {
    return queryRecords(this.context, this.indexes, query)
  }

  /** Typed access to the records of a definition. */
  typed<D extends RecordTypeDefinition>(definition: D): TypedRecords<D, FieldsOf<D>> {
    return new TypedRecords(this, checkDefinition(definition) as D)
  }
}

/**
 * The error of a read of a blob: `ERR_BLOB_DAMAGED` in place of `ERR_BLOB_NOT_FOUND` if the record
 * still has the blob, so that no write has removed it.
 */
export async function blobReadError(
  table: RecordTable,
  error: unknown,
  id: RecordIdLike,
  field: string,
  place: BlobPlace,
  blob: Blob,
): Promise<unknown> {
  if (!hasCode(error, 'blobNotFound')) return error
  const now = await table.blob(id, field, place).catch(() => undefined)
  return now?.key.equals(blob.key) === true ? blobDamaged('its state is lost') : error
}

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
    const given = scanOptions.read(scan)
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
