/**
 * The prunings of the messaging design as a coprocessor of a message or payload table: an observer
 * that gives each job the topics and the transactions as they are when it starts, and keeps the
 * books of what was pruned; and the hook that decides (prune-job/prune-hook.ts).
 *
 * Failure behaviour: sources that throw never fail a flush or a compaction. Without topics nothing
 * is dropped and nothing negated; without a snapshot no pointer is negated; `onError` is told.
 */
import {
  checkArray,
  checkChoice,
  checkFunction,
  checkMethods,
  checkText,
  OptionNames,
  type Coprocessor,
  type Observer,
  type StoreJob,
  type StoreJobOutcome,
} from '../../api/index.js'
import { packTopics } from './store/pack.js'
import {
  emptyPruneContext,
  type PackedTopics,
  type PruneContext,
} from './prune-job/prune-context.js'
import type { PruneCounts, PrunedRows, PruneReport } from './prune-job/prune-hook.js'
import type { TopicRecord } from './topics/topic.js'
import { requireFunction } from '../transactions/checks.js'
import { type PruneState, type TransactionSnapshot } from '../transactions/index.js'
import { largestPointer, packPointers } from '../transactions/manager/pack-pointers.js'
import { pruneUpperBound } from '../transactions/transaction-snapshot.js'
import type { PackedPointers } from '../transactions/prune-job/packed-pointers.js'

/** Options of {@link messagingPruning}. */
export interface MessagingPruningOptions {
  /** What the rows of the tables are. */
  readonly rows: PrunedRows
  /** Names of the tables; they need not exist yet. */
  readonly tables: readonly string[]
  /**
   * The topics as they are now, deleted ones included, for instance `readTopics` of the metadata
   * table. Asked when a job starts. An array that was returned before counts as unchanged.
   */
  readonly topics: () => readonly TopicRecord[]
  /**
   * The transactions as they are now; undefined if that is not known. Asked when a job starts. An
   * object that was returned before counts as unchanged. Absent: never known.
   */
  readonly transactions?: () => TransactionSnapshot | undefined
  /** Where it is remembered which invalid transactions may be forgotten. For message tables. */
  readonly state?: PruneState | undefined
  /** Told what a finished job did to the table's cells. */
  readonly onPruned?: ((pruned: PrunedJob) => void) | undefined
  /** Told when a source throws. */
  readonly onError?: (error: unknown) => void
}

/** What a finished job did. */
export interface PrunedJob {
  /** Name of the message or payload table. */
  readonly table: string
  /**
   * Whether memory was flushed, or files were merged; a major compaction merges all files of a
   * store.
   */
  readonly kind: 'flush' | 'minor' | 'major'
  /** Cells that the job dropped, negated, or kept for want of knowledge. */
  readonly counts: PruneCounts
}

const optionNames = new OptionNames<MessagingPruningOptions>('messaging prunings', {
  rows: true,
  tables: true,
  topics: true,
  transactions: true,
  state: true,
  onPruned: true,
  onError: true,
})

/**
 * Makes the coprocessor that prunes message or payload tables; to be registered whenever the
 * database is open.
 */
export function messagingPruning(options: MessagingPruningOptions): Coprocessor {
  const { tables: given, ...sources } = optionNames.copy(options)
  const { rows } = sources
  checkChoice(rows, 'rows', ['message', 'payload', 'producer', 'consumer'])
  const tables = checkArray(given, 'tables').map((table) => {
    checkText(table, 'the name of a table')
    return table
  })
  requireFunction(sources.topics, 'topics')
  checkFunction(sources.transactions, 'transactions')
  checkFunction(sources.onPruned, 'onPruned')
  checkFunction(sources.onError, 'onError')
  if (sources.state !== undefined) checkMethods(sources.state, 'state', ['epoch', 'noteFlush'])
  const module = new URL('./prune-job/prune-hook.js', import.meta.url).href
  return {
    name: `pruning of ${rows} rows in ${tables.join(', ')}`,
    tables,
    observer: new PruneObserver(sources),
    cellHook: { module, options: { rows } },
  }
}

class PruneObserver implements Observer {
  readonly #options: Omit<MessagingPruningOptions, 'tables'>
  #records: readonly TopicRecord[] | undefined = undefined
  #topics: PackedTopics = packTopics([])
  #snapshot: TransactionSnapshot | undefined = undefined
  #invalid: PackedPointers | undefined = undefined
  #pruneBound: bigint | undefined = undefined

  constructor(options: Omit<MessagingPruningOptions, 'tables'>) {
    this.#options = options
  }

  jobContext(job: StoreJob): PruneContext {
    const epoch = this.#options.state?.epoch(job) ?? 0
    try {
      this.#refresh()
      const topics = this.#topics
      const invalid = this.#invalid
      const pruneBound = this.#pruneBound
      return { topics, invalid, pruneBound, epoch }
    } catch (error) {
      quietly(() => this.#options.onError?.(error))
      return emptyPruneContext()
    }
  }

  postFlush(job: StoreJob, outcome: StoreJobOutcome): void {
    const reports = this.#tell(job, outcome)
    const { state } = this.#options
    if (state === undefined) return
    const { now } = job
    const isClean =
      outcome.entriesRead === 0 ||
      (rewrittenBound(reports, outcome) !== undefined && reports.every(hasLeftNothing))
    if (outcome.storeIsEmpty) state.noteEmpty(job, now)
    else if (isClean) state.noteFlush(job, now)
    else state.noteUncleanFlush(job)
  }

  postCompact(job: StoreJob, outcome: StoreJobOutcome): void {
    const reports = this.#tell(job, outcome)
    const { state } = this.#options
    if (state === undefined) return
    const { now } = job
    const bound = rewrittenBound(reports, outcome)
    if (outcome.storeIsEmpty) state.noteEmpty(job, now)
    else if (job.wholeStore && bound !== undefined) {
      state.noteRewrite(job, now, bound, reports[0].epoch)
    }
  }

  /** Reads the sources; packs again only what has changed. */
  #refresh(): void {
    const records = this.#options.topics()
    const snapshot = this.#options.transactions?.()
    if (records !== this.#records) {
      this.#topics = packTopics(records)
      this.#records = records
    }
    if (snapshot === this.#snapshot) return
    // All of it or nothing: either may throw on a malformed snapshot.
    const invalid = snapshot && packPointers(snapshot.invalid)
    const pruneBound = snapshot && boundOf(snapshot, invalid!)
    this.#invalid = invalid
    this.#pruneBound = pruneBound
    this.#snapshot = snapshot
  }

  /** Tells the listener what was pruned, and returns the reports of the job's parts. */
  #tell(job: StoreJob, outcome: StoreJobOutcome): readonly PruneReport[] {
    const reports = outcome.reports as readonly PruneReport[]
    const { onPruned } = this.#options
    if (onPruned !== undefined && reports.length > 0) {
      const counts = reports.map((report) => report.counts).reduce(addCounts)
      quietly(() => onPruned({ table: job.table, kind: job.kind, counts }))
    }
    return reports
  }
}

/** `pruneUpperBound`, without another walk over the list of invalid transactions. */
function boundOf(snapshot: TransactionSnapshot, packed: PackedPointers): bigint {
  const largest = largestPointer(packed)
  const { readPointer, inProgress } = snapshot
  return pruneUpperBound({
    readPointer,
    inProgress,
    invalid: largest === undefined ? [] : [largest],
  })
}

/** Tells a listener, whose failure is no failure of the job. */
function quietly(tell: () => unknown): void {
  const told = async (): Promise<unknown> => tell()
  told().catch(() => undefined)
}

function hasLeftNothing(report: PruneReport): boolean {
  return report.pointerLeft === undefined
}

/**
 * Up to which pointer a job left nothing; undefined if that is not known: it had no snapshot of the
 * transactions, or there were cells that the hook was not asked about.
 */
function rewrittenBound(
  reports: readonly PruneReport[],
  outcome: StoreJobOutcome,
): bigint | undefined {
  if (outcome.hookNotAsked > 0) return undefined
  let lowest: bigint | undefined = undefined
  for (const { pruneBound, pointerLeft } of reports) {
    if (pruneBound === undefined) return undefined
    if (lowest === undefined || pruneBound < lowest) lowest = pruneBound
    if (pointerLeft !== undefined && pointerLeft <= lowest) lowest = pointerLeft - 1n
  }
  return lowest
}

function addCounts(a: PruneCounts, b: PruneCounts): PruneCounts {
  return {
    expired: a.expired + b.expired,
    ended: a.ended + b.ended,
    negated: a.negated + b.negated,
    unknownTopic: a.unknownTopic + b.unknownTopic,
    foreignRow: a.foreignRow + b.foreignRow,
  }
}
