/** The reads of a table, as plain option objects: HBase's `Get` and `Scan`, and their scanners. */
import type { BytesLike, ColumnName } from '../cell/column-name.js'
import type { Timestamp } from '../cell/timestamp.js'
import type { Filter } from '../filter/filter.js'

/** Which part of the time line a read looks at: `[min, max)`. */
export type TimeRangeOption = readonly [min: Timestamp, max: Timestamp]

/**
 * A view of the whole database at one moment: every read through it gives the same answer until it
 * is closed. The full promise stands at `Database.snapshot`.
 */
export interface Snapshot {
  /** Sequence up to which the view sees mutations. */
  readonly sequence: number
  /** Lets go of the view. Reads with it fail afterwards with `ERR_CLOSED`. */
  close(): void
  [Symbol.dispose](): void
}

/** What gets and scans have in common. */
export interface ReadOptions {
  /** Families and columns; absent or empty = all. */
  readonly columns?: readonly ColumnName[] | undefined
  /**
   * Versions per column, 1 by default, capped by the family's VERSIONS; 'all' = as many as it
   * keeps.
   */
  readonly versions?: number | 'all' | undefined
  readonly timeRange?: TimeRangeOption | undefined
  /** Only cells with exactly this timestamp. Not together with `timeRange`. */
  readonly timestamp?: Timestamp | undefined
  /** Overrides the time range for single families. */
  readonly familyTimeRanges?: Readonly<Record<string, TimeRangeOption>> | undefined
  readonly filter?: Filter | undefined
  /**
   * Most cells per family and row (HBase: setMaxResultsPerColumnFamily); 0 = none. A filter is not
   * shown the cells behind them.
   */
  readonly cellsPerFamilyMax?: number | undefined
  /** Cells skipped per family and row (HBase: setRowOffsetPerColumnFamily). */
  readonly cellsPerFamilyOffset?: number | undefined
  /** Whether blocks that are read enter the block cache. Default true. */
  readonly cacheBlocks?: boolean | undefined
  /** Read this view instead of the newest state. */
  readonly snapshot?: Snapshot | undefined
  /**
   * 'READ_UNCOMMITTED' also shows what is written while a scan is under way, of a row maybe only
   * some families; a get shows the same with both. Not together with `snapshot`. Default
   * 'READ_COMMITTED': the state at the moment of the call.
   */
  readonly isolation?: 'READ_COMMITTED' | 'READ_UNCOMMITTED' | undefined
  /**
   * Read the families that the filter does not judge by only for rows that pass
   * (HBase: setLoadColumnFamiliesOnDemand). The results are the same. Default false.
   */
  readonly loadFamiliesOnDemand?: boolean | undefined
}

/** Reads one row. */
export interface Get extends ReadOptions {
  readonly row: BytesLike
  /** Return no cells, but set `exists` of the result. Default false. */
  readonly checkExistenceOnly?: boolean | undefined
}

/** Reads rows in order. */
export interface Scan extends ReadOptions {
  /** First row; absent or empty = the first of the table (the last if reversed). */
  readonly startRow?: BytesLike | undefined
  /** Default true. */
  readonly startInclusive?: boolean | undefined
  /** Where to stop; absent or empty = the end of the table (the first row if reversed). */
  readonly stopRow?: BytesLike | undefined
  /** Default false. */
  readonly stopInclusive?: boolean | undefined
  /** Rows with this prefix, in either direction. Not together with `startRow` and `stopRow`. */
  readonly prefix?: BytesLike | undefined
  /** Rows descending; columns and versions inside a row keep their order. Default false. */
  readonly reversed?: boolean | undefined
  /** Most rows. */
  readonly limit?: number | undefined
  /** Most cells per result; longer rows come in pieces with `partial` set on all but the last. */
  readonly batch?: number | undefined
  /**
   * Bytes of a result beyond which, with `allowPartialResults`, the rest of the row comes in
   * another one; a result has at least one cell. Rows are not cut for filters that judge whole
   * rows.
   */
  readonly maxResultBytes?: number | undefined
  /** Let `maxResultBytes` cut rows. Default false: rows come whole. */
  readonly allowPartialResults?: boolean | undefined
  /**
   * When the scan has looked at many rows in vain, return a result without cells whose `cursor` is
   * the row where it is; a later scan may start there. Default false.
   */
  readonly needCursorResult?: boolean | undefined
  /** Taken for HBase's sake, without effect: a row costs no call over the network. */
  readonly caching?: number | undefined
  /** Without effect: blocks are read ahead as soon as a scan reads neighbours. */
  readonly readType?: 'DEFAULT' | 'STREAM' | 'PREAD' | undefined
  /** Without effect: results are made a batch ahead anyway. */
  readonly asyncPrefetch?: boolean | undefined
  /**
   * Return delete markers and masked cells too; not together with columns that name a qualifier.
   */
  readonly raw?: boolean | undefined
  /** Ends the scan with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

/** What a scan has done so far (HBase: ScanMetrics). */
export interface ScanMetrics {
  /** Rows looked at, whether or not they came through. */
  readonly rowsScanned: number
  /** Rows that the filter dropped. */
  readonly rowsFiltered: number
  /** Results handed out, without those that are only a cursor. */
  readonly results: number
  readonly cells: number
  /** Encoded keys and values of those cells. */
  readonly bytes: number
  /** How often a block that was not in memory had to be read; neighbours come with it. */
  readonly blockMisses: number
}
