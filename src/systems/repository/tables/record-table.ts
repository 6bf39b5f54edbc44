/** A record table: all operations on records. */
import {
  checkArray,
  checked,
  checkSignal,
  checkText,
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
import { RecordId, type RecordIdLike, storedRecordId } from '../record-id.js'
import { RecordReader } from '../records/reads/record-reader.js'
import { headColumn } from '../records/record-state.js'
import {
  checkVersion,
  copyAttributes,
  type RecordInput,
  type WriteResult,
} from '../records/record.js'
import type { TableContext } from '../records/table-context.js'
import { writeBatch, type BatchResult, type BatchWrite } from '../records/writes/batch.js'
import { publishEvent } from '../records/writes/commit.js'
import { creating, deleting, updating } from '../records/writes/record-attempts.js'
import {
  diffVersions,
  pruneVersions,
  purgeRecord,
  restoreVersion,
  revisionOptions,
  undeleteRecord,
  type FieldDifference,
  type PruneOptions,
  type RevisionOptions,
} from '../records/writes/record-history.js'
import { createOrUpdateRecord, createRecord, retried } from '../records/writes/record-writer.js'
import type {
  CreateOptions,
  DeleteOptions,
  UpdateOptions,
} from '../records/writes/write-options.js'
import { checkDefinition, type FieldsOf, type RecordTypeDefinition } from '../schema/define.js'
import type { Blob } from '../values/blob-value.js'
import { TypedRecords } from './typed-records.js'

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

const purgeOptions = declareOptions('a purge', {
  /** Aborts the call with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of {@link RecordTable.purgeDeleted}. */
export interface PurgeOptions extends OptionsOf<typeof purgeOptions> {}

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
export class RecordTable extends RecordReader {
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

  /**
   * Creates a record. `ERR_RECORD_EXISTS`. A deleted id may be used again; its versions continue.
   */
  async create(input: RecordInput, options?: CreateOptions): Promise<WriteResult> {
    return createRecord(this.context, creating(this.context, input, options))
  }

  /**
   * Changes the given fields. `ERR_RECORD_NOT_FOUND`, `ERR_VERSION_NOT_FOUND`. Status `UP_TO_DATE`
   * if nothing changes, `CONFLICT` if a condition does not hold.
   */
  async update(input: RecordInput, options?: UpdateOptions): Promise<WriteResult> {
    return retried(this.context, updating(this.context, input, options), options?.retries)
  }

  /** Creates the record, or updates it if it exists. Safe to repeat. */
  createOrUpdate(input: RecordInput, options?: UpdateOptions): Promise<WriteResult> {
    return createOrUpdateRecord(this.context, input, options)
  }

  /** Deletes a record with all its versions. `ERR_RECORD_NOT_FOUND`. */
  async delete(id: RecordIdLike, options?: DeleteOptions): Promise<WriteResult> {
    return retried(this.context, deleting(this.context, id, options), options?.retries)
  }

  /**
   * Writes several different records, all or none. Results are by position. If one write is a
   * `CONFLICT`, nothing is written, and the other changes are `NOT_WRITTEN`. `Repository.batch`
   * writes to several tables.
   */
  async batch(writes: readonly BatchWrite[]): Promise<BatchResult[]> {
    const list = readArguments(() => checkArray(writes, 'the writes of a batch'))
    return writeBatch(list.map((write) => ({ context: this.context, write })))
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
   * Notifies subscribers of the present record by an event of the type `record-index`. Returns the
   * sequence of the event; undefined if there is no such record.
   */
  async publish(
    id: RecordIdLike,
    attributes?: Readonly<Record<string, string>>,
  ): Promise<number | undefined> {
    const texts = readArguments(() => attributes && copyAttributes(attributes))
    return publishEvent(this.context, RecordId.of(id), texts)
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

  /** Versioned and mutable fields that differ between two versions, in value or metadata. */
  async diff(id: RecordIdLike, from: number, to: number): Promise<FieldDifference[]> {
    return diffVersions(this.context, RecordId.of(id), from, to)
  }

  /**
   * Makes a version with the versioned and mutable fields of an old one, and their metadata. The
   * restore is an {@link update} with its hooks, rules and errors, so an old version that breaks
   * the present rules is refused.
   */
  async restore(
    id: RecordIdLike,
    version: number,
    options?: RevisionOptions,
  ): Promise<WriteResult> {
    return restoreVersion(this.context, RecordId.of(id), version, options)
  }

  /** Removes old versions, which can no longer be read. */
  async pruneVersions(id: RecordIdLike, options?: PruneOptions): Promise<WriteResult> {
    return pruneVersions(this.context, RecordId.of(id), options)
  }

  /** Restores a deleted record within `undeleteMilliseconds`. */
  async undelete(id: RecordIdLike): Promise<WriteResult> {
    return undeleteRecord(this.context, RecordId.of(id))
  }

  /**
   * Removes the contents of deleted records whose undelete time is over. Returns the number of
   * these records. `ERR_ABORTED` by the signal.
   */
  async purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    this.context.checkOpen()
    const { signal } = purgeOptions.read(options)
    let count = 0
    const columns = [headColumn]
    for await (const row of this.context.table.scan({ columns, signal })) {
      if (
        await purgeRecord(this.context, storedRecordId(row.row, `a row of ${this.context.keyText}`))
      )
        count++
    }
    return count
  }

  /** Points a version tag to a version, by default the newest one. */
  async tag(
    id: RecordIdLike,
    tag: string,
    version?: number,
    options: RevisionOptions = {},
  ): Promise<WriteResult> {
    checkText(tag, 'a version tag')
    if (version !== undefined) checkVersion(version)
    const settings = revisionOptions.read(options)
    const target = version ?? (await this.read(id)).version ?? 0
    return this.update({ id, fields: { [tag]: BigInt(target) } }, settings)
  }

  /** Removes a version tag. */
  async untag(id: RecordIdLike, tag: string, options?: RevisionOptions): Promise<WriteResult> {
    return this.update({ id, fieldsToDelete: [tag] }, options)
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
