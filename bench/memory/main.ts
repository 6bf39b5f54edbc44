/**
 * `npm run bench -- memory`: gets of rows of ten fields of 100 bytes in a process that has half,
 * then a quarter of the memory that the data take: for itself and for the files that the system
 * keeps in memory for it. The stores are filled without a limit, and dropped from memory before.
 *
 * LMDB maps its file. By default each page that is missing makes the system read ahead in it, which
 * `noReadAhead` forbids; both are measured. Caches of the others have an eighth of the limit.
 *
 * A control group with a limit of memory needs Linux and the right to make one; without it all
 * engines are left out, with the reason.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { peerVersion } from '../engines/peers.js'
import { measureInChild, type Measurement } from '../harness/processes/subject-process.js'
import { compareSubjects, type SubjectName } from '../harness/subjects.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import type { MemoryTask } from './child.js'
import { ControlGroup, whyNoControlGroup } from './control-group.js'

const suiteName = 'memory'
const script = join(import.meta.dirname, 'child.js')

const rowBytes = 1000
/** A process of Node needs so much to work at all. */
const limitBytesMin = 192 * 1024 * 1024
const limits = [
  { label: 'half', divisor: 2 },
  { label: 'a quarter', divisor: 4 },
]

interface MemorySubject extends SubjectName {
  readonly engine: string
  readonly readsAhead: boolean
}

function subject(name: string, engine = name, readsAhead = true): MemorySubject {
  const isPeer = engine !== 'cellar'
  const version = (): string => {
    const reason = whyNoControlGroup()
    if (reason !== undefined) throw new Error(reason)
    return isPeer ? peerVersion(engine) : 'this tree'
  }
  return { name, engine, isPeer, readsAhead, version }
}

const subjects = [
  subject('cellar'),
  subject('lmdb'),
  subject('lmdb/noReadAhead', 'lmdb', false),
  subject('classic-level'),
  subject('better-sqlite3'),
]

/** Drops the files of a directory from the memory of the system. */
function dropFromMemory(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const { status, stderr } = spawnSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0'])
    if (status !== 0) throw new Error(`dd: ${String(stderr)}`)
  }
}

/** The read-ahead of the device of a directory in KiB; NaN where the system does not tell. */
function readAheadKibibytes(directory: string): number {
  const { dev } = statSync(directory)
  const major = (dev >> 8) & 0xfff
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00)
  try {
    return Number(readFileSync(`/sys/class/bdi/${major}:${minor}/read_ahead_kb`, 'utf8'))
  } catch {
    return NaN
  }
}

async function readWithin(task: MemoryTask, limitBytes: number): Promise<Measurement[]> {
  dropFromMemory(task.directory)
  const group = ControlGroup.make(limitBytes)
  try {
    const measured = await measureInChild(script, task, (processId) => group.add(processId))
    const pageCacheMebibytes = group.fileBytes / 1024 / 1024
    return measured.map((one) => ({ ...one, extra: { ...one.extra, pageCacheMebibytes } }))
  } finally {
    group.remove()
  }
}

async function measure(
  { engine, readsAhead }: MemorySubject,
  directory: string,
  { options }: SuiteContext,
): Promise<Measurement[]> {
  const records = options.records ?? (options.isQuick ? 2000 : 1_000_000)
  const seconds = options.isQuick ? 0.2 : (options.seconds ?? 20)
  mkdirSync(directory)
  const { seed, cacheBytes } = options
  const extra = { readAheadKibibytes: readAheadKibibytes(directory) }
  const own = { engine, readsAhead, directory, records, seed, seconds, extra, label: '' }
  await measureInChild<MemoryTask>(script, { ...own, kind: 'fill', cacheBytes })
  const measured: Measurement[] = []
  for (const { label, divisor } of limits) {
    const limitBytes = Math.max(limitBytesMin, (records * rowBytes) / divisor)
    const cacheBytes = Math.floor(limitBytes / 8)
    const limited = { ...extra, limitMebibytes: limitBytes / 1024 / 1024 }
    const task = { ...own, kind: 'read' as const, label, cacheBytes, extra: limited }
    measured.push(...(await readWithin(task, limitBytes)))
  }
  return measured
}

function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { records = 1_000_000, isQuick } = context.options
  return compareSubjects<MemorySubject>(
    {
      suite: suiteName,
      subjects,
      records: isQuick ? 2000 : records,
      durabilityOf: () => 'buffered',
      measure: (one, directory) => measure(one, directory, context),
    },
    context,
  )
}

/** The suite. */
export const suite: Suite = {
  name: suiteName,
  summary: 'gets in a control group with half and a quarter of the memory that the data take',
  run,
}
