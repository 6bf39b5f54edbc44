/** The statistics of a database. */
import type { HookCounters, JobCoprocessors } from '../../storage/coprocessor/job-coprocessors.js'
import type { Engine } from '../../storage/engine/engine.js'
import type {
  LatencyStatistics,
  TimedOperationName,
} from '../../storage/engine/write/operation-times.js'
import type { Recovery } from '../../storage/engine/open/recovery.js'
import type { Pressure } from '../../storage/engine/write/write-pacer.js'
import { addDrops, noDrops, type DropCounts } from '../../storage/job/job.js'
import type { StoreSources } from '../../storage/store/store.js'
import { valueFilesOf } from '../../storage/version/version.js'

/** Statistics of a database. Sizes are in bytes; counters start at the open. */
export interface DatabaseStatistics {
  /** Statistics by name of the table. */
  readonly tables: Readonly<Record<string, TableStatistics>>
  /**
   * Counts and durations by kind: `scan` is a step that reads rows ahead, `update` an increment or
   * append, `batch` a list or a mutation with several operations, `sync` a sync of the log.
   */
  readonly latencies: Readonly<Record<TimedOperationName, LatencyStatistics>>
  /** Number of SSTables. */
  readonly tableFiles: number
  /** Size of all SSTables. */
  readonly tableFileBytes: number
  /** Number of value files that SSTables refer to; not included in other statistics. */
  readonly valueFiles: number
  /** Size of these value files. */
  readonly valueFileBytes: number
  /** The result of the recovery at the open; as `Database.recovery`. */
  readonly recovery: Recovery
  /** Number of log segments. */
  readonly logSegments: number
  /** Size of all log segments. */
  readonly logBytes: number
  /** Size of the memtables that are not in an SSTable yet, including frozen ones. */
  readonly memtableBytes: number
  /**
   * Size of the memtables that SSTables have replaced and that are still pinned: by a scan opened
   * while the manifest was written, or by a flush overtaken by a synchronous writer.
   */
  readonly pinnedMemtableBytes: number
  /** Memory of flushed memtables kept for new ones: at most two arenas. */
  readonly idleArenaBytes: number
  /** Mutating calls that wait for memory, for compactions, for a block, or for each other. */
  readonly waitingCalls: number
  /** Estimated size of the arguments of waiting calls. */
  readonly waitingArgumentBytes: number
  /** Number of times that a writer waited for memory. */
  readonly stalls: number
  /** Number of times that writers were first held back because compactions lagged. */
  readonly compactionStalls: number
  /** How far compactions lag now. */
  readonly pressure: Pressure
  /** The block cache. */
  readonly blockCache: {
    /** Size of blocks and locations of rows, without pooled memory. */
    readonly bytesUsed: number
    /** The bound in bytes. */
    readonly bytesMax: number
    /** Memory of the machine from which `bytesMax` was derived; undefined if it was given. */
    readonly sizedForBytes: number | undefined
    /** Blocks found in the cache. */
    readonly hits: number
    /** Blocks that had to be read. */
    readonly misses: number
  }
  /** Size of indexes and filters in memory. */
  readonly pinnedBytes: number
  /** Blocks read from files. */
  readonly blocksRead: number
  /** Stored size of these blocks. */
  readonly blockBytesRead: number
  /** Values read from value files. */
  readonly valuesRead: number
  /** Stored size of these values. */
  readonly valueBytesRead: number
  /** Lookups in Bloom filters. */
  readonly filterChecks: number
  /** Lookups for which a Bloom filter excluded the key. */
  readonly filterNegatives: number
  /** Memtables flushed. */
  readonly flushes: number
  /** Cells and markers that flushes wrote. */
  readonly flushedEntries: number
  /** Cells and markers that flushes dropped. */
  readonly droppedEntries: number
  /** Bytes written by flushes. */
  readonly flushedBytes: number
  /** Merges; without files moved to other levels or dropped as a whole, which are not read. */
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
  /** Compactions that run, wait or were requested. */
  readonly compactionQueue: number
  /** Compactions that run now. */
  readonly compactionsRunning: number
  /** Families being flushed. */
  readonly flushesRunning: number
  /** Encoded size of the keys and values of all mutations. */
  readonly userBytes: number
  /** Bytes written to log and SSTables per byte of {@link userBytes}; 0 before the first write. */
  readonly writeAmplification: number
  /**
   * Maximum number of sorted runs of SSTables of a family: an upper bound of the SSTables that a
   * read of a row consults without Bloom filters.
   */
  readonly readAmplification: number
  /**
   * Size of all SSTables divided by the size of the largest run of each family: an upper bound of
   * the saving by a full compaction. 1 without SSTables.
   */
  readonly spaceAmplification: number
  /** Open snapshots. */
  readonly openSnapshots: number
  /** Sequence of the last mutation. */
  readonly lastSequence: number
  /** The thread of flushes and compactions. */
  readonly executor: 'inline' | 'worker'
  /** The LZ4 codec in use. */
  readonly lz4: 'lz4-napi' | 'native-free'
}

/** Statistics of one table. */
export interface TableStatistics {
  /** Cells dropped and replaced by cell hooks in installed jobs, by coprocessor. */
  readonly hooks: Readonly<Record<string, HookCounters>>
  /** Statistics by name of the family. */
  readonly families: Readonly<
    Record<
      string,
      {
        /** Number of SSTables. */
        readonly files: number
        /** Size of the SSTables. */
        readonly fileBytes: number
        /**
         * Number of value files that the family's SSTables refer to; clones of a table share them.
         */
        readonly valueFiles: number
        /** Size of these value files. */
        readonly valueFileBytes: number
        /** Number and size of files by level, level 0 first. */
        readonly levels: readonly {
          /** Files of the level. */
          readonly files: number
          /** Size of the level. */
          readonly fileBytes: number
        }[]
        /** Sorted runs: files of level 0, and deeper levels with files. */
        readonly runs: number
        /** Cells and markers in SSTables. */
        readonly entries: number
        /** Cells and markers in memtables. */
        readonly memtableEntries: number
        /** Size of the memtables. */
        readonly memtableBytes: number
      }
    >
  >
}

/** Collects the statistics. */
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
