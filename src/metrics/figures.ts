/** Names, descriptions and sources of the metrics that monitors read. */

import { bucketMicroseconds } from '../api/index.js'
import { histogramSamples, type Family, type Sample } from './text.js'

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
] as const

const cacheNumbers = [
  ['gauge', 'block_cache_bytes', 'bytesUsed', 'Cached blocks.'],
  ['counter', 'block_cache_hits_total', 'hits', 'Blocks found in the cache.'],
  ['counter', 'block_cache_misses_total', 'misses', 'Blocks not found in the cache.'],
] as const

/**
 * The part of `Database.statistics` that monitors read. Sizes are bytes; counters count since the
 * open.
 */
export type MonitoredStatistics = Readonly<Record<(typeof numbers)[number][2], number>> & {
  /** Counts and durations by kind of operation. */
  readonly latencies: Readonly<Record<string, MonitoredLatency>>
  /** The block cache. */
  readonly blockCache: Readonly<Record<(typeof cacheNumbers)[number][2], number>>
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
  /** The current samples. */
  readonly read: (statistics: MonitoredStatistics) => readonly Sample[]
}

/** Durations as a histogram, for Prometheus. */
export const durations: Figure = {
  name: 'operation_duration_seconds',
  help: 'Durations of timed operations, by kind: about one in 64 is timed.',
  kind: 'histogram',
  unit: 's',
  read: ({ latencies }) => {
    return Object.entries(latencies).flatMap(([operation, latency]) => {
      const { buckets, sumMicroseconds, timedCount: count } = latency
      return histogramSamples({ buckets, sum: sumMicroseconds / 1e6, count }, bounds, { operation })
    })
  },
}

/** In seconds. */
const bounds = bucketMicroseconds.map((bound) => bound / 1e6)

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
  read: ({ latencies }) => {
    return Object.entries(latencies).flatMap(([operation, latency]) => {
      return quantiles.map(([quantile, name]): Sample => {
        return [{ operation, quantile }, latency[name] / 1e6]
      })
    })
  },
}

function figure(
  [kind, name, , help]: readonly [Family['kind'], string, string, string],
  read: (statistics: MonitoredStatistics) => number,
): Figure {
  const unit = name.includes('bytes') ? 'By' : '1'
  return { kind, name, help, unit, read: (statistics) => [[{}, read(statistics)]] }
}

/** All metrics except durations. */
export const figures: readonly Figure[] = [
  {
    name: 'operations_total',
    help: 'Operations by kind.',
    kind: 'counter',
    unit: '1',
    read: ({ latencies }) => {
      return Object.entries(latencies).map(([operation, { count }]) => [{ operation }, count])
    },
  },
  ...numbers.map((each) => figure(each, (statistics) => statistics[each[2]])),
  ...cacheNumbers.map((each) => figure(each, ({ blockCache }) => blockCache[each[2]])),
]
