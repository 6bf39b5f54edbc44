/** The statistics of a database. */
import type { HookCounters, JobCoprocessors } from '../../storage/coprocessor/job-coprocessors.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { LatenciesByKind } from '../../storage/engine/write/operation-times.js'
import { addDrops, noDrops } from '../../storage/job/job.js'
import type { Store, StoreSources } from '../../storage/store/store.js'
import { valueFilesOf, type Version } from '../../storage/version/version.js'

/** Statistics of a database. Sizes are in bytes; counters start at the open. */
export interface DatabaseStatistics
  extends
    Readonly<ReturnType<typeof tableStatistics>>,
    Readonly<ReturnType<typeof jobStatistics>>,
    Readonly<ReturnType<typeof engineStatistics>> {}

/** Statistics of one table. */
export interface TableStatistics {
  /** Cells dropped and replaced by cell hooks in installed jobs, by coprocessor. */
  readonly hooks: Readonly<Record<string, HookCounters>>
  /** Counts and durations of its operations and jobs, by the kinds that have occurred. */
  readonly latencies: LatenciesByKind
  /** Statistics by name of the family. */
  readonly families: Readonly<Record<string, FamilyStatistics>>
}

/** Statistics of one family. */
export interface FamilyStatistics extends Readonly<ReturnType<typeof familyStatistics>> {
  /**
   * Durations of its flushes and compactions, and of the timed operations that concern no other
   * family of the table, by the kinds that have occurred.
   */
  readonly latencies: LatenciesByKind
}

/** Collects the statistics. */
export function collectStatistics(
  engine: Engine,
  coprocessors: JobCoprocessors,
): DatabaseStatistics {
  const files = tableStatistics(engine, coprocessors)
  return { ...files, ...engineStatistics(engine), ...jobStatistics(engine) }
}

function engineStatistics(engine: Engine) {
  const { budget, catalog, log, pacer, readers } = engine
  const { waiting } = engine.writes
  const { scrubber } = engine.background
  const { counters, cache } = readers
  return {
    /** The result of the recovery at the open; as `Database.recovery`. */
    recovery: engine.recovery,
    /** Number of log segments. */
    logSegments: log.segments.length,
    /** Size of all log segments. */
    logBytes: log.bytesTotal,
    /** Size of the memtables that are not in an SSTable yet, including frozen ones. */
    memtableBytes: budget.bytesUsed,
    /** The budget of the memtables: the option of the same name, or its default. */
    memtableBytesMax: budget.bytesMax,
    /**
     * Size of the memtables that SSTables have replaced and that are still pinned: by a scan opened
     * while the manifest was written, or by a flush overtaken by a synchronous writer.
     */
    pinnedMemtableBytes: catalog.arenas.pinnedBytes,
    /** Memory of flushed memtables kept for new ones: at most two arenas. */
    idleArenaBytes: catalog.arenas.idleBytes,
    /** Mutating calls that wait for memory, for compactions, for a block, or for each other. */
    waitingCalls: waiting.count,
    /** Estimated size of the arguments of waiting calls. */
    waitingArgumentBytes: waiting.argumentBytes,
    /** Number of times that a writer waited for memory. */
    stalls: budget.stallCount,
    /** Number of times that writers were first held back because compactions lagged. */
    compactionStalls: pacer.stallCount,
    /** How far compactions lag now. */
    pressure: pacer.pressure,
    /** The block cache. */
    blockCache: {
      /** Size of blocks and locations of rows, without pooled memory. */
      bytesUsed: cache.bytesUsed,
      /** The bound in bytes. */
      bytesMax: cache.bytesMax,
      /** Available memory of which `bytesMax` is a quarter; undefined if `bytesMax` was given. */
      sizedForBytes: readers.sizer?.sizedForBytes,
      /** Blocks found in the cache. */
      hits: counters.cacheHits,
      /** Blocks that had to be read. */
      misses: counters.cacheMisses,
    },
    /** Size of indexes and filters in memory. */
    pinnedBytes: readers.pinnedBytes,
    /** Blocks read from files. */
    blocksRead: counters.blocksRead,
    /** Stored size of these blocks. */
    blockBytesRead: counters.blockBytesRead,
    /** Values read from value files. */
    valuesRead: counters.valuesRead,
    /** Stored size of these values. */
    valueBytesRead: counters.valueBytesRead,
    /** Lookups in Bloom filters. */
    filterChecks: counters.filterChecks,
    /** Lookups for which a Bloom filter excluded the key. */
    filterNegatives: counters.filterNegatives,
    /** Encoded size of the keys and values of all mutations. */
    userBytes: pacer.userBytes,
    /**
     * Counts and durations by kind: `scan` is a step that reads rows ahead, `update` an increment
     * or append, `batch` a list or a mutation with several operations, `sync` a sync of the log.
     */
    latencies: engine.reports.times.statistics(),
    /** The last backup that `Database.backup` made, also before this open; undefined if unknown. */
    lastBackup: engine.backupNote.last,
    /** The device of the directory; undefined if the file system does not tell. */
    device: engine.fileSystem.spaceSync?.(engine.directory),
    /** Whether a failed write has made the database read-only. */
    poisoned: engine.lifecycle.failure !== undefined,
    /** Open snapshots. */
    openSnapshots: engine.readPoints.snapshotCount,
    /** Sequence of the last mutation. */
    lastSequence: engine.readPoints.lastSequence,
    /** The thread of flushes and compactions. */
    executor: engine.executor.kind,
    /** The scrub; all 0 without `scrubBytesPerSecond`. */
    scrub: {
      /** Whole passes over all files. */
      passes: scrubber.passes,
      /** Files that were read and found sound. */
      filesRead: scrubber.filesRead,
      /** Size of these files. */
      bytesRead: scrubber.bytesRead,
      /** Names of damaged files. */
      damagedFiles: [...scrubber.damagedFiles].sort(),
    },
    /** The LZ4 codec in use. */
    lz4: engine.codecs.lz4Implementation,
  }
}

function tableStatistics(engine: Engine, coprocessors: JobCoprocessors) {
  // Entries, because an assignment to the name `__proto__` would not create a member.
  const tables: [name: string, TableStatistics][] = []
  let tableFiles = 0
  let tableFileBytes = 0
  const { current } = engine.versions
  const allValueFiles = valueFilesOf(current)
  let largestRunBytes = 0
  let readAmplification = 0
  for (const table of engine.catalog.tables.values()) {
    const times = engine.reports.times.ofTable(table.name)
    const families: [name: string, TableStatistics['families'][string]][] = []
    for (const { name, store } of table.families) {
      const latencies = times.familyStatistics(name)
      const family = { ...familyStatistics(store, current), latencies }
      families.push([name, family])
      tableFiles += family.files
      tableFileBytes += family.fileBytes
      readAmplification = Math.max(readAmplification, family.runs)
      largestRunBytes += largestRunOf(store.sources)
    }
    const hooks = coprocessors.jobsOf(table.name)?.counters() ?? {}
    const shown = { families: Object.fromEntries(families), hooks, latencies: times.statistics() }
    tables.push([table.name, shown])
  }
  const spaceAmplification = largestRunBytes === 0 ? 1 : tableFileBytes / largestRunBytes
  return {
    /** Statistics by name of the table. */
    tables: Object.fromEntries(tables),
    /** Number of SSTables. */
    tableFiles,
    /** Size of all SSTables. */
    tableFileBytes,
    /** Number of value files that SSTables refer to; not included in other statistics. */
    valueFiles: allValueFiles.size,
    /** Size of these value files. */
    valueFileBytes: sumOf(allValueFiles),
    /**
     * Maximum number of sorted runs of SSTables of a family: an upper bound of the SSTables that
     * a read of a row consults without Bloom filters.
     */
    readAmplification,
    /**
     * Size of all SSTables divided by the size of the largest run of each family: an upper bound of
     * the saving by a full compaction. 1 without SSTables.
     */
    spaceAmplification,
  }
}

function familyStatistics(store: Store, current: Version) {
  const { tables, memtables } = store.sources
  const version = current.stores.get(store.storeId)
  const stores = new Map(version === undefined ? [] : [[store.storeId, version]])
  const valueFiles = valueFilesOf({ stores })
  const levels = levelsOf(store.sources)
  return {
    /** Number of SSTables. */
    files: tables.length,
    /** Size of the SSTables. */
    fileBytes: totalBytes(tables),
    /** Number of value files that the family's SSTables refer to; clones of a table share them. */
    valueFiles: valueFiles.size,
    /** Size of these value files. */
    valueFileBytes: sumOf(valueFiles),
    /** Number and size of files by level, level 0 first. */
    levels,
    /** Sorted runs: files of level 0, and deeper levels with files. */
    runs: levels[0].files + levels.slice(1).filter(({ files }) => files > 0).length,
    /** Cells and markers in SSTables. */
    entries: tables.reduce((sum, file) => sum + file.properties.entryCount, 0),
    /** Cells and markers in memtables. */
    memtableEntries: memtables.reduce((sum, { memtable }) => sum + memtable.entryCount, 0),
    /** Size of the memtables. */
    memtableBytes: store.memtableBytes,
  }
}

/** Size of the largest run of a family. */
function largestRunOf(sources: StoreSources): number {
  const [flushed, ...deep] = levelsOf(sources)
  const runs = [...sources.tables.slice(0, flushed.files), ...deep]
  return Math.max(0, ...runs.map(({ fileBytes }) => fileBytes))
}

function totalBytes(files: readonly { readonly fileBytes: number }[]): number {
  return files.reduce((sum, { fileBytes }) => sum + fileBytes, 0)
}

function sumOf(numbers: ReadonlyMap<number, number>): number {
  return [...numbers.values()].reduce((sum, number) => sum + number, 0)
}

function jobStatistics({ background, pacer, reports, writes }: Engine) {
  const { flusher, compactor } = background
  const { logBytesWritten } = writes
  const { userBytes } = pacer
  const { totals } = compactor
  const droppedBy = noDrops()
  addDrops(droppedBy, flusher.dropped)
  addDrops(droppedBy, totals.dropped)
  const written = logBytesWritten + flusher.bytesWritten + totals.bytesWritten
  return {
    /** Memtables flushed. */
    flushes: flusher.flushCount,
    /** Cells and markers that flushes wrote. */
    flushedEntries: flusher.entriesWritten,
    /** Cells and markers that flushes dropped. */
    droppedEntries: flusher.entriesDropped,
    /** Bytes written by flushes. */
    flushedBytes: flusher.bytesWritten,
    /** Merges; without files moved to other levels or dropped as a whole, which are not read. */
    compactions: totals.merges,
    /** Files moved to another level. */
    compactionMoves: totals.moves,
    /** Files dropped as a whole. */
    compactionFileDrops: totals.drops,
    /** Bytes read by compactions. */
    compactionBytesRead: totals.bytesRead,
    /** Cells and markers that compactions read. */
    compactionEntriesRead: totals.entriesRead,
    /** Cells and markers that compactions wrote. */
    compactionEntriesWritten: totals.entriesWritten,
    /** Bytes written by compactions. */
    compactedBytes: totals.bytesWritten,
    /** Cells and markers that compactions dropped. */
    compactionDroppedEntries: totals.entriesDropped,
    /** Entries that flushes and compactions dropped, by reason. */
    droppedBy,
    /** Compactions that run, wait or were requested. */
    compactionQueue: compactor.queueLength,
    /** Compactions that run now. */
    compactionsRunning: compactor.running.length,
    /** The flushes and compactions that run now. */
    jobs: reports.runningJobs(background),
    /** Families being flushed. */
    flushesRunning: flusher.runningCount,
    /** Bytes written to log and SSTables per byte of `userBytes`; 0 before the first write. */
    writeAmplification: userBytes === 0 ? 0 : written / userBytes,
  }
}

function levelsOf({ tables, levelEnds }: StoreSources) {
  return levelEnds.map((end, level) => {
    const files = tables.slice(level === 0 ? 0 : levelEnds[level - 1], end)
    return {
      /** Files of the level. */
      files: files.length,
      /** Size of the level. */
      fileBytes: totalBytes(files),
    }
  })
}
