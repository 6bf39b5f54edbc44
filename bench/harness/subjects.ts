/**
 * Suites of their own kind that measure several subjects in turns, each in a process of its own:
 * who takes part, the repetitions, one record of each workload, and equal answers.
 */
import { join } from 'node:path'
import { preparePeers } from '../engines/peers.js'
import type { Durability } from './engine.js'
import { UsageError } from './options.js'
import type { LeftOut, ResultRecord } from './report/record.js'
import type { Measurement } from './processes/subject-process.js'
import type { SuiteContext, SuiteOutcome } from './suite.js'
import { median } from './report/summarize.js'

/** One of those that are compared. */
export interface SubjectName {
  readonly name: string
  /** Whether it needs the package of the peers. */
  readonly isPeer: boolean
  /** Throws if it cannot be used here. */
  version(): string
}

/** What such a suite says of itself. */
export interface Comparison<S extends SubjectName> {
  readonly suite: string
  /** In the order of the tables. */
  readonly subjects: readonly S[]
  /** As the results name them. */
  readonly records: number
  /** Measures a subject once; the directory does not exist yet. */
  measure(subject: S, directory: string): Promise<readonly Measurement[]>
  durabilityOf(subject: S): Durability
  /** Subjects whose answers are not compared. */
  readonly apart?: readonly string[]
}

/** One record of a workload from its repetitions on one subject. */
function recordOf<S extends SubjectName>(
  comparison: Comparison<S>,
  subject: S,
  runs: readonly Measurement[],
): ResultRecord {
  const { suite, records } = comparison
  const [first] = runs
  const rates = runs.map(({ operations, seconds }) => operations / seconds)
  const middle = (of: (run: Measurement) => number | undefined): number | undefined => {
    const known = runs.map(of).filter((value) => value !== undefined)
    return known.length === 0 ? undefined : median(known)
  }
  const durability = comparison.durabilityOf(subject)
  const extra = Object.keys(first.extra ?? {}).map((name) => {
    return [name, median(runs.map((run) => run.extra![name]))] as const
  })
  return {
    suite,
    workload: first.workload,
    engine: subject.name,
    durability,
    records,
    operations: first.operations,
    seconds: median(runs.map(({ seconds }) => seconds)),
    opsPerSecond: median(rates),
    p50us: middle(({ p50us }) => p50us),
    p99us: middle(({ p99us }) => p99us),
    bytesOnDisk: durability === 'none' ? undefined : middle((run) => run.counters.bytesOnDisk),
    peakRssBytes: Math.max(...runs.map(({ counters }) => counters.peakRssBytes)),
    cpuSeconds: middle(({ counters }) => counters.cpuSeconds),
    checksum: first.checksum,
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    repeats: runs.length,
    spread: { low: Math.min(...rates), high: Math.max(...rates) },
  }
}

/** Answers of different subjects to one workload have to be the same. */
function disagreements(results: readonly ResultRecord[], apart: readonly string[]): string[] {
  const first = new Map<string, ResultRecord>()
  const failures: string[] = []
  for (const result of results) {
    const { workload, engine, checksum } = result
    if (checksum === undefined || apart.includes(engine)) continue
    const other = first.get(workload)
    if (other === undefined) first.set(workload, result)
    else if (other.checksum !== checksum) {
      failures.push(`${workload}: ${engine} answers other than ${other.engine}`)
    }
  }
  return failures
}

/** Subjects that were asked for and can be used here, with their versions. @throws UsageError */
async function available<S extends SubjectName>(
  { suite, subjects }: Comparison<S>,
  { options, progress }: SuiteContext,
  leftOut: LeftOut[],
): Promise<Map<S, string>> {
  const { engines, parts } = options
  if (parts.length > 0) throw new UsageError(`${suite} has no parts`)
  const names = subjects.map(({ name }) => name)
  for (const name of engines) {
    if (names.includes(name)) continue
    throw new UsageError(`${suite} has no engine ${name}; there are ${names.join(', ')}`)
  }
  const asked = subjects.filter(({ name }) => engines.length === 0 || engines.includes(name))
  if (asked.some(({ isPeer }) => isPeer)) await preparePeers((text) => progress.note(text))
  const versions = new Map<S, string>()
  for (const subject of asked) {
    try {
      versions.set(subject, subject.version())
    } catch (error) {
      leftOut.push({ engine: subject.name, reason: (error as Error).message })
    }
  }
  return versions
}

/** Measures all subjects as often as asked. @throws UsageError */
export async function compareSubjects<S extends SubjectName>(
  comparison: Comparison<S>,
  context: SuiteContext,
): Promise<SuiteOutcome> {
  const { options, progress, directory } = context
  const leftOut: LeftOut[] = []
  const versions = await available(comparison, context, leftOut)
  const runs = new Map<S, (readonly Measurement[])[]>([...versions.keys()].map((one) => [one, []]))
  const failures: string[] = []
  progress.expect(versions.size * options.repeat)
  // Alternately, so that what else the machine does meets all of them.
  for (let repetition = 0; repetition < options.repeat; repetition++) {
    for (const [at, subject] of [...versions.keys()].entries()) {
      progress.begin(`${subject.name}, ${repetition + 1} of ${options.repeat}`)
      const path = join(directory, `${at}-${repetition}`)
      try {
        runs.get(subject)!.push(await comparison.measure(subject, path))
      } catch (error) {
        failures.push(`${subject.name}: ${(error as Error).message}`)
      }
      progress.end()
    }
  }
  const results: ResultRecord[] = []
  for (const [subject, repetitions] of runs) {
    for (const at of (repetitions[0] ?? []).keys()) {
      const same = repetitions.flatMap((each) => each.slice(at, at + 1))
      results.push(recordOf(comparison, subject, same))
    }
  }
  failures.push(...disagreements(results, comparison.apart ?? []))
  const engines = Object.fromEntries([...versions].map(([{ name }, version]) => [name, version]))
  return { results, engines, leftOut, failures }
}
