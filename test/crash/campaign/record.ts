/**
 * What campaigns did: one JSON file for each run in `test/results`, and `test/RESULTS.md`, which is
 * made of all of them.
 */
import {
  mkdirSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** A broken promise. */
export interface FailedRound {
  readonly kind: string
  readonly seed: number
  /** The first line of what was found. */
  readonly message: string
}

/** What was done of one kind. */
export interface KindRecord {
  seconds: number
  firstSeed: number
  /** By name: rounds, images, histories and so on. */
  readonly counts: Record<string, number>
}

/** One run. */
export interface RunRecord {
  /** Start, ISO 8601, UTC. */
  readonly date: string
  readonly commit: string
  readonly node: string
  readonly platform: string
  readonly workers: number
  /** So far. */
  seconds: number
  readonly kinds: Record<string, KindRecord>
  readonly failures: FailedRound[]
}

const maximum = /Max$|^runtimes$/

/** Adds counts; of names that end in `Max`, and of the runtimes at hand, the largest is kept. */
export function addCounts(
  total: Record<string, number>,
  counts: Readonly<Record<string, number>>,
): void {
  for (const [name, count] of Object.entries(counts)) {
    const before = total[name] ?? 0
    total[name] = maximum.test(name) ? Math.max(before, count) : before + count
  }
}

/** Writes the record of a run, whole or not at all. */
export function writeRun(path: string, run: RunRecord): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.tmp`, `${JSON.stringify(run, undefined, 2)}\n`)
  renameSync(`${path}.tmp`, path)
}

/** The runs of a directory, oldest first. */
export function readRuns(directory: string): readonly RunRecord[] {
  if (!existsSync(directory)) return []
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'))
  const runs = names.map((name) => {
    return JSON.parse(readFileSync(join(directory, name), 'utf8')) as RunRecord
  })
  return runs.sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0))
}

const grouped = (count: number): string => Math.round(count).toLocaleString('en-US')
const hours = (seconds: number): string => (seconds / 3600).toFixed(2)

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** What all runs together did of each kind. */
export function countsOf(runs: readonly RunRecord[]): Map<string, KindRecord> {
  const kinds = new Map<string, KindRecord>()
  for (const run of runs) {
    for (const [kind, { seconds, firstSeed, counts }] of Object.entries(run.kinds)) {
      const total = kinds.get(kind) ?? { seconds: 0, firstSeed, counts: {} }
      kinds.set(kind, total)
      total.seconds += seconds
      addCounts(total.counts, counts)
    }
  }
  return kinds
}

/** The page of all runs: totals of each kind, and the runs. */
export function pageOf(runs: readonly RunRecord[]): string {
  const kinds = countsOf(runs)
  const failures = runs.flatMap(({ failures }) => failures)
  const totals = [...kinds].map(([kind, { seconds, counts }]) => {
    const { rounds = 0, ...rest } = counts
    const done = Object.entries(rest).map(([name, count]) => `${name} ${grouped(count)}`)
    return [kind, grouped(rounds), done.join(', '), hours(seconds)]
  })
  const list = runs.map((run) => {
    const seeds = Object.values(run.kinds).map(({ firstSeed }) => firstSeed)
    const first = seeds.length === 0 ? '' : String(Math.min(...seeds))
    const { date, commit, node, platform, workers, seconds, failures } = run
    const when = date.slice(0, 16).replace('T', ' ')
    const about = [String(workers), hours(seconds), first, String(failures.length)]
    return [when, commit, `${node}, ${platform}`, ...about]
  })
  const repeated = failures.map(({ kind, seed, message }) => {
    return `- \`npm run crash -- --kind ${kind} --seed ${seed}\`: ${message}`
  })
  return `${[
    '# Results of the campaigns',
    [
      '`npm run crash -- --seconds N --record` adds a run; the page is made of `test/results`. A count',
      'is of what was carried out and judged; `npm run crash -- --help` says what the kinds are.',
    ].join('\n'),
    `Broken promises: ${failures.length}, in ${hours(runs.reduce((sum, run) => sum + run.seconds, 0))} hours.`,
    ...repeated,
    '## Totals',
    table(['kind', 'rounds', 'done', 'hours of one process'], totals),
    '## Runs',
    table(['date, UTC', 'commit', 'Node', 'workers', 'hours', 'first seed', 'broken'], list),
  ].join('\n\n')}\n`
}
