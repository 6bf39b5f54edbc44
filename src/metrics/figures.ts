/** Names, descriptions and sources of the metrics that monitors read. */

import { bucketMicroseconds } from '../api/index.js'
import { histogramSamples, type Family, type Labels, type Sample } from './text.js'

/** Durations of one kind of operation, as in `Database.statistics`. */
export interface MonitoredLatency {
  /** Number of operations. */
  readonly count: number
  /** Number of operations whose duration was measured. */
  readonly timedCount: number
  /** Sum of the measured durations. */
  readonly sumMicroseconds: number
  /** Number of measured operations at or below each bound, from 10 µs to 10 s. */
  readonly buckets: readonly number[]
}

/** Numbers of `Database.statistics`: kind, name, the member, and help. */
const numbers = [
  ['gauge', 'table_files', 'tableFiles', 'SSTables.'],
  ['gauge', 'table_file_bytes', 'tableFileBytes', 'Bytes of all SSTables.'],
  ['gauge', 'value_file_bytes', 'valueFileBytes', 'Bytes of all value files.'],
  ['gauge', 'log_bytes', 'logBytes', 'Bytes of the log.'],
  ['gauge', 'memtable_bytes', 'memtableBytes', 'Memtables not yet in a table.'],
  ['gauge', 'index_bytes', 'pinnedBytes', 'Indexes and filters in memory.'],
  ['counter', 'block_read_bytes_total', 'blockBytesRead', 'Bytes of blocks read.'],
  ['counter', 'filter_checks_total', 'filterChecks', 'Bloom filters asked.'],
  ['counter', 'filter_negatives_total', 'filterNegatives', 'Bloom filters that ruled a file out.'],
  ['counter', 'flushes_total', 'flushes', 'Memtables flushed.'],
  ['counter', 'flushed_bytes_total', 'flushedBytes', 'Bytes that flushes wrote.'],
  ['counter', 'compactions_total', 'compactions', 'Merges of files.'],
  ['counter', 'compaction_read_bytes_total', 'compactionBytesRead', 'Bytes that merges read.'],
  ['counter', 'compaction_written_bytes_total', 'compactedBytes', 'Bytes that merges wrote.'],
  ['gauge', 'compaction_queue', 'compactionQueue', 'Compactions that run or wait.'],
  [
    'counter',
    'compaction_stalls_total',
    'compactionStalls',
    'Times compactions held writers back.',
  ],
  ['counter', 'memory_stalls_total', 'stalls', 'Times a writer waited for memory.'],
  ['gauge', 'waiting_calls', 'waitingCalls', 'Mutating calls that wait.'],
  ['counter', 'user_bytes_total', 'userBytes', 'Bytes of all mutations.'],
  ['gauge', 'write_amplification', 'writeAmplification', 'Bytes written per byte of mutations.'],
  ['gauge', 'read_amplification', 'readAmplification', 'Most sorted runs of a family.'],
  ['gauge', 'space_amplification', 'spaceAmplification', 'Bytes by those of the largest runs.'],
  ['gauge', 'open_snapshots', 'openSnapshots', 'Open snapshots.'],
  ['gauge', 'log_segments', 'logSegments', 'Segments of the log.'],
  ['gauge', 'waiting_argument_bytes', 'waitingArgumentBytes', 'Arguments of waiting calls.'],
  ['gauge', 'last_sequence', 'lastSequence', 'Sequence of the last mutation.'],
] as const

const cacheNumbers = [
  ['gauge', 'block_cache_bytes', 'bytesUsed', 'Cached blocks.'],
  ['counter', 'block_cache_hits_total', 'hits', 'Blocks found in the cache.'],
  ['counter', 'block_cache_misses_total', 'misses', 'Blocks not found in the cache.'],
] as const

const familyNumbers = [
  ['files', 'files', 'SSTables of a family.'],
  ['file_bytes', 'fileBytes', 'Bytes of the SSTables of a family.'],
  ['value_file_bytes', 'valueFileBytes', 'Bytes of the value files of a family.'],
  ['memtable_bytes', 'memtableBytes', 'Memtables of a family.'],
  ['entries', 'entries', 'Cells and markers in the SSTables of a family.'],
  ['runs', 'runs', 'Sorted runs of a family.'],
] as const

/** Counts and durations by the kinds of operations that have occurred. */
type Latencies = Readonly<Record<string, MonitoredLatency | undefined>>

/** The part of the statistics of a family that monitors read. */
export type MonitoredFamily = Readonly<Record<(typeof familyNumbers)[number][1], number>> & {
  /** Durations of its jobs, and of operations that concern no other family. */
  readonly latencies: Latencies
}

/** The part of the statistics of a table that monitors read. */
export interface MonitoredTable {
  /** Counts and durations of its operations. */
  readonly latencies: Latencies
  /** By name. */
  readonly families: Readonly<Record<string, MonitoredFamily>>
}

/**
 * The part of `Database.statistics` that monitors read. Sizes are bytes; counters count since the
 * open.
 */
export type MonitoredStatistics = Readonly<Record<(typeof numbers)[number][2], number>> & {
  /** Counts and durations by kind of operation. */
  readonly latencies: Readonly<Record<string, MonitoredLatency>>
  /** The block cache. */
  readonly blockCache: Readonly<Record<(typeof cacheNumbers)[number][2], number>>
  /** By name. */
  readonly tables: Readonly<Record<string, MonitoredTable>>
  /** The running jobs. */
  readonly jobs: readonly {
    /** What the job makes. */
    readonly kind: 'flush' | 'compaction'
  }[]
  /** How far compactions lag. */
  readonly pressure: {
    /** Debt of compactions by its limit: from 1 on writers stop. */
    readonly level: number
    /** Most runs to be merged. */
    readonly runs: number
    /** Bytes to be rewritten. */
    readonly bytes: number
  }
  /** The scrub. */
  readonly scrub: {
    /** Passes over all files that have ended. */
    readonly passes: number
    /** Bytes that were read and checked. */
    readonly bytesRead: number
    /** Names of files in which damage was found. */
    readonly damagedFiles: readonly string[]
  }
  /** When the last backup ended. */
  readonly lastBackup:
    | {
        /** When it ended, in milliseconds since 1970. */
        readonly milliseconds: number
      }
    | undefined
  /** The device of the directory. */
  readonly device:
    | {
        /** Bytes that are free for this process. */
        readonly freeBytes: number
        /** The size of the device. */
        readonly totalBytes: number
      }
    | undefined
  /** Whether a failed write has made the database read-only. */
  readonly poisoned: boolean
}

/** A database that can be monitored: `Database` of `cellardb`. */
export interface MonitoredDatabase {
  /** The directory, which becomes the label of the metrics. */
  readonly directory: string
  /** Reads all counters. */
  statistics(): MonitoredStatistics
}

/** One metric. */
export interface Figure extends Omit<Family, 'samples'> {
  readonly help: string
  /** Unit in the code of UCUM, for OpenTelemetry. */
  readonly unit: string
  readonly read: (statistics: MonitoredStatistics) => readonly Sample[]
}

/** Durations as histograms, for Prometheus. */
export const durations: readonly Figure[] = [
  histogram(
    'operation',
    'Durations of timed operations, by kind: about one in 64 is timed.',
    (all) => histogramsOf(all.latencies, {}),
  ),
  histogram('table_operation', 'The same for each table.', ({ tables }) =>
    Object.entries(tables).flatMap(([table, { latencies }]) => histogramsOf(latencies, { table })),
  ),
  histogram(
    'family_operation',
    'The same for each family: its jobs, and operations on it alone.',
    (all) => {
      return familiesOf(all).flatMap(([labels, { latencies }]) => histogramsOf(latencies, labels))
    },
  ),
]

/** Upper bounds of the buckets, in seconds. */
export const bounds: readonly number[] = bucketMicroseconds.map((bound) => bound / 1e6)

function histogram(of: string, help: string, read: Figure['read']): Figure {
  return { name: `${of}_duration_seconds`, help, kind: 'histogram', unit: 's', read }
}

function histogramsOf(latencies: Latencies, labels: Labels): Sample[] {
  return Object.entries(latencies).flatMap(([operation, latency]) => {
    if (latency === undefined) return []
    const { buckets, sumMicroseconds, timedCount: count } = latency
    const counts = { buckets, sum: sumMicroseconds / 1e6, count }
    return histogramSamples(counts, bounds, { ...labels, operation })
  })
}

/** All families with the labels of their samples. */
function familiesOf({ tables }: MonitoredStatistics): (readonly [Labels, MonitoredFamily])[] {
  return Object.entries(tables).flatMap(([table, { families }]) => {
    return Object.entries(families).map(([family, each]) => [{ table, family }, each] as const)
  })
}

/** A gauge, or a metric of another kind; `read` returns nothing where there is no value. */
function figure(
  name: string,
  help: string,
  read: (statistics: MonitoredStatistics) => number | boolean | readonly Sample[] | undefined,
  kind: Family['kind'] = 'gauge',
): Figure {
  const unit = name.includes('bytes') ? 'By' : name.includes('seconds') ? 's' : '1'
  const samples = (statistics: MonitoredStatistics): readonly Sample[] => {
    const value = read(statistics) ?? []
    return typeof value === 'object' ? value : [[{}, Number(value)]]
  }
  return { kind, name, help, unit, read: samples }
}

/** Metrics that are not plain members of the statistics. */
const derived: readonly Figure[] = [
  figure('poisoned', '1 if a failed write has made it read-only.', ({ poisoned }) => poisoned),
  figure(
    'pressure',
    'Debt of compactions by its limit: from 1 on writers stop.',
    ({ pressure }) => {
      return pressure.level
    },
  ),
  figure('compaction_debt_bytes', 'Bytes to be rewritten.', ({ pressure }) => pressure.bytes),
  figure('compaction_debt_runs', 'Most runs to be merged.', ({ pressure }) => pressure.runs),
  figure('jobs_running', 'Running flushes and compactions.', ({ jobs }) => {
    return (['flush', 'compaction'] as const).map((kind): Sample => {
      return [{ kind }, jobs.filter((job) => job.kind === kind).length]
    })
  }),
  figure('scrub_passes_total', 'Passes of the scrub.', ({ scrub }) => scrub.passes, 'counter'),
  figure(
    'scrub_read_bytes_total',
    'Bytes that the scrub read.',
    ({ scrub }) => scrub.bytesRead,
    'counter',
  ),
  figure('damaged_files', 'Damaged files that the scrub knows.', ({ scrub }) => {
    return scrub.damagedFiles.length
  }),
  figure('last_backup_timestamp_seconds', 'End of the last backup; 0 if none is known.', (all) => {
    return (all.lastBackup?.milliseconds ?? 0) / 1000
  }),
  figure('device_free_bytes', 'Free space of the disk.', ({ device }) => device?.freeBytes),
  figure('device_size_bytes', 'Size of the disk.', ({ device }) => device?.totalBytes),
  figure(
    'table_operations_total',
    'Operations by table and kind.',
    ({ tables }) => {
      return Object.entries(tables).flatMap(([table, { latencies }]) => {
        return Object.entries(latencies).map(([operation, latency]): Sample => {
          return [{ table, operation }, latency?.count ?? 0]
        })
      })
    },
    'counter',
  ),
  ...familyNumbers.map(([name, member, help]) => {
    return figure(`family_${name}`, help, (all) => {
      return familiesOf(all).map(([labels, family]): Sample => [labels, family[member]])
    })
  }),
]

/** All metrics except durations. */
export const figures: readonly Figure[] = [
  figure(
    'operations_total',
    'Operations by kind.',
    ({ latencies }) => {
      return Object.entries(latencies).map(([operation, { count }]) => [{ operation }, count])
    },
    'counter',
  ),
  ...numbers.map(([kind, name, member, help]) => {
    return figure(name, help, (statistics) => statistics[member], kind)
  }),
  ...cacheNumbers.map(([kind, name, member, help]) => {
    return figure(name, help, ({ blockCache }) => blockCache[member], kind)
  }),
  ...derived,
]
