/**
 * Writes one value file: values one after the other, each a stored section, then their lengths and
 * a footer. See FORMAT.md, "Value file".
 *
 * The memory is that of a {@link SectionWriter} and four bytes per value. Errors of the file are
 * rethrown; the writer and its file must then be discarded.
 */
import { assert } from '../../../base/assert.js'
import type { Codec } from '../../codec/codec.js'
import type { File } from '../../fs/types.js'
import { entryBytesMax } from '../format.js'
import { growNumbers } from '../grow.js'
import { SectionWriter } from '../blocks/section-writer.js'
import { encodeValueFooter } from './value-format.js'

/** Writes one value file: calls of `add`, then one call of `finish`. */
export class ValueFileWriter {
  readonly fileNumber: number
  /** Offset and stored length of the last value. */
  lastOffset = 0
  lastStoredBytes = 0
  private readonly sections: SectionWriter
  private readonly codec: Codec
  private readonly databaseId: Buffer
  private lengths: Uint32Array<ArrayBuffer> = new Uint32Array(64)
  private valueCount = 0

  /** REQUIRES an empty file open for writing; readers need the same `fileNumber`. */
  constructor(file: File, databaseId: Buffer, fileNumber: number, codec: Codec) {
    this.sections = new SectionWriter(file, fileNumber)
    this.databaseId = databaseId
    this.fileNumber = fileNumber
    this.codec = codec
  }

  /** Size of the file so far. */
  get bytesWritten(): number {
    return this.sections.bytesWritten
  }

  /**
   * Appends the value `source[start, end)`; `lastOffset` and `lastStoredBytes` then give its
   * location.
   */
  add(source: Buffer, start: number, end: number): void {
    assert(end - start <= entryBytesMax, 'value file: a value that is too long')
    this.lastOffset = this.bytesWritten
    this.lastStoredBytes = this.sections.addCompressed(source, start, end, this.codec)
    this.lengths = growNumbers(this.lengths, this.valueCount + 1)
    this.lengths[this.valueCount++] = this.lastStoredBytes
  }

  /**
   * Writes the remaining parts, makes the file durable and returns its length. The caller closes
   * the file.
   */
  finish(): number {
    const { valueCount } = this
    const dataBytes = this.bytesWritten
    const index = Buffer.alloc(4 * valueCount)
    for (let i = 0; i < valueCount; i++) index.writeUInt32LE(this.lengths[i], 4 * i)
    const indexBytes = this.sections.add(index, 0, index.length)
    const footer = { dataBytes, valueCount, indexBytes }
    const { databaseId, fileNumber } = this
    return this.sections.finish(
      encodeValueFooter(footer, databaseId, fileNumber, this.bytesWritten),
    )
  }
}
