/**
 * NEW_VERSION_BEHAVIOR: which puts of a column a read sees if versions are counted and markers take
 * effect in the order of writing, whatever the timestamps say.
 *
 * The rule: replay the mutations of the column in the order of their sequences. A put takes its
 * place among the versions and displaces the one of its timestamp; only the newest VERSIONS stay,
 * what falls out never comes back; a marker removes what it masks of the versions there at that
 * moment. Within one mutation the puts come first. What is there at the end is visible.
 *
 * Cells come in store order (newest timestamp first), so nothing is replayed: each put gets its
 * span of life, from its writing until it was replaced, deleted or displaced. Displaced it is as
 * soon as VERSIONS puts with newer timestamps are alive at the same time, and those have all been
 * seen before. `depths` holds how many were alive when.
 *
 * Consequences: a put that is invisible stays invisible, so a major compaction may drop it with the
 * markers and no read tells the difference. HBase's tracker approximates this (it merges what
 * happened between two markers); where the two differ, the rule above is what its tests state.
 */
import { equalBytes } from '../../base/bytes.js'
import { CellType } from '../cell/cell-type.js'
import { isFamilyMarker } from '../cell/cell-key.js'
import type { CellView } from '../cell/cell-view.js'
import { compareTimestamps } from '../cell/timestamp.js'

/** Delete markers: which timestamps, and since when. */
class Markers {
  count = 0
  private readonly highs: number[] = []
  private readonly lows: number[] = []
  private readonly sequences: number[] = []
  /** 1: masks its timestamp only; 0: and everything older. */
  private readonly single: number[] = []

  add(cell: CellView, single: boolean): void {
    const at = this.count++
    this.highs[at] = cell.timestampHigh
    this.lows[at] = cell.timestampLow
    this.sequences[at] = cell.sequence
    this.single[at] = single ? 1 : 0
  }

  /** Sequence of the first marker that hits the put, `before` if there is none earlier. */
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
  private columnBuffer: Buffer | undefined = undefined
  private columnStart = 0
  private columnEnd = 0
  /** The put seen last: the next one of its timestamp was replaced by it. */
  private lastHigh = -1
  private lastLow = -1
  private lastSequence = 0
  /**
   * Moments in descending order, the last one is 0: `depths[i]` puts were alive from `moments[i]`
   * until the moment before it in the list. A mutation has two moments: twice its sequence, when
   * its puts take effect, and the one after, when its markers do.
   */
  private readonly moments: number[] = [0]
  private readonly depths: number[] = [0]

  configure(versionsMax: number): void {
    this.versionsMax = versionsMax
    this.startRow()
  }

  /** A new row begins. */
  startRow(): void {
    this.familyMarkers.count = 0
    this.columnBuffer = undefined
    this.startColumn()
  }

  /** Takes note of a marker. */
  addMarker(cell: CellView): void {
    const single = cell.type === CellType.deleteFamilyVersion || cell.type === CellType.delete
    if (isFamilyMarker(cell.type)) {
      this.familyMarkers.add(cell, single)
    } else {
      this.enterColumn(cell)
      this.columnMarkers.add(cell, single)
    }
  }

  /** Whether the put is visible; to be asked of every put of the column, in store order. */
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

  /** Nothing that follows in the column is visible. */
  get isColumnFull(): boolean {
    return this.depths[0] >= this.versionsMax
  }

  /** Copies the qualifier that is remembered by where it lies: that memory is about to go. */
  detach(): void {
    if (this.columnBuffer === undefined) return
    this.columnBuffer = Buffer.from(this.columnBuffer.subarray(this.columnStart, this.columnEnd))
    this.columnEnd -= this.columnStart
    this.columnStart = 0
  }

  /** When VERSIONS newer timestamps are alive for the first time in [start, end); else `end`. */
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
    // The split at the end moved the one at the start.
    const from = behind < 0 ? first : this.find(start)
    for (let i = from; i > behind; i--) depths[i]++
    // A column that is written over and over must not leave a moment for each time.
    if (behind >= 0 && depths[behind] === depths[behind + 1]) {
      moments.splice(behind, 1)
      depths.splice(behind, 1)
    }
  }

  /** Position of the span that holds a moment. Older ones are asked for as the column continues. */
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
    const { buffer, qualifierStart, qualifierEnd } = cell
    const known = this.columnBuffer
    if (
      known !== undefined &&
      equalBytes(known, this.columnStart, this.columnEnd, buffer, qualifierStart, qualifierEnd)
    ) {
      return
    }
    this.columnBuffer = buffer
    this.columnStart = qualifierStart
    this.columnEnd = qualifierEnd
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
