/**
 * `npm run bench -- repository`: records of the content repository beside documents in
 * better-sqlite3 (JSON, FTS5) and PouchDB, and MiniSearch for the words; each engine in a process
 * of its own. `--records` is the number of records.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { preparePeers } from '../engines/peers.js'
import { UsageError } from '../harness/options.js'
import type { LeftOut, ResultRecord } from '../harness/record.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import type { SubjectMessage, SubjectTask } from './child.js'
import { subjectEntries } from './subjects.js'
import type { Measurement, Sizes } from './workloads.js'

const suiteName = 'repository'
const script = join(import.meta.dirname, 'child.js')

const small: Sizes = {
  records: 1000,
  calls: 1000,
  versions: 10,
  searches: 100,
  blobBytes: 2 ** 20,
  phaseSecondsMax: 0,
}

function sizesOf(records: number, phaseSecondsMax: number): Sizes {
  return {
    records,
    calls: Math.min(50_000, Math.max(1000, Math.floor(records / 2))),
    versions: 10,
    searches: 1000,
    blobBytes: 64 * 2 ** 20,
    phaseSecondsMax,
  }
}

function runInChild(task: SubjectTask): Promise<Measurement[]> {
  return new Promise((resolve, reject) => {
    const child = fork(script, [], {
      execArgv: [...process.execArgv, '--expose-gc'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const measured: Measurement[] = []
    let failure: string | undefined
    child.on('message', (message: SubjectMessage) => {
      if (message.kind === 'failed') failure = message.message
      else measured.push(message.measurement)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      if (failure === undefined && code === 0) resolve(measured)
      else reject(new Error(failure ?? `the process ended with ${code}`))
    })
    child.send(task)
  })
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}

function recordOf(engine: string, runs: readonly Measurement[], sizes: Sizes): ResultRecord {
  const [first] = runs
  const rates = runs.map(({ operations, seconds }) => operations / seconds)
  const middle = (values: readonly (number | undefined)[]): number | undefined => {
    const known = values.filter((value) => value !== undefined)
    return known.length === 0 ? undefined : median(known)
  }
  return {
    suite: suiteName,
    workload: first.workload,
    engine,
    durability: engine === 'minisearch' ? 'none' : 'buffered',
    records: sizes.records,
    operations: first.operations,
    seconds: median(runs.map(({ seconds }) => seconds)),
    opsPerSecond: median(rates),
    p50us: middle(runs.map(({ p50us }) => p50us)),
    p99us: middle(runs.map(({ p99us }) => p99us)),
    bytesOnDisk: middle(runs.map(({ counters }) => counters.bytesOnDisk)),
    peakRssBytes: Math.max(...runs.map(({ counters }) => counters.peakRssBytes)),
    cpuSeconds: middle(runs.map(({ counters }) => counters.cpuSeconds)),
    checksum: first.checksum,
    repeats: runs.length,
    spread: { low: Math.min(...rates), high: Math.max(...rates) },
  }
}

/** Answers of different engines to one workload have to be the same. */
function disagreements(results: readonly ResultRecord[]): string[] {
  const first = new Map<string, ResultRecord>()
  const failures: string[] = []
  for (const result of results) {
    const { workload, engine, checksum } = result
    if (checksum === undefined) continue
    const other = first.get(workload)
    if (other === undefined) first.set(workload, result)
    else if (other.checksum !== checksum) {
      failures.push(`${workload}: ${engine} answers other than ${other.engine}`)
    }
  }
  return failures
}

function available(context: SuiteContext, leftOut: LeftOut[]): Map<string, string> {
  const { engines, isQuick } = context.options
  const entries = subjectEntries(isQuick)
  for (const name of engines) {
    if (entries.some((entry) => entry.name === name)) continue
    const names = entries.map((entry) => entry.name).join(', ')
    throw new UsageError(`${suiteName} has no engine ${name}; there are ${names}`)
  }
  const versions = new Map<string, string>()
  for (const entry of entries) {
    const { name } = entry
    if (engines.length > 0 && !engines.includes(name)) continue
    try {
      versions.set(name, entry.version())
    } catch (error) {
      leftOut.push({ engine: name, reason: (error as Error).message })
    }
  }
  return versions
}

async function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { options, progress, directory } = context
  if (options.parts.length > 0) throw new UsageError(`${suiteName} has no parts`)
  const sizes = options.isQuick
    ? small
    : sizesOf(options.records ?? 100_000, options.phaseSecondsMax)
  const leftOut: LeftOut[] = []
  await preparePeers((text) => progress.note(text))
  const versions = available(context, leftOut)
  const runs = new Map<string, Measurement[][]>([...versions.keys()].map((name) => [name, []]))
  const failures: string[] = []
  progress.expect(versions.size * options.repeat)
  // Alternately, so that what else the machine does meets all of them.
  for (let repetition = 0; repetition < options.repeat; repetition++) {
    for (const [at, subject] of [...versions.keys()].entries()) {
      progress.begin(`${subject}, ${repetition + 1} of ${options.repeat}`)
      const path = join(directory, `${at}-${repetition}`)
      const { isQuick } = options
      try {
        const task = { subject, directory: path, isQuick, sizes, warmUp: small }
        runs.get(subject)!.push(await runInChild(task))
      } catch (error) {
        failures.push(`${subject}: ${(error as Error).message}`)
      }
      progress.end()
    }
  }
  const results: ResultRecord[] = []
  for (const [subject, repetitions] of runs) {
    const [firstRun = []] = repetitions
    for (let at = 0; at < firstRun.length; at++) {
      const same = repetitions.flatMap((each) => each.slice(at, at + 1))
      results.push(recordOf(subject, same, sizes))
    }
  }
  failures.push(...disagreements(results))
  return { results, engines: Object.fromEntries(versions), leftOut, failures }
}

/** The suite. */
export const suite: Suite = {
  name: suiteName,
  summary: 'records beside better-sqlite3 with JSON and FTS5, PouchDB and MiniSearch',
  run,
}
