/**
 * The coprocessor of transactional tables (Tephra: TransactionProcessor). It gives each flush and
 * compaction a snapshot of the transactions, and records the dropped data, so that the list of
 * invalid transactions can be pruned. The hook of prune-job/processor-hook.ts decides about each
 * cell.
 */
import { callback, declareOptions, required } from '../../api/index.js'
import type { Coprocessor, OptionsOf, StoreJob, Table } from '../../api/index.js'
import { packPointers } from './prune-job/job-data.js'
import type { DroppedCells, ProcessorContext } from './prune-job/processor-hook.js'
import { pruneDeclarations, PruneObserver } from './prune-jobs.js'
import { pruneUpperBound, type VisibilitySnapshot } from './transaction-snapshot.js'
import { transactionalTtl } from './tables/transactional-family.js'
import { startOf } from './transaction.js'

const processorOptions = declareOptions('a transaction processor', {
  ...pruneDeclarations,
  /** The current transactions; undefined if unknown, and then nothing is dropped. */
  transactions: required(callback<() => VisibilitySnapshot | undefined>()),
  /** Receives the counts of a finished job. */
  onProcessed: callback<(job: StoreJob, dropped: DroppedCells) => void>(),
})

/** Options of {@link transactionProcessor}. */
export interface TransactionProcessorOptions extends OptionsOf<typeof processorOptions> {}

/**
 * Makes the coprocessor of transactional tables. It must be registered whenever the database is
 * open.
 */
export function transactionProcessor(options: TransactionProcessorOptions): Coprocessor {
  const { tables, transactions, state, onProcessed, onError } = processorOptions.read(options)
  const module = new URL('./prune-job/processor-hook.js', import.meta.url).href
  const context = (
    { family, now }: StoreJob,
    epoch: number,
    table: Table | undefined,
  ): ProcessorContext | undefined => {
    const snapshot = transactions()
    if (snapshot === undefined) return undefined
    const { visibilityUpperBound: visible } = snapshot
    const ttl = table === undefined ? 0 : (transactionalTtl(table)[family] ?? 0)
    return {
      invalid: packPointers(snapshot.invalid),
      visibleHigh: Number((visible >> 32n) & 0xffff_ffffn),
      visibleLow: Number(visible & 0xffff_ffffn),
      oldestMilliseconds: ttl > 0 ? Math.min(now, oldestStart(snapshot)) - ttl : 0,
      pruneBound: pruneUpperBound(snapshot),
      epoch,
    }
  }
  const onCounts = (job: StoreJob, dropped: DroppedCells): void => onProcessed?.(job, dropped)
  return {
    name: `transactions of ${tables.join(', ')}`,
    tables,
    observer: new PruneObserver<DroppedCells>({ context, state, onCounts, onError }),
    cellHook: { module },
  }
}

/**
 * Start of the oldest transaction that may run, the reference time of the TTL for its reads. One
 * that started after an old snapshot is not in it.
 */
function oldestStart({ inProgress, time = Infinity }: VisibilitySnapshot): number {
  let oldest = time
  for (const pointer of inProgress) oldest = Math.min(oldest, startOf(pointer))
  return oldest
}
