/**
 * The segments of an open log: the current one, which grows, and the older ones. Knows which bytes
 * of them are durable.
 *
 * No segment exists without its predecessor: the name of the current segment is made durable before
 * another one begins. The file of an older segment is closed as soon as its data is durable.
 */
import type { RecordWriter } from '../record/record-writer.js'
import type { LogOptions } from './log-options.js'
import { createSegment, type LogSegment } from './log-segment.js'

/** A segment before the current one; `writer` is undefined once its data is durable. */
interface OlderSegment extends LogSegment {
  readonly writer: RecordWriter | undefined
}

export class OpenSegments {
  /** The segment that grows. */
  current: RecordWriter
  private readonly options: LogOptions
  /** The oldest first. */
  private readonly older: OlderSegment[]
  /** Whether the name of the current segment is durable. */
  private nameIsDurable = true

  /** Creates the first new segment, and makes its name durable. */
  constructor(options: LogOptions) {
    this.options = options
    this.older = (options.recovered ?? []).map((segment) => olderSegment(segment, undefined))
    this.current = createSegment(options, options.predecessor, true)
    try {
      options.fileSystem.syncDirectorySync(options.directory)
      options.onSegmentBegun?.(this.current.header.fileNumber)
    } catch (error) {
      this.current.closeSync()
      throw error
    }
  }

  /** All segments, the oldest first, the current one last. */
  get list(): readonly LogSegment[] {
    return [...this.older, describe(this.current)]
  }

  /** Bytes of all segments, and of the pending frames. */
  get bytesTotal(): number {
    let total = this.current.length + this.current.position
    for (const segment of this.older) total += segment.length
    return total
  }

  /** What a reader may read, only durable bytes if `durable`; the last segment may grow. */
  readable(durable: boolean): LogSegment[] {
    const found: LogSegment[] = []
    for (const { fileNumber, length, lastSequence, writer } of this.older) {
      if (durable && writer !== undefined && writer.syncedLength < length) {
        found.push({ fileNumber, length: writer.syncedLength, lastSequence: Infinity })
        return found
      }
      found.push({ fileNumber, length, lastSequence })
    }
    const { header, length, syncedLength } = this.current
    const durableLength = this.nameIsDurable ? syncedLength : 0
    const { fileNumber } = header
    found.push({ fileNumber, length: durable ? durableLength : length, lastSequence: Infinity })
    return found
  }

  /** Number of the oldest segment with mutations after that sequence; else of the current one. */
  floorFor(sequenceFlushed: number): number {
    const kept = this.older.find((segment) => segment.lastSequence > sequenceFlushed)
    return kept?.fileNumber ?? this.current.header.fileNumber
  }

  /** Takes out the segments below `floor`, and closes their files. */
  takeBelow(floor: number): readonly LogSegment[] {
    const end = this.older.findIndex(({ fileNumber }) => fileNumber >= floor)
    const taken = this.older.splice(0, end < 0 ? this.older.length : end)
    for (const { writer } of taken) this.close(writer)
    this.retireDurable()
    return taken
  }

  /** Whether all that was written, and all names, are durable. */
  get areDurable(): boolean {
    const { current } = this
    return this.needNoSync && current.position === 0 && current.syncedLength === current.length
  }

  /** Whether all is durable but bytes of the current segment, for which a commit asks. */
  get needNoSync(): boolean {
    return this.nameIsDurable && this.current.predecessorsSynced
  }

  /** Begins another segment. Its name, and the data of the one before, become durable by a sync. */
  begin(): void {
    const old = this.current
    const oldSynced = old.predecessorsSynced && old.syncedLength === old.length
    this.syncNameSync()
    const predecessor = describe(old)
    this.current = createSegment(this.options, predecessor, oldSynced)
    this.nameIsDurable = false
    old.stopGrowing()
    this.older.push(olderSegment(predecessor, old))
    this.retireDurable()
  }

  /** Makes every segment durable, the oldest first, blocking. */
  syncSync(): void {
    for (const { writer } of this.older) writer?.syncSync()
    this.retireDurable()
    this.syncNameSync()
    this.current.syncSync()
  }

  /** Starts to sync the older segments and the name, and the current segment if `withCurrent`. */
  sync(withCurrent: boolean): Promise<void>[] {
    const older = this.older.flatMap(({ writer }) => writer ?? [])
    const writers = [...older, ...(withCurrent ? [this.current] : [])]
    const syncs = writers.map((writer) => writer.sync())
    if (!this.nameIsDurable) syncs.push(this.syncName())
    return syncs
  }

  /** Closes the files of older segments that a sync has made durable, the oldest first. */
  retireDurable(): void {
    this.current.predecessorsSynced = this.older.every(({ writer }, position) => {
      if (writer === undefined) return true
      if (writer.syncedLength !== writer.length) return false
      this.close(writer)
      this.older[position] = olderSegment(this.older[position], undefined)
      return true
    })
  }

  /** Closes every file. REQUIRES that all that must be durable is durable. */
  closeAll(): void {
    for (const { writer } of this.older) this.close(writer)
    this.close(this.current)
  }

  /** A failure of a close is reported and harms nothing: the data is durable. */
  private close(writer: RecordWriter | undefined): void {
    try {
      writer?.closeSync()
    } catch (error) {
      this.options.onError?.(error)
    }
  }

  private syncNameSync(): void {
    if (this.nameIsDurable) return
    this.options.fileSystem.syncDirectorySync(this.options.directory)
    this.nameHasBecomeDurable()
  }

  private async syncName(): Promise<void> {
    const { current } = this
    await this.options.fileSystem.syncDirectory(this.options.directory)
    // Another segment may have begun meanwhile.
    if (current === this.current && !this.nameIsDurable) this.nameHasBecomeDurable()
  }

  private nameHasBecomeDurable(): void {
    this.nameIsDurable = true
    this.options.onSegmentBegun?.(this.current.header.fileNumber)
  }
}

function describe({ header, length, lastSequence }: RecordWriter): LogSegment {
  return { fileNumber: header.fileNumber, length, lastSequence }
}

/** Makes the description of a segment. One shape for all keeps the list monomorphic for V8. */
function olderSegment(segment: LogSegment, writer: RecordWriter | undefined): OlderSegment {
  const { fileNumber, length, lastSequence } = segment
  return { fileNumber, length, lastSequence, writer }
}
