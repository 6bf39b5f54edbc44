/**
 * The return codes of the BookKeeper MetaStore as typed errors.
 *
 * A promise of the metastore rejects with a {@link MetastoreError}. Its `code` is stable; its
 * `returnCode` is the number of BookKeeper's `MSException.Code`. The plugin calls that are
 * synchronous in BookKeeper (`init`, `createTable`) fail with a {@link MetastoreException}.
 */

import type { Version } from './tables/version.js'

/** Numbers of BookKeeper's `MSException.Code`. */
export const ReturnCode = {
  /** The operation succeeded. Passed to callbacks; no error has this number. */
  OK: 0,
  /** Of `ERR_METASTORE_BAD_VERSION` and `ERR_METASTORE_GUARD_FAILED`. */
  BadVersion: -1,
  /** Of `ERR_METASTORE_NO_KEY`. */
  NoKey: -2,
  /** Of `ERR_METASTORE_KEY_EXISTS`. */
  KeyExists: -3,
  /** Of `ERR_METASTORE_NO_ENTRIES`. */
  NoEntries: -4,
  /** Of `ERR_METASTORE_INTERRUPTED`. */
  InterruptedException: -100,
  /** Of `ERR_METASTORE_ILLEGAL_OP`. */
  IllegalOp: -101,
  /** Of `ERR_METASTORE_SERVICE_DOWN`. */
  ServiceDown: -102,
  /** Of `ERR_METASTORE_OPERATION_FAILURE`, and of every error other than a `MetastoreError`. */
  OperationFailure: -103,
} as const

/** One of the numbers. */
export type ReturnCode = (typeof ReturnCode)[keyof typeof ReturnCode]

/** The codes of {@link MetastoreError}, each with its cause. */
export const MetastoreErrorCode = {
  /** The row has a version other than the given one. Nothing was changed. */
  badVersion: 'ERR_METASTORE_BAD_VERSION',
  /** The row does not exist. Nothing was changed. */
  noKey: 'ERR_METASTORE_NO_KEY',
  /** The row exists, although the version was `NEW`. Nothing was changed. */
  keyExists: 'ERR_METASTORE_KEY_EXISTS',
  /** The guarding row of a guarded write has another version, or is absent. Nothing was changed. */
  guardFailed: 'ERR_METASTORE_GUARD_FAILED',
  /** BookKeeper's result of an exhausted cursor; no store of this package returns it. */
  noEntries: 'ERR_METASTORE_NO_ENTRIES',
  /** The operation was interrupted; no store of this package returns it. */
  interrupted: 'ERR_METASTORE_INTERRUPTED',
  /** An argument has the wrong type or range, or the handle is closed. Nothing was changed. */
  illegalOp: 'ERR_METASTORE_ILLEGAL_OP',
  /**
   * The store is unavailable: closed, read-only, or its disk failed. The outcome of a write in
   * progress is in doubt until the store is opened again.
   */
  serviceDown: 'ERR_METASTORE_SERVICE_DOWN',
  /** The operation failed for another reason; see `cause`. */
  operationFailure: 'ERR_METASTORE_OPERATION_FAILURE',
} as const

/** One of the stable codes. */
export type MetastoreErrorCode = (typeof MetastoreErrorCode)[keyof typeof MetastoreErrorCode]

const returnCodes: Readonly<Record<MetastoreErrorCode, ReturnCode>> = {
  ERR_METASTORE_BAD_VERSION: ReturnCode.BadVersion,
  ERR_METASTORE_NO_KEY: ReturnCode.NoKey,
  ERR_METASTORE_KEY_EXISTS: ReturnCode.KeyExists,
  ERR_METASTORE_GUARD_FAILED: ReturnCode.BadVersion,
  ERR_METASTORE_NO_ENTRIES: ReturnCode.NoEntries,
  ERR_METASTORE_INTERRUPTED: ReturnCode.InterruptedException,
  ERR_METASTORE_ILLEGAL_OP: ReturnCode.IllegalOp,
  ERR_METASTORE_SERVICE_DOWN: ReturnCode.ServiceDown,
  ERR_METASTORE_OPERATION_FAILURE: ReturnCode.OperationFailure,
}

const errorBrand = Symbol.for('cellardb.MetastoreError')
const exceptionBrand = Symbol.for('cellardb.MetastoreException')

function isBranded(value: unknown, brand: symbol): boolean {
  return typeof value === 'object' && value !== null && brand in value
}

/** The error of an operation on a table or cursor (BookKeeper: `MSException`). */
export class MetastoreError extends Error {
  /** Always `'MetastoreError'`. */
  override readonly name = 'MetastoreError'
  /** The stable code. */
  readonly code: MetastoreErrorCode
  /** Marks the class across copies of the package. */
  readonly [errorBrand] = true

  /** For stores of other backends. `cause` is the underlying error. */
  constructor(code: MetastoreErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }

  /** BookKeeper's number of {@link code}; never `OK`. */
  get returnCode(): ReturnCode {
    return returnCodes[this.code]
  }

  /** Also true for the class of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, errorBrand)
  }
}

/** The error of opening a store or table (BookKeeper: `MetastoreException`). */
export class MetastoreException extends Error {
  /** Always `'MetastoreException'`. */
  override readonly name = 'MetastoreException'
  /** The stable code. */
  readonly code = 'ERR_METASTORE_SETUP'
  /** Marks the class across copies of the package. */
  readonly [exceptionBrand] = true

  /** For stores of other backends. `cause` is the underlying error. */
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
  }

  /** Also true for the class of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(value, exceptionBrand)
  }
}

/** The code of a {@link MetastoreError}; undefined for other errors. */
export function codeOf(error: unknown): MetastoreErrorCode | undefined {
  return error instanceof MetastoreError ? error.code : undefined
}

/** Whether a conditional put lost a race with another writer, so that a retry may succeed. */
export function isLostRace(error: unknown): boolean {
  const code = codeOf(error)
  return code === MetastoreErrorCode.badVersion || code === MetastoreErrorCode.keyExists
}

/** Makes an `ERR_METASTORE_NO_KEY`. */
export function noKey(): MetastoreError {
  return new MetastoreError(MetastoreErrorCode.noKey, 'the row does not exist')
}

/** Makes an `ERR_METASTORE_KEY_EXISTS`. */
export function keyExists(): MetastoreError {
  return new MetastoreError(MetastoreErrorCode.keyExists, 'the row exists already')
}

/** Makes an `ERR_METASTORE_BAD_VERSION`. */
export function badVersion(stored: Version, given: Version): MetastoreError {
  const message = `the row has version ${stored.toString()}, not ${given.toString()}`
  return new MetastoreError(MetastoreErrorCode.badVersion, message)
}

/** Makes an `ERR_METASTORE_GUARD_FAILED`. */
export function guardFailed(stored: Version | undefined, given: Version): MetastoreError {
  const found = stored === undefined ? 'is absent' : `has version ${stored.toString()}`
  const message = `the guarding row ${found}, not version ${given.toString()}`
  return new MetastoreError(MetastoreErrorCode.guardFailed, message)
}

/** Makes an `ERR_METASTORE_ILLEGAL_OP`. */
export function illegalOp(message: string, cause?: unknown): MetastoreError {
  return new MetastoreError(MetastoreErrorCode.illegalOp, message, cause)
}
