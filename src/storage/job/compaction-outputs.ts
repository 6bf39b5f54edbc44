/**
 * The outputs of a compaction: one SSTable after the other, cut only between rows, at a size or at
 * given rows.
 *
 * On any error the job calls `abandon`, which removes everything written.
 */
import { compareBytes } from '../../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { CompactionJob } from './job.js'
import { LentSegments, type WrittenBlocks } from '../sstable/blocks/written-blocks.js'
import type { RowEntries } from '../sstable/rows/row-entries.js'
import { SsTableOutput } from './sstable-output.js'
import type { ValueOutput } from './value-output.js'

export class CompactionOutputs {
  /** Bytes of the finished outputs. */
  private bytesFinished = 0
  private readonly fileSystem: FileSystem
  private readonly codecs: Codecs
  private readonly job: CompactionJob
  private readonly values: ValueOutput | undefined
  private readonly finished: FileMetadata[] = []
  private readonly segments: LentSegments
  private readonly made: SsTableOutput[] = []
  private current: SsTableOutput | undefined = undefined
  /** Index of the first boundary that no key has reached. */
  private boundary = 0

  constructor(
    fileSystem: FileSystem,
    codecs: Codecs,
    job: CompactionJob,
    values: ValueOutput | undefined,
  ) {
    this.values = values
    this.fileSystem = fileSystem
    this.codecs = codecs
    this.job = job
    this.segments = new LentSegments(job.segments)
  }

  /** For each finished output the blocks that were kept. */
  get written(): (WrittenBlocks | undefined)[] {
    return this.made.map((output) => output.written)
  }

  /** Whether all cells so far are puts without TTL, with their values in the cells. */
  get holdsPlainPuts(): boolean {
    return this.made.every((output) => output.holdsPlainPuts)
  }

  /** Bytes written so far. */
  get bytesWritten(): number {
    const tables = this.bytesFinished + (this.current?.bytesWritten ?? 0)
    return tables + (this.values?.bytesWritten ?? 0)
  }

  /** Called with the first cell of each row, kept or not: outputs are cut here. */
  startRow(cell: CellView): void {
    const { boundaries, outputBytesMax, fileNumbers } = this.job
    let cut = this.current !== undefined && this.current.bytesWritten >= outputBytesMax
    while (this.boundary < boundaries.length) {
      const row = boundaries[this.boundary]
      if (compareBytes(cell.buffer, cell.keyStart, cell.keyEnd, row, 0, row.length) < 0) break
      this.boundary++
      cut = true
    }
    if (cut && this.made.length < fileNumbers.length) this.finishCurrent()
  }

  /** Appends a cell. REQUIRES key order. `words` as in {@link SsTableOutput.add}. */
  add(cell: CellView, words: DataView | undefined): void {
    this.current ??= this.start()
    this.current.add(cell, words)
  }

  /** As {@link SsTableOutput.addRow}. */
  addRow(first: CellView, row: RowEntries, words: DataView | undefined): boolean {
    this.current ??= this.start()
    return this.current.addRow(first, row, words)
  }

  /** Makes the written part of the last output durable; `finish` then has little left to sync. */
  async sync(): Promise<void> {
    await this.current?.sync()
  }

  /** Completes the last output. All outputs are synced; the caller syncs their directory. */
  finish(): FileMetadata[] {
    this.finishCurrent()
    if (this.values === undefined) return this.finished
    this.values.finish()
    return this.values.complete(this.finished)
  }

  /** Removes all outputs. */
  abandon(): void {
    for (const output of this.made) output.abandon()
    this.values?.abandon()
  }

  private start(): SsTableOutput {
    const { job } = this
    const { fileNumbers, format } = job
    const fileNumber = fileNumbers[this.made.length]
    const { fileSystem, codecs, values, segments } = this
    const output = new SsTableOutput(fileSystem, codecs, job, fileNumber, format, values, segments)
    this.made.push(output)
    return output
  }

  private finishCurrent(): void {
    if (this.current === undefined) return
    const file = this.current.finish(this.job.outputLevel, this.job.now)
    this.finished.push(file)
    this.bytesFinished += file.fileBytes
    this.current = undefined
  }
}
