/** The errors of the content repository, with a closed list of codes. */
import { CellarError, ErrorCode } from '../../api/index.js'

export { invalidArgument } from '../../api/index.js'

/**
 * Every code of a `CellarError` of the content repository, with its cause. Nothing was changed. Bad
 * arguments are an `ERR_INVALID_ARGUMENT`; unreadable stored bytes are an `ERR_CORRUPTION`.
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
  /** The record breaks a rule of its type, or lacks data that the write needs. */
  invalidRecord: 'ERR_INVALID_RECORD',
  /** A version of the record, or the texts for its event, exceed `cellBytesMax` of the database. */
  recordTooLarge: 'ERR_RECORD_TOO_LARGE',
  /** Another record has the same value in a unique field. */
  notUnique: 'ERR_NOT_UNIQUE',
  /** Another writer changed the record meanwhile; the call may be repeated. */
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
  /** There is no such value type, a record type's name is taken, or a schema plan has conflicts. */
  type: 'ERR_TYPE',
  /** The record has no value in that field. */
  fieldNotFound: 'ERR_FIELD_NOT_FOUND',
  /** The field has no blob at these indexes. */
  blobNotFound: 'ERR_BLOB_NOT_FOUND',
  /** The field holds no blobs, or the key of a blob cannot be read. */
  blob: 'ERR_BLOB',
  /** The bytes of a blob do not match its checksum or its size, or its state is lost. */
  blobDamaged: 'ERR_BLOB_DAMAGED',
  /** The store of a blob did not answer, or refused the call, which may be repeated. */
  blobStore: 'ERR_BLOB_STORE',
  /** A blob is in a store that was not among the `blobStores` of `open`. */
  blobStoreMissing: 'ERR_BLOB_STORE_MISSING',
  /** No field index of that name, or for that query, is ready. */
  fieldIndexNotFound: 'ERR_FIELD_INDEX_NOT_FOUND',
  /** A field index of that name, with other fields, exists already, or is being dropped. */
  fieldIndexExists: 'ERR_FIELD_INDEX_EXISTS',
  /** No scanner has that token, or its lease has ended. */
  scannerNotFound: 'ERR_SCANNER_NOT_FOUND',
  /** The owner has reached the limit of scanners. */
  tooManyScanners: 'ERR_TOO_MANY_SCANNERS',
  /** The caller has no permission. */
  forbidden: 'ERR_FORBIDDEN',
  /** The text of a document cannot be extracted within the limits. */
  extraction: 'ERR_EXTRACTION',
  /** The search server did not answer, or its answer is invalid; the call may be repeated. */
  searchServer: 'ERR_SEARCH_SERVER',
  /** The configuration of an index is invalid; the message names the position. */
  indexConfiguration: 'ERR_INDEX_CONFIGURATION',
  /** No index of that name was defined. */
  indexNotFound: 'ERR_INDEX_NOT_FOUND',
  /** An index of that name exists already. */
  indexExists: 'ERR_INDEX_EXISTS',
  /** Another caller changed the definition of the index, or its state forbids the call. */
  indexState: 'ERR_INDEX_STATE',
  /** The repository is closed. */
  closed: 'ERR_REPOSITORY_CLOSED',
} as const

/** One of the codes of {@link RepositoryErrorCode}. */
export type RepositoryErrorCode = (typeof RepositoryErrorCode)[keyof typeof RepositoryErrorCode]

type CodeName = keyof typeof RepositoryErrorCode

const codes: ReadonlySet<string> = new Set(Object.values(RepositoryErrorCode))

/** Makes the error of a code, by the name of the code; `cause` is the underlying error. */
export function repositoryError(code: CodeName, message: string, cause?: unknown): CellarError {
  return new CellarError(RepositoryErrorCode[code], message, { cause })
}

/** Whether an error has one of {@link RepositoryErrorCode}. */
export function isRepositoryError(error: unknown): error is CellarError {
  return error instanceof CellarError && codes.has(error.code)
}

/** Whether an error has one of these codes of the repository. */
export function hasCode(error: unknown, ...names: readonly CodeName[]): error is CellarError {
  return (
    error instanceof CellarError && names.some((name) => RepositoryErrorCode[name] === error.code)
  )
}

/** Makes an `ERR_INVALID_RECORD`. */
export function invalidRecord(message: string): CellarError {
  return repositoryError('invalidRecord', message)
}

/** Makes an `ERR_RECORD_NOT_FOUND`. */
export function recordNotFound(id: { readonly text: string }): CellarError {
  return repositoryError('recordNotFound', `there is no record ${id.text}`)
}

/** Makes an `ERR_VERSION_NOT_FOUND`. */
export function versionNotFound(id: { readonly text: string }, version: number): CellarError {
  return repositoryError('versionNotFound', `the record ${id.text} has no version ${version}`)
}

/** Makes an `ERR_CONCURRENT_RECORD_UPDATE`; `what` was changed. */
export function concurrentUpdate(what: string): CellarError {
  return repositoryError(
    'concurrentRecordUpdate',
    `${what} was changed by another writer meanwhile`,
  )
}

/** Makes an `ERR_CORRUPTION`: stored bytes that no writer of this format makes. */
export function corrupt(message: string): CellarError {
  return new CellarError(ErrorCode.corruption, message)
}
