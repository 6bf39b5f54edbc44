/** Makes one record of the repetitions of a workload on an engine. */
import type { Durability } from '../engine.js'
import type { ResultRecord } from './record.js'
import type { PhaseOutcome } from '../runner.js'

/** What one engine gave for one workload, once. */
export interface Measured {
  readonly suite: string
  readonly engine: string
  readonly durability: Durability
  readonly records: number
  readonly outcome: PhaseOutcome
}

/** The middle one; of an even number, the lower middle. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? NaN
}

/** Median of the values that are there; undefined if none is. */
function medianOf(values: readonly (number | undefined)[]): number | undefined {
  const present = values.filter((value) => value !== undefined)
  return present.length === 0 ? undefined : median(present)
}

function round(value: number | undefined, digits: number): number | undefined {
  return value === undefined ? undefined : Number(value.toFixed(digits))
}

function amplificationOf({ bytesGiven, bytesWritten }: PhaseOutcome): number | undefined {
  return bytesGiven === 0 || bytesWritten === undefined ? undefined : bytesWritten / bytesGiven
}

function recordOf(group: readonly Measured[]): ResultRecord {
  const [{ suite, engine, durability, records, outcome: first }] = group
  const outcomes = group.map(({ outcome }) => outcome)
  const rates = outcomes.map(({ operations, seconds }) => operations / seconds)
  const extra: Record<string, number> = {}
  for (const name of Object.keys(first.extra)) {
    extra[name] = round(median(outcomes.map((outcome) => outcome.extra[name])), 3)!
  }
  return {
    suite,
    workload: first.workload,
    engine,
    durability,
    records,
    operations: first.operations,
    ...(outcomes.some(({ isCut }) => isCut === true) && { isCut: true as const }),
    seconds: round(median(outcomes.map(({ seconds }) => seconds)), 6)!,
    opsPerSecond: round(median(rates), 2)!,
    p50us: round(medianOf(outcomes.map(({ p50us }) => p50us)), 3),
    p99us: round(medianOf(outcomes.map(({ p99us }) => p99us)), 3),
    p999us: round(medianOf(outcomes.map(({ p999us }) => p999us)), 3),
    maxUs: round(medianOf(outcomes.map(({ maxUs }) => maxUs)), 3),
    bytesOnDisk: medianOf(outcomes.map(({ bytesOnDisk }) => bytesOnDisk)),
    writeAmplification: round(medianOf(outcomes.map(amplificationOf)), 3),
    peakRssBytes: medianOf(outcomes.map(({ peakRssBytes }) => peakRssBytes)),
    cpuSeconds: round(medianOf(outcomes.map(({ cpuSeconds }) => cpuSeconds)), 6),
    checksum: first.checksum,
    repeats: group.length,
    spread: { low: round(Math.min(...rates), 2)!, high: round(Math.max(...rates), 2)! },
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

/** One record per suite, workload, size, durability and engine, in order of appearance. */
export function summarize(measured: readonly Measured[]): ResultRecord[] {
  const groups = new Map<string, Measured[]>()
  for (const one of measured) {
    const { suite, durability, records, engine, outcome } = one
    const name = [suite, outcome.workload, durability, records, engine].join('\n')
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [one])
    else group.push(one)
  }
  return [...groups.values()].map(recordOf)
}
