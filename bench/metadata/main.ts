/**
 * `npm run bench -- metadata`: Pulsar's metadata over Cellar beside a bare durable put, LMDB, the
 * layout of Pulsar's RocksDB store over LevelDB, ZooKeeper on this machine, Pulsar's own store, and
 * a `Map`; each in a process of its own. `--records` is the number of topics.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { preparePeers } from '../engines/peers.js'
import { UsageError } from '../harness/options.js'
import type { LeftOut, ResultRecord } from '../harness/record.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import type { SubjectMessage, SubjectTask } from './child.js'
import { measurePulsar, pulsarMissing } from './pulsar-rocksdb.js'
import { subjectEntries } from './subjects.js'
import type { Measurement, Sizes } from './workloads.js'

const suiteName = 'metadata'
const pulsarName = 'pulsar-rocksdb'
const script = join(import.meta.dirname, 'child.js')

function sizesOf(topics: number, isQuick: boolean): Sizes {
  if (isQuick) {
    return {
      topics: 500,
      single: 10,
      outstanding: 200,
      rounds: 1,
      listings: 5,
      listeners: 20,
      changes: 5,
      ephemeral: 300,
    }
  }
  return {
    topics,
    single: 1_000,
    outstanding: 10_000,
    rounds: 10,
    listings: 5_000,
    listeners: 1_000,
    changes: 1_000,
    ephemeral: Math.min(100_000, topics),
  }
}

function runInChild(task: SubjectTask): Promise<Measurement[]> {
  return new Promise((resolve, reject) => {
    const child = fork(script, [], {
      execArgv: ['--expose-gc'],
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
  const isDurable = subjectEntries.find(({ name }) => name === engine)?.isDurable ?? true
  return {
    suite: suiteName,
    workload: first.workload,
    engine,
    durability: isDurable ? 'sync' : 'none',
    records: sizes.topics,
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

/** Answers of different stores to one workload have to be the same. */
function disagreements(results: readonly ResultRecord[]): string[] {
  const first = new Map<string, ResultRecord>()
  const failures: string[] = []
  for (const result of results) {
    const { workload, engine, checksum } = result
    // The bare table knows no versions; the Java program checks its answers itself.
    if (engine === pulsarName || engine === 'bare table.put') continue
    const other = first.get(workload)
    if (other === undefined) first.set(workload, result)
    else if (other.checksum !== checksum) {
      failures.push(`${workload}: ${engine} answers other than ${other.engine}`)
    }
  }
  return failures
}

/** Subjects that were asked for and can be used here, with their versions. */
function available(context: SuiteContext, leftOut: LeftOut[]): Map<string, string> {
  const { engines, isQuick } = context.options
  const names = [...subjectEntries.map(({ name }) => name), pulsarName]
  for (const name of engines) {
    if (names.includes(name)) continue
    throw new UsageError(`${suiteName} has no engine ${name}; there are ${names.join(', ')}`)
  }
  const isAsked = (name: string): boolean => engines.length === 0 || engines.includes(name)
  const versions = new Map<string, string>()
  for (const entry of subjectEntries.filter((each) => isAsked(each.name))) {
    const { name } = entry
    try {
      versions.set(name, entry.version())
    } catch (error) {
      leftOut.push({ engine: name, reason: (error as Error).message })
    }
  }
  if (!isAsked(pulsarName)) return versions
  const reason =
    isQuick && engines.length === 0
      ? 'left out of quick runs'
      : pulsarMissing((text) => context.progress.note(text))
  if (reason === undefined) versions.set(pulsarName, 'pulsar-metadata 4.0.0')
  else leftOut.push({ engine: pulsarName, reason })
  return versions
}

async function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { options, progress, directory } = context
  if (options.parts.length > 0) throw new UsageError(`${suiteName} has no parts`)
  const sizes = sizesOf(options.records ?? 100_000, options.isQuick)
  const leftOut: LeftOut[] = []
  const { engines } = options
  const isAsked = (name: string): boolean => engines.length === 0 || engines.includes(name)
  if (subjectEntries.some(({ name, isPeer }) => isPeer && isAsked(name))) {
    await preparePeers((text) => progress.note(text))
  }
  const versions = available(context, leftOut)
  const runs = new Map<string, Measurement[][]>([...versions.keys()].map((name) => [name, []]))
  const failures: string[] = []
  progress.expect(versions.size * options.repeat)
  // Alternately, so that what else the machine does meets all of them.
  for (let repetition = 0; repetition < options.repeat; repetition++) {
    for (const [at, subject] of [...versions.keys()].entries()) {
      progress.begin(`${subject}, ${repetition + 1} of ${options.repeat}`)
      const settings = {
        directory: join(directory, `${at}-${repetition}`),
        cacheBytes: options.cacheBytes,
      }
      try {
        runs
          .get(subject)!
          .push(
            subject === pulsarName
              ? await measurePulsar(settings.directory, sizes)
              : await runInChild({ subject, settings, sizes }),
          )
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
      results.push(
        recordOf(
          subject,
          repetitions.map((each) => each[at]),
          sizes,
        ),
      )
    }
  }
  failures.push(...disagreements(results))
  return { results, engines: Object.fromEntries(versions), leftOut, failures }
}

/** The suite. */
export const suite: Suite = {
  name: suiteName,
  summary: "Pulsar's metadata: Cellar, LMDB, ZooKeeper, Pulsar's RocksDB store and a Map",
  run,
}
