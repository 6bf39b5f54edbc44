/**
 * The compaction: several SSTables of a store become new ones, without what HBase's minor or major
 * compaction drops (spec 2.5).
 *
 * Keys are unique over all inputs, because they hold the sequence, so the merge decides nothing;
 * the retention rules do. Entries read must equal entries written plus dropped, and entries read
 * must equal what the inputs' footers count, or the job fails.
 *
 * Failure behaviour: any error removes the outputs written so far and is thrown; inputs are only
 * read.
 */
import { assert } from '../base/assert.js'
import { equalBytes } from '../base/bytes.js'
import { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import { MergeCursor } from '../cursor/merge-cursor.js'
import type { Cursor } from '../cursor/cursor.js'
import type { FileSystem } from '../fs/types.js'
import { BlockCache } from '../sstable/block-cache.js'
import { ReadCounters } from '../sstable/read-counters.js'
import { SsTableReader } from '../sstable/reader.js'
import type { FileMetadata } from '../version/file-metadata.js'
import { formatFileName } from '../version/file-names.js'
import { JobCancelled, type CompactionJob, type JobControl, type JobResult } from './job.js'
import { RetentionFilter } from './retention-filter.js'
import { TableOutput } from './table-output.js'

/** Entries handled between two looks at the cancel flag. */
const entriesPerSlice = 2048

/** Runs a compaction; yields after each slice, returns the result. */
export function* runCompaction(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: CompactionJob,
  control: JobControl,
): Generator<void, JobResult> {
  const readers: SsTableReader[] = []
  const outputs = new Outputs(fileSystem, codecs, job)
  try {
    for (const input of job.inputs) {
      const path = fileSystem.join(job.directory, formatFileName('table', input.fileNumber))
      const reader = SsTableReader.openSync(fileSystem, path, input.fileNumber, {
        codecs,
        cache: new BlockCache(0),
        counters: new ReadCounters(),
        expectedBytes: input.fileBytes,
      })
      readers.push(reader)
    }
    const { entriesRead, entriesDropped } = yield* merge(job, readers, outputs, control)
    const files = outputs.finish()
    if (files.length > 0) fileSystem.syncDirectorySync(job.directory)
    const entriesWritten = files.reduce((sum, file) => sum + file.entryCount, 0)
    assert(
      entriesRead === entriesWritten + entriesDropped,
      'a compaction must account for every entry',
    )
    control.progress = 1
    const bytesWritten = files.reduce((sum, file) => sum + file.fileBytes, 0)
    return { files, entriesRead, entriesWritten, entriesDropped, bytesWritten }
  } catch (error) {
    outputs.abandon()
    throw error
  } finally {
    for (const reader of readers) reader.closeSync()
  }
}

function* merge(
  job: CompactionJob,
  readers: readonly SsTableReader[],
  outputs: Outputs,
  control: JobControl,
): Generator<void, { entriesRead: number; entriesDropped: number }> {
  const cursor = openCursor(readers)
  const cell = new CellView()
  const filter = new RetentionFilter({
    options: job.retention,
    readPointOldest: job.readPointOldest,
    now: job.now,
    dropsMarkers: job.major,
    markerRetentionMilliseconds: job.markerRetentionMilliseconds,
    earliestPutTimestamp: job.earliestPutTimestamp,
  })
  const total = job.inputs.reduce((sum, input) => sum + input.entryCount, 0)
  let entriesRead = 0
  cursor.seek(Buffer.alloc(0), 0)
  while (cursor.valid) {
    cell.set(cursor)
    if (filter.keeps(cell)) outputs.add(cell)
    cursor.next()
    if (++entriesRead % entriesPerSlice === 0) {
      if (control.cancelled) throw new JobCancelled()
      control.progress = entriesRead / total
      yield
    }
  }
  assert(entriesRead === total, 'a compaction must read every entry of its inputs')
  return { entriesRead, entriesDropped: filter.dropped }
}

function openCursor(readers: readonly SsTableReader[]): Cursor {
  const cursors = readers.map((reader) => {
    const cursor = reader.cursor()
    cursor.cacheBlocks = false
    return cursor
  })
  if (cursors.length === 1) return cursors[0]
  const merge = new MergeCursor()
  merge.setChildren(cursors)
  return merge
}

/** The outputs of a job: one table after the other, cut between rows. */
class Outputs {
  private readonly fileSystem: FileSystem
  private readonly codecs: Codecs
  private readonly job: CompactionJob
  private readonly finished: FileMetadata[] = []
  private readonly made: TableOutput[] = []
  private current: TableOutput | undefined = undefined
  private row: Buffer = Buffer.allocUnsafe(256)
  private rowLength = -1

  constructor(fileSystem: FileSystem, codecs: Codecs, job: CompactionJob) {
    this.fileSystem = fileSystem
    this.codecs = codecs
    this.job = job
  }

  add(cell: CellView): void {
    const full = this.current !== undefined && this.current.bytesWritten >= this.job.outputBytesMax
    const last = this.made.length >= this.job.fileNumbers.length
    if (full && !last && !this.inRow(cell)) this.finishCurrent()
    if (this.job.outputBytesMax !== Infinity) this.noteRow(cell)
    this.current ??= this.start()
    this.current.add(cell)
  }

  finish(): FileMetadata[] {
    this.finishCurrent()
    return this.finished
  }

  abandon(): void {
    for (const output of this.made) output.abandon()
  }

  private start(): TableOutput {
    const { directory, fileNumbers, format } = this.job
    const fileNumber = fileNumbers[this.made.length]
    const output = new TableOutput(this.fileSystem, this.codecs, directory, fileNumber, format)
    this.made.push(output)
    return output
  }

  private finishCurrent(): void {
    if (this.current === undefined) return
    this.finished.push(this.current.finish(this.job.outputLevel, this.job.now))
    this.current = undefined
  }

  private inRow(cell: CellView): boolean {
    return equalBytes(cell.buffer, cell.keyStart, cell.rowEnd, this.row, 0, this.rowLength)
  }

  private noteRow(cell: CellView): void {
    if (this.inRow(cell)) return
    this.rowLength = cell.rowEnd - cell.keyStart
    if (this.row.length < this.rowLength) this.row = Buffer.allocUnsafe(2 * this.rowLength)
    cell.buffer.copy(this.row, 0, cell.keyStart, cell.rowEnd)
  }
}
