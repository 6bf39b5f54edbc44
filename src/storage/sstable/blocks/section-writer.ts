/**
 * Appends stored sections to a file that is being written: the data blocks and other parts of an
 * SSTable, or the values of a value file.
 *
 * Bytes are gathered in chunks of 256 KiB and written once; no byte of the file is ever written
 * twice. Memory: one chunk, or one section if that is larger. Payloads are copied as of the call.
 *
 * Failure behaviour: an error of the file (`ERR_IO`, `ERR_NO_SPACE`) is thrown as it is; the writer
 * and its file must then be thrown away.
 */
import { assert } from '../../../base/assert.js'
import { CodecId } from '../../codec/codec.js'
import type { Codec } from '../../codec/codec.js'
import type { File } from '../../fs/types.js'
import { trailerBytes } from '../format.js'
import { writeTrailer } from './section.js'

const chunkBytes = 256 * 1024

/**
 * Most sections in a row that are stored without a try to compress them, after several that did not
 * become shorter. A try takes about as long as all other steps of a small section together.
 */
const untriedMax = 7

/** Writes the sections of one file in order. The caller closes the file. */
export class SectionWriter {
  readonly fileNumber: number
  private readonly file: File
  private chunk: Buffer = Buffer.allocUnsafeSlow(chunkBytes)
  private chunkUsed = 0
  /** Bytes of the file that were handed to the file system. */
  private flushedBytes = 0
  private isFinished = false
  /** Sections that are not tried from now on. */
  private untried = 0
  /** The same after the next one that does not become shorter. */
  private untriedNext = 0

  /** REQUIRES an empty file open for writing; readers must be given the same `fileNumber`. */
  constructor(file: File, fileNumber: number) {
    assert(Number.isSafeInteger(fileNumber) && fileNumber >= 0, 'writer: file number')
    this.file = file
    this.fileNumber = fileNumber
  }

  /** Bytes appended so far; the next section starts at this offset. */
  get bytesWritten(): number {
    return this.flushedBytes + this.chunkUsed
  }

  /**
   * Appends `source[start, end)`, compressed if that is smaller. After sections that were not
   * smaller, 1, 3 and then 7 are stored as they are. Returns the stored length.
   */
  addCompressed(source: Buffer, start: number, end: number, codec: Codec): number {
    if (this.untried > 0) {
      this.untried--
      return this.add(source, start, end)
    }
    const compressed = codec.compress(source, start, end)
    if (compressed === undefined) {
      this.untried = this.untriedNext
      this.untriedNext = Math.min(2 * this.untriedNext + 1, untriedMax)
      return this.add(source, start, end)
    }
    this.untriedNext = 0
    return this.append(compressed, 0, compressed.length, codec.id, end - start)
  }

  /** Appends `source[start, end)` as it is. Returns the stored length. */
  add(source: Buffer, start: number, end: number): number {
    return this.append(source, start, end, CodecId.none, end - start)
  }

  /** Appends the footer, writes the rest and makes the file durable. Returns its length. */
  finish(footer: Buffer): number {
    assert(!this.isFinished, 'writer: finished twice')
    this.isFinished = true
    this.reserve(footer.length)
    this.chunkUsed += footer.copy(this.chunk, this.chunkUsed)
    this.flush()
    this.file.syncSync()
    return this.flushedBytes
  }

  private append(
    payload: Buffer,
    from: number,
    to: number,
    codecId: number,
    uncompressedLength: number,
  ): number {
    assert(!this.isFinished, 'writer: a section after the footer')
    this.reserve(to - from + trailerBytes)
    const start = this.chunkUsed
    const { chunk, fileNumber } = this
    const payloadEnd = start + payload.copy(chunk, start, from, to)
    const offset = this.flushedBytes + start
    this.chunkUsed = writeTrailer(
      chunk,
      start,
      payloadEnd,
      codecId,
      uncompressedLength,
      fileNumber,
      offset,
    )
    return this.chunkUsed - start
  }

  /** Makes room for `bytes` in one piece. */
  private reserve(bytes: number): void {
    if (this.chunkUsed + bytes <= this.chunk.length) return
    this.flush()
    if (bytes > this.chunk.length) this.chunk = Buffer.allocUnsafeSlow(bytes)
  }

  private flush(): void {
    if (this.chunkUsed === 0) return
    this.file.writeSync(this.chunk, 0, this.chunkUsed, this.flushedBytes)
    this.flushedBytes += this.chunkUsed
    this.chunkUsed = 0
  }
}
