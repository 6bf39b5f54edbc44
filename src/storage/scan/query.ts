/** The query of one store, in the form that matchers use. */
import { allTime, type TimeRange } from '../cell/timestamp.js'
import type { Filter } from '../filter/filter.js'

/** The column-family options that decide which cells a read or a flush keeps. */
export interface RetentionOptions {
  /** VERSIONS: maximum number of versions kept and returned per column, at least 1. */
  readonly versions: number
  /** MIN_VERSIONS: number of versions kept even if expired by the TTL. */
  readonly minVersions: number
  /** TTL in seconds; Infinity: no expiry. */
  readonly ttlSeconds: number
  /** KEEP_DELETED_CELLS. */
  readonly keepDeletedCells: 'FALSE' | 'TRUE' | 'TTL'
  /** How long after its timestamp a marker is kept by a major compaction that could drop it. */
  readonly timeToPurgeDeletesMilliseconds: number
  /** NEW_VERSION_BEHAVIOR: markers mask only earlier writes. */
  readonly newVersionBehavior: boolean
}

/** A read of one store. */
export interface StoreQuery {
  /** Escaped qualifiers, ascending and unique; undefined = all columns. */
  readonly columns: readonly Buffer[] | undefined
  /** Maximum number of versions per column, at least 1. */
  readonly versions: number
  readonly timeRange: TimeRange
  /** Whether delete markers and masked cells are returned as well. */
  readonly raw: boolean
  readonly filter: Filter | undefined
  /** Maximum number of cells per row of this family; negative: no limit. */
  readonly cellsPerRowMax: number
  /** Number of cells to skip at the start of each row of this family. */
  readonly cellsPerRowOffset: number
}

/**
 * Whether a read wants the newest version of columns: any number of columns, no time range. Then a
 * put is included if it is not masked, not expired, and is the first of a requested column.
 */
export function asksForNewest(query: StoreQuery, options: RetentionOptions): boolean {
  const isOne = Math.min(query.versions, options.versions) === 1
  return isOne && query.filter === undefined && wantsPlainRows(query, options)
}

/**
 * Whether a read wants all of a row of puts, one of each column, that are neither masked nor
 * expired, if its filter includes the row: as many versions as there may be, no time range.
 */
export function wantsPlainRows(query: StoreQuery, options: RetentionOptions): boolean {
  return (
    !options.newVersionBehavior &&
    query.timeRange === allTime &&
    !query.raw &&
    query.cellsPerRowMax < 0 &&
    query.cellsPerRowOffset === 0
  )
}

/** The decision of a matcher on a cell. */
export const MatchCode = {
  include: 1,
  includeAndSeekNextColumn: 2,
  includeAndSeekNextRow: 3,
  skip: 4,
  seekNextColumn: 5,
  seekNextRow: 6,
  seekUsingHint: 7,
  /** The filter has ended the scan. */
  endScan: 8,
} as const
export type MatchCode = (typeof MatchCode)[keyof typeof MatchCode]

/** Whether the rest of the row is not wanted. */
export function endsRow(code: MatchCode): boolean {
  return code === MatchCode.includeAndSeekNextRow || code === MatchCode.seekNextRow
}
