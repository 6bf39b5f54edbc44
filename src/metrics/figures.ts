/** Names, descriptions and sources of the metrics that monitors read. */

import { bucketMicroseconds } from '../api/index.js'

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
  /** Median of the measured durations. */
  readonly p50Microseconds: number
  /** 99th percentile. */
  readonly p99Microseconds: number
  /** 99.9th percentile. */
  readonly p999Microseconds: number
  /** The longest duration. */
  readonly maxMicroseconds: number
}

/**
 * The part of `Database.statistics` that monitors read. Sizes are bytes; counters count since the
 * open.
 */
export interface MonitoredStatistics {
  /** Counts and durations by kind of operation. */
  readonly latencies: Readonly<Record<string, MonitoredLatency>>
  /** Number of SSTables. */
  readonly tableFiles: number
  /** Bytes of all SSTables. */
  readonly tableFileBytes: number
  /** Bytes of value files. */
  readonly valueFileBytes: number
  /** Bytes of the log. */
  readonly logBytes: number
  /** Bytes of memtables that are not flushed yet. */
  readonly memtableBytes: number
  /** The block cache. */
  readonly blockCache: {
    /** Bytes that the cache holds. */
    readonly bytesUsed: number
    /** Blocks found in the cache. */
    readonly hits: number
    /** Blocks that had to be read. */
    readonly misses: number
  }
  /** Bytes of indexes and filters in memory. */
  readonly pinnedBytes: number
  /** Bytes of blocks read from files. */
  readonly blockBytesRead: number
  /** Lookups in Bloom filters. */
  readonly filterChecks: number
  /** Lookups that a Bloom filter answered with no. */
  readonly filterNegatives: number
  /** Flushes since the open. */
  readonly flushes: number
  /** Bytes written by flushes. */
  readonly flushedBytes: number
  /** Compactions since the open. */
  readonly compactions: number
  /** Bytes read by compactions. */
  readonly compactionBytesRead: number
  /** Bytes written by compactions. */
  readonly compactedBytes: number
  /** Compactions that are running, queued or requested. */
  readonly compactionQueue: number
  /** Number of write stalls because compactions lagged. */
  readonly compactionStalls: number
  /** Number of write stalls because memory was short. */
  readonly stalls: number
  /** Mutating calls that are waiting. */
  readonly waitingCalls: number
  /** Bytes of encoded keys and values of all mutations. */
  readonly userBytes: number
  /** Bytes written for each byte of mutations. */
  readonly writeAmplification: number
  /** Largest number of sorted runs in a family. */
  readonly readAmplification: number
  /** Bytes of all SSTables divided by the bytes of the largest runs. */
  readonly spaceAmplification: number
  /** Number of open snapshots. */
  readonly openSnapshots: number
}

/** A database that can be monitored: `Database` of `cellardb`. */
export interface MonitoredDatabase {
  /** The directory, which becomes the label of the metrics. */
  readonly directory: string
  /** Reads all counters. */
  statistics(): MonitoredStatistics
}

/** Receives the values of a metric, each with its labels. */
export type Told = (value: number, labels?: Readonly<Record<string, string>>) => void

/** One metric. */
export interface Figure {
  /** In snake case, with the unit, without prefix. */
  readonly name: string
  readonly help: string
  /** A counter only grows, until the database is opened again. */
  readonly kind: 'counter' | 'gauge'
  /** Unit in the code of UCUM, for OpenTelemetry. */
  readonly unit: string
  /** Names of the labels of the values. */
  readonly labels: readonly string[]
  readonly read: (statistics: MonitoredStatistics, tell: Told) => void
}

type Kind = Figure['kind']

function figure(
  kind: Kind,
  name: string,
  help: string,
  read: (statistics: MonitoredStatistics) => number,
): Figure {
  const unit = name.includes('bytes') ? 'By' : '1'
  return { name, help, kind, unit, labels: [], read: (given, tell) => tell(read(given)) }
}

/**
 * A histogram metric of one kind of operation, in the form of Prometheus. Bounds are in seconds.
 */
export interface HistogramFigure {
  readonly name: string
  readonly help: string
  readonly bounds: readonly number[]
  readonly read: (
    statistics: MonitoredStatistics,
    tell: (
      histogram: { buckets: readonly number[]; sum: number; count: number },
      labels: Readonly<Record<string, string>>,
    ) => void,
  ) => void
}

/** Durations as a histogram, for Prometheus. */
export const durations: HistogramFigure = {
  name: 'operation_duration_seconds',
  help: 'Durations of timed operations, by kind: about one in 64 is timed.',
  bounds: bucketMicroseconds.map((bound) => bound / 1e6),
  read({ latencies }, tell) {
    for (const [operation, latency] of Object.entries(latencies)) {
      const { buckets, sumMicroseconds, timedCount: count } = latency
      tell({ buckets, sum: sumMicroseconds / 1e6, count }, { operation })
    }
  },
}

const quantiles = [
  ['0.5', 'p50Microseconds'],
  ['0.99', 'p99Microseconds'],
  ['0.999', 'p999Microseconds'],
  ['1', 'maxMicroseconds'],
] as const

/** Durations as quantiles, for OpenTelemetry: its histograms can be recorded but not observed. */
export const durationQuantiles: Figure = {
  name: 'operation_duration_seconds',
  help: 'Durations of timed operations since the open, by kind; quantile 1 is the longest.',
  kind: 'gauge',
  unit: 's',
  labels: ['operation', 'quantile'],
  read({ latencies }, tell) {
    for (const [operation, latency] of Object.entries(latencies)) {
      for (const [quantile, name] of quantiles) tell(latency[name] / 1e6, { operation, quantile })
    }
  },
}

/** All metrics except durations, in the order of the pages. */
export const figures: readonly Figure[] = [
  {
    name: 'operations_total',
    help: 'Operations by kind.',
    kind: 'counter',
    unit: '1',
    labels: ['operation'],
    read({ latencies }, tell) {
      for (const [operation, { count }] of Object.entries(latencies)) tell(count, { operation })
    },
  },
  figure('gauge', 'table_files', 'SSTables.', (s) => s.tableFiles),
  figure('gauge', 'table_file_bytes', 'Bytes of all SSTables.', (s) => s.tableFileBytes),
  figure('gauge', 'value_file_bytes', 'Bytes of all value files.', (s) => s.valueFileBytes),
  figure('gauge', 'log_bytes', 'Bytes of the log.', (s) => s.logBytes),
  figure('gauge', 'memtable_bytes', 'Memtables not yet in a table.', (s) => s.memtableBytes),
  figure('gauge', 'block_cache_bytes', 'Cached blocks.', (s) => s.blockCache.bytesUsed),
  figure('counter', 'block_cache_hits_total', 'Blocks found in the cache.', (s) => {
    return s.blockCache.hits
  }),
  figure('counter', 'block_cache_misses_total', 'Blocks not found in the cache.', (s) => {
    return s.blockCache.misses
  }),
  figure('gauge', 'index_bytes', 'Indexes and filters in memory.', (s) => s.pinnedBytes),
  figure('counter', 'block_read_bytes_total', 'Bytes of blocks read.', (s) => s.blockBytesRead),
  figure('counter', 'filter_checks_total', 'Bloom filters asked.', (s) => s.filterChecks),
  figure('counter', 'filter_negatives_total', 'Bloom filters that ruled a file out.', (s) => {
    return s.filterNegatives
  }),
  figure('counter', 'flushes_total', 'Memtables flushed.', (s) => s.flushes),
  figure('counter', 'flushed_bytes_total', 'Bytes that flushes wrote.', (s) => s.flushedBytes),
  figure('counter', 'compactions_total', 'Merges of files.', (s) => s.compactions),
  figure('counter', 'compaction_read_bytes_total', 'Bytes that merges read.', (s) => {
    return s.compactionBytesRead
  }),
  figure('counter', 'compaction_written_bytes_total', 'Bytes that merges wrote.', (s) => {
    return s.compactedBytes
  }),
  figure('gauge', 'compaction_queue', 'Compactions that run or wait.', (s) => s.compactionQueue),
  figure('counter', 'compaction_stalls_total', 'Times compactions held writers back.', (s) => {
    return s.compactionStalls
  }),
  figure('counter', 'memory_stalls_total', 'Times a writer waited for memory.', (s) => s.stalls),
  figure('gauge', 'waiting_calls', 'Mutating calls that wait.', (s) => s.waitingCalls),
  figure('counter', 'user_bytes_total', 'Bytes of all mutations.', (s) => s.userBytes),
  figure('gauge', 'write_amplification', 'Bytes written for each byte of mutations.', (s) => {
    return s.writeAmplification
  }),
  figure('gauge', 'read_amplification', 'Most sorted runs of a family.', (s) => {
    return s.readAmplification
  }),
  figure('gauge', 'space_amplification', 'Bytes of SSTables by those of the largest runs.', (s) => {
    return s.spaceAmplification
  }),
  figure('gauge', 'open_snapshots', 'Open snapshots.', (s) => s.openSnapshots),
]
