/**
 * Writes one record file: a header, then frames (see FORMAT.md).
 *
 * Frames are built in memory, handed to the operating system by {@link RecordWriter.writeSync} in
 * one write, and made durable by {@link RecordWriter.sync}. Each frame carries how many bytes of
 * this file were known to be durable when it was built, so that a reader can tell a torn tail from
 * damage.
 *
 * Invariants: `syncedLength <= length <= length + buffered bytes`; bytes below `length` never
 * change; sequences never fall.
 *
 * Failure: after the first failed write or sync nothing is tried again, since the state of the
 * file is unknown; every later call throws `ERR_POISONED` with the first error as its cause.
 *
 * A failed sync is reported once per descriptor. So that a blocking sync can not miss the error of
 * an asynchronous one that is under way, it then goes through a descriptor of its own, the witness.
 *
 * A file that grows ahead is made longer than its content, by a hole that takes no space: a sync
 * then need not store a new length, which takes a third to a half of its time. What lies behind the
 * content are zeros, which no reader takes for a frame; a close cuts them off, a crash leaves them.
 *
 * Buffers: `buffer` belongs to the writer and may be replaced by any call; read it anew after each.
 */

import { assert } from '../base/assert.js'
import { writeUint64LE } from '../base/bytes.js'
import { CellarError, closedError, ErrorCode } from '../base/errors.js'
import type { File, FileSystem } from '../fs/types.js'
import {
  encodeFileHeader,
  fileHeaderBytes,
  frameFlagPredecessorsSynced,
  frameHeaderBytes,
  frameKindData,
  frameKindMark,
  frameKindNote,
  framePayloadBytesMax,
  notePayloadBytes,
  recordFileBytesMax,
  sealFrame,
  type DurableFile,
  type RecordFileHeader,
} from './format.js'

/** A file that grows ahead is made longer by so much. */
const roomBytes = 16 * 1024
/** And only if no more than this came since the last sync: else there is little to gain. */
const roomUnsyncedBytesMax = 16 * 1024

const bufferBytesFirst = 64 * 1024
/** A buffer larger than this is given back after its frames are written. */
const bufferBytesKept = 2 * 1024 * 1024

/** An open record file that grows at its end. */
export class RecordWriter {
  readonly header: RecordFileHeader
  readonly path: string
  /** Bytes handed to the operating system, header included. */
  length: number
  /** How many of them are known to be durable. */
  syncedLength: number
  /** Sequence of the last frame built, or of the predecessor. */
  lastSequence: number
  /**
   * Whether all older files of the chain are durable in whole; frames say so to the reader. Set by
   * the owner; starts true if there is no predecessor or the header says so.
   */
  predecessorsSynced: boolean
  /**
   * Where frames are built. Between `beginFrame` and `endFrame` the caller writes at `position`.
   */
  buffer: Buffer
  /** Next free byte of `buffer`. */
  position: number
  private frameStart: number
  private readonly file: File
  private readonly witness: File
  private growsAhead: boolean
  /** Length of the file, if that is more than `length`. */
  private roomEnd: number
  private failure: unknown
  private syncRunning: Promise<void> | undefined
  private syncRunningLength: number
  private syncNext: Promise<void> | undefined
  private closed: boolean

  private constructor(file: File, witness: File, header: RecordFileHeader, growsAhead: boolean) {
    this.header = header
    this.path = file.path
    this.length = fileHeaderBytes
    this.syncedLength = 0
    this.lastSequence = header.predecessor?.lastSequence ?? 0
    this.predecessorsSynced = header.predecessor === undefined || header.predecessorsSynced === true
    this.buffer = Buffer.allocUnsafeSlow(bufferBytesFirst)
    this.position = 0
    this.frameStart = -1
    this.file = file
    this.witness = witness
    this.growsAhead = growsAhead
    this.roomEnd = 0
    this.failure = undefined
    this.syncRunning = undefined
    this.syncRunningLength = 0
    this.syncNext = undefined
    this.closed = false
  }

  /**
   * Creates the file, which must not exist, and writes its header. Nothing is synced: neither the
   * file nor its directory. `growsAhead`: see the file header.
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
      return new RecordWriter(file, fileSystem.openSync(path, 'write'), header, growsAhead)
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
   * Begins a frame that is built in place: write into `buffer` at `position`, advance `position`,
   * call {@link reserve} before going beyond `bytesExpected`, then {@link endFrame}.
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
   * Makes room for `bytes` more bytes at `position`, and for the end of the frame. May replace
   * `buffer`.
   */
  reserve(bytes: number): void {
    if (this.position + bytes < this.buffer.length) return
    this.grow(bytes)
  }

  /** Drops the frame being built, if any. */
  cancelFrame(): void {
    if (this.frameStart < 0) return
    this.position = this.frameStart
    this.frameStart = -1
  }

  /** Finishes the frame begun last. `sequence` as in {@link append}. */
  endFrame(sequence: number): void {
    assert(this.frameStart >= 0, 'no frame is being built')
    this.seal(frameKindData, sequence)
  }

  /** Appends a frame without payload, whose only content is the current `syncedLength`. */
  appendMark(): void {
    this.beginFrame(0)
    this.seal(frameKindMark, this.lastSequence)
  }

  /** Appends a note of what is durable of the other record file. */
  appendNote({ fileNumber, length }: DurableFile): void {
    this.beginFrame(notePayloadBytes)
    writeUint64LE(this.buffer, this.position, fileNumber)
    writeUint64LE(this.buffer, this.position + 8, length)
    this.position += notePayloadBytes
    this.seal(frameKindNote, this.lastSequence)
  }

  /** Hands all finished frames to the operating system in one write. */
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

  /** Makes everything written so far durable, blocking. The directory is the owner's business. */
  syncSync(): void {
    this.refuse()
    if (this.syncedLength === this.length) return
    this.makeRoom()
    try {
      if (this.syncRunning === undefined) this.file.syncSync()
      else this.witness.syncSync()
    } catch (error) {
      this.failure = error
      throw error
    }
    this.syncedLength = this.length
  }

  /**
   * Makes everything written before the call durable. Calls made while a sync runs share the next
   * one. Rejects with the error of the sync, or with `ERR_POISONED` if an earlier one failed.
   */
  sync(): Promise<void> {
    if (this.failure !== undefined || this.closed) return this.refuseLater()
    if (this.syncedLength === this.length) return Promise.resolve()
    if (this.syncRunning === undefined) return this.startSync()
    if (this.syncRunningLength === this.length) return this.syncRunning
    this.syncNext ??= this.syncRunning.then(() => this.startSync())
    return this.syncNext
  }

  /** Closes the file without writing or syncing; if a sync runs, as soon as it has ended. */
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
      // A sync that failed meanwhile may have dropped pages that this one then found clean.
      if (this.failure !== undefined) throw this.failure as Error
      if (length > this.syncedLength) this.syncedLength = length
    } catch (error) {
      this.failure ??= error
      throw error
    } finally {
      this.syncRunning = undefined
      if (this.closed) this.closeFiles()
    }
  }

  /** Nothing more will be written: the file ends behind its last frame. The next sync stores it. */
  cutRoom(): void {
    this.stopGrowing()
    if (this.roomEnd > this.length) this.resize(this.length)
  }

  /** Nothing more will be written: the file stays as long as it is until its close. */
  stopGrowing(): void {
    this.growsAhead = false
  }

  /** Makes the file longer, if it is synced often and its content has reached its end. */
  private makeRoom(): void {
    if (!this.growsAhead || this.length < this.roomEnd) return
    if (this.length - this.syncedLength > roomUnsyncedBytesMax) return
    this.resize(this.length + roomBytes)
  }

  /** Nothing depends on the length of the file, so a failure only ends its growing ahead. */
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
