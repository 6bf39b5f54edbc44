/**
 * `npm run bench -- record --out bench/results`: the suites that README.md, docs/performance.md and
 * the overview show, all on this Node and commit, three times each, within 25 minutes on two cores.
 * The sizes are smaller than those of the suites, and a workload on a loaded store ends after one
 * second.
 */

/** A suite to record, and its size; without one the size of the suite. */
export interface RecordedSuite {
  readonly name: string
  readonly records?: number
  /** Most seconds of a phase that may end early. Default 1. */
  readonly phaseSeconds?: number
}

/** Times that each suite runs; figures are medians. */
export const recordedRepeats = 3

/** In the order in which they run. */
export const recordedSuites: readonly RecordedSuite[] = [
  { name: 'db-bench', records: 100_000 },
  { name: 'hbase-pe', records: 50_000 },
  { name: 'ycsb', records: 50_000 },
  { name: 'cas' },
  { name: 'level', records: 50_000 },
  { name: 'scale', records: 100_000 },
  { name: 'latency' },
  { name: 'transfer' },
  { name: 'metastore' },
  { name: 'metadata' },
  { name: 'messaging' },
  { name: 'repository' },
]
