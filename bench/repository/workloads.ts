/** What is measured on every engine; the answers are compared. */
import { createHash } from 'node:crypto'
import { observeProcess, type ProcessCounters } from '../harness/processes/process-counters.js'
import type { Measurement, Tell } from '../harness/processes/subject-process.js'
import { digestOf, documentOf, idOf, numbers, wordOf, type BenchDocument } from './documents.js'
import type { Subject } from './subject.js'

/** How much of everything. */
export interface Sizes {
  readonly records: number
  readonly calls: number
  readonly versions: number
  readonly searches: number
  readonly blobBytes: number
  /** Most seconds of the calls of a workload; 0 = no bound. */
  readonly phaseSecondsMax: number
}

interface Run {
  readonly subject: Subject
  readonly sizes: Sizes
  readonly documents: readonly BenchDocument[]
  readonly times: number[]
  /** What the workloads before have done. */
  readonly done: Done
}

interface Done {
  /** Calls of the workload `new-version`. */
  versions: number
  /** Whether a workload has ended before all of its calls were made. */
  isShort: boolean
}

/** Operations, and what all engines must agree on. */
type Outcome = readonly [operations: number, answer: string | undefined]

type Workload = readonly [name: string, needs: keyof Subject, run: (run: Run) => Promise<Outcome>]

/**
 * Measures calls one after the other; those that answer at once are not awaited. How many were
 * made: fewer than `count` if the time is over.
 */
async function each(
  { times, sizes, done }: Run,
  count: number,
  call: (i: number) => unknown,
  answer: (value: unknown, i: number) => void = () => undefined,
): Promise<number> {
  let yielded = performance.now()
  const { phaseSecondsMax } = sizes
  const last = phaseSecondsMax === 0 ? Infinity : yielded + phaseSecondsMax * 1000
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    let value = call(i)
    if (value instanceof Promise) value = await value
    const end = performance.now()
    times.push(end - start)
    answer(value, i)
    if (end > last && i + 1 < count) {
      done.isShort = true
      return i + 1
    }
    if (end - yielded < 10) continue
    // As an application has to.
    await new Promise((resolve) => setImmediate(resolve))
    yielded = performance.now()
  }
  return count
}

/** Numbers of records, the same for every engine. */
function picks(count: number, below: number, seed: number): number[] {
  const random = numbers(seed)
  return Array.from({ length: count }, () => Math.floor(random() * below))
}

const words = (i: number): [string, string] => [wordOf(5 + (i % 40)), wordOf(20 + (i % 301))]

/** The pieces of a blob, in one buffer again and again. */
async function* blobPieces(bytes: number): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(262_144)
  for (let at = 0; at < piece.length; at++) piece[at] = (at * 31) & 0xff
  for (let at = 0; at < bytes; at += piece.length) yield piece
}

const workloads: readonly Workload[] = [
  [
    'create-batches',
    'load',
    async ({ subject, documents }) => {
      await subject.load!(documents)
      return [documents.length, undefined]
    },
  ],
  [
    'index-words',
    'prepareSearch',
    async ({ subject, documents }) => {
      await subject.prepareSearch!(documents)
      return [documents.length, undefined]
    },
  ],
  [
    'search-two-words',
    'search',
    async (run) => {
      let found = 0
      const call = (i: number): unknown => run.subject.search!(words(i))
      const { searches } = run.sizes
      const made = await each(run, searches, call, (count) => (found += count as number))
      return [made, String(found)]
    },
  ],
  [
    'create',
    'create',
    async (run) => {
      const { records, calls } = run.sizes
      const made = Array.from({ length: calls }, (_, i) => documentOf(records + i))
      const count = await each(run, calls, (i) => run.subject.create!(made[i]))
      const last = await run.subject.read!(idOf(records + count - 1))
      return [count, digestOf([run.subject.documentOf!(last)])]
    },
  ],
  [
    'read',
    'read',
    async (run) => {
      const at = picks(run.sizes.calls, run.sizes.records, 2)
      const ids = at.map(idOf)
      const kept: unknown[] = []
      const keep = (value: unknown, i: number): void => {
        if (i % 100 === 0) kept.push(value)
      }
      const made = await each(run, ids.length, (i) => run.subject.read!(ids[i]), keep)
      return [made, digestOf(kept.map((value) => run.subject.documentOf!(value)))]
    },
  ],
  [
    'conditional-update',
    'change',
    async (run) => {
      const at = picks(run.sizes.calls, run.sizes.records, 3)
      const counters = new Map<number, number>()
      let changed = 0
      // One in ten expects what is not so.
      const call = (i: number): unknown => {
        const known = counters.get(at[i]) ?? 0
        const isStale = i % 10 === 9
        if (!isStale) counters.set(at[i], known + 1)
        return run.subject.change!(idOf(at[i]), isStale ? known + 7 : known, known + 1)
      }
      const made = await each(run, at.length, call, (isChanged) => {
        if (isChanged === true) changed++
      })
      const last = await run.subject.read!(idOf(at[0]))
      return [made, `${changed} ${digestOf([run.subject.documentOf!(last)])}`]
    },
  ],
  [
    'update-of-one-hot-record',
    'change',
    async (run) => {
      const id = idOf(run.sizes.records - 1)
      const read = await run.subject.read!(id)
      const first = run.subject.documentOf!(read)!.counter
      const { calls } = run.sizes
      const call = (i: number): unknown => run.subject.change!(id, first + i, first + i + 1)
      const made = await each(run, calls, call)
      const last = await run.subject.read!(id)
      return [made, digestOf([run.subject.documentOf!(last)])]
    },
  ],
  [
    'new-version',
    'addVersion',
    async (run) => {
      const count = Math.max(1, Math.floor(run.sizes.calls / run.sizes.versions))
      const at = picks(run.sizes.calls, count, 4)
      const call = (i: number): unknown => run.subject.addVersion!(idOf(at[i]), `title ${i}`)
      run.done.versions = await each(run, at.length, call)
      return [run.done.versions, undefined]
    },
  ],
  [
    'read-version',
    'readVersion',
    async (run) => {
      const count = Math.max(1, Math.floor(run.sizes.calls / run.sizes.versions))
      const perRecord = new Map<number, number>()
      for (const i of picks(run.sizes.calls, count, 4).slice(0, run.done.versions)) {
        perRecord.set(i, (perRecord.get(i) ?? 1) + 1)
      }
      const at = picks(run.sizes.calls, count, 5)
      const version = picks(run.sizes.calls, 1_000_000, 6)
      const hash = createHash('sha256')
      const call = (i: number): unknown => {
        const newest = perRecord.get(at[i]) ?? 1
        return run.subject.readVersion!(idOf(at[i]), 1 + (version[i] % newest))
      }
      const made = await each(run, at.length, call, (title) => hash.update(`${String(title)};`))
      return [made, hash.digest('hex').slice(0, 16)]
    },
  ],
  [
    'scan',
    'scan',
    async ({ subject }) => {
      const [count, years] = await subject.scan!()
      return [count, `${count} ${years}`]
    },
  ],
  [
    'find-50-by-year',
    'find',
    async (run) => {
      const calls = Math.floor(run.sizes.calls / 10)
      const from = picks(calls, 110, 7)
      const hash = createHash('sha256')
      const call = (i: number): unknown => run.subject.find!(1900 + from[i], 50)
      const made = await each(run, calls, call, (ids) => hash.update((ids as string[]).join()))
      return [made, hash.digest('hex').slice(0, 16)]
    },
  ],
  [
    'write-blob-MB',
    'writeBlob',
    async ({ subject, sizes }) => {
      await subject.writeBlob!(blobPieces(sizes.blobBytes))
      return [sizes.blobBytes / 1e6, undefined]
    },
  ],
]

/** Reads of blobs: the write before is not measured. */
async function readBlobs(run: Run): Promise<[Outcome, number]> {
  const blob = await run.subject.writeBlob!(blobPieces(run.sizes.blobBytes))
  const start = performance.now()
  let at = 0
  let sum = 0
  const size = await run.subject.readBlob!(blob, (bytes) => {
    // A byte in every 4 KiB, wherever the engine cuts the pieces.
    for (let i = (4096 - (at % 4096)) % 4096; i < bytes.length; i += 4096) sum += bytes[i]
    at += bytes.length
  })
  return [[size / 1e6, `${size} ${sum}`], (performance.now() - start) / 1000]
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] * 1000
}

function measurementOf(
  workload: string,
  [operations, checksum]: Outcome,
  seconds: number,
  times: readonly number[],
  counters: ProcessCounters,
): Measurement {
  const sorted = [...times].sort((a, b) => a - b)
  const latencies = sorted.length === 0 ? {} : { p50us: at(sorted, 0.5), p99us: at(sorted, 0.99) }
  const known = checksum === undefined ? {} : { checksum }
  return { workload, operations, seconds, ...latencies, ...known, counters }
}

/** Runs all workloads that the engine has, in their order: searches before anything changes. */
export async function runWorkloads(
  subject: Subject,
  directory: string,
  sizes: Sizes,
  tell: Tell,
): Promise<void> {
  const documents = Array.from({ length: sizes.records }, (_, i) => documentOf(i))
  const done: Done = { versions: 0, isShort: false }
  for (const [name, needs, work] of workloads) {
    if (subject[needs] === undefined) continue
    const times: number[] = []
    globalThis.gc?.()
    const observed = observeProcess(directory)
    const start = performance.now()
    const [operations, answer] = await work({ subject, sizes, documents, times, done })
    const whole = (performance.now() - start) / 1000
    const seconds = times.length === 0 ? whole : times.reduce((sum, time) => sum + time, 0) / 1000
    // An engine that did less has other answers.
    const outcome: Outcome = [operations, done.isShort ? undefined : answer]
    tell(measurementOf(name, outcome, seconds, times, observed.end()))
    if (name === 'search-two-words') await subject.endSearch?.()
  }
  if (subject.readBlob !== undefined) {
    const observed = observeProcess(directory)
    const [outcome, seconds] = await readBlobs({ subject, sizes, documents, times: [], done })
    tell(measurementOf('read-blob-MB', outcome, seconds, [], observed.end()))
  }
  for (const own of subject.own ?? []) {
    const times: number[] = []
    const observed = observeProcess(directory)
    const operations = await own.run(async (call) => {
      const start = performance.now()
      const value = await call()
      times.push(performance.now() - start)
      return value
    })
    const seconds = times.reduce((sum, time) => sum + time, 0) / 1000
    tell(measurementOf(own.name, [operations, undefined], seconds, times, observed.end()))
  }
}
