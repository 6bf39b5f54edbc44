/**
 * The output side of a job: takes cells and makes one finished SSTable, with filter keys and
 * statistics.
 *
 * On any error the job calls `abandon`, which removes the unfinished file. The next open also
 * removes files that the manifest does not name.
 */
import { quietly } from '../fs/quietly.js'
import { escapedPrefixEnd, filterKindOf, type BloomFilter } from '../cell/row-filter.js'
import { assert } from '../../base/assert.js'
import { isFamilyMarker, terminatorBytes } from '../cell/cell-key.js'
import { readReference } from '../cell/cell-value.js'
import type { CellView } from '../cell/cell-view.js'
import type { CodecName, Codecs } from '../codec/codec.js'
import type { File, FileSystem } from '../fs/types.js'
import { isPlainPut } from '../cell/plain-put.js'
import type { RowEntries } from '../sstable/rows/row-entries.js'
import { SsTableReader } from '../sstable/reader.js'
import type { SsTableProperties } from '../sstable/properties.js'
import { SsTableWriter } from '../sstable/writer.js'
import {
  WrittenBlocksBuilder,
  type WrittenBlocks,
  LentSegments,
} from '../sstable/blocks/written-blocks.js'
import type { DatabasePlace } from '../version/database-place.js'
import type { FileMetadata, ValueFileUse } from '../version/file-metadata.js'
import { formatFileName } from '../version/file-names.js'
import { CellStatisticsCollector } from './cell-statistics.js'
import type { ValueOutput } from './value-output.js'

/** How the SSTables of a family are written. */
export interface SsTableFormat {
  readonly blockBytes: number
  readonly codec: CodecName
  readonly bloomFilter: BloomFilter
  /** Bytes of the row prefix for ROWPREFIX_FIXED_LENGTH, at most 32,767; else 0. */
  readonly rowPrefixBytes: number
  /**
   * Longest value in bytes that a put keeps in the SSTable; longer ones go into value files.
   * Infinity = all stay.
   */
  readonly inlineBytesMax: number
}

/** Bits per filter key: about 1 % false positives. */
const filterBitsPerKey = 10

export class SsTableOutput {
  private readonly fileSystem: FileSystem
  private readonly codecs: Codecs
  private readonly path: string
  private readonly fileNumber: number
  private readonly databaseId: Buffer
  private readonly format: SsTableFormat
  private readonly file: File
  private readonly writer: SsTableWriter
  private readonly statistics = new CellStatisticsCollector()
  private rowHasFamilyKey = false
  private readonly values: ValueOutput | undefined
  private readonly kept: WrittenBlocksBuilder
  /** Stored bytes to which cells refer, by value file. */
  private readonly valueBytes = new Map<number, number>()

  constructor(
    fileSystem: FileSystem,
    codecs: Codecs,
    place: DatabasePlace,
    fileNumber: number,
    format: SsTableFormat,
    values?: ValueOutput,
    segments = new LentSegments([]),
  ) {
    this.values = values
    this.kept = new WrittenBlocksBuilder(segments)
    this.fileSystem = fileSystem
    this.codecs = codecs
    this.path = fileSystem.join(place.directory, formatFileName('table', fileNumber))
    this.fileNumber = fileNumber
    this.format = format
    this.file = fileSystem.openSync(this.path, 'create')
    this.databaseId = place.databaseId
    this.writer = new SsTableWriter(this.file, {
      fileNumber,
      databaseId: place.databaseId,
      blockBytes: format.blockBytes,
      codec: codecs.byName(format.codec),
      filterBitsPerKey: format.bloomFilter === 'NONE' ? 0 : filterBitsPerKey,
      kept: this.kept,
    })
  }

  get entryCount(): number {
    return this.writer.entryCount
  }

  /** Whether all cells so far are puts without TTL, with their values in the cells. */
  get holdsPlainPuts(): boolean {
    return this.statistics.holdsPlainPuts && this.valueBytes.size === 0
  }

  /** Copies of the file's first blocks, as many as the segments can hold. */
  get written(): WrittenBlocks | undefined {
    return this.kept.finish()
  }

  /** Bytes passed to the file so far. */
  get bytesWritten(): number {
    return this.writer.bytesWritten
  }

  /** Makes the written part of the file durable, so that `finish` has little left to sync. */
  sync(): Promise<void> {
    return this.file.sync()
  }

  /** Appends a cell. REQUIRES key order. `words` as in {@link SsTableWriter.add}. */
  add(cell: CellView, words?: DataView): void {
    const { writer } = this
    const stored = this.values === undefined ? cell : this.values.place(cell)
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = stored
    const ofStored = stored === cell ? words : undefined
    const groupEnd = keyStart + cell.rowEnd - cell.keyStart + terminatorBytes
    writer.add(buffer, keyStart, keyEnd, valueStart, valueEnd, ofStored, groupEnd)
    if (stored.isReference) this.countReference(stored)
    const { sharedBytes } = writer
    const hasColumn = keyStart + sharedBytes >= stored.qualifierEnd + terminatorBytes
    if (hasColumn || !isPlainPut(buffer, keyEnd, valueStart)) writer.breakGroup()
    if (this.format.bloomFilter !== 'NONE') this.addFilterKeys(cell, sharedBytes)
    this.statistics.add(cell)
  }

  /**
   * Appends a plain row, whose first cell is `first`. False, and nothing changes, if its cells are
   * to be added one by one: for a filter of columns, for values that may go into files of their
   * own, or because the row does not fit into a block. REQUIRES key order.
   */
  addRow(first: CellView, row: RowEntries, words?: DataView): boolean {
    const { writer, format } = this
    if (this.values !== undefined || format.bloomFilter === 'ROWCOL') return false
    if (!writer.addRow(row, first.keyStart, first.keyEnd, words)) return false
    if (format.bloomFilter !== 'NONE') this.addFilterKeys(first, writer.sharedBytes)
    this.statistics.addRow(row)
    return true
  }

  /**
   * Completes, syncs and closes the file, and opens it again to check that it can be read. REQUIRES
   * at least one cell.
   */
  finish(level: number, createdMilliseconds: number): FileMetadata {
    const filterKind = filterKindOf(this.format.bloomFilter, this.format.rowPrefixBytes)
    const properties = this.writer.finish({ ...this.statistics.finish(), filterKind })
    this.file.closeSync()
    const reader = SsTableReader.openSync(this.fileSystem, this.path, this.fileNumber, {
      codecs: this.codecs,
      databaseId: this.databaseId,
      expectedBytes: properties.fileBytes,
    })
    const readable = reader.properties
    reader.closeSync()
    assert(
      readable.entryCount === properties.entryCount,
      'a finished table must count the entries that were added',
    )
    const { fileNumber } = this
    const { fileBytes } = properties
    return {
      ...metadataOf(readable, { fileNumber, fileBytes, level, createdMilliseconds }),
      ...(this.valueBytes.size > 0 && { valueFiles: this.listValueFiles() }),
    }
  }

  private countReference({ buffer, valueStart, valueEnd }: CellView): void {
    const reference = readReference(buffer, valueStart, valueEnd)
    assert(reference !== undefined, 'a reference of the wrong length')
    const { fileNumber, storedBytes } = reference
    this.valueBytes.set(fileNumber, (this.valueBytes.get(fileNumber) ?? 0) + storedBytes)
  }

  /**
   * The value files in use. Their lengths are filled in when the job has finished its own value
   * files.
   */
  private listValueFiles(): ValueFileUse[] {
    return [...this.valueBytes]
      .map(([fileNumber, bytesUsed]) => ({ fileNumber, fileBytes: 0, bytesUsed }))
      .sort((a, b) => a.fileNumber - b.fileNumber)
  }

  /**
   * Closes and removes the file. Errors of the removal are ignored, since the next open removes the
   * file.
   */
  abandon(): void {
    quietly(() => this.file.closeSync())
    quietly(() => this.fileSystem.unlinkSync(this.path))
  }

  /**
   * Adds the filter keys of a cell. ROW: the escaped row. ROWPREFIX_FIXED_LENGTH: the first bytes
   * of the row. ROWCOL: escaped row, terminator and qualifier. With ROWCOL a row with a family
   * marker also adds the row alone, because a read of any column must find the marker.
   *
   * `shared` is the number of bytes that the key shares with the key before. If they include the
   * terminator, the row (or the column) is the same.
   */
  private addFilterKeys(cell: CellView, shared: number): void {
    const { buffer, keyStart, rowEnd, qualifierEnd } = cell
    const sharedEnd = keyStart + shared
    const sameRow = sharedEnd >= rowEnd + terminatorBytes
    if (!sameRow) this.rowHasFamilyKey = false
    const { bloomFilter, rowPrefixBytes } = this.format
    if (bloomFilter !== 'ROWCOL') {
      if (sameRow) return
      const whole = bloomFilter === 'ROW'
      const end = whole ? rowEnd : escapedPrefixEnd(buffer, keyStart, rowEnd, rowPrefixBytes)
      this.writer.addFilterKey(buffer, keyStart, end)
      return
    }
    if (isFamilyMarker(cell.type) && !this.rowHasFamilyKey) {
      this.writer.addFilterKey(buffer, keyStart, rowEnd)
      this.rowHasFamilyKey = true
    }
    if (sharedEnd >= qualifierEnd + terminatorBytes) return
    this.writer.addFilterKey(buffer, keyStart, qualifierEnd)
  }
}

/** The facts about a file that its properties do not hold. */
type FileFacts = Pick<FileMetadata, 'fileNumber' | 'fileBytes' | 'level' | 'createdMilliseconds'>

/** The manifest's description of a file with such properties. */
export function metadataOf(properties: SsTableProperties, facts: FileFacts): FileMetadata {
  const { entryCount, deleteCount, familyDeleteCount, firstKey, lastKey } = properties
  const { minSequence, maxSequence, minTimestamp, maxTimestamp, earliestPutTimestamp } = properties
  const counts = { entryCount, deleteCount, familyDeleteCount }
  const ranges = { firstKey, lastKey, minSequence, maxSequence, minTimestamp, maxTimestamp }
  return { ...facts, ...counts, ...ranges, earliestPutTimestamp }
}
