/**
 * The pruning of the messaging design as a coprocessor of a message or payload table. An observer
 * gives each job the topics and the transactions at its start, and records the result. The hook of
 * prune-job/prune-hook.ts decides about each cell.
 *
 * Failure behaviour: a source that throws never fails a flush or a compaction. Without topics no
 * cell is dropped or negated; without a snapshot no pointer is negated. `onError` receives the
 * error.
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
  /** The kind of the rows in the tables. */
  readonly rows: PrunedRows
  /** Names of the tables; they need not exist yet. */
  readonly tables: readonly string[]
  /**
   * The current topics, including deleted ones, for instance from `readTopics` of the metadata
   * table. Called at the start of each job. The same array as before means that nothing changed.
   */
  readonly topics: () => readonly TopicRecord[]
  /**
   * The current transactions; undefined if they are unknown. Called at the start of each job. The
   * same object as before means that nothing changed. Absent: always unknown.
   */
  readonly transactions?: () => TransactionSnapshot | undefined
  /** Records up to which pointer invalid transactions may be forgotten. For message tables. */
  readonly state?: PruneState | undefined
  /** Receives the counts of a finished job. */
  readonly onPruned?: ((pruned: PrunedJob) => void) | undefined
  /** Receives the error of a source. */
  readonly onError?: (error: unknown) => void
}

/** The outcome of a finished job. */
export interface PrunedJob {
  /** Name of the message or payload table. */
  readonly table: string
  /**
   * Whether the job flushed memory or merged files; a major compaction merges all files of a store.
   */
  readonly kind: 'flush' | 'minor' | 'major'
  /** Cells that the job dropped, negated, or kept because of missing metadata. */
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
 * Makes the coprocessor that prunes message or payload tables. It must be registered whenever the
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

  /** Reads the sources; packs only changed ones again. */
  #refresh(): void {
    const records = this.#options.topics()
    const snapshot = this.#options.transactions?.()
    if (records !== this.#records) {
      this.#topics = packTopics(records)
      this.#records = records
    }
    if (snapshot === this.#snapshot) return
    // Both or neither: either call may throw on a malformed snapshot.
    const invalid = snapshot && packPointers(snapshot.invalid)
    const pruneBound = snapshot && boundOf(snapshot, invalid!)
    this.#invalid = invalid
    this.#pruneBound = pruneBound
    this.#snapshot = snapshot
  }

  /** Reports the counts to the listener; returns the reports of the job's parts. */
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

/** `pruneUpperBound` without a second pass over the list of invalid transactions. */
function boundOf(snapshot: TransactionSnapshot, packed: PackedPointers): bigint {
  const largest = largestPointer(packed)
  const { readPointer, inProgress } = snapshot
  return pruneUpperBound({
    readPointer,
    inProgress,
    invalid: largest === undefined ? [] : [largest],
  })
}

/** Calls a listener; its failure does not fail the job. */
function quietly(tell: () => unknown): void {
  const told = async (): Promise<unknown> => tell()
  told().catch(() => undefined)
}

function hasLeftNothing(report: PruneReport): boolean {
  return report.pointerLeft === undefined
}

/**
 * The largest pointer up to which the job left no invalid data. Undefined if the job had no
 * snapshot of the transactions, or if some cells bypassed the hook.
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
