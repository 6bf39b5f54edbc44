/**
 * Appends stored sections to a file that is being written: the data blocks and other parts of an
 * SSTable, or the values of a value file.
 *
 * Bytes are gathered in chunks of 256 KiB, and every byte of the file is written once. The memory
 * is one chunk, or one section if that is larger. Payloads are copied at the call.
 *
 * Failure behaviour: errors of the file (`ERR_IO`, `ERR_NO_SPACE`) are rethrown; the writer and its
 * file must then be discarded.
 */
import { assert } from '../../../base/assert.js'
import { CodecId, type Codec } from '../../codec/codec.js'
import type { File } from '../../fs/types.js'
import { trailerBytes } from '../format.js'
import { writeTrailer } from './section.js'

const chunkBytes = 256 * 1024

/**
 * Maximum number of consecutive sections stored without an attempt to compress them, after several
 * that did not get shorter. An attempt takes about as long as all other steps of a small section
 * together.
 */
const untriedMax = 7

/** Writes the sections of one file in order. The caller closes the file. */
export class SectionWriter {
  readonly fileNumber: number
  private readonly file: File
  private chunk: Buffer = Buffer.allocUnsafeSlow(chunkBytes)
  private chunkUsed = 0
  /** Number of bytes passed to the file system. */
  private flushedBytes = 0
  private isFinished = false
  /** Number of next sections to store without an attempt. */
  private untried = 0
  /** The value of `untried` after the next section that does not get shorter. */
  private untriedNext = 0

  /** REQUIRES an empty file open for writing; readers need the same `fileNumber`. */
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
   * Appends `source[start, end)`, compressed if that saves an eighth: less is not worth the time of
   * each read. After sections that were not worth it, 1, 3 and then 7 are stored raw. Returns the
   * stored length.
   */
  addCompressed(source: Buffer, start: number, end: number, codec: Codec): number {
    if (this.untried > 0) {
      this.untried--
      return this.add(source, start, end)
    }
    const compressed = codec.compress(source, start, end)
    const savingMin = (end - start) >>> 3
    if (compressed === undefined || compressed.length > end - start - savingMin) {
      this.untried = this.untriedNext
      this.untriedNext = Math.min(2 * this.untriedNext + 1, untriedMax)
      return this.add(source, start, end)
    }
    this.untriedNext = 0
    return this.append(compressed, 0, compressed.length, codec.id, end - start)
  }

  /** Appends `source[start, end)` raw. Returns the stored length. */
  add(source: Buffer, start: number, end: number): number {
    return this.append(source, start, end, CodecId.none, end - start)
  }

  /**
   * Appends the footer, writes the buffered bytes and makes the file durable. Returns its length.
   */
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

  /** Reserves `bytes` contiguous bytes. */
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
