/**
 * The coprocessor of transactional tables (Tephra: TransactionProcessor). It gives each flush and
 * compaction a snapshot of the transactions, and records the dropped data, so that the list of
 * invalid transactions can be pruned. The hook of prune-job/processor-hook.ts decides about each
 * cell.
 *
 * Failure behaviour: a source that throws never fails a job. Nothing is dropped then, and `onError`
 * receives the error.
 */
import { callback, declareOptions, implementation, list, required, text } from '../../api/index.js'
import type {
  Coprocessor,
  Observer,
  ObserverContext,
  OptionsOf,
  SettingsOf,
  StoreJob,
  StoreJobOutcome,
  Table,
} from '../../api/index.js'
import { packPointers } from './manager/pack-pointers.js'
import type { ProcessorContext, ProcessorReport } from './prune-job/processor-hook.js'
import type { PruneState } from './manager/prune-state.js'
import { pruneUpperBound, type VisibilitySnapshot } from './transaction-snapshot.js'
import { transactionalTtl } from './tables/transactional-family.js'
import { startOf } from './transaction.js'

/** Cells that a job dropped, by reason. */
interface Dropped {
  invalid: number
  expired: number
  covered: number
}

const processorOptions = declareOptions('a transaction processor', {
  /** Names of the tables; they need not exist yet. */
  tables: required(list(text(''))),
  /** The current transactions; undefined if unknown, and then nothing is dropped. */
  transactions: required(callback<() => VisibilitySnapshot | undefined>()),
  /** Records up to which pointer invalid transactions may be forgotten. */
  state: implementation<PruneState>(['epoch', 'noteFlush']),
  /** Receives the counts of a finished job. */
  onProcessed: callback<(job: StoreJob, dropped: Dropped) => void>(),
  /** Receives the error of a source. */
  onError: callback<(error: unknown) => void>(),
})

/** Options of {@link transactionProcessor}. */
export interface TransactionProcessorOptions extends OptionsOf<typeof processorOptions> {}

/**
 * Makes the coprocessor of transactional tables. It must be registered whenever the database is
 * open.
 */
export function transactionProcessor(options: TransactionProcessorOptions): Coprocessor {
  const settings = processorOptions.read(options)
  const { tables } = settings
  const module = new URL('./prune-job/processor-hook.js', import.meta.url).href
  return {
    name: `transactions of ${tables.join(', ')}`,
    tables,
    observer: new ProcessorObserver(settings),
    cellHook: { module },
  }
}

class ProcessorObserver implements Observer {
  readonly #settings: SettingsOf<typeof processorOptions>
  readonly #tables = new Map<string, Table>()

  constructor(settings: SettingsOf<typeof processorOptions>) {
    this.#settings = settings
  }

  postOpen({ table }: ObserverContext): void {
    this.#tables.set(table.name, table)
  }

  jobContext(job: StoreJob): ProcessorContext | undefined {
    try {
      const snapshot = this.#settings.transactions()
      if (snapshot === undefined) return undefined
      const { visibilityUpperBound: visible } = snapshot
      const table = this.#tables.get(job.table)
      const ttl = table === undefined ? 0 : (transactionalTtl(table)[job.family] ?? 0)
      return {
        invalid: packPointers(snapshot.invalid),
        visibleHigh: Number((visible >> 32n) & 0xffff_ffffn),
        visibleLow: Number(visible & 0xffff_ffffn),
        oldestMilliseconds: ttl > 0 ? Math.min(job.now, oldestStart(snapshot)) - ttl : 0,
        pruneBound: pruneUpperBound(snapshot),
        epoch: this.#settings.state?.epoch(job) ?? 0,
      }
    } catch (error) {
      this.#settings.onError?.(error)
      return undefined
    }
  }

  postFlush(job: StoreJob, outcome: StoreJobOutcome): void {
    const reports = this.#tell(job, outcome)
    const { state } = this.#settings
    if (state === undefined) return
    if (outcome.storeIsEmpty) state.noteEmpty(job, job.now)
    else if (outcome.entriesRead === 0 || boundOf(reports, outcome) !== undefined) {
      state.noteFlush(job, job.now)
    } else state.noteUncleanFlush(job)
  }

  postCompact(job: StoreJob, outcome: StoreJobOutcome): void {
    const reports = this.#tell(job, outcome)
    const { state } = this.#settings
    if (state === undefined) return
    const bound = boundOf(reports, outcome)
    if (outcome.storeIsEmpty) state.noteEmpty(job, job.now)
    else if (job.wholeStore && bound !== undefined) {
      state.noteRewrite(job, job.now, bound, reports[0].epoch)
    }
  }

  #tell(job: StoreJob, outcome: StoreJobOutcome): readonly ProcessorReport[] {
    const reports = outcome.reports as readonly ProcessorReport[]
    const total = { invalid: 0, expired: 0, covered: 0 }
    for (const report of reports) {
      total.invalid += report.invalid
      total.expired += report.expired
      total.covered += report.covered
    }
    if (reports.length > 0) this.#settings.onProcessed?.(job, total)
    return reports
  }
}

/** Start of the oldest running transaction, the reference time of the TTL for its reads. */
function oldestStart({ inProgress }: VisibilitySnapshot): number {
  let oldest = Infinity
  for (const pointer of inProgress) oldest = Math.min(oldest, startOf(pointer))
  return oldest
}

/** The largest pointer up to which the job left no invalid data; undefined if unknown. */
function boundOf(
  reports: readonly ProcessorReport[],
  outcome: StoreJobOutcome,
): bigint | undefined {
  if (outcome.hookNotAsked > 0 || reports.length === 0) return undefined
  let lowest: bigint | undefined = undefined
  for (const { pruneBound } of reports) {
    if (pruneBound === undefined) return undefined
    if (lowest === undefined || pruneBound < lowest) lowest = pruneBound
  }
  return lowest
}
