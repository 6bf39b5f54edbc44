/**
 * Writes the sorted cells of one family as an HFile (FORMAT.md) for HBase's bulk load.
 *
 * The bytes of added cells are copied. Memory: a block, a mebibyte of written blocks, and the
 * index: a key for each block until a leaf is full, then a key for each leaf.
 *
 * After an error the owner calls {@link HFileWriter.abandon}, which removes the file.
 */
import { assert } from '../../base/assert.js'
import { isFamilyMarker } from '../../storage/cell/cell-key.js'
import { CellType } from '../../storage/cell/cell-type.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import { quietly, removeQuietly } from '../../storage/fs/quietly.js'
import type { File, FileSystem } from '../../storage/fs/types.js'
import { BlockWriter } from './block-writer.js'
import { cellBytesBound, writeCell, WrittenCell } from './cell-writing.js'
import { compressionOf, type CompressionName } from './compression.js'
import { encodeFileInfo, int32, int64 } from './file-info.js'
import { BlockKind, headerBytes, InfoKey, trailerBytes } from './format.js'
import { IndexWriter } from './index-writer.js'
import { encodeTrailer } from './trailer.js'

/** How a file is written. */
export interface HFileFormat {
  readonly family: string
  readonly compression: CompressionName
  /** Bytes at which a data block is ended. */
  readonly blockBytes: number
  /** Bytes at which a block of the index is ended. */
  readonly indexBytes: number
  /** Milliseconds since the Unix epoch. */
  readonly created: number
}

/** Two words of a timestamp. */
interface Time {
  high: number
  low: number
}

function latest(): Time {
  return { high: 0x7fff_ffff, low: 0xffff_ffff }
}

export class HFileWriter {
  /** Number of cells so far. */
  cells = 0
  readonly path: string
  readonly #fileSystem: FileSystem
  readonly #file: File
  readonly #format: HFileFormat
  readonly #family: Buffer
  readonly #blocks: BlockWriter
  readonly #index: IndexWriter
  readonly #written = new WrittenCell()
  #block: Buffer
  #end = headerBytes
  #firstKey: Buffer = Buffer.alloc(0)
  #firstOffset = -1
  #lastOffset = -1
  #keyBytes = 0
  #valueBytes = 0
  #tagBytesMax = 0
  #familyMarkers = 0
  readonly #min = latest()
  readonly #max: Time = { high: 0, low: 0 }
  /** That of a file without puts is the latest. */
  readonly #earliestPut = latest()

  /** Creates the file, which must not exist. `ERR_IO`, `ERR_NO_SPACE`, `ERR_READ_ONLY`. */
  constructor(fileSystem: FileSystem, path: string, format: HFileFormat) {
    this.path = path
    this.#fileSystem = fileSystem
    this.#format = format
    this.#family = Buffer.from(format.family)
    this.#file = fileSystem.openSync(path, 'create')
    this.#blocks = new BlockWriter(this.#file, compressionOf(format.compression))
    this.#index = new IndexWriter(this.#blocks, format.indexBytes)
    this.#block = Buffer.allocUnsafeSlow(2 * format.blockBytes + headerBytes)
  }

  /** Adds a cell. REQUIRES that it is above the one before, and that its value lies in it. */
  add(cell: CellView): void {
    if (this.#end - headerBytes >= this.#format.blockBytes) this.#writeBlock()
    const end = this.#end
    const needed = end + cellBytesBound(cell, this.#family)
    if (needed > this.#block.length) this.#grow(needed)
    const written = this.#written
    writeCell(this.#block, end, cell, this.#family, written)
    if (end === headerBytes) this.#firstKey = this.#key(this.#block)
    this.#end = written.end
    this.cells++
    this.#keyBytes += written.keyEnd - written.keyStart
    this.#valueBytes += written.valueBytes
    if (written.tagBytes > this.#tagBytesMax) this.#tagBytesMax = written.tagBytes
    this.#noteTime(cell)
  }

  /** Completes and syncs the file; returns its bytes. REQUIRES a cell. */
  finish(): number {
    assert(this.cells > 0, 'an HFile has cells')
    const lastKey = this.#key(this.#block)
    this.#writeBlock()
    const index = this.#index.finish()
    const empty = Buffer.alloc(headerBytes)
    this.#blocks.write(BlockKind.rootIndex, empty, headerBytes)
    const info = encodeFileInfo(this.#info(lastKey))
    const block = Buffer.concat([empty, info])
    const { offset: fileInfoOffset } = this.#blocks.write(BlockKind.fileInfo, block, block.length)
    const trailer = encodeTrailer({
      fileInfoOffset,
      loadOnOpenOffset: index.rootOffset,
      dataIndexBytes: index.payloadBytes,
      uncompressedBytes: this.#blocks.uncompressedBytes - index.upperBytes + trailerBytes,
      rootEntries: index.rootEntries,
      metaEntries: 0,
      cells: this.cells,
      indexLevels: index.levels,
      firstDataOffset: this.#firstOffset,
      lastDataOffset: this.#lastOffset,
      compression: this.#format.compression,
    })
    this.#blocks.writeBytes(trailer)
    this.#blocks.flush()
    this.#file.syncSync()
    this.#file.closeSync()
    return this.#blocks.offset
  }

  /** Makes the written part durable, so that the sync at the end has little left to do. */
  async sync(): Promise<void> {
    this.#blocks.flush()
    await this.#file.sync()
  }

  /** Closes and removes the file, as far as possible. */
  abandon(): void {
    quietly(() => this.#file.closeSync())
    removeQuietly(this.#fileSystem, this.path)
  }

  /** A copy of the key of the cell written last. */
  #key(block: Buffer): Buffer {
    return Buffer.from(block.subarray(this.#written.keyStart, this.#written.keyEnd))
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(2 * bytes)
    this.#block.copy(grown, 0, 0, this.#end)
    this.#block = grown
  }

  #writeBlock(): void {
    const place = this.#blocks.write(BlockKind.data, this.#block, this.#end)
    if (this.#firstOffset < 0) this.#firstOffset = place.offset
    this.#lastOffset = place.offset
    this.#index.add(this.#firstKey, place)
    this.#end = headerBytes
  }

  #noteTime({ type, timestampHigh, timestampLow }: CellView): void {
    const max = this.#max
    if (timestampHigh > max.high || (timestampHigh === max.high && timestampLow > max.low)) {
      max.high = timestampHigh
      max.low = timestampLow
    }
    lower(this.#min, timestampHigh, timestampLow)
    if (type === CellType.put) lower(this.#earliestPut, timestampHigh, timestampLow)
    // These markers concern all older cells.
    else if (type === CellType.deleteColumn || type === CellType.deleteFamily)
      lower(this.#min, 0, 0)
    if (isFamilyMarker(type)) this.#familyMarkers++
  }

  #info(lastKey: Buffer): Map<string, Buffer> {
    const { cells } = this
    return new Map([
      [InfoKey.lastKey, lastKey],
      [InfoKey.averageKeyBytes, int32(Math.floor(this.#keyBytes / cells))],
      [InfoKey.averageValueBytes, int32(Math.floor(this.#valueBytes / cells))],
      [InfoKey.created, int64(this.#format.created)],
      [InfoKey.tagBytesMax, int32(this.#tagBytesMax)],
      [InfoKey.tagsCompressed, Buffer.from([0])],
      [InfoKey.bulkLoadTime, int64(this.#format.created)],
      [InfoKey.bulkLoadTask, Buffer.from('cellar')],
      [InfoKey.isMajor, Buffer.from([0])],
      [InfoKey.notInMinor, Buffer.from([0])],
      [InfoKey.timeRange, Buffer.concat([time64(this.#min), time64(this.#max)])],
      [InfoKey.earliestPut, time64(this.#earliestPut)],
      [InfoKey.deleteFamilyCount, int64(this.#familyMarkers)],
    ])
  }
}

function lower(time: Time, high: number, low: number): void {
  if (high > time.high || (high === time.high && low >= time.low)) return
  time.high = high
  time.low = low
}

function time64({ high, low }: Time): Buffer {
  return int64((BigInt(high) << 32n) | BigInt(low))
}
