/**
 * The open value files of a directory by number. Follows the references in SSTables.
 *
 * A reference to a file that is not open, or to a value of another length, is `ERR_CORRUPTION`. The
 * error names the value file and the offset.
 */
import { corruption } from '../../base/errors.js'
import { readReference, valueHeaderBytes, writeValueHeader } from '../cell/cell-value.js'
import type { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import type { ValueSource } from '../scan/store-read.js'
import type { ReadCounters } from '../sstable/read-counters.js'
import { ValueAhead } from '../sstable/values/value-ahead.js'
import { ValueFileReader } from '../sstable/values/value-reader.js'
import type { DatabasePlace } from '../version/database-place.js'
import type { ValueFileUse } from '../version/file-metadata.js'
import { formatFileName } from '../version/file-names.js'

/** Number and length of a value file. */
type ValueFilePlace = Pick<ValueFileUse, 'fileNumber' | 'fileBytes'>

export class ValueFiles implements ValueSource {
  private readonly fileSystem: FileSystem
  private readonly place: DatabasePlace
  private readonly codecs: Codecs
  private readonly counters: ReadCounters
  private readonly ahead = new ValueAhead()
  private readonly byNumber = new Map<number, ValueFileReader>()

  constructor(
    fileSystem: FileSystem,
    place: DatabasePlace,
    codecs: Codecs,
    counters: ReadCounters,
  ) {
    this.fileSystem = fileSystem
    this.place = place
    this.codecs = codecs
    this.counters = counters
  }

  /** Opens the value files of an SSTable. If one fails, closes those that this call has opened. */
  open(uses: readonly ValueFilePlace[]): void {
    const opened: number[] = []
    try {
      for (const { fileNumber, fileBytes } of uses) {
        if (this.byNumber.has(fileNumber)) continue
        this.openOne({ fileNumber, fileBytes })
        opened.push(fileNumber)
      }
    } catch (error) {
      for (const fileNumber of opened) this.close(fileNumber)
      throw error
    }
  }

  /** Opens a value file. REQUIRES that it is not open. */
  openOne({ fileNumber, fileBytes }: ValueFilePlace): ValueFileReader {
    const { codecs, counters, ahead } = this
    const { databaseId } = this.place
    const options = { codecs, counters, ahead, databaseId, expectedBytes: fileBytes }
    const path = this.pathOf(fileNumber)
    const reader = ValueFileReader.openSync(this.fileSystem, path, fileNumber, options)
    this.byNumber.set(fileNumber, reader)
    return reader
  }

  /** The open reader of a value file; undefined if the file is not open. */
  find(fileNumber: number): ValueFileReader | undefined {
    return this.byNumber.get(fileNumber)
  }

  pathOf(fileNumber: number): string {
    return this.fileSystem.join(this.place.directory, formatFileName('values', fileNumber))
  }

  resolve(cell: CellView, mayBlock: boolean): void {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cell
    const reference = readReference(buffer, valueStart, valueEnd)
    if (reference === undefined) {
      const found = `${valueEnd - valueStart} bytes`
      throw corruption('damaged reference', { file: this.place.directory, offset: 0, found })
    }
    const { fileNumber, offset, storedBytes, contentBytes } = reference
    const reader = this.byNumber.get(fileNumber)
    if (reader === undefined) throw this.missing(fileNumber, offset)
    const content = reader.contentSync(offset, storedBytes, mayBlock)
    if (content.length !== contentBytes) {
      const expected = `${contentBytes} bytes, as the reference says`
      const found = `${content.length}`
      throw corruption('wrong value', { file: reader.path, offset, expected, found })
    }
    const ttl = cell.ttlMilliseconds
    const keyBytes = keyEnd - keyStart
    const target = Buffer.allocUnsafe(keyBytes + valueHeaderBytes(ttl) + contentBytes)
    buffer.copy(target, 0, keyStart, keyEnd)
    const contentStart = writeValueHeader(target, keyBytes, ttl)
    content.copy(target, contentStart)
    cell.set({
      buffer: target,
      keyStart: 0,
      keyEnd: keyBytes,
      valueStart: keyBytes,
      valueEnd: target.length,
    })
  }

  /** Closes one value file, if it is open. */
  close(fileNumber: number): void {
    const reader = this.byNumber.get(fileNumber)
    this.byNumber.delete(fileNumber)
    reader?.closeSync()
  }

  /** Closes all files. */
  closeAll(): void {
    for (const fileNumber of [...this.byNumber.keys()]) this.close(fileNumber)
  }

  private missing(fileNumber: number, offset: number): Error {
    const expected = 'a value file that the manifest names for the SSTable'
    const detail = { file: this.pathOf(fileNumber), offset, expected, found: 'none' }
    return corruption('missing value file', detail)
  }
}
