/**
 * Sorted cells of several families in, finished SSTables out: one run of files for each family,
 * which share no row.
 *
 * Ownership: bytes that are added are copied. Memory: a block, a chunk and the index of one open
 * file for each family.
 *
 * Failure behaviour: after any error the owner calls {@link SortedFiles.abandon}, which removes
 * what was written. Until a manifest names the files they are garbage.
 */
import { assert } from '../base/assert.js'
import { compareBytes, equalBytes } from '../base/bytes.js'
import { rowEndOf } from '../cell/cell-key.js'
import { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import { emptyCursor, type EntryCursor } from '../scan/entry-cursor.js'
import type { FileMetadata } from '../version/file-metadata.js'
import { TableOutput, type TableFormat } from './table-output.js'

/** How the files are written. */
export interface SortedFilesOptions {
  readonly fileSystem: FileSystem
  readonly codecs: Codecs
  readonly directory: string
  /** One for each family. */
  readonly formats: readonly TableFormat[]
  /** A file is finished at the first row boundary behind this many bytes. */
  readonly fileBytesMax: number
  /** A number for a new file, never used before in the directory. */
  readonly allocateFileNumber: () => number
  /** When the files count as written, milliseconds since the Unix epoch. */
  readonly createdMilliseconds: number
}

/** A finished file of one family. */
export interface FamilyFile {
  /** Position of the family in `formats`. */
  readonly family: number
  readonly file: FileMetadata
}

/** What one family is at. */
class FamilyRun {
  readonly format: TableFormat
  output: TableOutput | undefined = undefined
  lastKey: Buffer = Buffer.allocUnsafe(256)
  lastKeyLength = 0

  constructor(format: TableFormat) {
    this.format = format
  }
}

export class SortedFiles {
  /** Cells added. */
  entryCount = 0
  private readonly options: SortedFilesOptions
  private readonly runs: readonly FamilyRun[]
  private readonly made: TableOutput[] = []
  private readonly finished: FamilyFile[] = []
  private readonly cell = new CellView()
  private readonly entry: EntryCursor = emptyCursor()

  constructor(options: SortedFilesOptions) {
    this.options = options
    this.runs = options.formats.map((format) => new FamilyRun(format))
  }

  /** Bytes written so far, those of open blocks included. */
  get bytesWritten(): number {
    let bytes = 0
    for (const { file } of this.finished) bytes += file.fileBytes
    for (const { output } of this.runs) bytes += output?.bytesWritten ?? 0
    return bytes
  }

  /** Whether a key may come next in its family. */
  follows(family: number, source: Buffer, keyStart: number, keyEnd: number): boolean {
    const { lastKey, lastKeyLength } = this.runs[family]
    if (lastKeyLength === 0) return true
    return compareBytes(lastKey, 0, lastKeyLength, source, keyStart, keyEnd) < 0
  }

  /** Adds a cell: key `source[keyStart, keyEnd)`, stored value behind it. REQUIRES `follows`. */
  add(family: number, source: Buffer, keyStart: number, keyEnd: number, valueEnd: number): void {
    const run = this.runs[family]
    assert(this.follows(family, source, keyStart, keyEnd), 'sorted files: a key out of order')
    const full = run.output !== undefined && run.output.bytesWritten >= this.options.fileBytesMax
    if (full && !this.inLastRow(run, source, keyStart, keyEnd)) this.finishFile(family)
    run.output ??= this.startFile(run)
    const { entry, cell } = this
    entry.buffer = source
    entry.keyStart = keyStart
    entry.keyEnd = keyEnd
    entry.valueStart = keyEnd
    entry.valueEnd = valueEnd
    cell.set(entry)
    run.output.add(cell)
    this.entryCount++
    run.lastKeyLength = keyEnd - keyStart
    if (run.lastKey.length < run.lastKeyLength) {
      run.lastKey = Buffer.allocUnsafe(2 * run.lastKeyLength)
    }
    source.copy(run.lastKey, 0, keyStart, keyEnd)
  }

  /** Completes and syncs every file and the directory. */
  finish(): readonly FamilyFile[] {
    for (let family = 0; family < this.runs.length; family++) this.finishFile(family)
    if (this.finished.length > 0) {
      this.options.fileSystem.syncDirectorySync(this.options.directory)
    }
    return this.finished
  }

  /** Removes every file. */
  abandon(): void {
    for (const output of this.made) output.abandon()
  }

  private startFile(run: FamilyRun): TableOutput {
    const { fileSystem, codecs, directory, allocateFileNumber } = this.options
    const fileNumber = allocateFileNumber()
    const output = new TableOutput(fileSystem, codecs, directory, fileNumber, run.format)
    this.made.push(output)
    return output
  }

  private finishFile(family: number): void {
    const run = this.runs[family]
    if (run.output === undefined) return
    const file = run.output.finish(0, this.options.createdMilliseconds)
    this.finished.push({ family, file })
    run.output = undefined
  }

  private inLastRow(run: FamilyRun, source: Buffer, keyStart: number, keyEnd: number): boolean {
    const lastRowEnd = rowEndOf(run.lastKey, 0, run.lastKeyLength)
    const rowEnd = rowEndOf(source, keyStart, keyEnd)
    return equalBytes(source, keyStart, rowEnd, run.lastKey, 0, lastRowEnd)
  }
}
