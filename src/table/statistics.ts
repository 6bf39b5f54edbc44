/** What a database tells about itself. */
import type { HookCounters, JobCoprocessors } from '../coprocessor/job-coprocessors.js'
import type { Engine } from '../engine/engine.js'

/** Sizes are bytes; counters count since the open. */
export interface DatabaseStatistics {
  readonly tables: Readonly<Record<string, TableStatistics>>
  /** Files and bytes of all SSTables. */
  readonly tableFiles: number
  readonly tableFileBytes: number
  readonly logSegments: number
  readonly logBytes: number
  readonly memtableBytes: number
  /** How often a writer waited for memory. */
  readonly stalls: number
  readonly blockCache: {
    readonly bytesUsed: number
    readonly bytesMax: number
    readonly hits: number
    readonly misses: number
  }
  /** Indexes and filters in memory. */
  readonly pinnedBytes: number
  readonly blocksRead: number
  readonly blockBytesRead: number
  readonly filterChecks: number
  readonly filterNegatives: number
  readonly flushes: number
  readonly flushedEntries: number
  readonly droppedEntries: number
  readonly flushedBytes: number
  readonly compactions: number
  readonly compactedBytes: number
  readonly compactionDroppedEntries: number
  /** Compactions that run, wait or were asked for. */
  readonly compactionQueue: number
  /** Encoded keys and values of all mutations. */
  readonly userBytes: number
  /**
   * Bytes written to log and tables for each byte of {@link userBytes}; 0 before the first write.
   */
  readonly writeAmplification: number
  readonly openSnapshots: number
  readonly lastSequence: number
  readonly executor: 'inline' | 'worker'
  readonly lz4: 'lz4-napi' | 'native-free'
}

/** One table. */
export interface TableStatistics {
  /** What cell hooks dropped and replaced in installed jobs, by coprocessor. */
  readonly hooks: Readonly<Record<string, HookCounters>>
  readonly families: Readonly<
    Record<
      string,
      {
        readonly files: number
        readonly fileBytes: number
        readonly entries: number
        readonly memtableEntries: number
        readonly memtableBytes: number
      }
    >
  >
}

/** Reads all counters. */
export function collectStatistics(
  engine: Engine,
  coprocessors: JobCoprocessors,
): DatabaseStatistics {
  const { readers, log, flusher, compactor, budget, userBytes } = engine
  const { counters, cache } = readers
  const tables: Record<string, TableStatistics> = {}
  let tableFiles = 0
  let tableFileBytes = 0
  for (const table of engine.tables.values()) {
    const families: Record<string, TableStatistics['families'][string]> = {}
    for (const { name, store } of table.families) {
      const files = store.sources.tables
      const fileBytes = files.reduce((sum, file) => sum + file.fileBytes, 0)
      tableFiles += files.length
      tableFileBytes += fileBytes
      families[name] = {
        files: files.length,
        fileBytes,
        entries: files.reduce((sum, file) => sum + file.properties.entryCount, 0),
        memtableEntries: store.sources.memtables.reduce((n, s) => n + s.memtable.entryCount, 0),
        memtableBytes: store.memtableBytes,
      }
    }
    tables[table.name] = { families, hooks: coprocessors.countersOf(table.name) }
  }
  const written = engine.logBytesWritten + flusher.bytesWritten + compactor.totals.bytesWritten
  return {
    tables,
    tableFiles,
    tableFileBytes,
    logSegments: log.segments.length,
    logBytes: log.bytesTotal,
    memtableBytes: budget.bytesUsed,
    stalls: budget.stallCount,
    blockCache: {
      bytesUsed: cache.bytesUsed,
      bytesMax: cache.bytesMax,
      hits: counters.cacheHits,
      misses: counters.cacheMisses,
    },
    pinnedBytes: readers.pinnedBytes,
    blocksRead: counters.blocksRead,
    blockBytesRead: counters.blockBytesRead,
    filterChecks: counters.filterChecks,
    filterNegatives: counters.filterNegatives,
    flushes: flusher.flushCount,
    flushedEntries: flusher.entriesWritten,
    droppedEntries: flusher.entriesDropped,
    flushedBytes: flusher.bytesWritten,
    compactions: compactor.totals.merges,
    compactedBytes: compactor.totals.bytesWritten,
    compactionDroppedEntries: compactor.totals.entriesDropped,
    compactionQueue: compactor.queueLength,
    userBytes,
    writeAmplification: userBytes === 0 ? 0 : written / userBytes,
    openSnapshots: engine.readPoints.size,
    lastSequence: engine.lastSequence,
    executor: engine.executorKind,
    lz4: engine.codecs.lz4Implementation,
  }
}
