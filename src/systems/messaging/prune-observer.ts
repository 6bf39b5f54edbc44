/**
 * The pruning of the messaging design as a coprocessor of the tables of messaging. An observer
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
  required,
  type Coprocessor,
  type OptionsOf,
  type StoreJob,
} from '../../api/index.js'
import type { PackedTopics, PruneContext } from './prune-job/prune-context.js'
import { prunedRows, type PruneCounts } from './prune-job/prune-hook.js'
import { type TopicRecord, topicPrefix } from './topics/topic.js'
import type { TransactionSnapshot } from '../transactions/index.js'
import { packPointers } from '../transactions/prune-job/job-data.js'
import { pruneDeclarations, PruneObserver } from '../transactions/prune-jobs.js'
import { pruneUpperBound } from '../transactions/transaction-snapshot.js'

const pruningOptions = declareOptions('messaging prunings', {
  /** The kind of the rows in the tables. */
  rows: required(choice(prunedRows, undefined)),
  ...pruneDeclarations,
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
  /** Receives the counts of a finished job. */
  onPruned: callback<(pruned: PrunedJob) => void>(),
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
 * Makes the coprocessor that prunes tables of one kind. It must be registered whenever the database
 * is open.
 */
export function messagingPruning(options: MessagingPruningOptions): Coprocessor {
  const { rows, tables, topics, transactions, state, onPruned, onError } =
    pruningOptions.read(options)
  const module = new URL('./prune-job/prune-hook.js', import.meta.url).href
  const topicsOf = unlessSame(packTopics)
  const transactionsOf = unlessSame(packTransactions)
  const context = (_job: StoreJob, epoch: number): PruneContext => {
    return { topics: topicsOf(topics()), ...transactionsOf(transactions?.()), epoch }
  }
  const onCounts = ({ table, kind }: StoreJob, counts: PruneCounts): void => {
    onPruned?.({ table, kind, counts })
  }
  return {
    name: `pruning of ${rows} rows in ${tables.join(', ')}`,
    tables,
    observer: new PruneObserver<PruneCounts>({ context, state, onCounts, onError }),
    cellHook: { module, options: { rows } },
  }
}

/** A function that keeps its last result, and computes again for another argument only. */
function unlessSame<A, R>(compute: (argument: A) => R): (argument: A) => R {
  let last: { readonly argument: A; readonly result: R } | undefined
  return (argument) => {
    if (last === undefined || last.argument !== argument) {
      last = { argument, result: compute(argument) }
    }
    return last.result
  }
}

function packTransactions(
  snapshot: TransactionSnapshot | undefined,
): Pick<PruneContext, 'invalid' | 'pruneBound'> {
  if (snapshot === undefined) return { invalid: undefined, pruneBound: undefined }
  const invalid = packPointers(snapshot.invalid)
  // Not from the list itself, which may have a million members.
  const largest = invalid.at(-1)
  const pruneBound = pruneUpperBound({
    readPointer: snapshot.readPointer,
    inProgress: snapshot.inProgress,
    invalid: largest === undefined ? [] : [largest],
  })
  return { invalid, pruneBound }
}

/** Packs topics in any order; the last of several records of one topic counts. */
export function packTopics(records: Iterable<TopicRecord>): PackedTopics {
  const byName = new Map<string, { prefix: Buffer; record: TopicRecord }>()
  for (const record of records) {
    const prefix = topicPrefix(record.id)
    byName.set(prefix.toString('latin1'), { prefix, record })
  }
  const sorted = [...byName.values()].sort((a, b) => Buffer.compare(a.prefix, b.prefix))
  const starts = new Uint32Array(sorted.length + 1)
  const generations = new Int32Array(sorted.length)
  const ttlMilliseconds = new Float64Array(sorted.length)
  sorted.forEach(({ prefix, record }, index) => {
    starts[index + 1] = starts[index] + prefix.length
    generations[index] = record.generation
    ttlMilliseconds[index] = record.ttlMilliseconds
  })
  const prefixes = new Uint8Array(starts[sorted.length])
  sorted.forEach(({ prefix }, index) => prefixes.set(prefix, starts[index]))
  return { count: sorted.length, prefixes, starts, generations, ttlMilliseconds }
}
