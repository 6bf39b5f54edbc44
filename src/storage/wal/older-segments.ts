/** The segments of a log before the current one, the oldest first. */
import type { RecordWriter } from '../record/record-writer.js'
import type { LogSegment } from './log-segment.js'

/** A segment before the current one; `writer` is undefined once its data is durable. */
interface OlderSegment extends LogSegment {
  readonly writer: RecordWriter | undefined
}

/** The older segments of one log; see the file header. */
export class OlderSegments {
  private readonly segments: OlderSegment[]
  private readonly onError: ((error: unknown) => void) | undefined

  /** `onError` is called for each file that cannot be closed. */
  constructor(recovered: readonly LogSegment[], onError: ((error: unknown) => void) | undefined) {
    this.segments = recovered.map((segment) => olderSegment(segment, undefined))
    this.onError = onError
  }

  get list(): readonly LogSegment[] {
    return this.segments
  }

  /** Bytes of all segments. */
  get bytes(): number {
    let total = 0
    for (const segment of this.segments) total += segment.length
    return total
  }

  /** Adds the segment that was current until now. */
  push(segment: LogSegment, writer: RecordWriter): void {
    this.segments.push(olderSegment(segment, writer))
  }

  /**
   * Adds to `found` what a reader may read, only durable bytes if `durable`. Returns whether a
   * reader may read on in the current segment.
   */
  addReadable(found: LogSegment[], durable: boolean): boolean {
    for (const segment of this.segments) {
      const { fileNumber, length, lastSequence, writer } = segment
      if (durable && writer !== undefined && writer.syncedLength < length) {
        found.push({ fileNumber, length: writer.syncedLength, lastSequence: Infinity })
        return false
      }
      found.push({ fileNumber, length, lastSequence })
    }
    return true
  }

  /** Takes out the segments below `floor`, and closes their files. */
  takeBelow(floor: number): readonly LogSegment[] {
    const end = this.segments.findIndex(({ fileNumber }) => fileNumber >= floor)
    const taken = this.segments.splice(0, end < 0 ? this.segments.length : end)
    for (const { writer } of taken) this.close(writer)
    return taken
  }

  /** The files whose data is not known to be durable. */
  get writers(): readonly RecordWriter[] {
    return this.segments.flatMap(({ writer }) => writer ?? [])
  }

  /** Closes the files of segments that have become durable. Returns whether all are durable. */
  retireDurable(): boolean {
    for (let i = 0; i < this.segments.length; i++) {
      const { writer } = this.segments[i]
      if (writer === undefined) continue
      if (writer.syncedLength !== writer.length) return false
      this.close(writer)
      this.segments[i] = olderSegment(this.segments[i], undefined)
    }
    return true
  }

  /** Closes every file. */
  closeAll(): void {
    for (const { writer } of this.segments) this.close(writer)
  }

  /** Closes a file of the log. A failure is reported and harms nothing: its data is durable. */
  close(writer: RecordWriter | undefined): void {
    try {
      writer?.closeSync()
    } catch (error) {
      this.onError?.(error)
    }
  }
}

/** Makes the description of a segment. One shape for all keeps the list monomorphic for V8. */
function olderSegment(segment: LogSegment, writer: RecordWriter | undefined): OlderSegment {
  const { fileNumber, length, lastSequence } = segment
  return { fileNumber, length, lastSequence, writer }
}
