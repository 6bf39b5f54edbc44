/**
 * Writes sorted cells of several families as SSTables: for each family a run of files that share no
 * row.
 *
 * Added bytes are copied. Memory: one block, one chunk and the index of one open file for each
 * family.
 *
 * After any error the owner calls {@link SortedFiles.abandon}, which removes the files. Files that
 * no manifest names are also removed by the next open.
 */
import { equalBytes } from '../../base/bytes.js'
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
  /** One format for each family. */
  readonly formats: readonly SsTableFormat[]
  /** A file is finished at the first row after this many bytes. */
  readonly fileBytesMax: number
  /** Returns a number for a new file, unused in the directory. */
  readonly allocateFileNumber: () => number
  /** Creation time of the files in milliseconds since the Unix epoch. */
  readonly createdMilliseconds: number
}

/** A finished file of one family. */
export interface FamilyFile {
  /** Index of the family in `formats`. */
  readonly family: number
  readonly file: FileMetadata
}

/** The state of one family. */
class FamilyRun {
  readonly format: SsTableFormat
  output: SsTableOutput | undefined = undefined
  /** Escaped row of the last added cell, set once the file is long enough to end with that row. */
  lastRow: Buffer | undefined = undefined

  constructor(format: SsTableFormat) {
    this.format = format
  }
}

export class SortedFiles {
  /** Number of added cells. */
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
   * Adds a cell. REQUIRES that its key is greater than that of the cell before in the family;
   * within a file an `InvariantError` is thrown otherwise. `words` as in `SsTableWriter.add`.
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
   * Makes the written part of the open files durable, asynchronously. Callers with much data call
   * this from time to time, so that the blocking sync at the end of a file has little left to do.
   */
  async sync(): Promise<void> {
    const outputs = this.runs.flatMap(({ output }) => output ?? [])
    await Promise.all(outputs.map((output) => output.sync()))
  }

  /** Completes and syncs all files and the directory. */
  finish(): readonly FamilyFile[] {
    for (let family = 0; family < this.runs.length; family++) this.finishFile(family)
    if (this.finished.length > 0) {
      this.options.fileSystem.syncDirectorySync(this.options.directory)
    }
    return this.finished
  }

  /** Removes all files. */
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
