/**
 * The flush job: writes a frozen memtable as an SSTable of level 0. It drops the cells that HBase's
 * flush drops: versions beyond VERSIONS, cells masked by a marker of the same memtable, and expired
 * cells.
 *
 * An error removes the unfinished file and is thrown. The memtable stays unchanged, so the job can
 * be run again with another file number.
 */
import { assert } from '../../base/assert.js'
import { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import { FrozenEntriesCursor } from '../memtable/frozen-entries.js'
import { CellJudge, type Judgement } from './cell-judge.js'
import {
  jobCancelled,
  type FlushJob,
  type JobControl,
  type JobResult,
  type JobStep,
} from './job.js'
import { wordSlackBytes } from '../sstable/blocks/block-memory.js'
import { ReadCounters } from '../sstable/read-counters.js'
import { LentSegments } from '../sstable/blocks/written-blocks.js'
import { SsTableOutput } from './sstable-output.js'
import { ValueFiles } from '../files/value-files.js'
import { makeValueOutput } from './value-output.js'

/**
 * Entries, and bytes, handled between two checks of the cancel flag: few, because a small flush
 * runs on the event loop, in code that may not be compiled yet.
 */
const entriesPerSlice = 512
const bytesPerSlice = 64 * 1024

/** Runs a flush. Yields after each slice of work; returns the result. */
export function* runFlush(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: FlushJob,
  control: JobControl,
): Generator<JobStep, JobResult> {
  const { fileNumber, format } = job
  const inputs = new ValueFiles(fileSystem, job, codecs, new ReadCounters())
  const values = makeValueOutput(fileSystem, codecs, job, inputs)
  const segments = new LentSegments(job.segments)
  const output = new SsTableOutput(fileSystem, codecs, job, fileNumber, format, values, segments)
  try {
    const judgement = yield* copyEntries(job, output, control)
    const entriesRead = job.entries.entryCount
    const entriesWritten = output.entryCount
    assert(
      entriesRead === entriesWritten + judgement.entriesDropped,
      'a flush must account for every entry',
    )
    if (entriesWritten === 0) {
      output.abandon()
      values?.abandon()
      const nothing = { files: [], written: [], bytesWritten: 0, holdsPlainPuts: true }
      return { entriesRead, entriesWritten, ...judgement, ...nothing }
    }
    yield output
    const table = output.finish(0, job.now)
    values?.finish()
    const [file] = values?.complete([table]) ?? [table]
    fileSystem.syncDirectorySync(job.directory)
    control.progress = 1
    return {
      files: [file],
      written: [output.written],
      entriesRead,
      entriesWritten,
      ...judgement,
      bytesWritten: file.fileBytes + (values?.bytesWritten ?? 0),
      holdsPlainPuts: output.holdsPlainPuts,
    }
  } catch (error) {
    output.abandon()
    values?.abandon()
    throw error
  } finally {
    inputs.closeAll()
  }
}

/** Copies the kept cells and returns the counts of dropped ones. */
function* copyEntries(
  job: FlushJob,
  output: SsTableOutput,
  control: JobControl,
): Generator<number, Judgement> {
  const { arena, arenaBytes } = job.entries
  const cursor = new FrozenEntriesCursor(job.entries)
  // A view by words needs spare bytes after the last cell.
  const hasSlack = arena.byteLength >= arenaBytes + wordSlackBytes
  const words = hasSlack ? new DataView(arena) : undefined
  const cell = new CellView()
  const scope = {
    options: job.retention,
    sequenceKept: job.sequenceKept,
    now: job.now,
    dropsMarkers: false,
    earliestPutTimestamp: 0,
  }
  const judge = new CellJudge(scope, job.hooks)
  const total = Math.max(1, job.entries.entryCount)
  let done = 0
  let sliceEnd = entriesPerSlice
  let sliceBytes = 0
  cursor.seek(Buffer.alloc(0), 0)
  while (cursor.valid) {
    cell.set(cursor)
    judge.entersRow(cell)
    const kept = judge.judge(cell)
    if (kept !== undefined) output.add(kept, kept === cell ? words : undefined)
    sliceBytes += cursor.valueEnd - cursor.keyStart
    cursor.next()
    if (++done < sliceEnd && sliceBytes < bytesPerSlice) continue
    if (control.cancelled) throw jobCancelled()
    control.progress = done / total
    sliceEnd = done + entriesPerSlice
    sliceBytes = 0
    yield 0
  }
  return judge.finish()
}
