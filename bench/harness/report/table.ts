/** Results as a table to read: grouped by workload, the fastest engine first. */
import Table from 'cli-table3'
import type { ResultRecord } from './record.js'

/** Engines beside Cellar that a Node program can use durably; ratios are taken to the best. */
export const isNodePeer = (engine: string): boolean =>
  !engine.startsWith('cellar') && !['rocksdb-cpp', 'bare table.put', 'map'].includes(engine)

/** Cellar among the engines of a suite: itself, or through the interface of a peer. */
export const isOwn = (engine: string): boolean => engine === 'cellar' || engine === 'cellar-level'

/**
 * Whether a result comes from an open load, whose rate says nothing: what counts are the latencies.
 * Only an open load measures the delay of the event loop beside.
 */
export const isOpenLoad = ({ extra }: ResultRecord): boolean =>
  extra?.['eventLoopDelayP99us'] !== undefined

/** Names of the percentiles of a result, and their figures. */
export const percentiles: readonly (readonly [
  name: string,
  of: (result: ResultRecord) => number,
])[] = [
  ['p50', ({ p50us }) => p50us ?? NaN],
  ['p99', ({ p99us }) => p99us ?? NaN],
  ['p99.9', ({ p999us }) => p999us ?? NaN],
]

/** How good a result is: its rate, or under an open load how short its p99 is. */
export function worthOf(result: ResultRecord): number {
  return isOpenLoad(result) ? 1 / (result.p99us ?? Infinity) : result.opsPerSecond
}

/** A table in Markdown: the first column to the left, figures to the right. */
export function markdownTable(rows: readonly (readonly string[])[], figureColumns: number): string {
  const [head, ...rest] = rows
  const marks = head.map((_, at) => (at < head.length - figureColumns ? '---' : '---:'))
  return [head, marks, ...rest].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** 1234567 as `1.23 M`, three digits. */
export function formatCount(value: number): string {
  const [divisor, unit] =
    value >= 999.5e6
      ? [1e9, ' G']
      : value >= 999.5e3
        ? [1e6, ' M']
        : value >= 999.5
          ? [1e3, ' k']
          : [1, '']
  return `${trim(value / divisor)}${unit}`
}

/** 1234 as `1.23 ms`, three digits. */
export function formatMicroseconds(value: number): string {
  return value >= 999.5 ? `${trim(value / 1000)} ms` : `${trim(value)} µs`
}

/** Three significant digits without an exponent. */
function trim(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

const optional = (value: number | undefined, format: (value: number) => string): string =>
  value === undefined ? '' : format(value)

const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)

/** Half of what lies between lowest and highest, in per cent of the median. */
function spreadPercent({ opsPerSecond, spread, repeats }: ResultRecord): string {
  if (repeats < 2) return ''
  return `±${(((spread.high - spread.low) / 2 / opsPerSecond) * 100).toFixed(0)} %`
}

/** Groups results by workload, durability and size, in order of appearance, the best first. */
export function groupResults(results: readonly ResultRecord[]): ResultRecord[][] {
  const groups = new Map<string, ResultRecord[]>()
  for (const result of results) {
    const { suite, workload, durability, records } = result
    const name = `${suite}/${workload}/${durability}/${records}`
    const group = groups.get(name) ?? []
    group.push(result)
    groups.set(name, group)
  }
  return [...groups.values()].map((group) =>
    group.sort((one, other) => worthOf(other) - worthOf(one)),
  )
}

/** Names the size only where a workload comes in several. */
function labelOf({ workload, durability, records }: ResultRecord, all: readonly ResultRecord[]) {
  const hasSizes = all.some((other) => other.workload === workload && other.records !== records)
  return `${workload} (${durability}${hasSizes ? `, ${formatCount(records)}` : ''})`
}

/** How many times as good as the row's engine Cellar is: in its rate, or in its p99. */
function ratioOf(group: readonly ResultRecord[], result: ResultRecord): string {
  const own = group.find(({ engine }) => isOwn(engine))
  if (own === undefined || own === result) return ''
  return `${trim(worthOf(own) / worthOf(result))} x`
}

/** Microseconds of all threads for one operation. */
function cpuPerOperation({ cpuSeconds, operations }: ResultRecord): number | undefined {
  return cpuSeconds === undefined ? undefined : (cpuSeconds / operations) * 1e6
}

/** Who wins how many workloads, one line; empty where only one engine ran. */
export function countWins(results: readonly ResultRecord[]): string {
  const groups = groupResults(results).filter((group) => group.length > 1)
  if (groups.length === 0) return ''
  const wins = new Map<string, number>()
  for (const [{ engine }] of groups) wins.set(engine, (wins.get(engine) ?? 0) + 1)
  const sorted = [...wins].sort(([, one], [, other]) => other - one)
  const parts = sorted.map(([engine, count]) => `${engine} ${count}`)
  return `best of ${groups.length} workloads: ${parts.join(', ')}\n`
}

/** All results, the winner of each workload first. */
export function formatTable(results: readonly ResultRecord[]): string {
  const extraNames = [...new Set(results.flatMap(({ extra }) => Object.keys(extra ?? {})))]
  const table = new Table({
    head: [
      ...['workload', 'engine', 'ops/s', '', 'cellar is', 'p50 µs', 'p99 µs', 'p99.9 µs'],
      ...['CPU µs', 'MiB', 'WA', 'RSS'],
      ...extraNames,
    ],
    colAligns: ['left', 'left', ...Array<'right'>(10 + extraNames.length).fill('right')],
    style: { head: [], border: [], compact: true },
  })
  for (const group of groupResults(results)) {
    for (const [position, result] of group.entries()) {
      const name = labelOf(result, results)
      table.push([
        position === 0 ? name : '',
        result.engine,
        formatCount(result.opsPerSecond),
        spreadPercent(result),
        ratioOf(group, result),
        optional(result.p50us, trim),
        optional(result.p99us, trim),
        optional(result.p999us, trim),
        optional(cpuPerOperation(result), trim),
        optional(result.bytesOnDisk, mebibytes),
        optional(result.writeAmplification, trim),
        optional(result.peakRssBytes, mebibytes),
        ...extraNames.map((extraName) => optional(result.extra?.[extraName], trim)),
      ])
    }
  }
  return table.toString()
}
