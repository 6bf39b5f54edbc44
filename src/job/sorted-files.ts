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
import { equalBytes } from '../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import type { DatabasePlace } from '../version/database-place.js'
import type { FileMetadata } from '../version/file-metadata.js'
import { SsTableOutput, type SsTableFormat } from './sstable-output.js'

/** How the files are written. */
export interface SortedFilesOptions extends DatabasePlace {
  readonly fileSystem: FileSystem
  readonly codecs: Codecs
  /** One for each family. */
  readonly formats: readonly SsTableFormat[]
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
  readonly format: SsTableFormat
  output: SsTableOutput | undefined = undefined
  /** The escaped row of the cell added last, once the file is long enough to end with it. */
  lastRow: Buffer | undefined = undefined

  constructor(format: SsTableFormat) {
    this.format = format
  }
}

export class SortedFiles {
  /** Cells added. */
  entryCount = 0
  private readonly options: SortedFilesOptions
  private readonly runs: readonly FamilyRun[]
  private readonly made: SsTableOutput[] = []
  private readonly finished: FamilyFile[] = []

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

  /**
   * Adds a cell. REQUIRES that its key is above the one before in the family; what is out of order
   * within a file is an `InvariantError`. `words` as in `SsTableWriter.add`.
   */
  add(family: number, cell: CellView, words?: DataView): void {
    const run = this.runs[family]
    if (run.lastRow !== undefined && !isInRow(cell, run.lastRow)) this.finishFile(family)
    const output = (run.output ??= this.startFile(run))
    output.add(cell, words)
    this.entryCount++
    if (run.lastRow === undefined && output.bytesWritten >= this.options.fileBytesMax) {
      run.lastRow = Buffer.from(cell.buffer.subarray(cell.keyStart, cell.rowEnd))
    }
  }

  /**
   * Makes durable, off the event loop, what the open files hold. Whoever adds much calls it now and
   * then: the sync at the end of a file, which blocks, then has little to do.
   */
  async sync(): Promise<void> {
    const outputs = this.runs.flatMap(({ output }) => output ?? [])
    await Promise.all(outputs.map((output) => output.sync()))
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

  private startFile(run: FamilyRun): SsTableOutput {
    const { fileSystem, codecs, allocateFileNumber } = this.options
    const fileNumber = allocateFileNumber()
    const output = new SsTableOutput(fileSystem, codecs, this.options, fileNumber, run.format)
    this.made.push(output)
    return output
  }

  private finishFile(family: number): void {
    const run = this.runs[family]
    if (run.output === undefined) return
    const file = run.output.finish(0, this.options.createdMilliseconds)
    this.finished.push({ family, file })
    run.output = undefined
    run.lastRow = undefined
  }
}

function isInRow({ buffer, keyStart, rowEnd }: CellView, row: Buffer): boolean {
  return equalBytes(buffer, keyStart, rowEnd, row, 0, row.length)
}
