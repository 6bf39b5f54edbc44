/**
 * Writes one record file: a header, then frames (see FORMAT.md).
 *
 * Frames are built in memory, written together by {@link RecordWriter.writeSync}, and made durable
 * by {@link RecordWriter.sync}. Each frame records how many bytes of this file were known to be
 * durable when the frame was built. So a reader can tell a torn tail from damage.
 *
 * Invariants: `syncedLength <= length <= length + buffered bytes`; bytes below `length` never
 * change; sequences never fall.
 *
 * After a failed write or sync the state of the file is unknown. So nothing is tried again: every
 * later call throws `ERR_POISONED` with the first error as its cause. A failed sync leaves a
 * statement for the next open (`failed-sync.ts`).
 *
 * The system reports a failed sync once per descriptor. A blocking sync could miss the error of an
 * asynchronous sync that is still running. While one runs, the blocking sync therefore uses a
 * second descriptor, the witness.
 *
 * A file that grows ahead is extended beyond its content by a hole, which takes no space. A sync
 * then need not store a new length, which saves a third to a half of its time. The content is
 * followed by zeros, which no reader takes for a frame. A close cuts the zeros off; a crash leaves
 * them.
 *
 * `buffer` belongs to the writer, and any call may replace it. Callers read the field again after
 * each call.
 */

import { assert } from '../../base/assert.js'
import { writeUint64LE } from '../../base/bytes.js'
import { CellarError, closedError, ErrorCode } from '../../base/errors.js'
import { quietly } from '../fs/quietly.js'
import type { File, FileSystem } from '../fs/types.js'
import { temporarySuffix } from '../fs/whole-file.js'
import { writeFailedSync } from './failed-sync.js'
import {
  encodeFileHeader,
  fileHeaderBytes,
  recordFileBytesMax,
  type DurableFile,
  type RecordFileHeader,
} from './file-header.js'
import {
  frameFlagPredecessorsSynced,
  frameHeaderBytes,
  frameKindData,
  frameKindMark,
  frameKindNote,
  framePayloadBytesMax,
  notePayloadBytes,
  sealFrame,
} from './frame.js'

/** Bytes by which a file that grows ahead is extended at a time. */
const roomBytes = 16 * 1024
/**
 * A file is extended only if at most this many bytes are unsynced. With more, little time is saved.
 */
const roomUnsyncedBytesMax = 16 * 1024

const bufferBytesFirst = 64 * 1024
/** A larger buffer is replaced by a small one after its frames are written. */
const bufferBytesKept = 2 * 1024 * 1024

/** An open record file, written at its end. */
export class RecordWriter {
  readonly header: RecordFileHeader
  /** Where the file lies; the owner changes the path if it renames the file. */
  path: string
  /** Bytes written to the operating system, header included. */
  length: number
  /** The part of `length` that is known to be durable. */
  syncedLength = 0
  /** Sequence of the last frame built; before the first, that of the predecessor. */
  lastSequence: number
  /**
   * Whether all older files of the chain are durable in whole; each frame records this. The owner
   * sets the field. It starts true if there is no predecessor or the header says so.
   */
  predecessorsSynced: boolean
  /**
   * The memory in which frames are built. Between `beginFrame` and `endFrame` the caller writes at
   * `position`.
   */
  buffer: Buffer
  /** Next free byte of `buffer`. */
  position = 0
  private frameStart = -1
  private readonly fileSystem: FileSystem
  private readonly file: File
  private readonly witness: File
  private growsAhead: boolean
  /** Length of the file, if greater than `length`. */
  private roomEnd = 0
  private failure: unknown = undefined
  private syncRunning: Promise<void> | undefined = undefined
  private syncRunningLength = 0
  private syncNext: Promise<void> | undefined = undefined
  private closed = false

  private constructor(
    fileSystem: FileSystem,
    file: File,
    witness: File,
    header: RecordFileHeader,
    growsAhead: boolean,
  ) {
    this.header = header
    this.path = file.path
    this.fileSystem = fileSystem
    this.length = fileHeaderBytes
    this.lastSequence = header.predecessor?.lastSequence ?? 0
    this.predecessorsSynced = header.predecessor === undefined || header.predecessorsSynced === true
    this.buffer = Buffer.allocUnsafeSlow(bufferBytesFirst)
    this.file = file
    this.witness = witness
    this.growsAhead = growsAhead
  }

  /**
   * Creates the file, which must not exist, and writes its header. Syncs neither the file nor its
   * directory. `growsAhead`: see the file header.
   */
  static createSync(
    fileSystem: FileSystem,
    path: string,
    header: RecordFileHeader,
    growsAhead = false,
  ): RecordWriter {
    assert(Number.isSafeInteger(header.fileNumber) && header.fileNumber > 0, 'file number')
    const file = fileSystem.openSync(path, 'create')
    try {
      file.writeSync(encodeFileHeader(header), 0, fileHeaderBytes, 0)
      const witness = fileSystem.openSync(path, 'write')
      return new RecordWriter(fileSystem, file, witness, header, growsAhead)
    } catch (error) {
      file.closeSync()
      throw error
    }
  }

  /** Payload bytes of the frame being built; -1 if there is none. */
  get framePayloadBytes(): number {
    return this.frameStart < 0 ? -1 : this.position - this.frameStart - frameHeaderBytes
  }

  /**
   * Appends one frame to the buffer.
   *
   * @param source - holds the payload in `[start, end)`; copied.
   * @param sequence - the last sequence that the payload contains; not below `lastSequence`.
   * @throws CellarError `ERR_TOO_LARGE` above {@link framePayloadBytesMax}, `ERR_POISONED`,
   * `ERR_CLOSED`.
   */
  append(source: Buffer, start: number, end: number, sequence: number): void {
    this.beginFrame(end - start)
    source.copy(this.buffer, this.position, start, end)
    this.position += end - start
    this.endFrame(sequence)
  }

  /**
   * Begins a frame that the caller builds in place. The caller writes into `buffer` at `position`,
   * advances `position`, and calls {@link reserve} before writing more than `bytesExpected`. {@link
   * endFrame} finishes the frame.
   */
  beginFrame(bytesExpected: number): void {
    this.refuse()
    assert(this.frameStart < 0, 'a frame is being built')
    this.frameStart = this.position
    this.position += frameHeaderBytes
    try {
      this.reserve(bytesExpected)
    } catch (error) {
      this.cancelFrame()
      throw error
    }
  }

  /**
   * Ensures space for `bytes` more bytes at `position` and for the end byte. May replace `buffer`.
   */
  reserve(bytes: number): void {
    if (this.position + bytes < this.buffer.length) return
    this.grow(bytes)
  }

  /** Discards the unfinished frame, if there is one. */
  cancelFrame(): void {
    if (this.frameStart < 0) return
    this.position = this.frameStart
    this.frameStart = -1
  }

  /** Finishes the frame of the last {@link beginFrame}. `sequence` as in {@link append}. */
  endFrame(sequence: number): void {
    assert(this.frameStart >= 0, 'no frame is being built')
    this.seal(frameKindData, sequence)
  }

  /** Appends a frame without payload, which only records the current `syncedLength`. */
  appendMark(): void {
    this.beginFrame(0)
    this.seal(frameKindMark, this.lastSequence)
  }

  /** Appends a note that names the durable part of the other record file. */
  appendNote({ fileNumber, length }: DurableFile): void {
    this.beginFrame(notePayloadBytes)
    writeUint64LE(this.buffer, this.position, fileNumber)
    writeUint64LE(this.buffer, this.position + 8, length)
    this.position += notePayloadBytes
    this.seal(frameKindNote, this.lastSequence)
  }

  /** Writes all finished frames to the operating system in one call. */
  writeSync(): void {
    this.refuse()
    assert(this.frameStart < 0, 'a frame is being built')
    if (this.position === 0) return
    if (this.length + this.position > recordFileBytesMax) {
      throw new CellarError(ErrorCode.tooLarge, `${this.path} would exceed its largest length`)
    }
    try {
      this.file.writeSync(this.buffer, 0, this.position, this.length)
    } catch (error) {
      this.failure = error
      throw error
    }
    this.length += this.position
    this.position = 0
    if (this.buffer.length > bufferBytesKept) this.buffer = Buffer.allocUnsafeSlow(bufferBytesFirst)
  }

  /** Makes all written frames durable, blocking. The owner syncs the directory. */
  syncSync(): void {
    this.refuse()
    if (this.syncedLength === this.length) return
    this.makeRoom()
    try {
      if (this.syncRunning === undefined) this.file.syncSync()
      else this.witness.syncSync()
    } catch (error) {
      this.syncFailed(error)
      throw error
    }
    this.syncedLength = this.length
  }

  /**
   * Makes everything written before the call durable. Calls made while a sync runs share the next
   * sync. Rejects with the error of the sync, or with `ERR_POISONED` if an earlier one failed.
   */
  sync(): Promise<void> {
    if (this.failure !== undefined || this.closed) return this.refuseLater()
    if (this.syncedLength === this.length) return Promise.resolve()
    if (this.syncRunning === undefined) return this.startSync()
    if (this.syncRunningLength === this.length) return this.syncRunning
    this.syncNext ??= this.syncRunning.then(() => this.startSync())
    return this.syncNext
  }

  /** Closes the file without writing or syncing; a running sync ends first. */
  closeSync(): void {
    if (this.closed) return
    this.closed = true
    if (this.syncRunning === undefined) this.closeFiles()
  }

  private startSync(): Promise<void> {
    this.syncNext = undefined
    const overtaken = this.syncRunning !== undefined || this.syncedLength === this.length
    if (overtaken || this.failure !== undefined || this.closed) return this.sync()
    this.makeRoom()
    this.syncRunningLength = this.length
    this.syncRunning = this.runSync(this.length)
    return this.syncRunning
  }

  private async runSync(length: number): Promise<void> {
    try {
      await this.file.sync()
      // A sync that failed meanwhile may have dropped pages that this sync then found clean.
      if (this.failure !== undefined) throw this.failure as Error
      if (length > this.syncedLength) this.syncedLength = length
    } catch (error) {
      this.syncFailed(error)
      throw error
    } finally {
      this.syncRunning = undefined
      if (this.closed) this.closeFiles()
    }
  }

  private syncFailed(error: unknown): void {
    if (this.failure !== undefined) return
    this.failure = error
    // Nobody reads a file that was never renamed.
    if (this.path.endsWith(temporarySuffix)) return
    // The process may have no other descriptor left for the statement.
    quietly(() => this.witness.closeSync())
    // Without the statement the next open refuses missing bytes, until the machine has stopped.
    quietly(() => {
      writeFailedSync(this.fileSystem, this.path, this.header.databaseId, this.syncedLength)
    })
  }

  /**
   * Shortens the file to its last frame; the next sync stores the length. REQUIRES no later writes.
   */
  cutRoom(): void {
    this.stopGrowing()
    if (this.roomEnd > this.length) this.resize(this.length)
  }

  /** Keeps the length of the file as it is until the close. REQUIRES no later writes. */
  stopGrowing(): void {
    this.growsAhead = false
  }

  /** Extends the file, if its content has reached its end and little is unsynced. */
  private makeRoom(): void {
    if (!this.growsAhead || this.length < this.roomEnd) return
    if (this.length - this.syncedLength > roomUnsyncedBytesMax) return
    this.resize(this.length + roomBytes)
  }

  /**
   * Changes the length of the file. Nothing depends on it, so a failure only ends the growing
   * ahead.
   */
  private resize(length: number): void {
    try {
      this.file.truncateSync(length)
      this.roomEnd = length
    } catch {
      this.growsAhead = false
    }
  }

  private closeFiles(): void {
    if (this.roomEnd > this.length && this.failure === undefined) this.resize(this.length)
    try {
      this.witness.closeSync()
    } finally {
      this.file.closeSync()
    }
  }

  private seal(kind: number, sequence: number): void {
    assert(sequence >= this.lastSequence, 'sequences of frames must not fall')
    const start = this.frameStart
    const payloadLength = this.position - start - frameHeaderBytes
    if (payloadLength > framePayloadBytesMax) {
      this.cancelFrame()
      throw new CellarError(ErrorCode.tooLarge, `a frame of ${payloadLength} bytes is too large`)
    }
    sealFrame(
      this.buffer,
      start,
      payloadLength,
      this.predecessorsSynced ? kind | frameFlagPredecessorsSynced : kind,
      sequence,
      this.syncedLength,
      this.header.fileNumber,
      this.length + start,
    )
    this.position++
    this.frameStart = -1
    this.lastSequence = sequence
  }

  private grow(bytes: number): void {
    const start = this.frameStart < 0 ? this.position : this.frameStart
    if (this.position - start + bytes > framePayloadBytesMax + frameHeaderBytes) {
      throw new CellarError(
        ErrorCode.tooLarge,
        `a frame of ${this.position - start + bytes} bytes is too large`,
      )
    }
    const wanted = this.position + bytes + 1
    const grown = Buffer.allocUnsafeSlow(Math.max(wanted, this.buffer.length * 2))
    this.buffer.copy(grown, 0, 0, this.position)
    this.buffer = grown
  }

  private async refuseLater(): Promise<void> {
    this.refuse()
  }

  private refuse(): void {
    if (this.failure !== undefined) {
      throw new CellarError(ErrorCode.poisoned, `an earlier write or sync of ${this.path} failed`, {
        cause: this.failure,
      })
    }
    if (this.closed) throw closedError(this.path)
  }
}
