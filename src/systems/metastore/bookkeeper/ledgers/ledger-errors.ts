/** The errors of the ledger manager, with the numbers of `BKException.Code`. */

/** The codes of {@link LedgerError}, each with its cause. */
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

/** One of the stable codes. */
export type LedgerErrorCode = (typeof LedgerErrorCode)[keyof typeof LedgerErrorCode]

const returnCodes: Readonly<Record<LedgerErrorCode, number>> = {
  ERR_LEDGER_NO_SUCH_LEDGER: -7,
  ERR_LEDGER_EXISTS: -20,
  ERR_LEDGER_METADATA_VERSION: -17,
  ERR_LEDGER_LAYOUT_MISMATCH: -18,
  ERR_LEDGER_META_STORE: -18,
  ERR_LEDGER_ID_OVERFLOW: -106,
}

const brand = Symbol.for('cellardb.LedgerError')

/** The error class of the ledger manager. */
export class LedgerError extends Error {
  /** Always `'LedgerError'`. */
  override readonly name = 'LedgerError'
  /** The stable code. */
  readonly code: LedgerErrorCode
  /** Marks the class across copies of the package. */
  readonly [brand] = true

  /** For factories of the caller. `cause` is the underlying error. */
  constructor(code: LedgerErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }

  /** BookKeeper's number of {@link code}. */
  get returnCode(): number {
    return returnCodes[this.code]
  }

  /** Also true for the class of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/** Makes an `ERR_LEDGER_META_STORE`. */
export function metaStoreError(message: string, cause?: unknown): LedgerError {
  return new LedgerError(LedgerErrorCode.metaStore, message, cause)
}

/** Makes an `ERR_LEDGER_LAYOUT_MISMATCH`. */
export function layoutMismatch(message: string): LedgerError {
  return new LedgerError(LedgerErrorCode.layoutMismatch, message)
}
