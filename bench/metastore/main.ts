/**
 * `npm run bench -- metastore`: the MetaStore over Cellar, over LMDB and LevelDB, and in memory,
 * each in a process of its own; see workloads.ts. `--records` is the number of topics.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { preparePeers } from '../engines/peers.js'
import { UsageError } from '../harness/options.js'
import type { LeftOut, ResultRecord } from '../harness/record.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import type { StoreMessage, StoreTask } from './child.js'
import { storeEntries, type StoreEntry } from './stores.js'
import type { Measurement, Sizes } from './workloads.js'

const suiteName = 'metastore'
const script = join(import.meta.dirname, 'child.js')

function sizesOf(topics: number, isQuick: boolean): Sizes {
  if (isQuick) {
    return { topics: 200, subscribers: 300, ledgers: 500, singlePuts: 20, rounds: 1, reads: 2 }
  }
  const subscribers = 10_000
  return { topics, subscribers, ledgers: topics, singlePuts: 300, rounds: 30, reads: 20 }
}

function runInChild(task: StoreTask): Promise<Measurement[]> {
  return new Promise((resolve, reject) => {
    const child = fork(script, [], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const measured: Measurement[] = []
    let failure: string | undefined
    child.on('message', (message: StoreMessage) => {
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
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** One record of a workload from its repetitions on one store. */
function recordOf(
  engine: string,
  runs: readonly Measurement[],
  { options }: SuiteContext,
  sizes: Sizes,
): ResultRecord {
  const rates = runs.map(({ operations, seconds }) => operations / seconds)
  const [first] = runs
  const middle = (value: (run: Measurement) => number | undefined): number | undefined => {
    const values = runs.map(value).filter((one) => one !== undefined)
    return values.length === 0 ? undefined : median(values)
  }
  return {
    suite: suiteName,
    workload: first.workload,
    engine,
    durability: engine === 'memory' ? 'none' : (options.durability ?? 'sync'),
    records: sizes.topics * 3,
    operations: first.operations,
    seconds: median(runs.map(({ seconds }) => seconds)),
    opsPerSecond: median(rates),
    p50us: middle(({ p50us }) => p50us),
    p99us: middle(({ p99us }) => p99us),
    bytesOnDisk: engine === 'memory' ? undefined : middle((run) => run.counters.bytesOnDisk),
    peakRssBytes: Math.max(...runs.map(({ counters }) => counters.peakRssBytes)),
    cpuSeconds: middle((run) => run.counters.cpuSeconds),
    checksum: first.checksum,
    extra: { cpuP10us: median(runs.map(({ cpuP10us }) => cpuP10us)) },
    repeats: runs.length,
    spread: { low: Math.min(...rates), high: Math.max(...rates) },
  }
}

function chosenStores(context: SuiteContext): StoreEntry[] {
  const { engines, parts } = context.options
  if (parts.length > 0) throw new UsageError(`${suiteName} has no parts`)
  for (const name of engines) {
    if (storeEntries.some((entry) => entry.name === name)) continue
    const names = storeEntries.map((entry) => entry.name).join(', ')
    throw new UsageError(`${suiteName} has no engine ${name}; there are ${names}`)
  }
  return storeEntries.filter(({ name }) => engines.length === 0 || engines.includes(name))
}

/** Stores that can be used here, with their versions. */
function available(entries: readonly StoreEntry[], leftOut: LeftOut[]): Map<string, string> {
  const versions = new Map<string, string>()
  for (const entry of entries) {
    const { name } = entry
    try {
      versions.set(name, entry.version())
    } catch (error) {
      leftOut.push({ engine: name, reason: (error as Error).message })
    }
  }
  return versions
}

/** Answers of different stores to one workload have to be the same. */
function disagreements(results: readonly ResultRecord[]): string[] {
  const first = new Map<string, ResultRecord>()
  const failures: string[] = []
  for (const result of results) {
    const other = first.get(result.workload)
    if (other === undefined) first.set(result.workload, result)
    else if (other.checksum !== result.checksum || other.operations !== result.operations) {
      failures.push(`${result.workload}: ${result.engine} answers other than ${other.engine}`)
    }
  }
  return failures
}

async function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { options, progress, directory } = context
  const sizes = sizesOf(options.records ?? 5000, options.isQuick)
  const leftOut: LeftOut[] = []
  const stores = chosenStores(context)
  if (stores.some(({ isPeer }) => isPeer)) await preparePeers((text) => progress.note(text))
  const versions = available(stores, leftOut)
  const runs = new Map<string, Measurement[][]>([...versions.keys()].map((name) => [name, []]))
  const failures: string[] = []
  progress.expect(versions.size * options.repeat)
  // Alternately, so that what else the machine does meets all of them.
  for (let repetition = 0; repetition < options.repeat; repetition++) {
    for (const store of versions.keys()) {
      progress.begin(`${store}, ${repetition + 1} of ${options.repeat}`)
      const settings = {
        directory: join(directory, `${store}-${repetition}`),
        isSync: options.durability === undefined || options.durability === 'sync',
        cacheBytes: options.cacheBytes,
      }
      try {
        runs.get(store)!.push(await runInChild({ store, settings, sizes }))
      } catch (error) {
        failures.push(`${store}: ${(error as Error).message}`)
      }
      progress.end()
    }
  }
  const results: ResultRecord[] = []
  for (const [store, repetitions] of runs) {
    const [firstRun = []] = repetitions
    for (let at = 0; at < firstRun.length; at++) {
      const same = repetitions.map((repetition) => repetition[at])
      results.push(recordOf(store, same, context, sizes))
    }
  }
  failures.push(...disagreements(results))
  return { results, engines: Object.fromEntries(versions), leftOut, failures }
}

/** The suite. */
export const suite: Suite = {
  name: suiteName,
  summary: "Hedwig's and the ledger manager's calls, over Cellar, LMDB, LevelDB and in memory",
  run,
}
