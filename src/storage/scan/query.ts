/** What a read asks of one store, in the form that matchers want. */
import { allTime, type TimeRange } from '../cell/timestamp.js'
import type { Filter } from '../filter/filter.js'

/** The column-family options that decide what a read or a flush keeps. */
export interface RetentionOptions {
  /** VERSIONS: most versions kept and returned per column, >= 1. */
  readonly versions: number
  /** MIN_VERSIONS: versions kept although the TTL has expired them. */
  readonly minVersions: number
  /** TTL in seconds; Infinity = forever. */
  readonly ttlSeconds: number
  /** KEEP_DELETED_CELLS. */
  readonly keepDeletedCells: 'FALSE' | 'TRUE' | 'TTL'
  /** How long a major compaction keeps markers that it could drop, counted from their timestamp. */
  readonly timeToPurgeDeletesMilliseconds: number
  /** NEW_VERSION_BEHAVIOR: markers mask only earlier writes. */
  readonly newVersionBehavior: boolean
}

/** A read of one store. */
export interface StoreQuery {
  /** Escaped qualifiers, ascending and unique; undefined = all columns. */
  readonly columns: readonly Buffer[] | undefined
  /** Versions asked for per column, >= 1. */
  readonly versions: number
  readonly timeRange: TimeRange
  /** Return delete markers and masked cells as well. */
  readonly raw: boolean
  readonly filter: Filter | undefined
  /** Most cells returned per row of this family; negative = no limit. */
  readonly cellsPerRowMax: number
  /** Cells skipped at the start of each row of this family. */
  readonly cellsPerRowOffset: number
}

/**
 * Whether a read asks for the newest version of columns, for any timestamp and any number
 * of them: a put that no marker masks, that does not expire and that is the first of a column
 * asked for is included.
 */
export function asksForNewest(query: StoreQuery, options: RetentionOptions): boolean {
  return (
    Math.min(query.versions, options.versions) === 1 &&
    options.ttlSeconds === Infinity &&
    !options.newVersionBehavior &&
    query.filter === undefined &&
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

/** Whether nothing more of the row is wanted. */
export function endsRow(code: MatchCode): boolean {
  return code === MatchCode.includeAndSeekNextRow || code === MatchCode.seekNextRow
}

/** Where a scanner moves: to the next cell, or to a key in the row, after the row or anywhere. */
export const Move = { none: 0, next: 1, column: 2, row: 3, hint: 4 } as const
export type Move = (typeof Move)[keyof typeof Move]
