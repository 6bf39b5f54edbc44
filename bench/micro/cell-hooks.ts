/**
 * Micro-benchmark of cell hooks in compactions: the same job without hooks, with one and with two
 * that keep everything, and with one that replaces every value. The job merges four tables of one
 * run each in memory, with LZ4, so the share of the hooks is not hidden by a disk.
 *
 * What a hook that keeps everything costs is 1 - (rate with it / rate without).
 */
import type Benchmark from 'benchmark'
import assert from 'node:assert/strict'
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../src/storage/cell/cell-key.js'
import { CellType } from '../../src/storage/cell/cell-type.js'
import { writeValueHeader } from '../../src/storage/cell/cell-value.js'
import { CellView } from '../../src/storage/cell/cell-view.js'
import { loadChecksums } from '../../src/storage/codec/checksum.js'
import { loadCodecs, type Codecs } from '../../src/storage/codec/codec.js'
import {
  loadHooks,
  makeHookWatch,
  type HookPlan,
} from '../../src/storage/coprocessor/hook-chain.js'
import { MemoryFileSystem } from '../../src/storage/fs/memory-fs.js'
import { runToEnd, startJob } from '../../src/storage/job/threads/executor.js'
import { inputOf, JobControl, type CompactionJob } from '../../src/storage/job/job.js'
import { SsTableOutput } from '../../src/storage/job/sstable-output.js'
import { retentionOf, formatOfFamily } from '../../src/storage/store/family-settings.js'
import { parseFamilyOptions } from '../../src/table/admin/schema.js'
import { noDatabaseId } from '../../src/storage/sstable/format.js'
import { formatFileName } from '../../src/storage/version/file-names.js'
import type { FileMetadata } from '../../src/storage/version/file-metadata.js'

const directory = '/tables'
const place = { directory, databaseId: noDatabaseId }
const filesCount = 4
const entriesPerFile = 10_000
const entries = filesCount * entriesPerFile
const valueBytes = 100
const outputNumber = 100

/** Looks at the row, as a hook that has to decide does. */
const keeping = `
  export const createCellHook = () => ({
    decide: (cell) => (cell.buffer[cell.keyStart] === 0 ? 1 : 0),
  })`
const replacing = `
  export const createCellHook = () => {
    const value = new Uint8Array(${valueBytes}).fill(120)
    return { decide: (cell, replacement) => (replacement.setValue(value), 2) }
  }`

const fileSystem = new MemoryFileSystem()
let codecs: Codecs
let inputs: readonly FileMetadata[] = []

/** Loads codecs and hooks and writes the tables. */
export async function prepare(): Promise<void> {
  await loadChecksums()
  codecs = loadCodecs({ nativeFree: false })
  fileSystem.makeDirectorySync(directory)
  inputs = Array.from({ length: filesCount }, (_, file) => writeTable(file))
  await loadHooks(planOf(keeping, replacing))
}

const family = parseFamilyOptions('f', {})

/** Rows are dealt out to the tables in turn, so the merge changes its source at every entry. */
function writeTable(file: number): FileMetadata {
  const format = formatOfFamily(family)
  const output = new SsTableOutput(fileSystem, codecs, place, file + 1, format)
  const view = new CellView()
  const qualifier = Buffer.from('q')
  for (let i = 0; i < entriesPerFile; i++) {
    const number = i * filesCount + file
    const row = Buffer.from(`row:${String(number).padStart(10, '0')}`)
    const buffer = Buffer.alloc(keyBytesBound(row.length, qualifier.length) + 1 + valueBytes)
    const rowEnd = writeEscaped(buffer, 0, row)
    const start = writeTerminator(buffer, rowEnd)
    const end = writeTerminator(buffer, writeEscaped(buffer, start, qualifier))
    const keyEnd = writeKeySuffix(buffer, end, 0, number, CellType.put, number + 1, rowEnd)
    const content = writeValueHeader(buffer, keyEnd, 0)
    const valueEnd = content + valueBytes
    buffer.fill(`value ${number} `, content, valueEnd)
    view.set({ buffer, keyStart: 0, keyEnd, valueStart: keyEnd, valueEnd })
    output.add(view)
  }
  return output.finish(0, 0)
}

function planOf(...sources: readonly string[]): HookPlan {
  const job = {
    kind: 'minor',
    wholeStore: false,
    table: 't',
    family: 'f',
    now: 0,
    readPointOldest: entries,
  } as const
  const tasks = sources.map((source, i) => ({
    name: `hook ${i}`,
    module: `data:text/javascript,${encodeURIComponent(source)}`,
    options: {},
    context: undefined,
  }))
  return { job, tasks, protectedSequence: 0, watch: makeHookWatch() }
}

function compact(hooks: HookPlan | undefined): void {
  const job: CompactionJob = {
    kind: 'compaction',
    ...place,
    inputs: inputs.map(inputOf),
    slice: undefined,
    fileNumbers: [outputNumber],
    valueFileNumbers: [],
    valueFileBytesMax: Infinity,
    valueFilesRewritten: [],
    outputLevel: 0,
    outputBytesMax: Infinity,
    boundaries: [],
    format: formatOfFamily(family),
    retention: retentionOf(family),
    now: 0,
    hooks,
    major: false,
    earliestPutTimestamp: 0,
    verify: false,
    segments: [],
    nativeFree: false,
  }
  const result = runToEnd(startJob(fileSystem, codecs, job, new JobControl()))
  assert.equal(result.entriesWritten, entries)
  fileSystem.unlinkSync(fileSystem.join(directory, formatFileName('table', outputNumber)))
}

/** Adds the benchmarks. */
export function addTo(suite: Benchmark.Suite): void {
  const add = (name: string, hooks: HookPlan | undefined): void => {
    suite.add(`${name} (x ${entries})`, () => compact(hooks))
  }
  add('compaction without hooks', undefined)
  add('one hook keeps everything', planOf(keeping))
  add('two hooks keep everything', planOf(keeping, keeping))
  add('a hook replaces every value', planOf(replacing))
}
