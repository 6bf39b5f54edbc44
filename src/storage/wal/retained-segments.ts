/**
 * Obsolete segments of the log, which are kept for change feeds: the newest of them up to a number
 * of bytes, and all that a feed still reads.
 */
import type { LogOptions } from './log-options.js'
import { segmentPath, type LogSegment } from './log-segment.js'

/** Keeps the segments from one on from being removed, while a change feed reads them. */
export interface LogHold {
  /** Number of the oldest segment that is still needed. */
  fileNumber: number
}

export class RetainedSegments {
  private readonly options: LogOptions
  private readonly kept: LogSegment[]
  private readonly holds = new Set<LogHold>()

  /** Begins with those that recovery kept. */
  constructor(options: LogOptions) {
    this.options = options
    this.kept = [...(options.retained ?? [])]
  }

  /** The segments, the oldest first. */
  get segments(): readonly LogSegment[] {
    return this.kept
  }

  /** Adds a segment that is newer than all others, and closed. */
  add(segment: LogSegment): void {
    this.kept.push(segment)
  }

  /** Keeps the segments from `fileNumber` on from being removed until {@link release}. */
  hold(fileNumber: number): LogHold {
    const hold = { fileNumber }
    this.holds.add(hold)
    return hold
  }

  /** Ends a hold; {@link trim} then removes the segments that it kept. */
  release(hold: LogHold): void {
    this.holds.delete(hold)
  }

  /**
   * Removes the oldest segments that no hold keeps and that exceed `retainedBytesMax`. A file that
   * cannot be removed is reported to `onError`; recovery removes it.
   */
  trim(): void {
    const { fileSystem, removeFile, retainedBytesMax = 0, onError } = this.options
    let bytes = this.kept.reduce((sum, { length }) => sum + length, 0)
    let floor = Infinity
    for (const hold of this.holds) floor = Math.min(floor, hold.fileNumber)
    while (this.kept.length > 0 && this.kept[0].fileNumber < floor) {
      const { fileNumber, length } = this.kept[0]
      if (bytes <= retainedBytesMax) return
      bytes -= length
      this.kept.shift()
      const path = segmentPath(this.options, fileNumber)
      try {
        if (removeFile === undefined) fileSystem.unlinkSync(path)
        else removeFile(path)
      } catch (error) {
        onError?.(error)
      }
    }
  }
}
