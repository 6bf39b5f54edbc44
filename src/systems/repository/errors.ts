/** The errors of the content repository, with a closed list of codes. */
import { CellarError, ErrorCode } from '../../api/index.js'

/**
 * Every code of a {@link RepositoryError}, with the situation that raises it. Bad arguments are a
 * `CellarError` with `ERR_INVALID_ARGUMENT`, and stored bytes that cannot be read one with
 * `ERR_CORRUPTION`.
 */
export const RepositoryErrorCode = {
  /** No repository of that name was created. */
  repositoryNotFound: 'ERR_REPOSITORY_NOT_FOUND',
  /** A repository of that name exists already. */
  repositoryExists: 'ERR_REPOSITORY_EXISTS',
  /** The repository has no record table of that name. */
  recordTableNotFound: 'ERR_RECORD_TABLE_NOT_FOUND',
  /** The repository has a record table of that name already. */
  recordTableExists: 'ERR_RECORD_TABLE_EXISTS',
  /** The record does not exist, or was deleted. */
  recordNotFound: 'ERR_RECORD_NOT_FOUND',
  /** A record with that id exists already. */
  recordExists: 'ERR_RECORD_EXISTS',
  /** The record has no such version. */
  versionNotFound: 'ERR_VERSION_NOT_FOUND',
  /** The record breaks a rule of its type, or says too little to be written. */
  invalidRecord: 'ERR_INVALID_RECORD',
  /** A version of the record, or the texts for its event, exceed `cellBytesMax` of the database. */
  recordTooLarge: 'ERR_RECORD_TOO_LARGE',
  /** Another record has the same value in a unique field. */
  notUnique: 'ERR_NOT_UNIQUE',
  /** Somebody else changed the record meanwhile; the call may be repeated. */
  concurrentRecordUpdate: 'ERR_CONCURRENT_RECORD_UPDATE',
  /** No field type has that name or id. */
  fieldTypeNotFound: 'ERR_FIELD_TYPE_NOT_FOUND',
  /** A field type of that name exists already. */
  fieldTypeExists: 'ERR_FIELD_TYPE_EXISTS',
  /** Value type and scope of a field type cannot change, and its name must be free. */
  fieldTypeUpdate: 'ERR_FIELD_TYPE_UPDATE',
  /** No record type has that name or id, or not that version. */
  recordTypeNotFound: 'ERR_RECORD_TYPE_NOT_FOUND',
  /** A record type of that name exists already. */
  recordTypeExists: 'ERR_RECORD_TYPE_EXISTS',
  /** There is no such value type, or a record type cannot take that name. */
  type: 'ERR_TYPE',
  /** The record has no value in that field. */
  fieldNotFound: 'ERR_FIELD_NOT_FOUND',
  /** There is no blob at that place of the field. */
  blobNotFound: 'ERR_BLOB_NOT_FOUND',
  /** The field holds no blobs, or the key of a blob cannot be read. */
  blob: 'ERR_BLOB',
  /** The bytes of a blob do not fit its checksum or its size. */
  blobDamaged: 'ERR_BLOB_DAMAGED',
  /** Blobs are in a store that was not among the `blobStores` of `open`. */
  blobStoreMissing: 'ERR_BLOB_STORE_MISSING',
  /** No field index of that name, or for such a query, is ready. */
  fieldIndexNotFound: 'ERR_FIELD_INDEX_NOT_FOUND',
  /** A field index of that name, with other fields, exists already. */
  fieldIndexExists: 'ERR_FIELD_INDEX_EXISTS',
  /** No scanner has that token, or its lease has ended. */
  scannerNotFound: 'ERR_SCANNER_NOT_FOUND',
  /** There are as many scanners as there may be. */
  tooManyScanners: 'ERR_TOO_MANY_SCANNERS',
  /** Whoever asks has no permission. */
  forbidden: 'ERR_FORBIDDEN',
  /** A document whose text cannot be extracted, or only beyond a limit. */
  extraction: 'ERR_EXTRACTION',
  /** The search server did not answer, or not as it should; the call may be repeated. */
  searchServer: 'ERR_SEARCH_SERVER',
  /** The configuration of an index cannot be; the message names the place. */
  indexConfiguration: 'ERR_INDEX_CONFIGURATION',
  /** No index of that name was defined. */
  indexNotFound: 'ERR_INDEX_NOT_FOUND',
  /** An index of that name exists already. */
  indexExists: 'ERR_INDEX_EXISTS',
  /** Somebody else changed the definition of the index meanwhile, or its state forbids the call. */
  indexState: 'ERR_INDEX_STATE',
  /** The repository is closed. */
  closed: 'ERR_REPOSITORY_CLOSED',
} as const

/** One of the codes of {@link RepositoryErrorCode}. */
export type RepositoryErrorCode = (typeof RepositoryErrorCode)[keyof typeof RepositoryErrorCode]

/** An error of the content repository. Nothing was changed. */
export class RepositoryError extends CellarError {
  /** Always `'RepositoryError'`. */
  override readonly name = 'RepositoryError'
  /** The stable code. */
  declare readonly code: RepositoryErrorCode

  /** For hooks, value types and stores of the caller. `cause` is the error behind this one. */
  constructor(code: RepositoryErrorCode, message: string, cause?: unknown) {
    super(code, message, { cause })
  }

  /** Of this class only: a `CellarError` is not one of the repository. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof CellarError && value.name === 'RepositoryError'
  }
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}

/** Makes an `ERR_INVALID_RECORD`. */
export function invalidRecord(message: string): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.invalidRecord, message)
}

/** Makes an `ERR_CORRUPTION`: stored bytes that no writer of this format makes. */
export function corrupt(message: string): CellarError {
  return new CellarError(ErrorCode.corruption, message)
}
