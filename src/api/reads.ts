/** The reads of a table, as plain option objects: HBase's `Get` and `Scan`, and their scanners. */
import type { BytesLike, ColumnName } from '../storage/cell/column-name.js'
import type { Timestamp } from '../storage/cell/timestamp.js'
import type { Filter } from '../storage/filter/filter.js'

/** The time range of a read: `[min, max)`, timestamps from `min` inclusive to `max` exclusive. */
export type TimeRangeOption = readonly [min: Timestamp, max: Timestamp]

/**
 * A view of the whole database at one moment. Every read through it returns the same cells until it
 * is closed. See `Database.snapshot` for details.
 */
export interface Snapshot {
  /** The view shows mutations up to and including this sequence. */
  readonly sequence: number
  /** Releases the view. Later reads with it throw `ERR_CLOSED`. */
  close(): void
  /** As {@link close}, for `using`. */
  [Symbol.dispose](): void
}

/** The options that gets and scans share. */
export interface ReadOptions {
  /** Families and columns; absent or empty = all. */
  readonly columns?: readonly ColumnName[] | undefined
  /**
   * Versions per column, from 1, at most the VERSIONS of the family; 'all' = as many as the family
   * keeps. Default 1.
   */
  readonly versions?: number | 'all' | undefined
  /** Only versions within the range. Default: all. */
  readonly timeRange?: TimeRangeOption | undefined
  /** Only cells with exactly this timestamp. Not together with `timeRange`. */
  readonly timestamp?: Timestamp | undefined
  /** Time ranges of single families, in place of `timeRange`. */
  readonly familyTimeRanges?: Readonly<Record<string, TimeRangeOption>> | undefined
  /** Decides which cells are returned; see `docs/filters.md`. */
  readonly filter?: Filter | undefined
  /**
   * Most cells per family and row, from 0 (HBase: setMaxResultsPerColumnFamily). A filter does not
   * see the cells after them. Default: all.
   */
  readonly cellsPerFamilyMax?: number | undefined
  /** Number of cells to skip per family and row (HBase: setRowOffsetPerColumnFamily). Default 0. */
  readonly cellsPerFamilyOffset?: number | undefined
  /** Whether blocks that the read loads enter the block cache. Default true. */
  readonly cacheBlocks?: boolean | undefined
  /** The view to read instead of the newest state. */
  readonly snapshot?: Snapshot | undefined
  /**
   * 'READ_COMMITTED' reads the state at the moment of the call. 'READ_UNCOMMITTED' also shows
   * mutations made while a scan is running, perhaps only some families of a row; a get returns the
   * same with both. Not together with `snapshot`. Default 'READ_COMMITTED'.
   */
  readonly isolation?: 'READ_COMMITTED' | 'READ_UNCOMMITTED' | undefined
  /**
   * Whether to read families that do not influence the filter only for rows that pass (HBase:
   * setLoadColumnFamiliesOnDemand). The results are the same. Default false.
   */
  readonly loadFamiliesOnDemand?: boolean | undefined
}

/** Reads one row. */
export interface Get extends ReadOptions {
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** Whether to return no cells and only set `exists` of the result. Default false. */
  readonly checkExistenceOnly?: boolean | undefined
}

/** The rows from one to another. */
export interface RowSpan {
  /** First row; absent or empty = the first row of the table, or the last if reversed. */
  readonly startRow?: BytesLike | undefined
  /** Whether `startRow` itself is returned. Default true. */
  readonly startInclusive?: boolean | undefined
  /**
   * Row at which the scan ends; absent or empty = the end of the table, or its first row if
   * reversed.
   */
  readonly stopRow?: BytesLike | undefined
  /** Whether `stopRow` itself is returned. Default false. */
  readonly stopInclusive?: boolean | undefined
  /** Not together with rows. */
  readonly prefix?: undefined
}

/** The rows that begin alike. */
export interface RowPrefix {
  /** The bytes that rows begin with, in a scan of either direction. */
  readonly prefix: BytesLike | undefined
  /** Not together with a prefix. */
  readonly startRow?: undefined
  /** Not together with a prefix. */
  readonly startInclusive?: undefined
  /** Not together with a prefix. */
  readonly stopRow?: undefined
  /** Not together with a prefix. */
  readonly stopInclusive?: undefined
}

/** Reads rows in order: all, those of a span, or those with a prefix. */
export type Scan = ScanOptions & (RowSpan | RowPrefix)

/** Options of scans, beside the rows. */
export interface ScanOptions extends ReadOptions {
  /**
   * Whether rows come in descending order. Columns and versions of a row keep their order. Default
   * false.
   */
  readonly reversed?: boolean | undefined
  /** Most rows, at least 1. Default: all. */
  readonly limit?: number | undefined
  /**
   * Most cells per result, at least 1. Longer rows come in parts, all but the last with `partial`
   * set.
   */
  readonly batch?: number | undefined
  /**
   * With `allowPartialResults`: bytes after which the rest of a row comes in another result. A
   * result has at least one cell. Rows are not cut for filters that judge whole rows. At least 1.
   * Default: no limit.
   */
  readonly maxResultBytes?: number | undefined
  /** Whether `maxResultBytes` may cut rows. Default false. */
  readonly allowPartialResults?: boolean | undefined
  /**
   * Whether a scan that has read many rows without a result returns a result without cells, whose
   * `cursor` is its present row. A later scan may start there. Default false.
   */
  readonly needCursorResult?: boolean | undefined
  /** Accepted for compatibility with HBase, without effect: no row costs a call over a network. */
  readonly caching?: number | undefined
  /** Without effect: blocks are read ahead as soon as a scan reads neighbouring blocks. */
  readonly readType?: 'DEFAULT' | 'STREAM' | 'PREAD' | undefined
  /** Without effect: results are always made a batch ahead. */
  readonly asyncPrefetch?: boolean | undefined
  /**
   * Whether to return delete markers and masked cells too. Not together with columns that name a
   * qualifier. Default false.
   */
  readonly raw?: boolean | undefined
  /** Aborting it ends the scan with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

/** The work of a scan so far (HBase: ScanMetrics). */
export interface ScanMetrics {
  /** Rows that the scan has read, whether or not they passed. */
  readonly rowsScanned: number
  /** Rows that the filter dropped. */
  readonly rowsFiltered: number
  /** Results returned, without those that hold only a cursor. */
  readonly results: number
  /** Cells that the scan returned. */
  readonly cells: number
  /** Bytes of the encoded keys and values of those cells. */
  readonly bytes: number
  /**
   * Number of reads of blocks that were not in memory; one read may load several neighbouring
   * blocks.
   */
  readonly blockMisses: number
}
