/**
 * The errors of the MetaStore, of ledgers and of Hedwig's metadata: each is a {@link CellarError}
 * with one of the codes below. {@link returnCodeOf} returns the number of BookKeeper or Hedwig.
 */
import { CellarError, ErrorCode } from '../../api/index.js'

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
  /** Of `ERR_METASTORE_OPERATION_FAILURE`, and of every error without a number of its own. */
  OperationFailure: -103,
} as const

/** The codes of tables, each with its cause. */
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
  /** A store or table cannot be opened (BookKeeper: `MetastoreException`). */
  setup: 'ERR_METASTORE_SETUP',
} as const

/** The codes of ledgers, each with its cause. */
export const LedgerErrorCode = {
  /** There is no such ledger. Nothing was changed. */
  noSuchLedger: 'ERR_LEDGER_NO_SUCH_LEDGER',
  /** The ledger exists already. Nothing was changed. */
  ledgerExists: 'ERR_LEDGER_EXISTS',
  /** The metadata have a version other than the given one. Nothing was changed. */
  metadataVersion: 'ERR_LEDGER_METADATA_VERSION',
  /**
   * The ledgers were laid out by another factory, in another version, or in a later format of the
   * layout. Nothing was changed.
   */
  layoutMismatch: 'ERR_LEDGER_LAYOUT_MISMATCH',
  /** The store failed, or stored bytes cannot be decoded; see `cause`. */
  metaStore: 'ERR_LEDGER_META_STORE',
  /** There are no more ledger ids. */
  idOverflow: 'ERR_LEDGER_ID_OVERFLOW',
} as const

/** The codes of Hedwig's metadata, named as the status codes of the protocol. */
export const HedwigErrorCode = {
  /** The topic, or its record, does not exist. */
  noSuchTopic: 'ERR_HEDWIG_NO_SUCH_TOPIC',
  /** This hub does not own the topic (any more). Nothing was changed. */
  notResponsible: 'ERR_HEDWIG_NOT_RESPONSIBLE_FOR_TOPIC',
  /** The store or the hub is currently unavailable. */
  serviceDown: 'ERR_HEDWIG_SERVICE_DOWN',
  /** The record has a version other than the given one. Nothing was changed. */
  badVersion: 'ERR_HEDWIG_BAD_VERSION',
  /** The topic has no ledgers. */
  noPersistence: 'ERR_HEDWIG_NO_TOPIC_PERSISTENCE_INFO',
  /** The topic has ledgers already. */
  persistenceExists: 'ERR_HEDWIG_TOPIC_PERSISTENCE_INFO_EXISTS',
  /** There is no such subscription. */
  noSubscription: 'ERR_HEDWIG_NO_SUBSCRIPTION_STATE',
  /** The subscription exists already. */
  subscriptionExists: 'ERR_HEDWIG_SUBSCRIPTION_STATE_EXISTS',
  /** The topic has no owner. */
  noOwner: 'ERR_HEDWIG_NO_TOPIC_OWNER_INFO',
  /** The topic has an owner already. */
  ownerExists: 'ERR_HEDWIG_TOPIC_OWNER_INFO_EXISTS',
  /** An argument is not valid, a stored record cannot be read, or the like; see `cause`. */
  unexpectedCondition: 'ERR_HEDWIG_UNEXPECTED_CONDITION',
  /** Several failures; `cause` is an `AggregateError` of them. */
  composite: 'ERR_HEDWIG_COMPOSITE',
} as const

type CodeOf<T> = T[keyof T]

/** One of the codes of tables. */
export type MetastoreErrorCode = CodeOf<typeof MetastoreErrorCode>
/** One of the codes of ledgers. */
export type LedgerErrorCode = CodeOf<typeof LedgerErrorCode>
/** One of the codes of Hedwig's metadata. */
export type HedwigErrorCode = CodeOf<typeof HedwigErrorCode>
/** One of the numbers of tables. */
export type ReturnCode = CodeOf<typeof ReturnCode>

type AnyCode = MetastoreErrorCode | LedgerErrorCode | HedwigErrorCode

const returnCodes: Readonly<Record<AnyCode, number>> = {
  ERR_METASTORE_BAD_VERSION: ReturnCode.BadVersion,
  ERR_METASTORE_NO_KEY: ReturnCode.NoKey,
  ERR_METASTORE_KEY_EXISTS: ReturnCode.KeyExists,
  ERR_METASTORE_GUARD_FAILED: ReturnCode.BadVersion,
  ERR_METASTORE_NO_ENTRIES: ReturnCode.NoEntries,
  ERR_METASTORE_INTERRUPTED: ReturnCode.InterruptedException,
  ERR_METASTORE_ILLEGAL_OP: ReturnCode.IllegalOp,
  ERR_METASTORE_SERVICE_DOWN: ReturnCode.ServiceDown,
  ERR_METASTORE_OPERATION_FAILURE: ReturnCode.OperationFailure,
  ERR_METASTORE_SETUP: ReturnCode.OperationFailure,
  ERR_LEDGER_NO_SUCH_LEDGER: -7,
  ERR_LEDGER_EXISTS: -20,
  ERR_LEDGER_METADATA_VERSION: -17,
  ERR_LEDGER_LAYOUT_MISMATCH: -18,
  ERR_LEDGER_META_STORE: -18,
  ERR_LEDGER_ID_OVERFLOW: -106,
  ERR_HEDWIG_NO_SUCH_TOPIC: 402,
  ERR_HEDWIG_NOT_RESPONSIBLE_FOR_TOPIC: 501,
  ERR_HEDWIG_SERVICE_DOWN: 502,
  ERR_HEDWIG_BAD_VERSION: 520,
  ERR_HEDWIG_NO_TOPIC_PERSISTENCE_INFO: 521,
  ERR_HEDWIG_TOPIC_PERSISTENCE_INFO_EXISTS: 522,
  ERR_HEDWIG_NO_SUBSCRIPTION_STATE: 523,
  ERR_HEDWIG_SUBSCRIPTION_STATE_EXISTS: 524,
  ERR_HEDWIG_NO_TOPIC_OWNER_INFO: 525,
  ERR_HEDWIG_TOPIC_OWNER_INFO_EXISTS: 526,
  ERR_HEDWIG_UNEXPECTED_CONDITION: 600,
  ERR_HEDWIG_COMPOSITE: 700,
}

/** The code of an error of this module; undefined for every other error. */
export function codeOf(error: unknown): AnyCode | undefined {
  if (!(error instanceof CellarError) || !Object.hasOwn(returnCodes, error.code)) return undefined
  return error.code as AnyCode
}

/**
 * The number of an error in BookKeeper (`MSException`, `BKException`) or in Hedwig's protocol;
 * `OperationFailure` if the code has none.
 */
export function returnCodeOf(error: unknown): number {
  const code = codeOf(error)
  return code === undefined ? ReturnCode.OperationFailure : returnCodes[code]
}

/** Makes an error of this module. */
export function failed(code: AnyCode, message: string, cause?: unknown): CellarError {
  return new CellarError(code, message, { cause })
}

/** Makes an `ERR_METASTORE_ILLEGAL_OP`. */
export function illegalOp(message: string, cause?: unknown): CellarError {
  return failed(MetastoreErrorCode.illegalOp, message, cause)
}

/** Makes an `ERR_LEDGER_META_STORE`. */
export function metaStoreError(message: string, cause?: unknown): CellarError {
  return failed(LedgerErrorCode.metaStore, message, cause)
}

/** Makes an `ERR_LEDGER_LAYOUT_MISMATCH`. */
export function layoutMismatch(message: string): CellarError {
  return failed(LedgerErrorCode.layoutMismatch, message)
}

/** Makes an `ERR_HEDWIG_UNEXPECTED_CONDITION`. */
export function unexpectedCondition(message: string, cause?: unknown): CellarError {
  return failed(HedwigErrorCode.unexpectedCondition, message, cause)
}

/** Whether the code of an error is one of a list of codes. */
export function isOneOf(
  error: unknown,
  codes: Readonly<Record<string, AnyCode>>,
): error is CellarError {
  const code = codeOf(error)
  return code !== undefined && Object.values(codes).includes(code)
}

/** Whether a conditional put lost a race with another writer, so that a retry may succeed. */
export function isLostRace(error: unknown): boolean {
  const code = codeOf(error)
  return code === MetastoreErrorCode.badVersion || code === MetastoreErrorCode.keyExists
}

/** Whether a row does not exist. */
export function isAbsent(error: unknown): boolean {
  return codeOf(error) === MetastoreErrorCode.noKey
}

const unavailable: ReadonlySet<string> = new Set([
  ErrorCode.closed,
  ErrorCode.io,
  ErrorCode.noSpace,
  ErrorCode.poisoned,
  ErrorCode.readOnly,
])
const refused: ReadonlySet<string> = new Set([ErrorCode.invalidArgument, ErrorCode.tooLarge])

/** Converts the error of a database to an error of tables. */
export function asMetastoreError(error: unknown): CellarError {
  if (codeOf(error) !== undefined) return error as CellarError
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof CellarError)) {
    return failed(MetastoreErrorCode.operationFailure, message, error)
  }
  if (refused.has(error.code)) return illegalOp(message, error)
  const { serviceDown, operationFailure } = MetastoreErrorCode
  return failed(unavailable.has(error.code) ? serviceDown : operationFailure, message, error)
}
