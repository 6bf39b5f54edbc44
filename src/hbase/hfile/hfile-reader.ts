/**
 * Reads the cells of an HFile in order, from the first to the last, and checks the whole file on
 * the way: every block, the index against the blocks, and the trailer against both. So a file is
 * sound if {@link HFileReader.next} has returned false.
 *
 * Memory: a mebibyte of the file, a block, its cells, and 30 bytes for each block.
 *
 * Failure behaviour: `ERR_CORRUPTION` with file and offset; `ERR_FORMAT_VERSION`; `ERR_UNSUPPORTED`
 * for what Cellar does not read: encodings, encryption, other compressions, other tags.
 */
import { corruption, type CellarError } from '../../base/errors.js'
import type { EntryRanges } from '../../storage/cell/cell-view.js'
import { quietly } from '../../storage/fs/quietly.js'
import type { File, FileSystem } from '../../storage/fs/types.js'
import { BlockReader, type Block } from './block-reader.js'
import { CellBlock } from './cell-reading.js'
import { compressionOf } from './compression.js'
import { decodeFileInfo } from './file-info.js'
import { BlockKind, headerBytes, InfoKey, trailerBytes } from './format.js'
import { IndexCheck, type IndexFault } from './index-check.js'
import { decodeTrailer, unsupported, type Trailer } from './trailer.js'

export class HFileReader implements EntryRanges {
  readonly path: string
  /** Greatest sequence of a mutation in the file: later files have greater ones. */
  readonly sequence: number
  /** When it was written for a bulk load, in milliseconds since the Unix epoch; else the latest. */
  readonly loadTime: number
  /** Number of cells, as the trailer says. */
  readonly cells: number
  /** The present cell, in Cellar's form. Good until the next call of {@link next}. */
  buffer: Buffer = Buffer.alloc(0)
  keyStart = 0
  keyEnd = 0
  valueEnd = 0
  /** The last bytes of the file that {@link next} has read so far. */
  readonly bytes: number
  readonly #file: File
  readonly #trailer: Trailer
  readonly #root: Block
  readonly #metaRoot: Buffer
  readonly #blocks: BlockReader
  readonly #cells: CellBlock
  readonly #index = new IndexCheck()
  /** Headers and payloads of blocks that the trailer counts. */
  #countedBytes: number
  #found = 0
  #firstData = -1
  #lastData = -1
  #place = 0

  /**
   * Opens a file with cells of a family. `loadSequence` is that of a file that was bulk loaded,
   * from its name. `ERR_IO`, and the errors of the file header.
   */
  static open(
    fileSystem: FileSystem,
    path: string,
    family: string,
    loadSequence: number | undefined,
  ): HFileReader {
    const file = fileSystem.openSync(path, 'read')
    try {
      return new HFileReader(file, family, loadSequence)
    } catch (error) {
      quietly(() => file.closeSync())
      throw error
    }
  }

  private constructor(file: File, family: string, loadSequence: number | undefined) {
    this.path = file.path
    this.#file = file
    this.bytes = file.sizeSync()
    const trailerOffset = this.bytes - trailerBytes
    if (trailerOffset < 0) throw this.#damaged(0, 'an HFile', `${this.bytes} bytes`)
    const bytes = Buffer.alloc(trailerBytes)
    file.readSync(bytes, 0, trailerBytes, trailerOffset)
    this.#trailer = decodeTrailer(bytes, this.path, trailerOffset)
    const { compression: name, cells, fileInfoOffset, loadOnOpenOffset } = this.#trailer
    this.cells = cells
    const compression = compressionOf(name)
    if (loadOnOpenOffset < 0 || loadOnOpenOffset > trailerOffset) {
      throw this.#damaged(trailerOffset, 'an index before the trailer', `${loadOnOpenOffset}`)
    }
    const opened = new BlockReader(file, compression, loadOnOpenOffset, trailerOffset)
    this.#root = this.#copied(opened, BlockKind.rootIndex)
    const metaRoot = this.#copied(opened, BlockKind.rootIndex)
    this.#metaRoot = metaRoot.payload
    const { offset: infoOffset } = opened
    const info = this.#copied(opened, BlockKind.fileInfo)
    if (infoOffset !== fileInfoOffset) {
      throw this.#damaged(trailerOffset, `a file info at ${infoOffset}`, `${fileInfoOffset}`)
    }
    this.#countedBytes =
      trailerBytes + metaRoot.payload.length + info.payload.length + 2 * headerBytes
    for (let block = opened.next(); block !== undefined; block = opened.next()) {
      if (block.kind !== BlockKind.bloomMeta && block.kind !== BlockKind.deleteBloomMeta) {
        throw this.#damaged(block.offset, 'a Bloom filter', block.kind)
      }
      this.#countedBytes += headerBytes + block.payload.length
    }
    const facts = this.#readInfo(info)
    this.sequence = loadSequence ?? facts.sequence
    this.loadTime = facts.loadTime
    const format = { ...facts, path: this.path, family: Buffer.from(family) }
    this.#cells = new CellBlock({ ...format, sequence: loadSequence })
    this.#blocks = new BlockReader(file, compression, 0, loadOnOpenOffset)
  }

  /** Moves to the next cell; false at the end, when the whole file was found sound. */
  next(): boolean {
    while (this.#place === this.#cells.count) {
      if (!this.#nextBlock()) return false
    }
    const { buffer, places } = this.#cells
    const at = 3 * this.#place++
    this.buffer = buffer
    this.keyStart = places[at]
    this.keyEnd = places[at + 1]
    this.valueEnd = places[at + 2]
    return true
  }

  /** Whether the next call of {@link next} overwrites the memory of the present cell. */
  get isLastOfBlock(): boolean {
    return this.#place === this.#cells.count
  }

  /** Where the value of the present cell starts. */
  get valueStart(): number {
    return this.keyEnd
  }

  get bytesRead(): number {
    return this.#blocks.offset
  }

  /** Closes the file, which was only read, so no error counts. Calling it again does nothing. */
  close(): void {
    quietly(() => this.#file.closeSync())
  }

  #nextBlock(): boolean {
    const block = this.#blocks.next()
    if (block === undefined) {
      this.#checkEnd()
      return false
    }
    const { kind, offset, payload } = block
    if (kind === BlockKind.data) {
      if (this.#firstData < 0) this.#firstData = offset
      this.#lastData = offset
      this.#index.addData(block)
      this.#readCells(block)
    } else if (kind === BlockKind.leafIndex || kind === BlockKind.intermediateIndex) {
      this.#check(offset, this.#index.takeNode(block, kind === BlockKind.leafIndex))
    } else if (kind === BlockKind.meta) {
      this.#index.addMeta(block)
    } else if (kind !== BlockKind.bloomChunk) {
      throw this.#damaged(offset, 'a block of cells, an index or a Bloom filter', kind)
    }
    if (kind !== BlockKind.intermediateIndex) this.#countedBytes += headerBytes + payload.length
    return true
  }

  #readCells({ payload, offset }: Block): void {
    this.#cells.read(payload, offset)
    this.#place = 0
    this.#found += this.#cells.count
  }

  #checkEnd(): void {
    const trailer = this.#trailer
    const root = this.#index.takeRoot(this.#root.payload, trailer.rootEntries, trailer.indexLevels)
    this.#check(this.#root.offset, root)
    const meta = this.#index.takeMetaRoot(this.#metaRoot, trailer.metaEntries)
    this.#check(this.#root.offset + this.#root.bytes, meta)
    const found = {
      cells: this.#found,
      firstDataOffset: this.#firstData,
      lastDataOffset: this.#lastData,
      dataIndexBytes: this.#index.payloadBytes,
      uncompressedBytes: this.#countedBytes,
    }
    for (const [name, value] of Object.entries(found)) {
      const told = trailer[name as keyof typeof found]
      if (told === value) continue
      throw this.#damaged(this.bytes - trailerBytes, `${name} ${value}`, `${told}`)
    }
  }

  #check(offset: number, fault: IndexFault | undefined): void {
    if (fault !== undefined) throw this.#damaged(offset, fault.expected, fault.found)
  }

  /** The next block, which must be of a kind, in memory of its own. */
  #copied(blocks: BlockReader, kind: BlockKind): Block {
    const block = blocks.next()
    if (block?.kind === kind) return { ...block, payload: Buffer.from(block.payload) }
    throw this.#damaged(block?.offset ?? blocks.offset, `a block ${kind}`, block?.kind ?? 'the end')
  }

  #readInfo({ payload, offset }: Block): {
    readonly hasTags: boolean
    readonly hasSequences: boolean
    readonly sequence: number
    readonly loadTime: number
  } {
    const info = decodeFileInfo(payload, (found) => this.#damaged(offset, 'a file info', found))
    for (const key of [InfoKey.encoding, InfoKey.indexEncoding]) {
      const encoding = info.get(key)?.toString('latin1') ?? 'NONE'
      if (encoding === 'NONE') continue
      throw unsupported(this.path, `has the ${key} ${encoding}: compact it with encoding NONE`)
    }
    if (info.get(InfoKey.tagsCompressed)?.at(0)) throw unsupported(this.path, 'has packed tags')
    const version = info.get(InfoKey.cellVersion)
    return {
      hasTags: info.has(InfoKey.tagBytesMax),
      hasSequences: version?.length === 4 && version.readInt32BE() === 1,
      sequence: numberOf(info.get(InfoKey.sequenceMax)) ?? 0,
      loadTime: numberOf(info.get(InfoKey.bulkLoadTime)) ?? Number.MAX_SAFE_INTEGER,
    }
  }

  #damaged(offset: number, expected: string, found: string): CellarError {
    return corruption('damaged HFile', { file: this.path, offset, expected, found })
  }
}

/** The number in eight bytes of a file info; undefined for other bytes. */
function numberOf(bytes: Buffer | undefined): number | undefined {
  return bytes?.length === 8 ? Number(bytes.readBigInt64BE()) : undefined
}
