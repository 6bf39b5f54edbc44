/**
 * An open value file. Values are read by offset and checked against a checksum that is bound to
 * file number and offset (`ERR_CORRUPTION` names file and offset). They are not cached: they are
 * large and are copied into results anyway.
 *
 * A call that must not block on the disk throws `BlockMissing`. The value is then loaded under its
 * offset, and kept until it is released. Ownership: the reader owns its file. Returned contents are
 * immutable, and the caller of `contentSync` may keep them.
 */
import { quietly } from '../../fs/quietly.js'
import { assert } from '../../../base/assert.js'
import { closedError } from '../../../base/errors.js'
import { CodecId, type Codecs } from '../../codec/codec.js'
import { throwBlockMissing, type BlockLoader } from '../../cursor/cursor.js'
import type { File, FileSystem } from '../../fs/types.js'
import { entryBytesMax, trailerBytes } from '../format.js'
import type { ReadCounters } from '../read-counters.js'
import { checkSection, damaged, decompressSection, type SectionFile } from '../blocks/section.js'
import type { ValueAhead } from './value-ahead.js'
import { decodeValueFooter, valueFooterBytes, type ValueFooter } from './value-format.js'

/** Dependencies of a value file reader, and its expectations on the file. */
export interface ValueFileOptions {
  readonly codecs: Codecs
  readonly counters: ReadCounters
  /** The window of bytes read ahead. */
  readonly ahead: ValueAhead
  /** The expected size of the file. */
  readonly expectedBytes: number
  /** The expected identity of the file. */
  readonly databaseId: Buffer
}

/** A value that a call has requested or has pinned. */
interface Load {
  readonly storedBytes: number
  content: Buffer | undefined
  promise: Promise<void> | undefined
  pins: number
}

export class ValueFileReader implements BlockLoader, SectionFile {
  readonly fileKind = 'value file'
  readonly path: string
  readonly writtenAs: number
  readonly fileBytes: number
  private readonly file: File
  private readonly footer: ValueFooter
  private readonly codecs: Codecs
  private readonly counters: ReadCounters
  private readonly ahead: ValueAhead
  private readonly loads = new Map<number, Load>()
  private closed = false

  private constructor(
    file: File,
    writtenAs: number,
    { codecs, counters, ahead, expectedBytes, databaseId }: ValueFileOptions,
  ) {
    this.path = file.path
    this.writtenAs = writtenAs
    this.fileBytes = expectedBytes
    this.file = file
    this.codecs = codecs
    this.counters = counters
    this.ahead = ahead
    const size = file.sizeSync()
    if (size !== expectedBytes || size < valueFooterBytes) {
      throw damaged(this, Math.min(size, expectedBytes), `${expectedBytes} bytes`, `${size}`)
    }
    const footer = this.readSync(size - valueFooterBytes, valueFooterBytes)
    this.footer = decodeValueFooter(footer, databaseId, this, size)
  }

  /** Opens a file. Throws `ERR_CORRUPTION`, `ERR_FORMAT_VERSION` and errors of the system. */
  static openSync(
    fileSystem: FileSystem,
    path: string,
    writtenAs: number,
    options: ValueFileOptions,
  ): ValueFileReader {
    const file = fileSystem.openSync(path, 'read')
    try {
      return new ValueFileReader(file, writtenAs, options)
    } catch (error) {
      quietly(() => file.closeSync())
      throw error
    }
  }

  /**
   * The content of the value with `storedBytes` at `offset`. Unless `mayBlock`, throws
   * `BlockMissing` if it is not loaded.
   */
  contentSync(offset: number, storedBytes: number, mayBlock: boolean): Buffer {
    this.throwIfClosed()
    const { ahead } = this
    const load = this.loads.get(offset)
    if (load?.content !== undefined && load.storedBytes === storedBytes) {
      ahead.handedOut(this, offset, storedBytes)
      return load.content
    }
    this.checkPlace(offset, storedBytes)
    const stored = ahead.find(this, offset, storedBytes)
    if (stored !== undefined || mayBlock) {
      const content = this.decode(stored ?? this.readValueSync(offset, storedBytes), offset)
      ahead.handedOut(this, offset, storedBytes)
      return content
    }
    if (load === undefined) {
      this.loads.set(offset, { storedBytes, content: undefined, promise: undefined, pins: 0 })
    }
    throwBlockMissing(this, offset)
  }

  /** See {@link BlockLoader.loadBlock}; the index is the offset of the `BlockMissing`. */
  async loadBlock(offset: number): Promise<void> {
    this.throwIfClosed()
    const load = this.loads.get(offset)
    assert(load !== undefined, 'value file: a value that nobody has asked for')
    load.pins++
    load.promise ??= this.load(offset, load)
    try {
      await load.promise
    } catch (error) {
      this.releaseBlock(offset)
      throw error
    }
  }

  releaseBlock(offset: number): void {
    const load = this.loads.get(offset)
    assert(load !== undefined && load.pins > 0, 'value file: a value released too often')
    load.pins--
    if (load.pins === 0) this.loads.delete(offset)
  }

  /** Reads the whole file and checks all bytes. Yields after each value. */
  *verify(): Generator<void, void> {
    const { dataBytes, valueCount, indexBytes } = this.footer
    const index = this.decode(this.readSync(dataBytes, indexBytes), dataBytes)
    if (index.length !== 4 * valueCount) {
      throw damaged(this, dataBytes, `lengths of ${valueCount} values`, `${index.length} bytes`)
    }
    let offset = 0
    for (let i = 0; i < valueCount; i++) {
      const storedBytes = index.readUInt32LE(4 * i)
      this.checkPlace(offset, storedBytes)
      this.decode(this.readSync(offset, storedBytes), offset)
      offset += storedBytes
      yield
      this.throwIfClosed()
    }
    if (offset !== dataBytes)
      throw damaged(this, offset, `values of ${dataBytes} bytes`, `${offset} bytes`)
  }

  /** Closes the file. Reads in progress may finish. */
  closeSync(): void {
    if (this.closed) return
    this.closed = true
    this.ahead.forget(this)
    quietly(() => this.file.closeSync())
  }

  private async load(offset: number, load: Load): Promise<void> {
    const { storedBytes } = load
    const stored = Buffer.allocUnsafeSlow(this.bytesToRead(offset, storedBytes))
    const found = await this.file.read(stored, 0, stored.length, offset)
    this.throwIfClosed()
    load.content = this.decode(this.takeRead(offset, stored, found, storedBytes), offset)
  }

  private readValueSync(offset: number, storedBytes: number): Buffer {
    const stored = Buffer.allocUnsafeSlow(this.bytesToRead(offset, storedBytes))
    const found = this.file.readSync(stored, 0, stored.length, offset)
    return this.takeRead(offset, stored, found, storedBytes)
  }

  /** Size of a read: the value and, for consecutive values, the following ones. */
  private bytesToRead(offset: number, storedBytes: number): number {
    const bytes = this.ahead.bytesToRead(this, offset, storedBytes)
    return Math.min(bytes, this.footer.dataBytes - offset)
  }

  /** The value's part of the bytes read; the others are kept for later. */
  private takeRead(offset: number, stored: Buffer, found: number, storedBytes: number): Buffer {
    if (found < storedBytes) throw damaged(this, offset, `${storedBytes} bytes`, `${found}`)
    this.ahead.keep(this, offset, stored.subarray(0, found), storedBytes)
    return stored.subarray(0, storedBytes)
  }

  private readSync(offset: number, length: number): Buffer {
    const stored = Buffer.allocUnsafeSlow(length)
    const found = this.file.readSync(stored, 0, length, offset)
    if (found < length) throw damaged(this, offset, `${length} bytes`, `${found}`)
    return stored
  }

  /** A reference may be wrong in ways that the checksum of its block does not detect. */
  private checkPlace(offset: number, storedBytes: number): void {
    const { dataBytes } = this.footer
    if (storedBytes > entryBytesMax + trailerBytes || offset + storedBytes > dataBytes) {
      throw damaged(
        this,
        offset,
        `a value within ${dataBytes} bytes`,
        `one of ${storedBytes} bytes`,
      )
    }
  }

  private decode(stored: Buffer, offset: number): Buffer {
    const end = stored.length
    const length = checkSection(stored, 0, end, this, offset)
    this.counters.valuesRead++
    this.counters.valueBytesRead += end
    if (stored[end - trailerBytes] === CodecId.none) return stored.subarray(0, end - trailerBytes)
    const content = Buffer.allocUnsafeSlow(length)
    decompressSection(stored, 0, end, content, length, this, offset, this.codecs)
    return content
  }

  private throwIfClosed(): void {
    if (this.closed) throw closedError(`value file ${this.path}`)
  }
}
