/**
 * The micro-benchmarks: every other file of this folder, one Benchmark.js suite each, one after the
 * other.
 *
 * A file exports `addTo(suite)`, and `prepare()` if something must be awaited before. A name that
 * ends in `(x N)` says that a call does N operations: the rate is multiplied by N.
 */
import Benchmark from 'benchmark'
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { readdirSync, writeFileSync } from 'node:fs'
import { describeEnvironment } from '../environment.js'
import { UsageError } from '../usage.js'
import type { SuiteSettings } from '../usage.js'

interface MicroModule {
  addTo(suite: Benchmark.Suite): void
  prepare?(): Promise<unknown>
}

/** What one benchmark gave. */
interface Measurement {
  readonly structure: string
  readonly name: string
  /** Operations, not calls. */
  readonly operationsPerSecond: number
  /** Half the 95 % confidence interval, in per cent of the rate. */
  readonly marginPercent: number
  readonly samples: number
  readonly error?: string
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

function measurementOf(structure: string, benchmark: Benchmark): Measurement {
  const { plainName, operationsPerCall } = splitName(benchmark.name ?? '')
  const error = benchmark.error as Error | undefined
  return {
    structure,
    name: plainName,
    operationsPerSecond: benchmark.hz * operationsPerCall,
    marginPercent: benchmark.stats.rme,
    samples: benchmark.stats.sample.length,
    ...(error === undefined ? {} : { error: String(error.stack ?? error) }),
  }
}

function failedStructure(structure: string, error: Error): Measurement {
  const message = String(error.stack ?? error)
  process.stderr.write(`${structure}: ${message}\n`)
  return {
    structure,
    name: 'preparation',
    operationsPerSecond: 0,
    marginPercent: 0,
    samples: 0,
    error: message,
  }
}

/** Runs a suite; resolves when the last benchmark is done. Failed benchmarks have an `error`. */
function runSuite(
  structure: string,
  suite: Benchmark.Suite,
  onMeasurement: (measurement: Measurement) => void,
): Promise<void> {
  return new Promise((resolve) => {
    suite.on('cycle', (event: Benchmark.Event) => {
      onMeasurement(measurementOf(structure, event.target as unknown as Benchmark))
    })
    suite.on('complete', () => resolve())
    suite.run({ async: true })
  })
}

/** 1234567 as `1.235 M`. */
function formatRate(rate: number): string {
  const [divisor, unit] = rate >= 1e6 ? [1e6, ' M'] : rate >= 1e3 ? [1e3, ' k'] : [1, '  ']
  return `${(rate / divisor).toPrecision(4)}${unit}`
}

function formatTable(measurements: readonly Measurement[]): string {
  const table = new Table({
    head: ['structure', 'benchmark', 'operations/s', 'margin', 'samples'],
    colAligns: ['left', 'left', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  })
  for (const { structure, name, operationsPerSecond, ...rest } of measurements) {
    const isGood = rest.error === undefined
    table.push([
      structure,
      name,
      isGood ? formatRate(operationsPerSecond) : 'failed',
      rest.samples > 1 ? `±${rest.marginPercent.toFixed(1)} %` : '',
      rest.samples,
    ])
  }
  return table.toString()
}

/** Runs the micro-benchmarks and prints a table. Returns 1 if one of them failed. */
export async function runMicro(settings: SuiteSettings): Promise<number> {
  const known = findStructures()
  const unknown = settings.parts.filter((part) => !known.includes(part))
  if (unknown.length > 0) {
    throw new UsageError(`micro has no part ${unknown.join(', ')}; it has ${known.join(', ')}`)
  }
  const structures = settings.parts.length === 0 ? known : settings.parts
  const measurements: Measurement[] = []
  for (const structure of structures) {
    let suite: Benchmark.Suite
    try {
      suite = await makeSuite(structure, settings.quick)
    } catch (error) {
      // The other structures can be measured all the same.
      measurements.push(failedStructure(structure, error as Error))
      continue
    }
    const format = `${structure.padEnd(16)} {bar} {value}/{total} {latest}`
    const bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true })
    bar.start(suite.length, 0, { latest: '' })
    await runSuite(structure, suite, (measurement) => {
      measurements.push(measurement)
      bar.increment(1, { latest: measurement.name })
      if (measurement.error !== undefined) process.stderr.write(`\n${measurement.error}\n`)
      else if (!process.stderr.isTTY) process.stderr.write(`${structure}: ${measurement.name}\n`)
    })
    bar.stop()
  }
  const environment = describeEnvironment()
  process.stdout.write(`${formatTable(measurements)}\n`)
  const { cpu, cores, platform, node, commit } = environment
  process.stdout.write(
    `${cpu}, ${cores} cores, ${platform}, Node ${node}, commit ${commit ?? 'unknown'}\n`,
  )
  if (settings.outPath !== undefined) {
    const report = { suite: 'micro', quick: settings.quick, environment, measurements }
    writeFileSync(settings.outPath, `${JSON.stringify(report, undefined, 2)}\n`)
  }
  return measurements.some(({ error }) => error !== undefined) ? 1 : 0
}
