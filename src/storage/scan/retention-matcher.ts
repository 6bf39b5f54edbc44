/**
 * Decides which cells a flush or a compaction writes. Cells over VERSIONS, expired cells and cells
 * masked by markers of the same inputs are dropped. A flush and a minor compaction keep the
 * markers; a major compaction drops markers that have no further effect.
 *
 * As in HBase, a cell over VERSIONS is dropped even if a later marker would make room for it: how
 * many versions reappear after a delete depends on the time of the flush. Open read points are no
 * part of these rules: a flush asks them only for cells that no open read point sees
 * (`sequenceKept` of the job), and a compaction leaves the old files to open read points.
 *
 * With NEW_VERSION_BEHAVIOR only a major compaction drops cells: those invisible by the order of
 * writing, expired ones, and markers. As long as no cell expires, an invisible cell stays
 * invisible, so the time of the drop cannot be observed. A cell that has outlived its own TTL
 * displaces no other cell any more, and after a delete MIN_VERSIONS may keep an expired version.
 * Such cells come back if they are still stored.
 */
import { emptyBytes } from '../../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'
import { isFamilyMarker } from '../cell/cell-key.js'
import { isDeleteMarker } from '../cell/cell-type.js'
import { ColumnTracker } from './column-tracker.js'
import { DeleteTracker, Masking } from './delete-tracker.js'
import { MatchCode, type RetentionOptions } from './query.js'
import { ReadPosition } from './read-position.js'
import { oldestUnexpired, outlivedOwnTtl } from './user-matcher.js'
import { WriteOrderTracker } from './write-order-tracker.js'

/** Why a cell is dropped; see `DropCounts`. */
export type DropReason = 'versions' | 'masked' | 'expired' | 'markers'

/** The limits on the cells that a job may drop. */
export interface RetentionScope {
  readonly options: RetentionOptions
  /** Cells up to this sequence are kept regardless of the rules. */
  readonly sequenceKept: number
  /** Time of expiry in milliseconds since the epoch. */
  readonly now: number
  /** Whether the inputs are all files of the store, so that delete markers may be dropped. */
  readonly dropsMarkers: boolean
  /**
   * Timestamp of the earliest put in the inputs; older markers are dropped with KEEP_DELETED_CELLS.
   */
  readonly earliestPutTimestamp: number
}

export class RetentionMatcher {
  /** Why the last cell not included by {@link match} is dropped. */
  reason: DropReason = 'versions'
  private readonly deletes = new DeleteTracker()
  private readonly position = new ReadPosition()
  private readonly columns = new ColumnTracker(this.position)
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
    this.position.startRow(emptyBytes, 0, 0)
    this.columns.resume()
  }

  /** `include`, `skip`, or `seekNextColumn` (drops the rest of the column). */
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
      // After the last version a marker has no effect, even within its time to purge.
      if (!isFamilyMarker(cell.type) && columns.isFull(cell)) return MatchCode.seekNextColumn
      return this.fateOfMarker(cell) ?? MatchCode.include
    }
    this.reason = 'masked'
    if (!history.sees(cell)) return MatchCode.skip
    this.reason = 'versions'
    return columns.check(cell)
  }

  /** With KEEP_DELETED_CELLS a marker masks no cell, except an expired one in mode TTL. */
  private markerMasks(cell: CellView): boolean {
    const mode = this.scope.options.keepDeletedCells
    return mode === 'FALSE' || (mode === 'TTL' && cell.timestamp < this.oldest)
  }

  /** The decision of a major compaction on a marker; undefined: counted like a version. */
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
