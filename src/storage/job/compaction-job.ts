/**
 * The compaction job: merges several SSTables of a store into new ones, and drops the cells that
 * HBase's minor or major compaction drops.
 *
 * Keys are unique over all inputs, because they hold the sequence. So the merge only orders cells,
 * and the retention rules decide. The number of entries read must equal the entries written plus
 * dropped, and the `entryCount` of all inputs in the manifest, or the job fails. For slices of the
 * rows, the caller checks the sum of all slices.
 *
 * An error removes the outputs written so far and is thrown. Inputs are only read.
 */
import { patchOfSequence } from '../cell/assigned-sequence.js'
import { assert } from '../../base/assert.js'
import { compareBytes, emptyBytes } from '../../base/bytes.js'
import { terminatorBytes } from '../cell/cell-key.js'
import { CellView } from '../cell/cell-view.js'
import type { Codecs } from '../codec/codec.js'
import type { FileSystem } from '../fs/types.js'
import { BlockMemoryPool } from '../sstable/blocks/block-memory.js'
import { ReadCounters } from '../sstable/read-counters.js'
import { SsTableReader } from '../sstable/reader.js'
import { checksumNumberOf, identityOf, type FileMetadata } from '../version/file-metadata.js'
import { formatFileName } from '../version/file-names.js'
import { CompactionOutputs } from './compaction-outputs.js'
import { CellJudge, type Judgement } from './cell-judge.js'
import { InputMerge } from './input-merge.js'
import type { CompactionInput, CompactionJob, JobControl, JobResult, JobStep } from './job.js'
import { keepShapesOf } from './kept-shapes.js'
import { RowEntries } from '../sstable/rows/row-entries.js'
import { Pace } from './threads/pace.js'
import { ValueFiles } from '../files/value-files.js'
import { makeValueOutput } from './value-output.js'

/** Entries handled between two checks of the control. */
const entriesPerSlice = 1024
/** Part of the work that is merging; the rest is reading the outputs back. */
const mergePart = 0.9

interface Merged extends Judgement {
  readonly entriesRead: number
}

/** Runs a compaction. Yields after each slice of work; returns the result. */
export function* runCompaction(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: CompactionJob,
  control: JobControl,
): Generator<JobStep, JobResult> {
  const readers: SsTableReader[] = []
  const counters = new ReadCounters()
  const inputs = new ValueFiles(fileSystem, job, codecs, counters)
  const values = makeValueOutput(fileSystem, codecs, job, inputs)
  const outputs = new CompactionOutputs(fileSystem, codecs, job, values)
  const pace = new Pace(control)
  try {
    for (const input of job.inputs) {
      readers.push(openTable(fileSystem, codecs, job, input, counters))
      inputs.open(input.valueFiles ?? [])
    }
    const moved = () => counters.blockBytesRead + counters.valueBytesRead + outputs.bytesWritten
    const { entriesRead, ...judgement } = yield* merge(job, readers, outputs, pace, moved, inputs)
    yield outputs
    const files = outputs.finish()
    if (job.verify) {
      if (values !== undefined) yield* values.verify()
      for (const [index, file] of files.entries()) {
        const part = mergePart + ((1 - mergePart) * index) / files.length
        yield* pace.checkpoint(part, moved())
        yield* verifyOutput(fileSystem, codecs, job, file, counters)
      }
    }
    if (files.length > 0) fileSystem.syncDirectorySync(job.directory)
    const entriesWritten = files.reduce((sum, file) => sum + file.entryCount, 0)
    assert(
      entriesRead === entriesWritten + judgement.entriesDropped,
      'a compaction must account for every entry',
    )
    control.progress = 1
    const { written, bytesWritten, holdsPlainPuts } = outputs
    const counts = { entriesRead, entriesWritten, ...judgement, bytesWritten }
    return { files, written, ...counts, holdsPlainPuts }
  } catch (error) {
    outputs.abandon()
    throw error
  } finally {
    for (const reader of readers) reader.closeSync()
    inputs.closeAll()
  }
}

function openTable(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: CompactionJob,
  file: CompactionInput,
  counters: ReadCounters,
): SsTableReader {
  const path = fileSystem.join(job.directory, formatFileName('table', file.fileNumber))
  return SsTableReader.openSync(fileSystem, path, checksumNumberOf(file), {
    codecs,
    counters,
    databaseId: identityOf(file, job.databaseId),
    expectedBytes: file.fileBytes,
    keyPatch: patchOfSequence(file.sequenceAssigned),
  })
}

function* verifyOutput(
  fileSystem: FileSystem,
  codecs: Codecs,
  job: CompactionJob,
  file: FileMetadata,
  counters: ReadCounters,
): Generator<number, void> {
  const reader = openTable(fileSystem, codecs, job, file, counters)
  try {
    const steps = reader.verify()
    while (steps.next().done !== true) yield 0
  } finally {
    reader.closeSync()
  }
}

function* merge(
  job: CompactionJob,
  readers: readonly SsTableReader[],
  outputs: CompactionOutputs,
  pace: Pace,
  bytesMoved: () => number,
  values: ValueFiles,
): Generator<number, Merged> {
  const pool = new BlockMemoryPool()
  const inputs = new InputMerge(
    readers.map((reader) => reader.streamCursor(pool)),
    readers.map((reader) => reader.properties),
  )
  const cell = new CellView()
  const scope = {
    options: job.retention,
    sequenceKept: 0,
    now: job.now,
    dropsMarkers: job.major,
    earliestPutTimestamp: job.earliestPutTimestamp,
  }
  const judge = new CellJudge(scope, job.hooks, values)
  const { first, end, part = 1 } = job.slice ?? {}
  const total = job.inputs.reduce((sum, input) => sum + input.entryCount, 0)
  const expected = Math.max(1, total * part)
  keepShapesOf(total, [cell, judge, inputs, outputs])
  // A plain row that lies in one input is kept as it is, unless its cells may have expired.
  const row = judge.keepsPlainRows ? new RowEntries() : undefined
  let entriesRead = 0
  let sliceEnd = entriesPerSlice
  let isWhole = false
  inputs.seek(first ?? emptyBytes)
  while (inputs.valid) {
    const { top } = inputs
    cell.set(top)
    if (judge.entersRow(cell)) {
      if (end !== undefined && isAtOrBehind(cell, end)) break
      outputs.startRow(cell)
      // Between two rows nothing refers to the memory of a cell, except perhaps the hooks of users.
      if (job.hooks === undefined) pool.recycle()
      isWhole =
        row !== undefined &&
        inputs.readRow(row, cell.rowEnd + terminatorBytes - cell.keyStart) &&
        outputs.addRow(cell, row, top.words)
    }
    if (isWhole) {
      isWhole = false
      entriesRead += row!.count
      inputs.passRow()
    } else {
      const kept = judge.judge(cell)
      if (kept !== undefined) outputs.add(kept, kept === cell ? top.words : undefined)
      entriesRead++
      inputs.next()
    }
    if (entriesRead >= sliceEnd) {
      sliceEnd = entriesRead + entriesPerSlice
      yield* pace.checkpoint(mergePart * Math.min(1, entriesRead / expected), bytesMoved())
    }
  }
  const whole = job.slice === undefined
  assert(!whole || entriesRead === total, 'a compaction must read every entry of its inputs')
  return { entriesRead, ...judge.finish() }
}

function isAtOrBehind(cell: CellView, row: Buffer): boolean {
  return compareBytes(cell.buffer, cell.keyStart, cell.keyEnd, row, 0, row.length) >= 0
}
