/**
 * The values that a job puts into a value file: large ones out of cells that hold them, and those
 * out of older value files that are mostly garbage. One file for a job, begun with its first value.
 *
 * Values that stay where they are keep their references, so a compaction does not rewrite them. A
 * value that has become small enough for the family's present threshold goes back into its cell.
 *
 * Failure behaviour: `abandon` removes the half-written file; a job calls it on any error. The file
 * is synced before the job hands over SSTables that refer to it.
 */
import { assert } from '../base/assert.js'
import {
  readReference,
  referenceBytes,
  valueHeaderBytes,
  writeReference,
} from '../cell/cell-value.js'
import { CellType } from '../cell/cell-type.js'
import { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import type { File, FileSystem } from '../fs/types.js'
import { emptyCursor, type EntryCursor } from '../scan/entry-cursor.js'
import { ValueFileWriter } from '../sstable/value-writer.js'
import type { FileMetadata, ValueFileUse } from '../version/file-metadata.js'
import { formatFileName } from '../version/file-names.js'
import type { Job } from './job.js'
import type { TableFormat } from './table-output.js'
import type { ValueFiles } from './value-files.js'

/** Where values go. */
export interface ValueOutputOptions {
  readonly fileSystem: FileSystem
  readonly codecs: Codecs
  readonly directory: string
  /** Number of the file, if one is written. */
  readonly fileNumber: number
  readonly format: TableFormat
  /** Open files that the cells refer to. */
  readonly inputs: ValueFiles
  /** Files whose values are copied, so that nothing refers to them any more. */
  readonly rewritten: readonly number[]
}

/** The value output of a job; undefined if it neither writes nor meets values of their own. */
export function makeValueOutput(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: Job,
  inputs: ValueFiles,
): ValueOutput | undefined {
  const { directory, valueFileNumber: fileNumber, format } = job
  if (fileNumber === undefined) return undefined
  const rewritten = job.kind === 'compaction' ? job.valueFilesRewritten : []
  const options = { fileSystem, codecs, directory, fileNumber, format, inputs, rewritten }
  return new ValueOutput(options)
}

export class ValueOutput {
  private readonly options: ValueOutputOptions
  private readonly rewritten: ReadonlySet<number>
  private readonly path: string
  private file: File | undefined = undefined
  private writer: ValueFileWriter | undefined = undefined
  private fileBytes = 0
  private readonly view = new CellView()
  private readonly resolved = new CellView()
  private readonly entry: EntryCursor = emptyCursor()

  constructor(options: ValueOutputOptions) {
    const { fileSystem, directory, fileNumber, rewritten } = options
    this.options = options
    this.rewritten = new Set(rewritten)
    this.path = fileSystem.join(directory, formatFileName('values', fileNumber))
  }

  /** Bytes handed to the file so far. */
  get bytesWritten(): number {
    return this.writer?.bytesWritten ?? 0
  }

  /** The cell as an SSTable stores it: itself, or a view that is borrowed until the next call. */
  place(cell: CellView): CellView {
    if (cell.type !== CellType.put) return cell
    const { inlineBytesMax } = this.options.format
    if (!cell.isReference) {
      return cell.valueEnd - cell.contentStart > inlineBytesMax ? this.moveOut(cell) : cell
    }
    const reference = readReference(cell.buffer, cell.valueStart, cell.valueEnd)
    const stays =
      reference !== undefined &&
      reference.contentBytes > inlineBytesMax &&
      !this.rewritten.has(reference.fileNumber)
    if (stays) return cell
    const { resolved } = this
    resolved.set(cell)
    this.options.inputs.resolve(resolved, true)
    const large = resolved.valueEnd - resolved.contentStart > inlineBytesMax
    return large ? this.moveOut(resolved) : resolved
  }

  /** Completes and syncs the file; its directory is not synced. */
  finish(): void {
    if (this.writer === undefined) return
    this.fileBytes = this.writer.finish()
    this.file!.closeSync()
    this.options.inputs.open([{ fileNumber: this.options.fileNumber, fileBytes: this.fileBytes }])
  }

  /** Reads what was written again, to the last byte. Yields after each value. */
  *verify(): Generator<number, void> {
    const reader = this.options.inputs.find(this.options.fileNumber)
    if (reader === undefined) return
    const steps = reader.verify()
    while (steps.next().done !== true) yield 0
  }

  /**
   * Tables of this job with the lengths of the value files that they refer to. REQUIRES
   * {@link finish}.
   */
  complete(files: readonly FileMetadata[]): FileMetadata[] {
    return files.map((file) => {
      if (file.valueFiles === undefined) return file
      const valueFiles = file.valueFiles.map((use): ValueFileUse => {
        const reader = this.options.inputs.find(use.fileNumber)
        assert(reader !== undefined, 'a job refers to value files that it has opened')
        return { ...use, fileBytes: reader.fileBytes }
      })
      return { ...file, valueFiles }
    })
  }

  /** Closes and removes the file; errors of the removal are ignored, the next open removes it. */
  abandon(): void {
    if (this.file === undefined) return
    try {
      this.options.inputs.close(this.options.fileNumber)
      this.file.closeSync()
      this.options.fileSystem.unlinkSync(this.path)
    } catch {
      // The error that led here is the one that counts.
    }
  }

  private moveOut(cell: CellView): CellView {
    const writer = (this.writer ??= this.start())
    const { buffer, keyStart, keyEnd, contentStart, valueEnd, ttlMilliseconds } = cell
    writer.add(buffer, contentStart, valueEnd)
    const { entry, view } = this
    const keyBytes = keyEnd - keyStart
    const bytes = keyBytes + valueHeaderBytes(ttlMilliseconds) + referenceBytes
    if (entry.buffer.length < bytes) entry.buffer = Buffer.allocUnsafe(2 * bytes)
    buffer.copy(entry.buffer, 0, keyStart, keyEnd)
    entry.keyStart = 0
    entry.keyEnd = keyBytes
    entry.valueStart = keyBytes
    entry.valueEnd = writeReference(entry.buffer, keyBytes, ttlMilliseconds, {
      fileNumber: writer.fileNumber,
      offset: writer.lastOffset,
      storedBytes: writer.lastStoredBytes,
      contentBytes: valueEnd - contentStart,
    })
    view.set(entry)
    return view
  }

  private start(): ValueFileWriter {
    const { fileSystem, codecs, fileNumber, format } = this.options
    this.file = fileSystem.openSync(this.path, 'create')
    return new ValueFileWriter(this.file, fileNumber, codecs.byName(format.codec))
  }
}
