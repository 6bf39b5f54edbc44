/**
 * The micro-benchmarks: every other file of this folder, one Benchmark.js suite each, one after the
 * other.
 *
 * A file exports `addTo(suite)`, and `prepare()` if something must be awaited before. A name that
 * ends in `(x N)` says that a call does N operations: the rate is multiplied by N.
 */
import Benchmark from 'benchmark'
import { readdirSync } from 'node:fs'
import { UsageError } from '../harness/options.js'
import type { ResultRecord } from '../harness/report/record.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'

interface MicroModule {
  addTo(suite: Benchmark.Suite): void
  prepare?(): Promise<unknown>
}

/** Longest time a benchmark is sampled with `--quick`, in seconds. */
const quickSecondsMax = 0.05

function findStructures(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.js') && name !== 'main.js')
    .map((name) => name.slice(0, -'.js'.length))
    .sort()
}

async function makeSuite(structure: string, quick: boolean): Promise<Benchmark.Suite> {
  const module = (await import(`./${structure}.js`)) as MicroModule
  await module.prepare?.()
  const suite = new Benchmark.Suite(structure)
  module.addTo(suite)
  suite.forEach((benchmark: Benchmark) => {
    // Its types leave out the options of an instance.
    const { options } = benchmark as unknown as { options: Benchmark.Options }
    if (quick) Object.assign(options, { maxTime: quickSecondsMax, minSamples: 1 })
  })
  return suite
}

/** Splits `insert (x 1000)` into the plain name and the operations of a call. */
function splitName(name: string): { plainName: string; operationsPerCall: number } {
  const match = /^(.*) \(x (\d+)\)$/.exec(name)
  if (match === null) return { plainName: name, operationsPerCall: 1 }
  return { plainName: match[1], operationsPerCall: Number(match[2]) }
}

function recordOf(structure: string, benchmark: Benchmark): ResultRecord {
  const { plainName, operationsPerCall } = splitName(benchmark.name ?? '')
  const { hz, stats, times } = benchmark
  const rate = hz * operationsPerCall
  const marginPart = stats.rme / 100
  return {
    suite: 'micro',
    workload: `${structure}: ${plainName}`,
    engine: 'cellar',
    durability: 'none',
    records: 0,
    operations: benchmark.count * operationsPerCall * stats.sample.length,
    seconds: times.elapsed,
    opsPerSecond: rate,
    repeats: stats.sample.length,
    // The 95 % confidence interval.
    spread: { low: rate * (1 - marginPart), high: rate * (1 + marginPart) },
  }
}

/** Runs a suite; resolves when the last benchmark is done. */
function runSuite(
  suite: Benchmark.Suite,
  onBenchmark: (benchmark: Benchmark) => void,
): Promise<void> {
  return new Promise((resolve) => {
    suite.on('cycle', (event: Benchmark.Event) => {
      onBenchmark(event.target as unknown as Benchmark)
    })
    suite.on('complete', () => resolve())
    suite.run({ async: true })
  })
}

function structuresOf(parts: readonly string[]): readonly string[] {
  const known = findStructures()
  const unknown = parts.filter((part) => !known.includes(part))
  if (unknown.length > 0) {
    throw new UsageError(`micro has no part ${unknown.join(', ')}; it has ${known.join(', ')}`)
  }
  return parts.length === 0 ? known : parts
}

async function run({ options, progress }: SuiteContext): Promise<SuiteOutcome> {
  const results: ResultRecord[] = []
  const failures: string[] = []
  const structures = structuresOf(options.parts)
  progress.expect(structures.length)
  for (const structure of structures) {
    progress.begin(`micro ${structure}`)
    try {
      await runSuite(await makeSuite(structure, options.isQuick), (benchmark) => {
        const error = benchmark.error as Error | undefined
        if (error === undefined) results.push(recordOf(structure, benchmark))
        else failures.push(`${structure}: ${benchmark.name}: ${String(error.stack ?? error)}`)
      })
    } catch (error) {
      // The other structures can be measured all the same.
      failures.push(`${structure}: ${String((error as Error).stack ?? error)}`)
    }
    progress.end()
  }
  return { results, engines: {}, leftOut: [], failures }
}

/** The micro-benchmarks of the structures inside. */
export const suite: Suite = {
  name: 'micro',
  summary: 'single structures; parts are the names of files in bench/micro',
  run,
}
