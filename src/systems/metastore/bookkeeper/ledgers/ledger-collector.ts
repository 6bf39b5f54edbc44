/**
 * Finds the removed ledgers that a bookie still stores (BookKeeper: the garbage collector). A
 * ledger is collected only if a complete listing lacks it. With verification, the default, a read
 * must also report that there is no such ledger.
 */
import {
  boolean,
  checkArray,
  checkMethods,
  declareOptions,
  readArguments,
  type OptionsOf,
} from '../../../../api/index.js'
import { LedgerErrorCode, codeOf } from '../../errors.js'
import { checkLedgerId } from './ledger-key.js'
import type { LedgerIdRange } from './ledger-ranges.js'

/** The part of a ledger manager that the collector uses. */
export interface ListedLedgers {
  /** All ledgers of the store, in ascending order of their ids. */
  getLedgerRanges(): AsyncIterable<LedgerIdRange>
  /** Reads the metadata of a ledger; fails with `ERR_LEDGER_NO_SUCH_LEDGER` if there is none. */
  readLedger(ledgerId: bigint): Promise<unknown>
}

const collectionOptions = declareOptions('a collection', {
  /** Whether to verify each candidate by reading its metadata. Default true. */
  verify: boolean(true),
})

/** Settings of a collection. */
export interface CollectionOptions extends OptionsOf<typeof collectionOptions> {}

/**
 * The ledgers of `localLedgers` (in any order) to be deleted, ascending. If the listing fails, the
 * promise rejects with its error. `localLedgers` must be determined before the listing begins,
 * therefore an array. So a ledger created later is never collected. `ERR_INVALID_ARGUMENT` unless
 * all are ledger ids.
 */
export async function collectLedgers(
  manager: ListedLedgers,
  localLedgers: readonly bigint[],
  options: CollectionOptions = {},
): Promise<bigint[]> {
  const { verify } = collectionOptions.read(options)
  checkMethods(manager, 'the ledger manager', ['getLedgerRanges', 'readLedger'])
  const local = readArguments(() => checkArray(localLedgers, 'the local ledgers'))
  // A ledger named by a number would be in no listing, and be collected.
  for (const ledgerId of local) checkLedgerId(ledgerId)
  local.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const candidates: bigint[] = []
  let at = 0
  for await (const { ids, end } of manager.getLedgerRanges()) {
    const listed = new Set(ids)
    for (; at < local.length && local[at] <= end; at++) {
      if (!listed.has(local[at])) candidates.push(local[at])
    }
  }
  for (; at < local.length; at++) candidates.push(local[at])
  if (!verify) return candidates
  const gone: bigint[] = []
  for (const ledgerId of candidates) {
    if (await isGone(manager, ledgerId)) gone.push(ledgerId)
  }
  return gone
}

/** Only "no such ledger" counts; any other failure does not prove a removal. */
async function isGone(manager: ListedLedgers, ledgerId: bigint): Promise<boolean> {
  try {
    await manager.readLedger(ledgerId)
    return false
  } catch (error) {
    return codeOf(error) === LedgerErrorCode.noSuchLedger
  }
}
