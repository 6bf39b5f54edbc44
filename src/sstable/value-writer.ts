/**
 * Writes one value file: values one behind the other, each a stored section, then their lengths and
 * a footer. See FORMAT.md, "Value file".
 *
 * No byte is written twice. Memory: a chunk of 256 KiB, or one value if that is larger, and four
 * bytes per value. An error of the file is thrown as it is; writer and file must then be thrown
 * away.
 */
import { assert } from '../base/assert.js'
import { CodecId, type Codec } from '../codec/codec.js'
import type { File } from '../fs/types.js'
import { entryBytesMax, trailerBytes } from './format.js'
import { growNumbers } from './grow.js'
import { writeTrailer } from './section.js'
import { encodeValueFooter } from './value-format.js'

const chunkBytes = 256 * 1024

/** Writes one value file; `add` as often as needed, then `finish` once. */
export class ValueFileWriter {
  readonly fileNumber: number
  /** Where the last value was put, and how many bytes it takes there. */
  lastOffset = 0
  lastStoredBytes = 0
  private readonly file: File
  private readonly codec: Codec
  private readonly databaseId: Buffer
  private chunk: Buffer = Buffer.allocUnsafeSlow(chunkBytes)
  private chunkUsed = 0
  private fileOffset = 0
  private lengths: Uint32Array<ArrayBuffer> = new Uint32Array(64)
  private valueCount = 0

  /** REQUIRES an empty file open for writing; `fileNumber` is what readers must be given too. */
  constructor(file: File, databaseId: Buffer, fileNumber: number, codec: Codec) {
    this.file = file
    this.databaseId = databaseId
    this.fileNumber = fileNumber
    this.codec = codec
  }

  /** Bytes of the file so far. */
  get bytesWritten(): number {
    return this.fileOffset + this.chunkUsed
  }

  /** Appends the value `source[start, end)`; its place is in `lastOffset` and `lastStoredBytes`. */
  add(source: Buffer, start: number, end: number): void {
    assert(end - start <= entryBytesMax, 'value file: a value that is too long')
    this.lastOffset = this.bytesWritten
    const compressed = this.codec.compress(source, start, end)
    this.lastStoredBytes =
      compressed === undefined
        ? this.writeStored(source, start, end, CodecId.none, end - start)
        : this.writeStored(compressed, 0, compressed.length, this.codec.id, end - start)
    this.lengths = growNumbers(this.lengths, this.valueCount + 1)
    this.lengths[this.valueCount++] = this.lastStoredBytes
  }

  /** Writes what is left, makes the file durable and returns its length. The caller closes it. */
  finish(): number {
    const { valueCount } = this
    const dataBytes = this.bytesWritten
    const index = Buffer.alloc(4 * valueCount)
    for (let i = 0; i < valueCount; i++) index.writeUInt32LE(this.lengths[i], 4 * i)
    const indexBytes = this.writeStored(index, 0, index.length, CodecId.none, index.length)
    const footer = { dataBytes, valueCount, indexBytes }
    const { databaseId, fileNumber } = this
    const encoded = encodeValueFooter(footer, databaseId, fileNumber, this.bytesWritten)
    this.reserve(encoded.length)
    this.chunkUsed += encoded.copy(this.chunk, this.chunkUsed)
    this.flushChunk()
    this.file.syncSync()
    return this.fileOffset
  }

  private writeStored(
    payload: Buffer,
    from: number,
    to: number,
    codecId: number,
    uncompressedLength: number,
  ): number {
    this.reserve(to - from + trailerBytes)
    const start = this.chunkUsed
    const { chunk, fileNumber } = this
    const end = start + payload.copy(chunk, start, from, to)
    const offset = this.fileOffset + start
    this.chunkUsed = writeTrailer(
      chunk,
      start,
      end,
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
    this.flushChunk()
    if (bytes > this.chunk.length) this.chunk = Buffer.allocUnsafeSlow(bytes)
  }

  private flushChunk(): void {
    if (this.chunkUsed === 0) return
    this.file.writeSync(this.chunk, 0, this.chunkUsed, this.fileOffset)
    this.fileOffset += this.chunkUsed
    this.chunkUsed = 0
  }
}
