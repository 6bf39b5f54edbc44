/**
 * The newest version of a column that a read has found so far. Where only that version is wanted,
 * an SSTable whose cells are all older need not be read.
 */
import { sequenceOf, timestampHighOf, timestampLowOf } from '../cell/cell-key.js'
import { isVisiblePut } from '../cell/plain-put.js'
import { compareTimestamps } from '../cell/timestamp.js'
import type { Cursor } from '../cursor/cursor.js'

export class FoundVersion {
  /** Timestamp in halves; a high half of -1: no version was found. */
  high = -1
  low = 0
  sequence = 0

  /** Whether a version was found. */
  get exists(): boolean {
    return this.high >= 0
  }

  /** Starts another read. */
  forget(): void {
    this.high = -1
  }

  /**
   * Notes the version at the position of a cursor, if it is a put visible at `readPoint`. An
   * expired one counts: all older ones are expired too.
   */
  note({ buffer, keyEnd, valueStart }: Cursor, readPoint: number): void {
    if (!isVisiblePut(buffer, keyEnd, valueStart, readPoint, 0)) return
    const high = timestampHighOf(buffer, keyEnd)
    const low = timestampLowOf(buffer, keyEnd)
    const sequence = sequenceOf(buffer, keyEnd)
    const order = compareTimestamps(high, low, this.high, this.low)
    if (order < 0 || (order === 0 && sequence < this.sequence)) return
    this.high = high
    this.low = low
    this.sequence = sequence
  }
}
