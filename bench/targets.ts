/**
 * The targets of the project and what the recorded results say of them: the table in
 * bench/README.md, which `npm run bench:readme` writes.
 *
 * A target is met if all its comparisons are. A comparison without a result counts as missed.
 */
import type { ResultRecord } from './harness/report/record.js'
import { readReport } from './harness/report/recorded.js'
import { hotRowWritePart } from './suites/cas.js'
import { formatCount, isNodePeer, markdownTable } from './harness/report/table.js'

/** Results by suite. */
export type Results = ReadonlyMap<string, readonly ResultRecord[]>

/** One figure of a target. */
interface Finding {
  readonly text: string
  readonly isMet: boolean
}

/** What a target asks of one figure. */
type Comparison = (results: Results) => Finding

interface Target {
  readonly text: string
  readonly comparisons: readonly Comparison[]
  /** Says why what is missed is missed: a heading of this file, or of another document. */
  readonly explainedIn: readonly [words: string, link: string]
}

/** Stands for the fastest engine of those that a Node program can use, in its best layout. */
const bestPeer = 'the best Node peer'

function find(
  results: Results,
  suite: string,
  workload: string,
  accept: (result: ResultRecord) => boolean,
): ResultRecord | undefined {
  const found = (results.get(suite) ?? []).filter(
    (result) => result.workload === workload && accept(result),
  )
  // The smallest store of several, which all engines have; the best layout of several.
  return found.sort((a, b) => a.records - b.records || b.opsPerSecond - a.opsPerSecond)[0]
}

const isEngine = (engine: string) => (result: ResultRecord) =>
  result.engine === engine || result.engine.startsWith(`${engine}/`)

const format = (ratio: number): string => `${ratio.toFixed(2)} x`

/** How often as many operations a second as a peer, which may have another workload's name. */
function times(
  suite: string,
  workload: string,
  peer: string,
  factor: number,
  peerWorkload = workload,
  ownEngine = 'cellar',
): Comparison {
  return (results) => {
    const own = find(results, suite, workload, isEngine(ownEngine))
    const accept =
      peer === bestPeer ? ({ engine }: ResultRecord) => isNodePeer(engine) : isEngine(peer)
    const other = find(results, suite, peerWorkload, accept)
    const whose = peerWorkload === workload ? peer : `${peer} \`${peerWorkload}\``
    if (own === undefined || other === undefined) {
      return { text: `\`${workload}\`: no result beside ${whose}`, isMet: false }
    }
    const ratio = own.opsPerSecond / other.opsPerSecond
    const name = peer === bestPeer ? `${peer} (${other.engine})` : whose
    return { text: `\`${workload}\`: ${format(ratio)} ${name}`, isMet: ratio >= factor }
  }
}

/** A figure of a result, which may be at most `most`. */
function atMost(
  suite: string,
  workload: string,
  name: string,
  most: number,
  figure: (result: ResultRecord) => number | undefined,
  show: (value: number) => string,
): Comparison {
  return (results) => {
    const own = find(results, suite, workload, isEngine('cellar'))
    const value = own === undefined ? undefined : figure(own)
    if (value === undefined) return { text: `\`${workload}\`: no ${name}`, isMet: false }
    return { text: `${name} ${show(value)}`, isMet: value <= most }
  }
}

const percent = (part: number): string => `+${(part * 100).toFixed(0)} %`
const asMilliseconds = (us: number): string => `${(us / 1000).toFixed(1)} ms`

const hookPart = (hooks: number): Comparison =>
  atMost(
    'compaction',
    `merge with ${hooks} hooks`,
    hooks === 1 ? 'one hook' : `${hooks} hooks`,
    0.15,
    ({ extra }) => extra?.['hookPart'],
    percent,
  )

const ingest = (name: string, key: string, most: number, show: (value: number) => string) =>
  atMost('compaction', 'ingest at 80 %', name, most, ({ extra }) => extra?.[key], show)

/** Bytes on disk after a compaction beside those of a peer. */
function sizeBeside(peer: string, factor: number): Comparison {
  return (results) => {
    const own = find(results, 'db-bench', 'compact', isEngine('cellar'))?.bytesOnDisk
    const other = find(results, 'db-bench', 'compact', isEngine(peer))?.bytesOnDisk
    if (own === undefined || other === undefined) {
      return { text: `\`compact\`: no size beside ${peer}`, isMet: false }
    }
    return { text: `\`compact\`: ${format(own / other)} ${peer}`, isMet: own <= factor * other }
  }
}

/** How much more an operation costs in the largest store of `scale` than in the smallest. */
function growth(workload: string, factor: number): Comparison {
  return (results) => {
    const own = (results.get('scale') ?? []).filter(
      (result) => result.workload === workload && result.engine === 'cellar',
    )
    const sorted = own.sort((a, b) => a.records - b.records)
    const [smallest, largest] = [sorted[0], sorted.at(-1)]
    if (smallest === undefined || largest === undefined) {
      return { text: `\`${workload}\`: no result`, isMet: false }
    }
    const ratio = smallest.opsPerSecond / largest.opsPerSecond
    const sizes = `${smallest.records} to ${largest.records} records`
    return { text: `\`${workload}\` ${format(ratio)} (${sizes})`, isMet: ratio <= factor }
  }
}

const ycsb = (workload: string, factor: number): Comparison =>
  times('ycsb', workload, bestPeer, factor)

/** Gets of a store that is so many times as large as the cache. */
const beyondCache = (ratio: number): readonly Comparison[] =>
  ['uniform', 'zipfian'].flatMap((drawn) => {
    const workload = `get-${drawn}-${ratio}x-cache`
    return [
      times('scale', workload, 'classic-level', 1.5),
      times('scale', workload, 'better-sqlite3', 1),
    ]
  })

/** Gets of a row before and after its column was overwritten a million times. */
const hotRowGets: Comparison = (results) => {
  const [before, between, after] = ['hot-row-get-before', 'hot-row', 'hot-row-get-after'].map(
    (workload) => find(results, 'cas', workload, isEngine('cellar')),
  )
  if (before === undefined || between === undefined || after === undefined) {
    return { text: '`hot-row`: no result', isMet: false }
  }
  const increments = Math.round(between.operations * hotRowWritePart)
  const ratio = before.opsPerSecond / after.opsPerSecond
  return {
    text: `\`hot-row-get-after\` ${format(ratio)} (${formatCount(increments)} increments)`,
    isMet: ratio <= 1.3 && increments >= 1e6,
  }
}

const writes = ['writes', '#writes-where-the-time-goes'] as const
const reads = ['reads', '../docs/decisions.md#reads-what-limits-them'] as const
const hotReads = ['reads', '#reads-where-the-time-goes'] as const
const scans = ['scans', '#scans-where-the-time-goes'] as const
const merge = ['merge', '#compaction-merge-what-limits-it'] as const
const compaction = ['compaction', '../docs/decisions.md#compaction-what-limits-it'] as const

const targets: readonly Target[] = [
  {
    text: 'batch put: 2 x classic-level, 2 x C++ `fillrandom`',
    comparisons: [
      times('db-bench', 'fillbatch', 'classic-level', 2),
      times('db-bench', 'fillbatch', 'rocksdb-cpp', 2, 'fillrandom'),
    ],
    explainedIn: writes,
  },
  {
    text: 'one put at a time: 1.5 x better-sqlite3, 8 x classic-level, synchronous and awaited',
    comparisons: [
      times('db-bench', 'fillrandom', 'better-sqlite3', 1.5),
      times('db-bench', 'fillrandom', 'classic-level', 8),
      times('db-bench', 'fillrandom-awaited', 'better-sqlite3', 1.5),
      times('db-bench', 'fillrandom-awaited', 'classic-level', 8),
    ],
    explainedIn: writes,
  },
  {
    text: '1000 concurrent durable puts: 3 x lmdb',
    comparisons: [times('db-bench', 'fillsync-concurrent', 'lmdb', 3)],
    explainedIn: writes,
  },
  {
    text: 'hot get: 3 x classic-level, 1.5 x lmdb, level with C++ `readrandom`',
    comparisons: [
      times('db-bench', 'readhot', 'classic-level', 3),
      times('db-bench', 'readhot', 'lmdb', 1.5),
      times('db-bench', 'readhot', 'rocksdb-cpp', 1, 'readrandom'),
    ],
    explainedIn: hotReads,
  },
  {
    text: 'hot get, awaited: 15 x classic-level',
    comparisons: [times('db-bench', 'readrandom-awaited', 'classic-level', 15)],
    explainedIn: hotReads,
  },
  {
    text: 'get, everything cached: 1.5 x lmdb zipfian, 1 x uniform',
    comparisons: [
      times('scale', 'get-zipfian', 'lmdb', 1.5),
      times('scale', 'get-uniform', 'lmdb', 1),
    ],
    explainedIn: reads,
  },
  {
    text: 'get, store four times the cache: 1.5 x classic-level, level with better-sqlite3',
    comparisons: beyondCache(4),
    explainedIn: reads,
  },
  {
    text: 'get, store ten times the cache: 1.5 x classic-level, level with better-sqlite3',
    comparisons: beyondCache(10),
    explainedIn: reads,
  },
  {
    text: 'get of a row after a million overwrites of a column: at most 1.3 x',
    comparisons: [hotRowGets],
    explainedIn: reads,
  },
  {
    text: 'full scan 3 x, scan of 50 rows 3 x the best Node peer (full scan 5 x: the aim)',
    comparisons: [
      times('db-bench', 'readseq-compacted', bestPeer, 3),
      times('db-bench', 'readseq', bestPeer, 3),
      times('db-bench', 'scan50', bestPeer, 3),
    ],
    explainedIn: scans,
  },
  {
    text: 'checkAndMutate on hot rows: 5 x lmdb `ifVersion`, 10 x classic-level with a lock',
    comparisons: [
      times('cas', 'cas-hot-awaited', 'lmdb', 5),
      times('cas', 'cas-hot-awaited', 'classic-level', 10),
      times('cas', 'cas-hot', 'lmdb', 5),
      times('cas', 'cas-hot', 'classic-level', 10),
    ],
    explainedIn: writes,
  },
  {
    text: 'YCSB, best Node peer in its best layout: A, F 3 x; B, D, E 2 x; C 1.5 x',
    comparisons: [
      ycsb('A', 3),
      ycsb('F', 3),
      ycsb('B', 2),
      ycsb('D', 2),
      ycsb('E', 2),
      ycsb('C', 1.5),
    ],
    explainedIn: reads,
  },
  {
    text: 'compaction, one worker: level with C++ (1.2 x: the aim)',
    comparisons: [times('compaction', 'merge', 'rocksdb-cpp', 1)],
    explainedIn: merge,
  },
  {
    text: '`compact` of 50,000 rows: level with classic-level',
    comparisons: [times('level', 'compact', 'classic-level', 1, 'compact', 'cellar-level')],
    explainedIn: compaction,
  },
  {
    text: 'cell hooks that keep everything: at most 15 % of the CPU time',
    comparisons: [hookPart(1), hookPart(2)],
    explainedIn: merge,
  },
  {
    text:
      'ingest at 80 %: delay of the event loop p99 10 ms, p99.9 50 ms; no gap between puts over ' +
      '100 ms; space at rest 1.2 x',
    comparisons: [
      ingest('p99', 'loopDelayP99us', 10_000, asMilliseconds),
      ingest('p99.9', 'loopDelayP999us', 50_000, asMilliseconds),
      ingest('longest gap', 'gapMaxMs', 100, (ms) => `${ms.toFixed(0)} ms`),
      ingest('space', 'space', 1.2, format),
    ],
    explainedIn: compaction,
  },
  {
    text: 'size on disk after compaction: at most 1.05 x classic-level',
    comparisons: [sizeBeside('classic-level', 1.05)],
    explainedIn: compaction,
  },
  {
    text: 'cost of an operation, store 50 times as large: at most 2 x',
    comparisons: ['get-uniform', 'get-zipfian', 'scan50', 'overwrite'].map((workload) =>
      growth(workload, 2),
    ),
    explainedIn: reads,
  },
]

/** Reads the recorded results of a folder. */
export function readResults(folder: string): Results {
  const results = new Map<string, readonly ResultRecord[]>()
  for (const suite of ['db-bench', 'ycsb', 'cas', 'compaction', 'scale', 'hbase-pe', 'level']) {
    const report = readReport(folder, suite)
    if (report !== undefined) results.set(suite, report.results)
  }
  return results
}

/** The table of targets: what was asked, what was reached, how many met or why not. */
export function formatTargets(results: Results): string {
  const rows = [['target', 'reached', '']]
  for (const { text, comparisons, explainedIn } of targets) {
    const findings = comparisons.map((comparison) => comparison(results))
    const met = findings.filter(({ isMet }) => isMet).length
    const reached = findings.map((finding) =>
      finding.isMet ? `**${finding.text}**` : finding.text,
    )
    const [words, link] = explainedIn
    const count = met === 0 ? 'missed' : `${met} of ${findings.length}`
    const verdict = met === findings.length ? 'met' : `${count}, see [${words}](${link})`
    rows.push([text, reached.join('; '), verdict])
  }
  return `${markdownTable(rows, 0)}\n`
}
