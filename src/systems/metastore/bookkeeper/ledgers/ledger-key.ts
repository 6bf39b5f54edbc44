/**
 * Keys of the `LEDGER` table: the id in decimal, padded to 19 digits, so that all ids of 63 bits
 * are in order. BookKeeper pads to 10 digits, so longer ids sort before shorter ones.
 */
import { CellarError, ErrorCode, shown } from '../../../../api/index.js'
import { metaStoreError } from '../../errors.js'

/** Name of the table. */
export const ledgerTable = 'LEDGER'

/** The highest ledger id, 2^63 - 1. */
export const ledgerIdMax = 2n ** 63n - 1n

const keyDigits = 19

/** The end mark: sorts after all ledgers; a listing without it is incomplete. */
export const endKey = '~END'

/** Checks a ledger id. `ERR_INVALID_ARGUMENT` unless it is a bigint of 0 to 2^63-1. */
export function checkLedgerId(ledgerId: unknown): asserts ledgerId is bigint {
  if (typeof ledgerId === 'bigint' && ledgerId >= 0n && ledgerId <= ledgerIdMax) return
  throw new CellarError(
    ErrorCode.invalidArgument,
    `a ledger id is a bigint from 0 to 2^63-1, not ${shown(ledgerId)}`,
  )
}

/** The key of a ledger. `ERR_INVALID_ARGUMENT` unless the id is a bigint of 0 to 2^63-1. */
export function ledgerKey(ledgerId: bigint): string {
  checkLedgerId(ledgerId)
  return ledgerId.toString().padStart(keyDigits, '0')
}

/** Whether a key belongs in the table: the key of a ledger, or the end mark. */
export function isExpectedKey(key: string): boolean {
  return key === endKey || parseKey(key) !== undefined
}

/** The ledger of a key. `ERR_LEDGER_META_STORE` if the key is not the key of a ledger. */
export function ledgerIdOf(key: string): bigint {
  const ledgerId = parseKey(key)
  if (ledgerId !== undefined) return ledgerId
  throw metaStoreError(`the ledger table holds the key ${JSON.stringify(key)}, which is no ledger`)
}

function parseKey(key: string): bigint | undefined {
  if (key.length !== keyDigits || !/^[0-9]+$/.test(key)) return undefined
  const ledgerId = BigInt(key)
  return ledgerId <= ledgerIdMax ? ledgerId : undefined
}
