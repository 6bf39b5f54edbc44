/**
 * The errors of metadata stores and of the coordination on them: stable codes of `CellarError`.
 *
 * Every operation reports its errors through its promise. A failed operation has changed nothing,
 * unless the code says that the outcome is in doubt.
 */
import { inspect, types } from 'node:util'
import { CellarError, ErrorCode } from '../../../api/index.js'

/**
 * The codes of metadata operations (Pulsar: `MetadataStoreException`), each with its cause. The
 * errors are {@link CellarError}s.
 */
export const MetadataErrorCode = {
  /** The record does not exist. */
  notFound: 'ERR_METADATA_NOT_FOUND',
  /** The record exists, but the caller wanted to create it. */
  alreadyExists: 'ERR_METADATA_ALREADY_EXISTS',
  /** The record has another version than the expected one, or exists although it must not. */
  badVersion: 'ERR_METADATA_BAD_VERSION',
  /** The stored bytes cannot be decoded by the serde of the cache, lock or election. */
  contentDeserialization: 'ERR_METADATA_CONTENT_DESERIALIZATION',
  /** Another owner holds the lock. */
  lockBusy: 'ERR_METADATA_LOCK_BUSY',
  /** The store, lock, election or view was closed. */
  alreadyClosed: 'ERR_METADATA_ALREADY_CLOSED',
  /**
   * The path is not absolute, ends in a slash, has an empty segment, NUL or a lone surrogate, or is
   * too long.
   */
  invalidPath: 'ERR_METADATA_INVALID_PATH',
  /** The record has children. */
  notEmpty: 'ERR_METADATA_NOT_EMPTY',
  /** The record would be below an ephemeral one, which has no children. */
  noChildrenForEphemerals: 'ERR_METADATA_NO_CHILDREN_FOR_EPHEMERALS',
  /** An argument other than the path has the wrong type, range or state. */
  invalidArgument: 'ERR_METADATA_INVALID_ARGUMENT',
  /**
   * The operation is not possible in the current state of the object, such as an update of a lost
   * lock.
   */
  illegalState: 'ERR_METADATA_ILLEGAL_STATE',
  /** The operation did not end within its time. */
  timeout: 'ERR_METADATA_TIMEOUT',
  /** The predicate of a table view refuses the new value. */
  conflict: 'ERR_METADATA_CONFLICT',
  /** The session of the handle has ended, and its ephemeral records with it. */
  sessionLost: 'ERR_METADATA_SESSION_LOST',
  /** There is no connection to the store. The outcome of a write in progress is in doubt. */
  connectionLost: 'ERR_METADATA_CONNECTION_LOST',
  /**
   * The requested commits have expired from the feed. `details.firstSequence` is the first retained
   * sequence.
   */
  feedGap: 'ERR_METADATA_FEED_GAP',
  /** The backend does not support the operation; see its capabilities. */
  unsupported: 'ERR_METADATA_UNSUPPORTED',
  /** The scheme of the URL is unknown. */
  invalidImplementation: 'ERR_METADATA_INVALID_IMPLEMENTATION',
  /**
   * The database or the server failed; see `cause`. The outcome of a write in progress is in doubt.
   */
  storeFailure: 'ERR_METADATA_STORE_FAILURE',
} as const

/** One of the stable codes. */
export type MetadataErrorCode = (typeof MetadataErrorCode)[keyof typeof MetadataErrorCode]

/** Name of a code. */
type ErrorName = keyof typeof MetadataErrorCode

/** The messages of codes with one cause. The other codes have the subject as their message. */
const messages: Partial<Record<ErrorName, (subject: string) => string>> = {
  notFound: (path) => `there is no record at ${path}`,
  alreadyExists: (path) => `there is a record at ${path} already`,
  contentDeserialization: (path) => `${path} holds no readable value`,
  lockBusy: (path) => `another owner holds the lock ${path}`,
  alreadyClosed: (object) => `${object} was closed`,
  notEmpty: (path) => `${path} has children`,
  noChildrenForEphemerals: (path) => `${path}: an ephemeral record has no children`,
  conflict: (path) => `${path}: the new value conflicts with the stored one`,
  sessionLost: (message) => message || 'the session has ended',
  connectionLost: (message) => message || 'there is no connection to the store',
  unsupported: (feature) => `this store does not support ${feature}`,
}

/**
 * Makes an error. `subject` is the path, object or feature that the message is about; for a code
 * with several causes, the message.
 */
export function metadataError(name: ErrorName, subject = '', cause?: unknown): CellarError {
  const message = messages[name]?.(subject) ?? subject
  return new CellarError(MetadataErrorCode[name], message, { cause })
}

const ownCodes: ReadonlySet<string> = new Set(Object.values(MetadataErrorCode))

/** Codes of the database with a counterpart here. */
const namesOfCodes: ReadonlyMap<string, ErrorName> = new Map([
  [ErrorCode.closed, 'alreadyClosed'],
  [ErrorCode.tooLarge, 'invalidArgument'],
  [ErrorCode.invalidArgument, 'invalidArgument'],
])

/** Converts any error to one with a code of {@link MetadataErrorCode}, whose `cause` it becomes. */
export function asMetadataError(error: unknown): CellarError {
  // A value other than a native error may be a proxy, which can throw for any access.
  if (!types.isNativeError(error)) return metadataError('storeFailure', inspect(error), error)
  const code = error instanceof CellarError ? error.code : ''
  if (ownCodes.has(code)) return error as CellarError
  return metadataError(namesOfCodes.get(code) ?? 'storeFailure', error.message, error)
}

/** Whether an error has one of the codes, by their names in {@link MetadataErrorCode}. */
export function hasCode(error: unknown, ...names: readonly ErrorName[]): boolean {
  if (!types.isNativeError(error) || !(error instanceof CellarError)) return false
  return names.some((name) => MetadataErrorCode[name] === error.code)
}
