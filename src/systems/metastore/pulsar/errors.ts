/**
 * The errors of metadata stores and of the coordination on them, as classes with stable codes.
 *
 * Every operation reports its errors through its promise. A failed operation has changed nothing,
 * unless the code says that the outcome is in doubt.
 */
import { inspect, types } from 'node:util'
import { CellarError, ErrorCode } from '../../../api/index.js'

/** The codes of {@link MetadataStoreError}, each with its cause. */
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
  /** The requested commits have expired from the feed. */
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

/** The error of a metadata operation (Pulsar: `MetadataStoreException`). */
export class MetadataStoreError extends Error {
  /** Name of the class. */
  override readonly name: string = 'MetadataStoreError'
  /** The stable code. */
  readonly code: MetadataErrorCode

  /** For stores of other backends. `cause` is the underlying error. */
  constructor(code: MetadataErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/** The record does not exist. */
export class NotFoundError extends MetadataStoreError {
  /** Always `'NotFoundError'`. */
  override readonly name = 'NotFoundError'
  /** `path` is part of the message. */
  constructor(path: string) {
    super(MetadataErrorCode.notFound, `there is no record at ${path}`)
  }
}

/** The record exists, but the caller wanted to create it. */
export class AlreadyExistsError extends MetadataStoreError {
  /** Always `'AlreadyExistsError'`. */
  override readonly name = 'AlreadyExistsError'
  /** `path` is part of the message. */
  constructor(path: string) {
    super(MetadataErrorCode.alreadyExists, `there is a record at ${path} already`)
  }
}

/** The record has another version than the expected one. */
export class BadVersionError extends MetadataStoreError {
  /** Always `'BadVersionError'`. */
  override readonly name = 'BadVersionError'
  /** `detail` names the found and the expected version. */
  constructor(path: string, detail: string) {
    super(MetadataErrorCode.badVersion, `${path}: ${detail}`)
  }
}

/** The stored bytes cannot be decoded. */
export class ContentDeserializationError extends MetadataStoreError {
  /** Always `'ContentDeserializationError'`. */
  override readonly name = 'ContentDeserializationError'
  /** `cause` is the error of the serde. */
  constructor(path: string, cause: unknown) {
    super(MetadataErrorCode.contentDeserialization, `${path} holds no readable value`, cause)
  }
}

/** Another owner holds the lock. */
export class LockBusyError extends MetadataStoreError {
  /** Always `'LockBusyError'`. */
  override readonly name = 'LockBusyError'
  /** `path` is part of the message. */
  constructor(path: string) {
    super(MetadataErrorCode.lockBusy, `somebody else holds the lock ${path}`)
  }
}

/** The object was closed. */
export class AlreadyClosedError extends MetadataStoreError {
  /** Always `'AlreadyClosedError'`. */
  override readonly name = 'AlreadyClosedError'
  /** `what` is the noun of the closed object, for the message. */
  constructor(what: string) {
    super(MetadataErrorCode.alreadyClosed, `${what} was closed`)
  }
}

/** The path is not valid. */
export class InvalidPathError extends MetadataStoreError {
  /** Always `'InvalidPathError'`. */
  override readonly name = 'InvalidPathError'
  /** `message` describes the error. */
  constructor(message: string) {
    super(MetadataErrorCode.invalidPath, message)
  }
}

/** The record has children. */
export class NotEmptyError extends MetadataStoreError {
  /** Always `'NotEmptyError'`. */
  override readonly name = 'NotEmptyError'
  /** `path` is part of the message. */
  constructor(path: string) {
    super(MetadataErrorCode.notEmpty, `${path} has children`)
  }
}

/** An ephemeral record has no children. */
export class NoChildrenForEphemeralsError extends MetadataStoreError {
  /** Always `'NoChildrenForEphemeralsError'`. */
  override readonly name = 'NoChildrenForEphemeralsError'
  /** `path` is part of the message. */
  constructor(path: string) {
    const message = `${path}: an ephemeral record has no children`
    super(MetadataErrorCode.noChildrenForEphemerals, message)
  }
}

/** An argument is wrong. */
export class InvalidArgumentError extends MetadataStoreError {
  /** Always `'InvalidArgumentError'`. */
  override readonly name = 'InvalidArgumentError'
  /** `cause` is the underlying error. */
  constructor(message: string, cause?: unknown) {
    super(MetadataErrorCode.invalidArgument, message, cause)
  }
}

/** The operation is not possible in the current state of the object. */
export class IllegalStateError extends MetadataStoreError {
  /** Always `'IllegalStateError'`. */
  override readonly name = 'IllegalStateError'
  /** `message` describes the error. */
  constructor(message: string) {
    super(MetadataErrorCode.illegalState, message)
  }
}

/** The operation did not end within its time. */
export class TimeoutError extends MetadataStoreError {
  /** Always `'TimeoutError'`. */
  override readonly name = 'TimeoutError'
  /** `cause` is the underlying error. */
  constructor(message: string, cause?: unknown) {
    super(MetadataErrorCode.timeout, message, cause)
  }
}

/** A predicate refuses the new value. */
export class ConflictError extends MetadataStoreError {
  /** Always `'ConflictError'`. */
  override readonly name = 'ConflictError'
  /** `path` is part of the message. */
  constructor(path: string) {
    super(MetadataErrorCode.conflict, `${path}: the new value conflicts with the stored one`)
  }
}

/** The session of the handle has ended. */
export class SessionLostError extends MetadataStoreError {
  /** Always `'SessionLostError'`. */
  override readonly name = 'SessionLostError'
  /** `message` describes the error. */
  constructor(message = 'the session has ended') {
    super(MetadataErrorCode.sessionLost, message)
  }
}

/** There is no connection to the store. */
export class ConnectionLostError extends MetadataStoreError {
  /** Always `'ConnectionLostError'`. */
  override readonly name = 'ConnectionLostError'
  /** `cause` is the underlying error. */
  constructor(message = 'there is no connection to the store', cause?: unknown) {
    super(MetadataErrorCode.connectionLost, message, cause)
  }
}

/** The requested commits have expired from the feed. */
export class FeedGapError extends MetadataStoreError {
  /** Always `'FeedGapError'`. */
  override readonly name = 'FeedGapError'
  /** The first retained sequence. */
  readonly firstSequence: number
  /** `firstSequence` is the first retained sequence. */
  constructor(fromSequence: number, firstSequence: number) {
    super(
      MetadataErrorCode.feedGap,
      `the feed begins at sequence ${firstSequence}, ${fromSequence} was asked for`,
    )
    this.firstSequence = firstSequence
  }
}

/** The backend does not support the operation. */
export class UnsupportedError extends MetadataStoreError {
  /** Always `'UnsupportedError'`. */
  override readonly name = 'UnsupportedError'
  /** `what` is the noun of the missing feature, for the message. */
  constructor(what: string) {
    super(MetadataErrorCode.unsupported, `this store does not support ${what}`)
  }
}

/** Converts any error to a {@link MetadataStoreError}; other errors become its `cause`. */
export function asMetadataError(error: unknown): MetadataStoreError {
  // A value other than a native error may be a proxy, for which `instanceof` throws.
  if (!types.isNativeError(error)) {
    return new MetadataStoreError(MetadataErrorCode.storeFailure, inspect(error), error)
  }
  if (error instanceof MetadataStoreError) return error
  const { message } = error
  if (error instanceof CellarError) {
    if (error.code === ErrorCode.closed) {
      return new MetadataStoreError(MetadataErrorCode.alreadyClosed, message, error)
    }
    if (error.code === ErrorCode.tooLarge || error.code === ErrorCode.invalidArgument) {
      return new InvalidArgumentError(message, error)
    }
  }
  return new MetadataStoreError(MetadataErrorCode.storeFailure, message, error)
}

/** Whether an error has a code of {@link MetadataErrorCode}. */
export function hasCode(error: unknown, code: MetadataErrorCode): boolean {
  return types.isNativeError(error) && error instanceof MetadataStoreError && error.code === code
}
