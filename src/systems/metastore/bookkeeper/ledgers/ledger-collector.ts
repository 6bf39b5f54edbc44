/**
 * Finds ledgers that a bookie still stores although they were removed (BookKeeper: the garbage
 * collector). A ledger is collected only if a complete listing lacks it; with verification, which
 * is the default, only if reading it also says that there is no such ledger.
 */
import { checkArray, checkMethods, OptionNames, readArguments } from '../../../../api/index.js'
import { LedgerError, LedgerErrorCode } from './ledger-errors.js'
import type { LedgerIdRange } from './ledger-ranges.js'

/** What the collector needs of a ledger manager. */
export interface ListedLedgers {
  /** All ledgers of the store, in ascending order of their ids. */
  getLedgerRanges(): AsyncIterable<LedgerIdRange>
  /** Reads the metadata of a ledger; fails with `ERR_LEDGER_NO_SUCH_LEDGER` if there is none. */
  readLedger(ledgerId: bigint): Promise<unknown>
}

/** Settings of a collection. */
export interface CollectionOptions {
  /** Whether to read the metadata of each candidate once more. Default true. */
  readonly verify?: boolean | undefined
}

const names = new OptionNames<CollectionOptions>('a collection', { verify: true })

/**
 * Those of `localLedgers` (in any order) that are to be deleted, ascending. A listing that fails
 * rejects with its error and yields nothing. A ledger that was created after the caller took
 * `localLedgers` is never among them; take them before the listing begins, that is, pass an array.
 */
export async function collectLedgers(
  manager: ListedLedgers,
  localLedgers: readonly bigint[],
  options: CollectionOptions = {},
): Promise<bigint[]> {
  names.check(options)
  checkMethods(manager, 'the ledger manager', ['getLedgerRanges', 'readLedger'])
  const local = readArguments(() => checkArray(localLedgers, 'the local ledgers')).sort((a, b) =>
    a < b ? -1 : a > b ? 1 : 0,
  )
  const candidates: bigint[] = []
  let at = 0
  for await (const { ids, end } of manager.getLedgerRanges()) {
    const listed = new Set(ids)
    for (; at < local.length && local[at] <= end; at++) {
      if (!listed.has(local[at])) candidates.push(local[at])
    }
  }
  for (; at < local.length; at++) candidates.push(local[at])
  if (options.verify === false) return candidates
  const gone: bigint[] = []
  for (const ledgerId of candidates) {
    if (await isGone(manager, ledgerId)) gone.push(ledgerId)
  }
  return gone
}

/** Any other failure than "no such ledger" says nothing. */
async function isGone(manager: ListedLedgers, ledgerId: bigint): Promise<boolean> {
  try {
    await manager.readLedger(ledgerId)
    return false
  } catch (error) {
    return error instanceof LedgerError && error.code === LedgerErrorCode.noSuchLedger
  }
}
