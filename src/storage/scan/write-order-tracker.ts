/**
 * NEW_VERSION_BEHAVIOR: decides which puts of a column are visible if versions are counted and
 * markers take effect in the order of writing, independent of the timestamps.
 *
 * The rule: replay the mutations of the column in the order of their sequences. A put is inserted
 * among the versions and replaces the one with its timestamp. Only the newest VERSIONS stay, and a
 * version that is displaced never returns. A marker removes the versions that it masks at that
 * time. Within one mutation the puts come first. The versions at the end of the replay are visible.
 *
 * Cells arrive in store order (newest timestamp first), so there is no actual replay. Each put has
 * a lifetime, from its writing until it is replaced, deleted or displaced. A put is displaced as
 * soon as VERSIONS puts with newer timestamps are alive at the same time; those have been seen
 * before it. `depths` holds the number of live puts over time.
 *
 * Consequences: as long as no cell expires, an invisible put stays invisible, so a major compaction
 * may drop it together with the markers, unnoticed by reads. HBase's tracker approximates this (it
 * merges the history between two markers); where the two differ, the rule above is the one that
 * HBase's tests state.
 */
import { CellType } from '../cell/cell-type.js'
import { isFamilyMarker } from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import { compareTimestamps } from '../cell/timestamp.js'
import { BorrowedQualifier } from './borrowed-qualifier.js'

/** Delete markers: the timestamps that they mask, and their sequences. */
class Markers {
  count = 0
  private readonly highs: number[] = []
  private readonly lows: number[] = []
  private readonly sequences: number[] = []
  /** 1: masks its timestamp only; 0: masks all older ones as well. */
  private readonly single: number[] = []

  add(cell: CellView, single: boolean): void {
    const at = this.count++
    this.highs[at] = cell.timestampHigh
    this.lows[at] = cell.timestampLow
    this.sequences[at] = cell.sequence
    this.single[at] = single ? 1 : 0
  }

  /** Sequence of the first marker that masks the put; `before` if there is no earlier one. */
  firstHit(put: CellView, before: number): number {
    let first = before
    for (let i = 0; i < this.count; i++) {
      const sequence = this.sequences[i]
      if (sequence < put.sequence || sequence >= first) continue
      const order = compareTimestamps(
        put.timestampHigh,
        put.timestampLow,
        this.highs[i],
        this.lows[i],
      )
      if (order === 0 || (order < 0 && this.single[i] === 0)) first = sequence
    }
    return first
  }
}

export class WriteOrderTracker {
  private versionsMax = 1
  private readonly familyMarkers = new Markers()
  private readonly columnMarkers = new Markers()
  private readonly column = new BorrowedQualifier()
  /** The last put seen; it replaces the next put if both have the same timestamp. */
  private lastHigh = -1
  private lastLow = -1
  private lastSequence = 0
  /**
   * Points in time in descending order, the last one 0: `depths[i]` puts are alive from
   * `moments[i]` up to `moments[i - 1]`. A mutation has two points in time: twice its sequence,
   * when its puts take effect, and the following one, when its markers do.
   */
  private readonly moments: number[] = [0]
  private readonly depths: number[] = [0]

  configure(versionsMax: number): void {
    this.versionsMax = versionsMax
    this.startRow()
  }

  startRow(): void {
    this.familyMarkers.count = 0
    this.column.clear()
    this.startColumn()
  }

  addMarker(cell: CellView): void {
    const single = cell.type === CellType.deleteFamilyVersion || cell.type === CellType.delete
    if (isFamilyMarker(cell.type)) {
      this.familyMarkers.add(cell, single)
    } else {
      this.enterColumn(cell)
      this.columnMarkers.add(cell, single)
    }
  }

  /** Whether the put is visible. REQUIRES a call for every put of the column, in store order. */
  sees(put: CellView): boolean {
    this.enterColumn(put)
    const start = 2 * put.sequence
    const hit = this.columnMarkers.firstHit(put, this.familyMarkers.firstHit(put, Infinity))
    let end = hit === Infinity ? Infinity : 2 * hit + 1
    if (put.timestampHigh === this.lastHigh && put.timestampLow === this.lastLow) {
      end = Math.min(end, 2 * this.lastSequence)
    }
    this.lastHigh = put.timestampHigh
    this.lastLow = put.timestampLow
    this.lastSequence = put.sequence
    const displaced = this.momentOfDisplacement(start, end)
    if (displaced > start) this.addLife(start, displaced)
    return displaced === Infinity
  }

  /** Whether no later put of the column is visible. */
  get isColumnFull(): boolean {
    return this.depths[0] >= this.versionsMax
  }

  /** Copies the borrowed qualifier, because its memory is about to be released. */
  detach(): void {
    this.column.detach()
  }

  /** The first time in [start, end) at which VERSIONS newer puts are alive; otherwise `end`. */
  private momentOfDisplacement(start: number, end: number): number {
    const { moments, depths, versionsMax } = this
    for (let i = this.find(start); i >= 0 && moments[i] < end; i--) {
      if (depths[i] >= versionsMax) return Math.max(start, moments[i])
    }
    return end
  }

  private addLife(start: number, end: number): void {
    const { moments, depths } = this
    const first = this.split(start)
    const behind = end === Infinity ? -1 : this.split(end)
    // The split at the end has moved the index of the split at the start.
    const from = behind < 0 ? first : this.find(start)
    for (let i = from; i > behind; i--) depths[i]++
    // Merges equal spans: a column that is overwritten often must not accumulate entries.
    if (behind >= 0 && depths[behind] === depths[behind + 1]) {
      moments.splice(behind, 1)
      depths.splice(behind, 1)
    }
  }

  /** Index of the span that contains a time. Later calls for the column ask for older ones. */
  private find(moment: number): number {
    let i = this.moments.length - 1
    while (i > 0 && this.moments[i - 1] <= moment) i--
    return i
  }

  private split(moment: number): number {
    const i = this.find(moment)
    if (this.moments[i] === moment) return i
    this.moments.splice(i, 0, moment)
    this.depths.splice(i, 0, this.depths[i])
    return i
  }

  private enterColumn(cell: CellView): void {
    if (this.column.isOf(cell)) return
    this.column.set(cell)
    this.startColumn()
  }

  private startColumn(): void {
    this.columnMarkers.count = 0
    this.lastHigh = -1
    this.lastLow = -1
    this.moments.length = 1
    this.depths.length = 1
    this.moments[0] = 0
    this.depths[0] = 0
  }
}
