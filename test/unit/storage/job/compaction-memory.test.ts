/**
 * Compactions of rows that take many blocks write the cells that a naive judge keeps.
 *
 * @runs long
 */
import t from 'tap'
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import { CellType } from '../../../../src/storage/cell/cell-type.js'
import { CellView } from '../../../../src/storage/cell/cell-view.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { CellJudge } from '../../../../src/storage/job/cell-judge.js'
import { runCompaction } from '../../../../src/storage/job/compaction-job.js'
import { runToEnd } from '../../../../src/storage/job/threads/executor.js'
import {
  inputOf,
  JobControl,
  type CompactionJob,
  type JobResult,
} from '../../../../src/storage/job/job.js'
import { SsTableOutput, type SsTableFormat } from '../../../../src/storage/job/sstable-output.js'
import type { RetentionOptions } from '../../../../src/storage/scan/query.js'
import type { FileMetadata } from '../../../../src/storage/version/file-metadata.js'
import { formatFileName } from '../../../../src/storage/version/file-names.js'
import { codecs, databaseId, open, randomFrom, readAll, seed } from '../sstable/helpers.js'

await loadChecksums()

/** Blocks of some twenty cells: what a matcher remembers lies many blocks back. */
const format: SsTableFormat = {
  blockBytes: 1024,
  codec: 'lz4',
  bloomFilter: 'ROW',
  rowPrefixBytes: 0,
  inlineBytesMax: Infinity,
}
const retention: RetentionOptions = {
  versions: 2,
  minVersions: 0,
  ttlSeconds: Infinity,
  timeToPurgeDeletesMilliseconds: 0,
  keepDeletedCells: 'FALSE',
  newVersionBehavior: false,
}
const now = 1e12
const place = { directory: 'd', databaseId }

/** A cell of its own memory, never changed: key, then a value. */
function makeCell(
  row: string,
  qualifier: string,
  timestamp: number,
  type: number,
  sequence: number,
): Buffer {
  const bytes = Buffer.alloc(keyBytesBound(row.length, qualifier.length) + 3)
  let at = writeTerminator(bytes, writeEscaped(bytes, 0, Buffer.from(row)))
  const rowBytes = at - 2
  at = writeTerminator(bytes, writeEscaped(bytes, at, Buffer.from(qualifier)))
  at = writeKeySuffix(bytes, at, 0, timestamp, type, sequence, rowBytes)
  // The stored value: no flags, two bytes.
  return bytes.subarray(0, at + 3)
}

function viewOf(bytes: Buffer): CellView {
  const view = new CellView()
  const keyEnd = bytes.length - 3
  view.set({ buffer: bytes, keyStart: 0, keyEnd, valueStart: keyEnd, valueEnd: bytes.length })
  return view
}

const order = (a: Buffer, b: Buffer): number => Buffer.compare(a, b)

/** Rows whose columns and versions run over hundreds of blocks, with markers between. */
function drawCells(random: () => number): Buffer[] {
  const cells: Buffer[] = []
  let sequence = 0
  const add = (row: string, qualifier: string, timestamp: number, type: number): void => {
    cells.push(makeCell(row, qualifier, timestamp, type, ++sequence))
  }
  for (let row = 0; row < 12; row++) {
    const name = `row${row}`
    if (random() < 0.3) add(name, '', Math.floor(random() * 500), CellType.deleteFamily)
    for (let i = 0; i < 3; i++) {
      const timestamp = Math.floor(random() * 2000)
      if (random() < 0.5) add(name, '', timestamp, CellType.deleteFamilyVersion)
    }
    const columns = row % 3 === 0 ? 1 : row % 3 === 1 ? 3 : 800
    for (let column = 0; column < columns; column++) {
      const qualifier = columns === 1 ? '' : `q${column}`
      const markers = [CellType.delete, CellType.deleteColumn]
      for (const type of markers) {
        if (random() < 0.4) add(name, qualifier, Math.floor(random() * 2000), type)
      }
      const versions = Math.ceil((random() * 4000) / columns)
      for (let i = 0; i < versions; i++) {
        add(name, qualifier, Math.floor(random() * 2000), CellType.put)
      }
    }
  }
  return cells
}

/** What the rules keep when no memory is ever used again. */
function expectedOf(cells: readonly Buffer[], options: RetentionOptions, major: boolean): Buffer[] {
  const scope = {
    options,
    sequenceKept: 0,
    now,
    dropsMarkers: major,
    earliestPutTimestamp: 0,
  }
  const judge = new CellJudge(scope, undefined)
  return [...cells].sort(order).filter((bytes) => {
    const view = viewOf(bytes)
    judge.entersRow(view)
    return judge.judge(view) !== undefined
  })
}

function writeInputs(fileSystem: SimulatedDisk, cells: readonly Buffer[]): FileMetadata[] {
  const parts = [1, 2, 3].map((part) => cells.filter((_, index) => index % 3 === part - 1))
  return parts.map((part, index) => {
    const output = new SsTableOutput(fileSystem, codecs, place, index + 1, format)
    for (const bytes of [...part].sort(order)) output.add(viewOf(bytes))
    return output.finish(0, now)
  })
}

function compact(
  fileSystem: SimulatedDisk,
  inputs: readonly FileMetadata[],
  options: RetentionOptions,
  major: boolean,
): JobResult {
  const job: CompactionJob = {
    kind: 'compaction',
    ...place,
    inputs: inputs.map(inputOf),
    slice: undefined,
    fileNumbers: [10],
    valueFileNumbers: [],
    valueFileBytesMax: Infinity,
    valueFilesRewritten: [],
    outputLevel: 1,
    outputBytesMax: Infinity,
    boundaries: [],
    format,
    retention: options,
    now,
    hooks: undefined,
    major,
    earliestPutTimestamp: 0,
    segments: [],
    verify: true,
    nativeFree: true,
  }
  return runToEnd(runCompaction(fileSystem, codecs, job, new JobControl()))
}

void t.test(`rows of many blocks are judged by the cells they hold, seed ${seed}`, async (t) => {
  const random = randomFrom(seed)
  const modes: [string, RetentionOptions][] = [
    ['classic', retention],
    ['a thousand versions', { ...retention, versions: 1000 }],
    ['by the order of writing', { ...retention, newVersionBehavior: true }],
  ]
  for (const [name, options] of modes) {
    for (const major of [false, true]) {
      const fileSystem = new SimulatedDisk()
      fileSystem.makeDirectorySync('d')
      const cells = drawCells(random)
      const inputs = writeInputs(fileSystem, cells)
      const result = compact(fileSystem, inputs, options, major)
      const expected = expectedOf(cells, options, major)
      t.equal(result.entriesRead, cells.length)
      t.equal(result.entriesWritten, expected.length, `${name}, major ${major}`)
      const path = fileSystem.join('d', formatFileName('table', 10))
      const found = readAll(open(fileSystem, { path, fileNumber: 10 }))
      const differs = found.findIndex(({ key, value }, index) => {
        return !Buffer.concat([key, value]).equals(expected[index])
      })
      t.equal(differs, -1, 'every cell is the expected one')
    }
  }
})
