/** What a database tells about itself. */
import type { HookCounters, JobCoprocessors } from '../../storage/coprocessor/job-coprocessors.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { LatencyStatistics, TimedOperationName } from '../../storage/engine/write/operation-times.js'
import type { Recovery } from '../../storage/engine/open/recovery.js'
import type { Pressure } from '../../storage/engine/write/write-pacer.js'
import { addDrops, noDrops, type DropCounts } from '../../storage/job/job.js'
import type { StoreSources } from '../../storage/store/store.js'
import { valueFilesOf } from '../../storage/version/version.js'

/** Sizes are bytes; counters count since the open. */
export interface DatabaseStatistics {
  /** Figures by name of the table. */
  readonly tables: Readonly<Record<string, TableStatistics>>
  /**
   * Counts and durations by kind: `scan` is a step that reads rows ahead, `update` an increment or
   * append, `batch` a list or a mutation of several operations, `sync` one of the log.
   */
  readonly latencies: Readonly<Record<TimedOperationName, LatencyStatistics>>
  /** Files and bytes of all SSTables. */
  readonly tableFiles: number
  /** Bytes of all SSTables. */
  readonly tableFileBytes: number
  /** Value files that the SSTables refer to, which count in no other figure. */
  readonly valueFiles: number
  /** Bytes of these value files. */
  readonly valueFileBytes: number
  /** What the open found; as `Database.recovery`. */
  readonly recovery: Recovery
  /** Files of the log. */
  readonly logSegments: number
  /** Bytes of all segments. */
  readonly logBytes: number
  /** Memtables that are not in a table yet, frozen ones included. */
  readonly memtableBytes: number
  /**
   * Memtables that tables have replaced and that somebody still reads: a scan that was opened while
   * the manifest was written, or a flush that a synchronous writer has overtaken.
   */
  readonly pinnedMemtableBytes: number
  /** Memory of flushed memtables that is kept for the next ones: two arenas at most. */
  readonly idleArenaBytes: number
  /** Mutating calls that wait: for memory, for compactions, for a block, or for each other. */
  readonly waitingCalls: number
  /** Bytes that the arguments of waiting calls take, estimated. */
  readonly waitingArgumentBytes: number
  /** How often a writer waited for memory. */
  readonly stalls: number
  /** How often writers began to be held back because compactions lagged. */
  readonly compactionStalls: number
  /** How far compactions lag now. */
  readonly pressure: Pressure
  /** The block cache. */
  readonly blockCache: {
    /** Blocks and places of rows; not memory that waits to hold other blocks. */
    readonly bytesUsed: number
    /** The limit. */
    readonly bytesMax: number
    /** Memory of the machine that `bytesMax` was derived from; undefined if it was given. */
    readonly sizedForBytes: number | undefined
    /** Blocks found in the cache. */
    readonly hits: number
    /** Blocks that had to be read. */
    readonly misses: number
  }
  /** Indexes and filters in memory. */
  readonly pinnedBytes: number
  /** Blocks read from files. */
  readonly blocksRead: number
  /** Stored bytes of these blocks. */
  readonly blockBytesRead: number
  /** Values read from value files, and their stored bytes. */
  readonly valuesRead: number
  /** Stored bytes of these values. */
  readonly valueBytesRead: number
  /** Questions to Bloom filters. */
  readonly filterChecks: number
  /** Questions that a Bloom filter answered with no. */
  readonly filterNegatives: number
  /** Memtables flushed. */
  readonly flushes: number
  /** Cells and markers that flushes wrote. */
  readonly flushedEntries: number
  /** Cells and markers that flushes dropped. */
  readonly droppedEntries: number
  /** Bytes written by flushes. */
  readonly flushedBytes: number
  /** Merges; files are also moved to other levels and dropped as a whole, without being read. */
  readonly compactions: number
  /** Files moved to another level. */
  readonly compactionMoves: number
  /** Files dropped as a whole. */
  readonly compactionFileDrops: number
  /** Bytes read by compactions. */
  readonly compactionBytesRead: number
  /** Cells and markers that compactions read. */
  readonly compactionEntriesRead: number
  /** Cells and markers that compactions wrote. */
  readonly compactionEntriesWritten: number
  /** Bytes written by compactions. */
  readonly compactedBytes: number
  /** Cells and markers that compactions dropped. */
  readonly compactionDroppedEntries: number
  /** Entries that flushes and compactions dropped, by reason. */
  readonly droppedBy: Readonly<DropCounts>
  /** Compactions that run, wait or were asked for. */
  readonly compactionQueue: number
  /** Compactions that run now. */
  readonly compactionsRunning: number
  /** Families that are being flushed. */
  readonly flushesRunning: number
  /** Encoded keys and values of all mutations. */
  readonly userBytes: number
  /**
   * Bytes written to log and tables for each byte of {@link userBytes}; 0 before the first write.
   */
  readonly writeAmplification: number
  /**
   * Most sorted runs of SSTables of a family: what the read of a row may meet besides memtables,
   * where Bloom filters rule nothing out.
   */
  readonly readAmplification: number
  /**
   * Bytes of all SSTables by those of the largest run of each family: an upper bound of what
   * compacting everything could save. 1 without tables.
   */
  readonly spaceAmplification: number
  /** Snapshots that are not closed. */
  readonly openSnapshots: number
  /** Sequence of the last mutation. */
  readonly lastSequence: number
  /** Where flushes and compactions run. */
  readonly executor: 'inline' | 'worker'
  /** Which LZ4 codec is used. */
  readonly lz4: 'lz4-napi' | 'native-free'
}

/** One table. */
export interface TableStatistics {
  /** What cell hooks dropped and replaced in installed jobs, by coprocessor. */
  readonly hooks: Readonly<Record<string, HookCounters>>
  /** Figures by name of the family. */
  readonly families: Readonly<
    Record<
      string,
      {
        /** Number of SSTables. */
        readonly files: number
        /** Bytes of the SSTables. */
        readonly fileBytes: number
        /** Value files that the family's SSTables refer to; clones of a table share them. */
        readonly valueFiles: number
        /** Bytes of these value files. */
        readonly valueFileBytes: number
        /** Files and bytes by level, level 0 first. */
        readonly levels: readonly {
          /** Files of the level. */
          readonly files: number
          /** Bytes of the level. */
          readonly fileBytes: number
        }[]
        /** Sorted runs: files of level 0, and deeper levels that have any. */
        readonly runs: number
        /** Cells and markers in SSTables. */
        readonly entries: number
        /** Cells and markers in memtables. */
        readonly memtableEntries: number
        /** Bytes of memtables. */
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
  const { readers, writes, background } = engine
  const { log, budget, pacer, userBytes, waiting } = writes
  const { counters, cache } = readers
  return {
    ...tableStatistics(engine, coprocessors),
    recovery: engine.recovery,
    logSegments: log.segments.length,
    logBytes: log.bytesTotal,
    memtableBytes: budget.bytesUsed,
    pinnedMemtableBytes: engine.arenas.pinnedBytes,
    idleArenaBytes: engine.arenas.idleBytes,
    waitingCalls: waiting.count,
    waitingArgumentBytes: waiting.argumentBytes,
    stalls: budget.stallCount,
    compactionStalls: pacer.stallCount,
    pressure: pacer.pressure,
    blockCache: {
      bytesUsed: cache.bytesUsed,
      bytesMax: cache.bytesMax,
      sizedForBytes: engine.options.blockCacheSizedForBytes,
      hits: counters.cacheHits,
      misses: counters.cacheMisses,
    },
    pinnedBytes: readers.pinnedBytes,
    blocksRead: counters.blocksRead,
    blockBytesRead: counters.blockBytesRead,
    valuesRead: counters.valuesRead,
    valueBytesRead: counters.valueBytesRead,
    filterChecks: counters.filterChecks,
    filterNegatives: counters.filterNegatives,
    ...jobStatistics(engine),
    userBytes,
    latencies: engine.reports.times.statistics(),
    openSnapshots: engine.readPoints.snapshotCount,
    lastSequence: engine.lastSequence,
    executor: background.executor.kind,
    lz4: engine.codecs.lz4Implementation,
  }
}

type TablePart = Pick<
  DatabaseStatistics,
  | 'tables'
  | 'tableFiles'
  | 'tableFileBytes'
  | 'valueFiles'
  | 'valueFileBytes'
  | 'readAmplification'
  | 'spaceAmplification'
>

function tableStatistics(engine: Engine, coprocessors: JobCoprocessors): TablePart {
  const tables: Record<string, TableStatistics> = {}
  let tableFiles = 0
  let tableFileBytes = 0
  const { current } = engine.versions
  const allValueFiles = valueFilesOf(current)
  let largestRunBytes = 0
  let readAmplification = 0
  for (const table of engine.tables.values()) {
    const families: Record<string, TableStatistics['families'][string]> = {}
    for (const { name, store } of table.families) {
      const files = store.sources.tables
      const fileBytes = files.reduce((sum, file) => sum + file.fileBytes, 0)
      tableFiles += files.length
      tableFileBytes += fileBytes
      const levels = levelsOf(store.sources)
      const deep = levels.slice(1).filter((level) => level.files > 0)
      const runs = [...files.slice(0, levels[0].files), ...deep]
      readAmplification = Math.max(readAmplification, runs.length)
      largestRunBytes += Math.max(0, ...runs.map((run) => run.fileBytes))
      const version = current.stores.get(store.storeId)
      const stores = new Map(version === undefined ? [] : [[store.storeId, version]])
      const valueFiles = valueFilesOf({ stores })
      families[name] = {
        files: files.length,
        fileBytes,
        valueFiles: valueFiles.size,
        valueFileBytes: sumOf(valueFiles),
        levels,
        runs: runs.length,
        entries: files.reduce((sum, file) => sum + file.properties.entryCount, 0),
        memtableEntries: store.sources.memtables.reduce((n, s) => n + s.memtable.entryCount, 0),
        memtableBytes: store.memtableBytes,
      }
    }
    tables[table.name] = { families, hooks: coprocessors.countersOf(table.name) }
  }
  const spaceAmplification = largestRunBytes === 0 ? 1 : tableFileBytes / largestRunBytes
  return {
    tables,
    tableFiles,
    tableFileBytes,
    valueFiles: allValueFiles.size,
    valueFileBytes: sumOf(allValueFiles),
    readAmplification,
    spaceAmplification,
  }
}

function sumOf(numbers: ReadonlyMap<number, number>): number {
  return [...numbers.values()].reduce((sum, number) => sum + number, 0)
}

type JobPart = Pick<
  DatabaseStatistics,
  | 'flushes'
  | 'flushedEntries'
  | 'droppedEntries'
  | 'flushedBytes'
  | 'compactions'
  | 'compactionMoves'
  | 'compactionFileDrops'
  | 'compactionBytesRead'
  | 'compactionEntriesRead'
  | 'compactionEntriesWritten'
  | 'compactedBytes'
  | 'compactionDroppedEntries'
  | 'droppedBy'
  | 'compactionQueue'
  | 'compactionsRunning'
  | 'flushesRunning'
  | 'writeAmplification'
>

function jobStatistics({ background, writes }: Engine): JobPart {
  const { flusher, compactor } = background
  const { logBytesWritten, userBytes } = writes
  const { totals } = compactor
  const droppedBy = noDrops()
  addDrops(droppedBy, flusher.dropped)
  addDrops(droppedBy, totals.dropped)
  const written = logBytesWritten + flusher.bytesWritten + totals.bytesWritten
  return {
    flushes: flusher.flushCount,
    flushedEntries: flusher.entriesWritten,
    droppedEntries: flusher.entriesDropped,
    flushedBytes: flusher.bytesWritten,
    compactions: totals.merges,
    compactionMoves: totals.moves,
    compactionFileDrops: totals.drops,
    compactionBytesRead: totals.bytesRead,
    compactionEntriesRead: totals.entriesRead,
    compactionEntriesWritten: totals.entriesWritten,
    compactedBytes: totals.bytesWritten,
    compactionDroppedEntries: totals.entriesDropped,
    droppedBy,
    compactionQueue: compactor.queueLength,
    compactionsRunning: compactor.runningCount,
    flushesRunning: flusher.runningCount,
    writeAmplification: userBytes === 0 ? 0 : written / userBytes,
  }
}

function levelsOf({ tables, levelEnds }: StoreSources): { files: number; fileBytes: number }[] {
  return levelEnds.map((end, level) => {
    const files = tables.slice(level === 0 ? 0 : levelEnds[level - 1], end)
    return { files: files.length, fileBytes: files.reduce((sum, file) => sum + file.fileBytes, 0) }
  })
}
