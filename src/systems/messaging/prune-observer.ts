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
  callback,
  choice,
  declareOptions,
  implementation,
  list,
  required,
  text,
  type Coprocessor,
  type Observer,
  type OptionsOf,
  type SettingsOf,
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
import { type PruneState, type TransactionSnapshot } from '../transactions/index.js'
import { largestPointer, packPointers } from '../transactions/manager/pack-pointers.js'
import { pruneUpperBound } from '../transactions/transaction-snapshot.js'
import type { PackedPointers } from '../transactions/prune-job/packed-pointers.js'

const pruningOptions = declareOptions('messaging prunings', {
  /** The kind of the rows in the tables. */
  rows: required(
    choice<PrunedRows, undefined>(['message', 'payload', 'producer', 'consumer'], undefined),
  ),
  /** Names of the tables; they need not exist yet. */
  tables: required(list(text(''))),
  /**
   * The current topics, including deleted ones, for instance from `readTopics` of the metadata
   * table. Called at the start of each job. The same array as before means that nothing changed.
   */
  topics: required(callback<() => readonly TopicRecord[]>()),
  /**
   * The current transactions; undefined if they are unknown. Called at the start of each job. The
   * same object as before means that nothing changed. Absent: always unknown.
   */
  transactions: callback<() => TransactionSnapshot | undefined>(),
  /** Records up to which pointer invalid transactions may be forgotten. For message tables. */
  state: implementation<PruneState>(['epoch', 'noteFlush']),
  /** Receives the counts of a finished job. */
  onPruned: callback<(pruned: PrunedJob) => void>(),
  /** Receives the error of a source. */
  onError: callback<(error: unknown) => void>(),
})

/** Options of {@link messagingPruning}. */
export interface MessagingPruningOptions extends OptionsOf<typeof pruningOptions> {}

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

/**
 * Makes the coprocessor that prunes message or payload tables. It must be registered whenever the
 * database is open.
 */
export function messagingPruning(options: MessagingPruningOptions): Coprocessor {
  const settings = pruningOptions.read(options)
  const { rows, tables } = settings
  const module = new URL('./prune-job/prune-hook.js', import.meta.url).href
  return {
    name: `pruning of ${rows} rows in ${tables.join(', ')}`,
    tables,
    observer: new PruneObserver(settings),
    cellHook: { module, options: { rows } },
  }
}

class PruneObserver implements Observer {
  readonly #settings: SettingsOf<typeof pruningOptions>
  #records: readonly TopicRecord[] | undefined = undefined
  #topics: PackedTopics = packTopics([])
  #snapshot: TransactionSnapshot | undefined = undefined
  #invalid: PackedPointers | undefined = undefined
  #pruneBound: bigint | undefined = undefined

  constructor(settings: SettingsOf<typeof pruningOptions>) {
    this.#settings = settings
  }

  jobContext(job: StoreJob): PruneContext {
    const epoch = this.#settings.state?.epoch(job) ?? 0
    try {
      this.#refresh()
      const topics = this.#topics
      const invalid = this.#invalid
      const pruneBound = this.#pruneBound
      return { topics, invalid, pruneBound, epoch }
    } catch (error) {
      quietly(() => this.#settings.onError?.(error))
      return emptyPruneContext()
    }
  }

  postFlush(job: StoreJob, outcome: StoreJobOutcome): void {
    const reports = this.#tell(job, outcome)
    const { state } = this.#settings
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
    const { state } = this.#settings
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
    const records = this.#settings.topics()
    const snapshot = this.#settings.transactions?.()
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
    const { onPruned } = this.#settings
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
