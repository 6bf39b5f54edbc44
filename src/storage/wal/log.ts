/**
 * The write-ahead log of a database: a chain of segment files with group commit.
 *
 * Mutations are opaque bytes. {@link Log.append} copies them into the pending frame. A commit
 * writes the pending frame to the operating system and, for `FSYNC_WAL`, makes it durable. All
 * commits of one turn share one write. All commits that arrive while a sync runs share the next
 * sync.
 *
 * Invariants:
 * - Mutations stand in the file in the order of `append`. A mutation never spans frames.
 * - `FSYNC_WAL` is acknowledged only when the current segment and every older one are durable. So a
 *   power cut leaves a prefix of the history that holds all acknowledged mutations.
 *
 * The first failed write, sync or creation of a segment poisons the log for good. Calls that wait
 * for the failed operation are rejected with its error, later calls with `ERR_POISONED`. Nothing is
 * retried: after a failed sync the content of the file is unknown.
 */
import { assert } from '../../base/assert.js'
import { copyBytes } from '../../base/bytes.js'
import { deferred, type Deferred } from '../../base/deferred.js'
import { CellarError, closedError, ErrorCode } from '../../base/errors.js'
import type { RecordWriter } from '../record/record-writer.js'
import { fileHeaderBytes, type DurableFile } from '../record/file-header.js'
import { framePayloadBytesMax } from '../record/frame.js'
import type { Durability, LogOptions } from './log-options.js'
import type { LogSegment } from './log-segment.js'
import { OpenSegments } from './open-segments.js'
import { RetainedSegments, type LogHold } from './retained-segments.js'
import { scheduleOnce } from './schedule-once.js'

/** Payload bytes from which a frame is finished and another begun. */
const frameBytesMax = 1024 * 1024
/** A shorter segment is continued rather than rolled. */
const rollBytesMin = 1024 * 1024

const segmentBytesMaxDefault = 64 * 1024 * 1024

/** What commits without a wait return. */
export const committed = Promise.resolve()

/** The open log of a database. */
export class Log {
  private readonly options: LogOptions
  private readonly segmentBytesMax: number
  private readonly open: OpenSegments
  private readonly retained: RetainedSegments
  private nextWriteGroup: Deferred<void> | undefined = undefined
  private pendingSequence: number
  private firstFailure: CellarError | undefined = undefined
  private closing: Promise<void> | undefined = undefined
  /** The commits that wait for the write of the next microtask. */
  private writeGroup: Deferred<void> | undefined = undefined
  /** The commits that wait for the next sync. */
  private syncGroup: Deferred<void> | undefined = undefined
  private syncLoopRunning = false
  /** The end of the last sync loop; never rejects. */
  private syncLoop: Promise<void> | undefined = undefined
  private readonly scheduleMicrotask: () => void
  private readonly scheduleImmediate: () => void

  private constructor(options: LogOptions) {
    this.options = options
    this.segmentBytesMax = options.segmentBytesMax ?? segmentBytesMaxDefault
    this.open = new OpenSegments(options)
    this.retained = new RetainedSegments(options)
    this.pendingSequence = this.writer.lastSequence
    const flush = (): void => this.flushGroups()
    this.scheduleMicrotask = scheduleOnce(queueMicrotask, flush)
    this.scheduleImmediate = scheduleOnce(setImmediate, flush)
  }

  /**
   * Creates the first new segment and makes its name durable. REQUIRES that recovery has run: a
   * segment is never continued after its close.
   */
  static createSync(options: LogOptions): Log {
    return new Log(options)
  }

  /** The current segment. */
  private get writer(): RecordWriter {
    return this.open.current
  }

  /** All segments, the oldest first, the current one last. */
  get segments(): readonly LogSegment[] {
    return this.open.list
  }

  /**
   * All segments that a reader may read, obsolete ones included, the oldest first. Their lengths
   * end with the bytes written to the system or, for `FSYNC_WAL`, with the durable bytes. The last
   * one may grow.
   */
  readable(durability: 'SYNC_WAL' | 'FSYNC_WAL'): readonly LogSegment[] {
    return [...this.retained.segments, ...this.open.readable(durability === 'FSYNC_WAL')]
  }

  /** Resolves after the next write, when the log fails or is closed, or by {@link wakeReaders}. */
  nextWrite(): Promise<void> {
    this.nextWriteGroup ??= deferred<void>()
    return this.nextWriteGroup.promise
  }

  /** Keeps the segments from `fileNumber` on from being removed until {@link release}. */
  hold(fileNumber: number): LogHold {
    return this.retained.hold(fileNumber)
  }

  /** Ends a hold. Segments that nothing else keeps are removed. */
  release(hold: LogHold): void {
    this.retained.release(hold)
    this.trimRetained()
  }

  /** Bytes of all segments that are needed, and of the pending frames. */
  get bytesTotal(): number {
    return this.open.bytesTotal
  }

  /** The first failure. Once it is set, the log refuses appends and commits. */
  get failure(): CellarError | undefined {
    return this.firstFailure
  }

  /**
   * Copies one or several mutations into the pending frame. Nothing is promised until a commit.
   *
   * @param source - holds the mutations in `[start, end)`, each after its length as a varint;
   * copied.
   * @param sequence - the last sequence of the last mutation; must not fall.
   * @throws CellarError `ERR_TOO_LARGE` (nothing is appended), `ERR_POISONED`, `ERR_CLOSED`. Above
   * 1 MiB the pending frame is written first, and an error of that write is thrown.
   */
  append(source: Buffer, start: number, end: number, sequence: number): void {
    if (this.firstFailure !== undefined || this.closing !== undefined) this.refuse()
    const length = end - start
    if (length >= framePayloadBytesMax) {
      throw new CellarError(ErrorCode.tooLarge, `mutations of ${length} bytes are too large`)
    }
    assert(sequence >= this.pendingSequence, 'sequences of mutations must not fall')
    const framePayload = this.writer.framePayloadBytes
    if (framePayload > 0 && framePayload + length > frameBytesMax) this.writePending()
    const writer = this.writer
    if (writer.framePayloadBytes < 0) writer.beginFrame(length)
    else writer.reserve(length)
    copyBytes(source, start, end, writer.buffer, writer.position)
    writer.position += length
    this.pendingSequence = sequence
  }

  /**
   * Commits all earlier appends synchronously. `ASYNC_WAL` only schedules the write for the end of
   * the turn. `SYNC_WAL` and `FSYNC_WAL` are done on return.
   *
   * @throws CellarError the error of the write or sync, later `ERR_POISONED`; `ERR_CLOSED`.
   */
  commitSync(durability: Durability): void {
    if (this.firstFailure !== undefined || this.closing !== undefined) this.refuse()
    if (durability === 'SKIP_WAL') return
    if (durability === 'ASYNC_WAL') {
      this.scheduleImmediate()
      return
    }
    this.writePending()
    if (durability === 'FSYNC_WAL') this.syncAll()
  }

  /**
   * Commits all earlier appends. The promise resolves when they have the durability; at once for
   * `SKIP_WAL` and `ASYNC_WAL`. Commits of one group get the same promise. Errors as {@link
   * commitSync}: those of the group's write and sync reject the promise, the others are thrown.
   */
  commit(durability: Durability): Promise<void> {
    if (this.firstFailure !== undefined || this.closing !== undefined) this.refuse()
    switch (durability) {
      case 'SKIP_WAL':
        return committed
      case 'ASYNC_WAL':
        this.scheduleImmediate()
        return committed
      case 'SYNC_WAL':
        if (this.writer.position === 0) return committed
        this.writeGroup ??= deferred<void>()
        this.scheduleMicrotask()
        return this.writeGroup.promise
      case 'FSYNC_WAL':
        if (this.open.areDurable) return committed
        this.syncGroup ??= deferred<void>()
        this.scheduleMicrotask()
        return this.syncGroup.promise
    }
  }

  /**
   * Writes the pending frames and begins a new segment. The old segment and the name of the new one
   * become durable in the background. Until then no `FSYNC_WAL` is acknowledged. Does nothing if
   * the current segment has no frames.
   */
  roll(): void {
    if (this.firstFailure !== undefined || this.closing !== undefined) this.refuse()
    this.writePending(false)
    this.startSegment()
  }

  /**
   * Notes the durable part of the manifest, so that recovery can detect a manifest that lost its
   * end. The note is not synced; it helps only if it survives. Does nothing once the log has failed
   * or is closing.
   */
  noteManifest(manifest: DurableFile): void {
    if (this.firstFailure !== undefined || this.closing !== undefined) return
    this.writePending(false)
    this.attempt(() => {
      this.writer.appendNote(manifest)
      this.writer.writeSync()
    })
  }

  /** As {@link roll}, if the current segment is long enough to be worth a file of its own. */
  rollIfLong(): void {
    const { length, position } = this.writer
    if (length + position > Math.min(rollBytesMin, this.segmentBytesMax / 2)) this.roll()
  }

  /**
   * Number of the oldest segment that {@link removeObsolete} with the same sequence keeps. The
   * caller records this number durably, as the floor for recovery, before it removes segments.
   */
  floorFor(sequenceFlushed: number): number {
    return this.open.floorFor(sequenceFlushed)
  }

  /**
   * Gives up all segments up to the first one whose last sequence is above `sequenceFlushed`, but
   * never the current one. REQUIRES that their mutations are durable in SSTables. `floorDurable` is
   * the floor on disk: segments from there on stay, because recovery would miss them. A file that
   * cannot be removed is reported to `onError`; recovery removes it.
   */
  removeObsolete(sequenceFlushed: number, floorDurable = Infinity): void {
    const floor = Math.min(this.floorFor(sequenceFlushed), floorDurable)
    for (const segment of this.open.takeBelow(floor)) this.retained.add(segment)
    this.trimRetained()
  }

  /** Removes the oldest obsolete segments that no hold keeps and that exceed `retainedBytesMax`. */
  trimRetained(): void {
    if (this.closing === undefined) this.retained.trim()
  }

  /** Ends the waits for {@link nextWrite}. */
  wakeReaders(): void {
    const group = this.nextWriteGroup
    this.nextWriteGroup = undefined
    group?.resolve()
  }

  /**
   * Writes and syncs everything, marks the clean end in the file, and closes the log. Rejects if
   * that fails. Resolves if the log had failed before. Calling it again returns the same promise.
   */
  close(): Promise<void> {
    this.closing ??= this.closeOnce()
    return this.closing
  }

  private async closeOnce(): Promise<void> {
    try {
      if (this.firstFailure === undefined) await this.endCleanly()
    } finally {
      // Afterwards the directory may belong to another opener, so no sync may run on.
      await this.syncLoop
      this.wakeReaders()
      this.open.closeAll()
    }
  }

  private async endCleanly(): Promise<void> {
    // The groups of this turn are written first, so that their promises settle as usual.
    this.syncGroup ??= deferred<void>()
    const synced = this.syncGroup.promise
    this.flushGroups()
    await synced
    this.attempt(() => {
      this.writer.appendMark()
      this.writer.writeSync()
      this.writer.cutRoom()
      this.writer.syncSync()
    })
  }

  private flushGroups(): void {
    if (this.firstFailure !== undefined) return
    try {
      this.writePending()
    } catch {
      return // The groups have been rejected.
    }
    const group = this.writeGroup
    this.writeGroup = undefined
    group?.resolve()
    if (this.syncGroup !== undefined) this.startSyncLoop()
  }

  private writePending(mayRoll = true): void {
    const writer = this.writer
    if (writer.framePayloadBytes < 0 && writer.position === 0) return
    this.attempt(() => {
      if (writer.framePayloadBytes >= 0) writer.endFrame(this.pendingSequence)
      writer.writeSync()
    })
    if (this.nextWriteGroup !== undefined) this.wakeReaders()
    if (mayRoll && writer.length >= this.segmentBytesMax) this.startSegment()
  }

  private startSegment(): void {
    if (this.writer.length === fileHeaderBytes) return
    this.attempt(() => this.open.begin())
    this.startSyncLoop()
  }

  private syncAll(): void {
    const startedAt = this.options.onSyncing?.() ?? 0
    this.attempt(() => this.open.syncSync())
    this.options.onSynced?.(startedAt)
  }

  private startSyncLoop(): void {
    if (!this.syncLoopRunning) this.syncLoop = this.runSyncLoop()
  }

  /**
   * Syncs while a group waits, an older segment is not durable, or the name of the current segment
   * is not durable. Never rejects.
   */
  private async runSyncLoop(): Promise<void> {
    this.syncLoopRunning = true
    while (this.firstFailure === undefined) {
      const group = this.syncGroup
      if (group === undefined && this.open.needNoSync) break
      this.syncGroup = undefined
      try {
        if (group !== undefined) this.writePending()
        await this.syncOnce(group !== undefined)
        if (this.firstFailure === undefined) group?.resolve()
        else group?.reject(this.firstFailure)
      } catch (error) {
        const failure = this.poison(error)
        group?.reject(failure)
      }
    }
    // In the same turn as the last look at `syncGroup`: else a new group could wait for ever.
    this.syncLoopRunning = false
  }

  private async syncOnce(withCurrent: boolean): Promise<void> {
    const startedAt = this.options.onSyncing?.() ?? 0
    const syncs = this.open.sync(withCurrent)
    // A failure is not kept back until the other syncs end: writes are refused from then on.
    const fail = (error: unknown): void => void this.poison(error)
    await Promise.all(syncs.map((sync) => sync.catch(fail)))
    if (this.firstFailure !== undefined) return
    this.options.onSynced?.(startedAt)
    this.open.retireDurable()
  }

  /** Runs a file operation. Its failure poisons the log. */
  private attempt<T>(operation: () => T): T {
    try {
      return operation()
    } catch (error) {
      throw this.poison(error)
    }
  }

  /** Records the first failure, rejects all waiting commits, and returns the failure. */
  private poison(error: unknown): CellarError {
    if (this.firstFailure !== undefined) return this.firstFailure
    const failure =
      error instanceof CellarError
        ? error
        : new CellarError(ErrorCode.io, 'the log failed', { cause: error })
    this.firstFailure = failure
    this.wakeReaders()
    this.writeGroup?.reject(failure)
    this.syncGroup?.reject(failure)
    this.writeGroup = undefined
    this.syncGroup = undefined
    this.options.onFailure?.(failure)
    return failure
  }

  private refuse(): never {
    if (this.firstFailure !== undefined) {
      throw new CellarError(ErrorCode.poisoned, 'the log failed earlier; reopen the database', {
        cause: this.firstFailure,
      })
    }
    throw closedError('the log')
  }
}
