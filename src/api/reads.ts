/** The reads of a table, as plain option objects: HBase's `Get` and `Scan`, and their scanners. */
import {
  declareOptions,
  unchecked,
  required,
  type GivenOptions,
  type OptionsOf,
} from '../base/options.js'
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

/** The member that names the row of an operation. */
export const rowMember = {
  /** 1 to 32,767 bytes. */
  row: required(unchecked<BytesLike>()),
}

const readMembers = {
  /** Families and columns; absent or empty = all. */
  columns: unchecked<readonly ColumnName[]>(),
  /**
   * Versions per column, from 1, at most the VERSIONS of the family; 'all' = as many as the family
   * keeps. Default 1.
   */
  versions: unchecked<number | 'all'>(),
  /** Only versions within the range. Default: all. */
  timeRange: unchecked<TimeRangeOption>(),
  /** Only cells with exactly this timestamp. Not together with `timeRange`. */
  timestamp: unchecked<Timestamp>(),
  /** Time ranges of single families, in place of `timeRange`. */
  familyTimeRanges: unchecked<Readonly<Record<string, TimeRangeOption>>>(),
  /** Decides which cells are returned; see `docs/filters.md`. */
  filter: unchecked<Filter>(),
  /**
   * Most cells per family and row, from 0 (HBase: setMaxResultsPerColumnFamily). A filter does not
   * see the cells after them. Default: all.
   */
  cellsPerFamilyMax: unchecked<number>(),
  /** Number of cells to skip per family and row (HBase: setRowOffsetPerColumnFamily). Default 0. */
  cellsPerFamilyOffset: unchecked<number>(),
  /** Whether blocks that the read loads enter the block cache. Default true. */
  cacheBlocks: unchecked<boolean>(),
  /** The view to read instead of the newest state. */
  snapshot: unchecked<Snapshot>(),
  /**
   * 'READ_COMMITTED' reads the state at the moment of the call. 'READ_UNCOMMITTED' also shows
   * mutations made while a scan is running, perhaps only some families of a row; a get returns the
   * same with both. Not together with `snapshot`. Default 'READ_COMMITTED'.
   */
  isolation: unchecked<'READ_COMMITTED' | 'READ_UNCOMMITTED'>(),
  /**
   * Whether to read families that do not influence the filter only for rows that pass (HBase:
   * setLoadColumnFamiliesOnDemand). The results are the same. Default false.
   */
  loadFamiliesOnDemand: unchecked<boolean>(),
}

/** The options that gets and scans share. */
export interface ReadOptions extends GivenOptions<typeof readMembers> {}

/** The declaration of {@link Get}. */
export const getOptions = declareOptions('a get', {
  ...rowMember,
  ...readMembers,
  /** Whether to return no cells and only set `exists` of the result. Default false. */
  checkExistenceOnly: unchecked<boolean>(),
})

/** Reads one row. */
export interface Get extends OptionsOf<typeof getOptions> {}

const spanMembers = {
  /** First row; absent or empty = the first row of the table, or the last if reversed. */
  startRow: unchecked<BytesLike>(),
  /** Whether `startRow` itself is returned. Default true. */
  startInclusive: unchecked<boolean>(),
  /**
   * Row at which the scan ends; absent or empty = the end of the table, or its first row if
   * reversed.
   */
  stopRow: unchecked<BytesLike>(),
  /** Whether `stopRow` itself is returned. Default false. */
  stopInclusive: unchecked<boolean>(),
}

/** The rows from one to another. */
export interface RowSpan extends GivenOptions<typeof spanMembers> {
  /** Not together with rows. */
  readonly prefix?: undefined
}

/** The rows that begin alike; a prefix excludes the members of {@link RowSpan}. */
export type RowPrefix = {
  /** The bytes that rows begin with, in a scan of either direction. */
  readonly prefix: BytesLike | undefined
} & { readonly [Name in keyof typeof spanMembers]?: undefined }

/** Reads rows in order: all, those of a span, or those with a prefix. */
export type Scan = ScanOptions & (RowSpan | RowPrefix)

const scanMembers = {
  ...readMembers,
  /**
   * Whether rows come in descending order. Columns and versions of a row keep their order. Default
   * false.
   */
  reversed: unchecked<boolean>(),
  /** Most rows, at least 1. Default: all. */
  limit: unchecked<number>(),
  /**
   * Most cells per result, at least 1. Longer rows come in parts, all but the last with `partial`
   * set.
   */
  batch: unchecked<number>(),
  /**
   * With `allowPartialResults`: bytes after which the rest of a row comes in another result. A
   * result has at least one cell. Rows are not cut for filters that judge whole rows. At least 1.
   * Default: no limit.
   */
  maxResultBytes: unchecked<number>(),
  /** Whether `maxResultBytes` may cut rows. Default false. */
  allowPartialResults: unchecked<boolean>(),
  /**
   * Whether a scan that has read many rows without a result returns a result without cells, whose
   * `cursor` is its present row. A later scan may start there. Default false.
   */
  needCursorResult: unchecked<boolean>(),
  /** Accepted for compatibility with HBase, without effect: no row costs a call over a network. */
  caching: unchecked<number>(),
  /** Without effect: blocks are read ahead as soon as a scan reads neighbouring blocks. */
  readType: unchecked<'DEFAULT' | 'STREAM' | 'PREAD'>(),
  /** Without effect: results are always made a batch ahead. */
  asyncPrefetch: unchecked<boolean>(),
  /**
   * Whether to return delete markers and masked cells too. Not together with columns that name a
   * qualifier. Default false.
   */
  raw: unchecked<boolean>(),
  /** Aborting it ends the scan with `ERR_ABORTED`. */
  signal: unchecked<AbortSignal>(),
}

/** Options of scans, beside the rows. */
export interface ScanOptions extends GivenOptions<typeof scanMembers> {}

/** The declaration of {@link Scan}. */
export const scanOptions = declareOptions('a scan', {
  ...scanMembers,
  ...spanMembers,
  prefix: unchecked<BytesLike>(),
})

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
