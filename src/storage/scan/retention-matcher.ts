/**
 * Decides what a flush or a compaction writes: cells over VERSIONS, expired cells and
 * cells masked by markers of the same inputs are dropped; a flush and a minor compaction keep the
 * markers, a major compaction drops those that nothing needs any more.
 *
 * As in HBase, what is over VERSIONS goes even if a later marker would make room for it: how many
 * versions a delete brings back depends on when a flush ran. Open snapshots are not looked at here:
 * a flush does not ask about what they see, and a compaction leaves them the files of before.
 *
 * With NEW_VERSION_BEHAVIOR only a major compaction drops anything: what is invisible by the order
 * of writing, and markers. It cannot become visible again, so nobody can tell when that happened.
 */
import type { CellView } from '../cell/cell-view.js'
import { isFamilyMarker } from '../cell/cell-key.js'
import { isDeleteMarker } from '../cell/cell-type.js'
import { ColumnTracker } from './column-tracker.js'
import { DeleteTracker, Masking } from './delete-tracker.js'
import { MatchCode, type RetentionOptions } from './query.js'
import { oldestUnexpired, outlivedOwnTtl } from './user-matcher.js'
import { WriteOrderTracker } from './write-order-tracker.js'

/** Why a cell is dropped; see `DropCounts`. */
export type DropReason = 'versions' | 'masked' | 'expired' | 'markers'

/** What a job may drop. */
export interface RetentionScope {
  readonly options: RetentionOptions
  /** Cells up to this sequence are kept; the rules do not apply to them. */
  readonly sequenceKept: number
  /** Milliseconds since the epoch; the time of expiry. */
  readonly now: number
  /** True if the inputs are all files of the store, so that delete markers may go. */
  readonly dropsMarkers: boolean
  /** Timestamp of the earliest put in the inputs; KEEP_DELETED_CELLS drops older markers. */
  readonly earliestPutTimestamp: number
}

export class RetentionMatcher {
  /** Why the last cell that {@link match} did not include goes. */
  reason: DropReason = 'versions'
  private readonly deletes = new DeleteTracker()
  private readonly columns = new ColumnTracker()
  private readonly history: WriteOrderTracker | undefined
  private readonly scope: RetentionScope
  private readonly oldest: number

  constructor(scope: RetentionScope) {
    const { options, now } = scope
    this.scope = scope
    this.oldest = oldestUnexpired(options, now)
    this.columns.configure(
      undefined,
      options.versions,
      options.minVersions,
      Math.floor(this.oldest / 0x1_0000_0000),
      this.oldest >>> 0,
    )
    if (options.newVersionBehavior) this.history = new WriteOrderTracker()
    this.history?.configure(options.versions)
  }

  startRow(): void {
    this.deletes.reset()
    this.history?.startRow()
    this.columns.reset()
  }

  /** `include`, `skip`, or `seekNextColumn` (drop the rest of the column). */
  match(cell: CellView): MatchCode {
    if (this.history !== undefined) return this.matchHistory(this.history, cell)
    const columns = this.columns
    this.reason = 'expired'
    if (columns.expiredForGood(cell)) return MatchCode.seekNextColumn
    if (outlivedOwnTtl(cell, this.scope.now)) return MatchCode.skip
    if (isDeleteMarker(cell.type)) {
      if (this.markerMasks(cell)) this.deletes.add(cell)
      if (!this.scope.dropsMarkers) return MatchCode.include
      this.reason = 'markers'
      const fate = this.fateOfMarker(cell)
      if (fate !== undefined) return fate
    } else if (!this.deletes.empty) {
      this.reason = 'masked'
      const masking = this.deletes.masking(cell)
      if (masking === Masking.column) return MatchCode.seekNextColumn
      if (masking === Masking.version) return MatchCode.skip
    }
    this.reason = 'versions'
    return columns.check(cell)
  }

  private matchHistory(history: WriteOrderTracker, cell: CellView): MatchCode {
    const { columns, scope } = this
    if (!scope.dropsMarkers) return MatchCode.include
    this.reason = 'expired'
    if (columns.expiredForGood(cell)) return MatchCode.seekNextColumn
    if (outlivedOwnTtl(cell, scope.now)) return MatchCode.skip
    if (isDeleteMarker(cell.type)) {
      history.addMarker(cell)
      this.reason = 'markers'
      // After the last version no marker is needed, however long markers are to be kept.
      if (!isFamilyMarker(cell.type) && columns.isFull(cell)) return MatchCode.seekNextColumn
      return this.fateOfMarker(cell) ?? MatchCode.include
    }
    this.reason = 'masked'
    if (!history.sees(cell)) return MatchCode.skip
    this.reason = 'versions'
    return columns.check(cell)
  }

  /** With KEEP_DELETED_CELLS a marker drops nothing, except an expired one in mode TTL. */
  private markerMasks(cell: CellView): boolean {
    const mode = this.scope.options.keepDeletedCells
    return mode === 'FALSE' || (mode === 'TTL' && cell.timestamp < this.oldest)
  }

  /** What a major compaction does with a marker; undefined = count it like a version. */
  private fateOfMarker(cell: CellView): MatchCode | undefined {
    const { now, earliestPutTimestamp, options } = this.scope
    const kept = options.timeToPurgeDeletesMilliseconds
    const timestamp = cell.timestamp
    if (kept > 0 && now - timestamp <= kept) return MatchCode.include
    const mode = options.keepDeletedCells
    const counts = mode === 'TRUE' || (mode === 'TTL' && timestamp >= this.oldest)
    if (!counts) return MatchCode.skip
    return timestamp < earliestPutTimestamp ? MatchCode.seekNextColumn : undefined
  }
}
