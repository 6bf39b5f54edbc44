/**
 * Kinds of campaigns that are test files: a round runs one with a seed of its own, in a process of
 * its own, and counts what the file says that it did.
 */
import { spawn } from 'node:child_process'
import { rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../../helpers/child-environment.js'
import { Failure, type Campaign } from './campaigns.js'

/** A test file that takes its seed from `CELLAR_SEED`. */
export interface TestKind {
  /** Below `test/`, without `.test.ts`. */
  readonly file: string
  /** Words behind the numbers that the file tells, in comments or in names of assertions. */
  readonly told: readonly string[]
  /** Lengths of its random parts. */
  readonly variables?: Readonly<Record<string, string>>
  /**
   * The file takes a seed for each of its histories, from the first one on: the variable that says
   * how many, and their number in a round. Default: one seed for all.
   */
  readonly seeds?: readonly [variable: string, count: number]
}

const images = ['images', 'runs']

/** All of them by name. */
export const testKinds: Readonly<Record<string, TestKind>> = {
  blocks: {
    file: 'unit/storage/sstable/damaged-blocks',
    told: ['blocks', 'refused', 'shown'],
    variables: { CELLAR_DAMAGED_BLOCKS: '200000' },
  },
  compactions: { file: 'crash/compactions', told: ['images'] },
  threads: { file: 'crash/workers', told: ['threads'] },
  ticks: {
    file: 'crash/background/every-tick',
    told: ['runs'],
    variables: {
      CELLAR_TICK_STRIDE: '8',
      CELLAR_TICK_RUNS: '120',
      CELLAR_WORKER_TICK_RUNS: '8',
    },
  },
  views: {
    file: 'unit/storage/engine/random-views',
    told: ['histories'],
    seeds: ['CELLAR_VIEW_RUNS', 20],
  },
  log: {
    file: 'unit/storage/wal/power-cut',
    told: ['images'],
    variables: { CELLAR_CRASH_CHAINS: '10' },
  },
  backup: { file: 'crash/admin/backup', told: images },
  import: { file: 'crash/admin/import', told: images },
  snapshots: { file: 'crash/admin/snapshots', told: images },
  'bulk-load': { file: 'crash/admin/bulk-load', told: images },
  feed: { file: 'crash/admin/changes', told: images },
  move: { file: 'unit/hbase/move/move-database', told: ['deaths'] },
  indexes: {
    file: 'unit/comfort/indexes/history',
    told: ['histories'],
    seeds: ['CELLAR_INDEX_HISTORIES', 10],
  },
  'index-builds': {
    file: 'crash/indexes/index-build',
    told: ['kills', 'builds'],
    variables: { CELLAR_INDEX_BUILD_ROUNDS: '4' },
  },
  projections: {
    file: 'crash/indexes/projection-kill',
    told: ['kills'],
    variables: { CELLAR_PROJECTION_KILLS: '6' },
  },
  transactions: {
    file: 'unit/systems/transactions/isolation',
    told: ['histories', 'commits', 'conflicts'],
    seeds: ['CELLAR_ISOLATION_RUNS', 60],
  },
  messaging: { file: 'unit/systems/messaging/history', told: ['images', 'kills'] },
  'messaging-cache': {
    file: 'unit/systems/messaging/cache',
    told: ['histories'],
    variables: { CELLAR_CACHE_ROUNDS: '12' },
  },
  metastore: {
    file: 'unit/systems/metastore/linearizability',
    told: ['histories'],
    variables: { CELLAR_HISTORIES: '1000' },
  },
  'metastore-kill': { file: 'crash/metastore/metastore-kill', told: ['writes'] },
  'metadata-groups': {
    file: 'model/metadata-groups',
    told: ['histories'],
    seeds: ['CELLAR_GROUP_HISTORIES', 10],
  },
  'metadata-clusters': {
    file: 'model/metadata-clusters',
    told: ['histories'],
    seeds: ['CELLAR_CLUSTER_HISTORIES', 20],
  },
  'metadata-locks': {
    file: 'unit/systems/metastore/pulsar/histories',
    told: ['histories'],
    seeds: ['CELLAR_LOCK_HISTORIES', 10],
  },
  'metadata-sessions': {
    file: 'unit/systems/metastore/pulsar/clocks',
    told: ['histories'],
    seeds: ['CELLAR_CLOCK_HISTORIES', 20],
  },
  repository: {
    file: 'crash/repository/repository',
    told: images,
    variables: { CELLAR_REPOSITORY_CUTS: '0.05' },
  },
  'repository-builds': { file: 'crash/repository/repository-build', told: ['images'] },
  'repository-histories': {
    file: 'unit/systems/repository/histories',
    told: ['histories'],
    seeds: ['CELLAR_RECORD_HISTORIES', 6],
  },
  'repository-events': {
    file: 'unit/systems/repository/subscription',
    told: ['histories'],
    seeds: ['CELLAR_SUBSCRIPTION_LIVES', 6],
  },
}

const testRoot = fileURLToPath(new URL('../../', import.meta.url))
const maxLines = 40

/** Adds the numbers of one line of TAP: `# 12 images`, `ok 3 - 12 images`, `# {"images":12}`. */
export function addTold(counts: Record<string, number>, line: string): void {
  if (!/^\s*(# |ok )/.test(line)) return
  const found = [
    ...[...line.matchAll(/\b(\d+) ([a-z]+)\b/g)].map(([, count, name]) => [name, count]),
    ...[...line.matchAll(/"([a-z]+)":(\d+)/g)].map(([, name, count]) => [name, count]),
  ]
  for (const [name, count] of found) {
    if (Object.hasOwn(counts, name)) counts[name] += Number(count)
  }
}

/** What a run of a test file says, and its exit code. */
interface Outcome {
  readonly code: number | null
  readonly lines: readonly string[]
  readonly complaint: string
}

type Variables = Readonly<Record<string, string>>

/** Runs a test file with variables of its own. */
async function runFile(file: string, variables: Variables, home: string): Promise<Outcome> {
  const child = spawn(process.execPath, [join(testRoot, `${file}.test.js`)], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...childEnvironment,
      ...variables,
      TAP_CWD: home,
      // A busy machine takes long. What hangs is ended by the campaign.
      TAP_TIMEOUT: '7200',
    },
  })
  let output = ''
  let complaint = ''
  child.stdout.on('data', (data: Buffer) => (output += data.toString()))
  child.stderr.on('data', (data: Buffer) => (complaint += data.toString()))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, lines: output.split('\n'), complaint }
}

/** The line that repeats the first history of a round that fails by itself, if one does. */
async function failingAlone(kind: TestKind, first: number, home: string): Promise<string> {
  if (kind.seeds === undefined) return ''
  const [variable, count] = kind.seeds
  for (let seed = first; seed < first + count; seed++) {
    const variables = { ...kind.variables, [variable]: '1', CELLAR_SEED: String(seed) }
    if ((await runFile(kind.file, variables, home)).code === 0) continue
    const set = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
    return `alone: ${set.join(' ')} node build/test/${kind.file}.test.js\n`
  }
  return ''
}

/** Runs a round of a test file; what its process said. */
async function runRound(kind: TestKind, seed: number, home: string): Promise<readonly string[]> {
  const [variable, count] = kind.seeds ?? [undefined, 1]
  const first = seed * count
  const variables: Record<string, string> = { ...kind.variables, CELLAR_SEED: String(first) }
  if (variable !== undefined) variables[variable] = String(count)
  const { code, lines, complaint } = await runFile(kind.file, variables, home)
  if (code === 0) return lines
  const wrong = lines.findIndex((line) => /^\s*not ok/.test(line))
  const said = lines.slice(Math.max(wrong, 0), Math.max(wrong, 0) + maxLines).join('\n')
  const alone = await failingAlone(kind, first, home)
  throw new Failure({
    origin: `${kind.file}, exit code ${code}`,
    message: `${said}\n${complaint}\n${alone}`,
  })
}

/** A campaign of one test file. */
export function openTestKind(kind: TestKind): Campaign {
  const home = mkdtempSync(join(tmpdir(), 'cellar-campaign-'))
  const counts: Record<string, number> = { rounds: 0 }
  for (const name of kind.told) counts[name] = 0
  return {
    counts,
    async round(seed) {
      for (const line of await runRound(kind, seed, home)) addTold(counts, line)
      counts.rounds++
    },
    end() {
      rmSync(home, { recursive: true, force: true })
    },
  }
}
