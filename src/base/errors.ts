/**
 * The closed set of errors that Cellar raises.
 *
 * Every error that a caller can meet is a {@link CellarError} with one of the codes below. Codes
 * are stable between major versions; message texts may change at any time. Errors of the operating
 * system travel as `cause`.
 */

/** Every code that a {@link CellarError} can carry, with the situation that raises it. */
export const ErrorCode = {
  /** An argument has the wrong type, shape or range. Nothing was changed. */
  invalidArgument: 'ERR_INVALID_ARGUMENT',
  /** The backend or the runtime lacks what a call needs. Nothing was changed. */
  unsupported: 'ERR_UNSUPPORTED',
  /** The database, table, scanner or snapshot is closed. */
  closed: 'ERR_CLOSED',
  /** Another opener (process, thread or path) holds the database directory. */
  locked: 'ERR_LOCKED',
  /** The directory of the open database was moved or replaced, and the engine cannot follow it. */
  directoryMoved: 'ERR_DIRECTORY_MOVED',
  /** The directory holds other files than those of a Cellar database. */
  notADatabase: 'ERR_NOT_A_DATABASE',
  /** The directory holds something else than a backup of the database. */
  notABackup: 'ERR_NOT_A_BACKUP',
  /** The first backup into the directory was interrupted; there is nothing to restore. */
  backupIncomplete: 'ERR_BACKUP_INCOMPLETE',
  /** A directory that has to be empty or absent holds something. */
  directoryNotEmpty: 'ERR_DIRECTORY_NOT_EMPTY',
  /** The files were written by a newer version of Cellar. */
  formatVersion: 'ERR_FORMAT_VERSION',
  /** Stored bytes do not match their checksum or their structure. */
  corruption: 'ERR_CORRUPTION',
  /** The operating system refused an input or output operation. */
  io: 'ERR_IO',
  /** The device or the quota is full. */
  noSpace: 'ERR_NO_SPACE',
  /** The directory or the table may not be written. */
  readOnly: 'ERR_READ_ONLY',
  /** An earlier write, sync or manifest edit failed; writes are refused until reopen. */
  poisoned: 'ERR_POISONED',
  /** The named table does not exist. */
  tableNotFound: 'ERR_TABLE_NOT_FOUND',
  /** A table of that name exists already. */
  tableExists: 'ERR_TABLE_EXISTS',
  /** The table is disabled (HBase: TableNotEnabledException). */
  tableNotEnabled: 'ERR_TABLE_NOT_ENABLED',
  /** The named namespace does not exist (HBase: NamespaceNotFoundException). */
  namespaceNotFound: 'ERR_NAMESPACE_NOT_FOUND',
  /** A namespace of that name exists already (HBase: NamespaceExistException). */
  namespaceExists: 'ERR_NAMESPACE_EXISTS',
  /** The namespace still has tables (HBase: ConstraintException). */
  namespaceNotEmpty: 'ERR_NAMESPACE_NOT_EMPTY',
  /** The named snapshot does not exist (HBase: SnapshotDoesNotExistException). */
  snapshotNotFound: 'ERR_SNAPSHOT_NOT_FOUND',
  /** A snapshot of that name exists already (HBase: SnapshotExistsException). */
  snapshotExists: 'ERR_SNAPSHOT_EXISTS',
  /** Changes that a feed asks for are no longer in the log. */
  changesGone: 'ERR_CHANGES_GONE',
  /** The named column family does not exist in the table (HBase: NoSuchColumnFamilyException). */
  noSuchColumnFamily: 'ERR_NO_SUCH_COLUMN_FAMILY',
  /** A column family of that name exists already. */
  columnFamilyExists: 'ERR_COLUMN_FAMILY_EXISTS',
  /** A cell, a batch or an entry of an index is larger than the documented limit. */
  tooLarge: 'ERR_TOO_LARGE',
  /** A timestamp lies too far in the future (HBase: FailedSanityCheckException). */
  failedSanityCheck: 'ERR_FAILED_SANITY_CHECK',
  /** An increment met a stored value that is not eight bytes long. */
  notACounter: 'ERR_NOT_A_COUNTER',
  /** A row mutation names a row other than the one it was made for (HBase: WrongRowException). */
  wrongRow: 'ERR_WRONG_ROW',
  /**
   * Some operations of a list failed; `failures` says which (HBase: RetriesExhaustedWithDetails).
   */
  batchFailed: 'ERR_BATCH_FAILED',
  /** A transaction lost against other writes each time that it was tried. Nothing was changed. */
  conflict: 'ERR_CONFLICT',
  /** The caller's AbortSignal fired. */
  aborted: 'ERR_ABORTED',
  /** A background job failed or its worker thread died. */
  jobFailed: 'ERR_JOB_FAILED',
  /**
   * A coprocessor could not be loaded, threw, answered nonsense or made no progress; the message
   * names it. The operation, flush or compaction failed and changed nothing.
   */
  coprocessor: 'ERR_COPROCESSOR',
  /**
   * Another row has the same key in a unique index; `details` has `index`, `key` and `row`. Nothing
   * was written.
   */
  uniqueViolation: 'ERR_UNIQUE_VIOLATION',
  /** The index is being built or its build failed; the message says which. */
  indexNotReady: 'ERR_INDEX_NOT_READY',
  /** The table has no index of that name. */
  indexNotFound: 'ERR_INDEX_NOT_FOUND',
  /** The table has an index of that name already. */
  indexExists: 'ERR_INDEX_EXISTS',
  /** A package that this operation needs is not installed. */
  missingPackage: 'ERR_MISSING_PACKAGE',
} as const

/** One of the stable error codes. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode]

/** The place and the finding of a corruption. */
export interface CorruptionDetail {
  /** Path of the damaged file. */
  readonly file: string
  /** The content that the reader expected at the offset, in words or as a number. */
  readonly offset: number
  /** What the reader expected there, in words or as a number. */
  readonly expected?: string
  /** The content that the reader found there. */
  readonly found?: string
}

/** Optional facts that go with an error. */
export interface CellarErrorOptions {
  /** The error that caused this one. */
  readonly cause?: unknown
  /** Where damaged bytes lie. */
  readonly corruption?: CorruptionDetail | undefined
  /** Failures by position in the list that the caller passed, for `ERR_BATCH_FAILED`. */
  readonly failures?: ReadonlyMap<number, CellarError> | undefined
  /** Facts of an error of a system; the table of its codes says of which type. */
  readonly details?: unknown
}

const brand = Symbol.for('cellardb.CellarError')

/**
 * The error class of Cellar. `instanceof` also recognises errors of another copy of the package in
 * the same process.
 */
export class CellarError extends Error {
  /** 'CellarError'. */
  override readonly name: string = 'CellarError'
  /** The stable code: one of {@link ErrorCode}, or of the table of a system. */
  readonly code: ErrorCode | (string & Record<never, never>)
  /** File, offset, expected and found, if the code is `ERR_CORRUPTION`. */
  declare readonly corruption: CorruptionDetail | undefined
  /** Failures by list position, if the code is `ERR_BATCH_FAILED`. */
  declare readonly failures: ReadonlyMap<number, CellarError> | undefined
  /** Facts of an error of a system; the table of its codes says of which type. */
  declare readonly details: unknown
  /** Later errors of the same call, for instance of its rollbacks; absent without one. */
  declare suppressed: unknown[] | undefined

  /** For backends and coprocessors that report errors of their own. */
  constructor(
    code: ErrorCode | (string & Record<never, never>),
    message: string,
    options: CellarErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    // Members without a value are absent: consoles and loggers print those that are there.
    if (options.corruption !== undefined) this.corruption = options.corruption
    if (options.failures !== undefined) this.failures = options.failures
    if (options.details !== undefined) this.details = options.details
  }

  /** Marks the class across copies of the package. */
  get [brand](): true {
    return true
  }

  /** Also true for the class of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasBrand(value, brand)
  }
}

/** Whether a value has the mark of an error class; false for a proxy that throws. */
export function hasBrand(value: unknown, mark: symbol): boolean {
  if (typeof value !== 'object' || value === null) return false
  try {
    return mark in value
  } catch {
    return false
  }
}

/** Whether a value is a {@link CellarError} with this code. */
export function hasCode(value: unknown, code: string): value is CellarError {
  return value instanceof CellarError && value.code === code
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}

/** Makes the `ERR_ABORTED` of an operation, named by `what`, that its signal has ended. */
export function abortedError(what: string, signal: AbortSignal | undefined): CellarError {
  return new CellarError(ErrorCode.aborted, `${what} was aborted`, { cause: signal?.reason })
}

/** Throws {@link abortedError} if the signal is aborted. */
export function checkAborted(what: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortedError(what, signal)
}

/** Makes an `ERR_CORRUPTION` whose message names file, offset, expected and found. */
export function corruption(what: string, detail: CorruptionDetail, cause?: unknown): CellarError {
  const expected = detail.expected === undefined ? '' : `, expected ${detail.expected}`
  const found = detail.found === undefined ? '' : `, found ${detail.found}`
  const message = `${what} in ${detail.file} at offset ${detail.offset}${expected}${found}`
  return new CellarError(ErrorCode.corruption, message, { corruption: detail, cause })
}

/**
 * Makes the `ERR_POISONED` of all writes that follow a failed one; `cause` is the first failure.
 */
export function poisonedError(cause: CellarError): CellarError {
  const message =
    'an earlier write failed, so the database is read-only until it is opened again: ' +
    cause.message
  return new CellarError(ErrorCode.poisoned, message, { cause })
}

/** Makes an `ERR_CLOSED` that names what is closed. */
export function closedError(what: string): CellarError {
  return new CellarError(ErrorCode.closed, `${what} is closed`)
}

/** The errors of a batch that was refused because of its content. */
const refusals: ReadonlySet<string> = new Set([
  ErrorCode.invalidArgument,
  ErrorCode.tableNotFound,
  ErrorCode.noSuchColumnFamily,
  ErrorCode.readOnly,
  ErrorCode.tableNotEnabled,
  ErrorCode.tooLarge,
  ErrorCode.failedSanityCheck,
  ErrorCode.coprocessor,
])

/** Errors of observers that were called after the batch was applied; their codes may be any. */
const afterApply = new WeakSet<object>()

/** Notes that a batch was applied although its call ends with this error; see {@link isRefusal}. */
export function noteApplied(error: unknown): void {
  if (typeof error === 'object' && error !== null) afterApply.add(error)
}

/**
 * Whether a batch was refused because of its content: nothing of it was applied. After any other
 * failure memory and disk may differ.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof CellarError && refusals.has(error.code) && !afterApply.has(error)
}
