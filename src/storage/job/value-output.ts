/**
 * The values that a job writes into value files: large values that cells hold, and values of older
 * value files that are mostly garbage. One file is written after the other. A file begins with its
 * first value, and is finished when it is long enough and the job has another number.
 *
 * Other values stay where they are and keep their references, so a compaction does not rewrite
 * them. A value that is small enough for the family's present threshold goes back into its cell.
 *
 * On any error the job calls `abandon`, which removes all files. The files are synced before the
 * job returns SSTables that refer to them.
 */
import { quietly } from '../fs/quietly.js'
import { assert } from '../../base/assert.js'
import { emptyBytes } from '../../base/bytes.js'
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
import { ValueFileWriter } from '../sstable/values/value-writer.js'
import type { DatabasePlace } from '../version/database-place.js'
import type { FileMetadata, ValueFileUse } from '../version/file-metadata.js'
import { formatFileName } from '../version/file-names.js'
import type { Job } from './job.js'
import type { SsTableFormat } from './sstable-output.js'
import type { ValueFiles } from '../files/value-files.js'

/** Options of a {@link ValueOutput}. */
export interface ValueOutputOptions {
  readonly fileSystem: FileSystem
  readonly codecs: Codecs
  readonly place: DatabasePlace
  /** Numbers of the files that may be written, at least one. */
  readonly fileNumbers: readonly number[]
  /** A file is finished after this many bytes if there is a number for another. */
  readonly fileBytesMax: number
  readonly format: SsTableFormat
  /** Open value files to which the cells refer. */
  readonly inputs: ValueFiles
  /** Value files whose values are copied, so that nothing refers to them any more. */
  readonly rewritten: readonly number[]
}

/** The value output of a job; undefined if the job neither writes nor reads value files. */
export function makeValueOutput(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: Job,
  inputs: ValueFiles,
): ValueOutput | undefined {
  const { valueFileNumbers: fileNumbers, valueFileBytesMax: fileBytesMax, format } = job
  if (fileNumbers.length === 0) return undefined
  const rewritten = job.kind === 'compaction' ? job.valueFilesRewritten : []
  const files = { fileSystem, codecs, place: job, fileNumbers, fileBytesMax }
  return new ValueOutput({ ...files, format, inputs, rewritten })
}

export class ValueOutput {
  private readonly options: ValueOutputOptions
  private readonly rewritten: ReadonlySet<number>
  /** All files begun so far. The last one is open while `writer` is set. */
  private readonly files: File[] = []
  private writer: ValueFileWriter | undefined = undefined
  /** Bytes of the finished files. */
  private bytesFinished = 0
  private readonly view = new CellView()
  private readonly resolved = new CellView()
  /** Holds the cell of {@link view}. */
  private memory: Buffer = emptyBytes

  constructor(options: ValueOutputOptions) {
    this.options = options
    this.rewritten = new Set(options.rewritten)
  }

  /** Bytes passed to the files so far. */
  get bytesWritten(): number {
    return this.bytesFinished + (this.writer?.bytesWritten ?? 0)
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

  /** Completes and syncs the open file. The caller syncs the directory. */
  finish(): void {
    const { writer } = this
    if (writer === undefined) return
    const fileBytes = writer.finish()
    this.writer = undefined
    this.bytesFinished += fileBytes
    this.files[this.files.length - 1].closeSync()
    this.options.inputs.open([{ fileNumber: writer.fileNumber, fileBytes }])
  }

  /** Reads everything written, to the last byte. Yields after each value. */
  *verify(): Generator<number, void> {
    for (let i = 0; i < this.files.length; i++) {
      const reader = this.options.inputs.find(this.options.fileNumbers[i])
      assert(reader !== undefined, 'a value file is verified when it is finished')
      const steps = reader.verify()
      while (steps.next().done !== true) yield 0
    }
  }

  /**
   * Fills in the lengths of the value files to which the SSTables of this job refer. REQUIRES
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

  /** Closes and removes the files. Errors are ignored, since the next open removes the files. */
  abandon(): void {
    const { inputs, fileNumbers, fileSystem } = this.options
    for (const [i, file] of this.files.entries()) {
      inputs.close(fileNumbers[i])
      quietly(() => file.closeSync())
      quietly(() => fileSystem.unlinkSync(this.pathOf(fileNumbers[i])))
    }
  }

  private moveOut(cell: CellView): CellView {
    const writer = this.openWriter()
    const { buffer, keyStart, keyEnd, contentStart, valueEnd, ttlMilliseconds } = cell
    writer.add(buffer, contentStart, valueEnd)
    const { view } = this
    const keyBytes = keyEnd - keyStart
    const bytes = keyBytes + valueHeaderBytes(ttlMilliseconds) + referenceBytes
    if (this.memory.length < bytes) this.memory = Buffer.allocUnsafe(2 * bytes)
    buffer.copy(this.memory, 0, keyStart, keyEnd)
    const end = writeReference(this.memory, keyBytes, ttlMilliseconds, {
      fileNumber: writer.fileNumber,
      offset: writer.lastOffset,
      storedBytes: writer.lastStoredBytes,
      contentBytes: valueEnd - contentStart,
    })
    view.setCell(this.memory, 0, keyBytes, end)
    return view
  }

  private openWriter(): ValueFileWriter {
    const { fileSystem, codecs, place, fileNumbers, fileBytesMax, format } = this.options
    const { files } = this
    const full = this.writer !== undefined && this.writer.bytesWritten >= fileBytesMax
    if (full && files.length < fileNumbers.length) this.finish()
    if (this.writer !== undefined) return this.writer
    const fileNumber = fileNumbers[files.length]
    const file = fileSystem.openSync(this.pathOf(fileNumber), 'create')
    files.push(file)
    const codec = codecs.byName(format.codec)
    return (this.writer = new ValueFileWriter(file, place.databaseId, fileNumber, codec))
  }

  private pathOf(fileNumber: number): string {
    const { fileSystem, place } = this.options
    return fileSystem.join(place.directory, formatFileName('values', fileNumber))
  }
}
