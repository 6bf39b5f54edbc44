/**
 * The open readers of all SSTables, by file number.
 *
 * A reader is opened before the manifest names its file, or when the database is opened. The reader
 * is closed just before the version set removes the file: then no version names it, so no scan
 * needs it.
 */
import { patchOfSequence } from '../cell/assigned-sequence.js'
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import { ValueFiles } from './value-files.js'
import { BlockCache } from '../sstable/blocks/block-cache.js'
import { CacheSizer } from '../sstable/blocks/cache-sizer.js'
import type { WrittenBlocks } from '../sstable/blocks/written-blocks.js'
import { ReadCounters } from '../sstable/read-counters.js'
import { ReadGate } from '../sstable/read-gate.js'
import { SsTableReader } from '../sstable/reader.js'
import type { DatabasePlace } from '../version/database-place.js'
import { checksumNumberOf, identityOf, type FileMetadata } from '../version/file-metadata.js'
import { formatFileName } from '../version/file-names.js'

/** The files of a job, and for each the blocks that the job has left in memory. */
interface JobFiles {
  readonly files: readonly FileMetadata[]
  readonly written: readonly (WrittenBlocks | undefined)[]
}

export class SsTableReaders {
  readonly cache: BlockCache
  /** Sizes the cache by the memory; undefined: its size was given. */
  readonly sizer: CacheSizer | undefined = undefined
  readonly counters = new ReadCounters()
  /** Readers of the value files that the open SSTables refer to. */
  readonly values: ValueFiles
  private readonly fileSystem: FileSystem
  private readonly place: DatabasePlace
  private readonly codecs: Codecs
  private readonly gate: ReadGate
  private readonly byNumber = new Map<number, SsTableReader>()

  constructor(
    fileSystem: FileSystem,
    place: DatabasePlace,
    codecs: Codecs,
    blockCacheBytesMax: number | undefined,
    quickReads = false,
  ) {
    this.fileSystem = fileSystem
    this.place = place
    this.codecs = codecs
    this.gate = new ReadGate(quickReads)
    if (blockCacheBytesMax === undefined) this.sizer = new CacheSizer()
    this.cache = this.sizer?.cache ?? new BlockCache(blockCacheBytesMax ?? 0)
    this.values = new ValueFiles(fileSystem, place, codecs, this.counters)
  }

  /** Readers of the same directory that share nothing with these: without files, and no cache. */
  apart(): SsTableReaders {
    return new SsTableReaders(this.fileSystem, this.place, this.codecs, 0)
  }

  /** Opens the reader of a file, or returns the open one. Errors as `SsTableReader.openSync`. */
  open(file: FileMetadata): SsTableReader {
    let reader = this.byNumber.get(file.fileNumber)
    if (reader === undefined) {
      const path = this.pathOf(file.fileNumber)
      this.values.open(file.valueFiles ?? [])
      reader = SsTableReader.openSync(this.fileSystem, path, checksumNumberOf(file), {
        codecs: this.codecs,
        cache: this.cache,
        counters: this.counters,
        gate: this.gate,
        databaseId: identityOf(file, this.place.databaseId),
        expectedBytes: file.fileBytes,
        keyPatch: patchOfSequence(file.sequenceAssigned),
      })
      this.byNumber.set(file.fileNumber, reader)
    }
    return reader
  }

  /** Lends the readers of a job's new files the blocks that the job has left in `segments`. */
  lend({ files, written }: JobFiles, segments: readonly SharedArrayBuffer[]): void {
    for (const [index, { fileNumber }] of files.entries()) {
      const blocks = written[index]
      if (blocks !== undefined) this.byNumber.get(fileNumber)?.lend(blocks, segments)
    }
  }

  /** The open reader of a file; undefined if it is not open. */
  find(fileNumber: number): SsTableReader | undefined {
    return this.byNumber.get(fileNumber)
  }

  /**
   * The readers of a store's files by level. Default: one empty level, for a store without files.
   */
  openLevels(levels: readonly (readonly FileMetadata[])[] = [[]]): SsTableReader[][] {
    return levels.map((level) => level.map((file) => this.open(file)))
  }

  pathOf(fileNumber: number): string {
    return this.fileSystem.join(this.place.directory, formatFileName('table', fileNumber))
  }

  /** Closes the reader of an SSTable or value file, if one is open. */
  close(fileNumber: number): void {
    this.values.close(fileNumber)
    const reader = this.byNumber.get(fileNumber)
    this.byNumber.delete(fileNumber)
    reader?.closeSync()
  }

  /** Removes an unneeded output of a job, or the unfinished output of a dead worker thread. */
  removeRemains(fileNumber: number): void {
    for (const path of [this.pathOf(fileNumber), this.values.pathOf(fileNumber)]) {
      if (this.fileSystem.statSync(path) !== undefined) this.fileSystem.unlinkSync(path)
    }
  }

  /** Closes all readers. */
  closeAll(): void {
    this.sizer?.stop()
    for (const fileNumber of [...this.byNumber.keys()]) this.close(fileNumber)
    this.values.closeAll()
  }

  /** Bytes of indexes and Bloom filters that the readers hold in memory. */
  get pinnedBytes(): number {
    let bytes = 0
    for (const reader of this.byNumber.values()) bytes += reader.pinnedBytes
    return bytes
  }
}
