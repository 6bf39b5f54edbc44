/**
 * RocksDB in C++ through its own benchmark program, `db_bench` of Debian's package `rocksdb-tools`.
 *
 * It makes its own keys and values (same sizes, values that compress to half), so its answers have
 * no checksum. One thread, a Bloom filter of 10 bits, LZ4. Debian builds it with assertions on, as
 * it says itself.
 */
import { execFileSync, spawn } from 'node:child_process'
import type { ProgramAdapter, ProgramMeasurement, ProgramSettings } from '../harness/engine.js'

/** How a workload of the suite `db-bench` is called there, with flags of its own. */
interface Benchmark {
  readonly name: string
  readonly flags?: readonly string[]
  /** Starts with an empty store. */
  readonly isFresh?: boolean
}

const benchmarks: Readonly<Record<string, Benchmark>> = {
  fillseq: { name: 'fillseq', isFresh: true },
  fillrandom: { name: 'fillrandom', isFresh: true },
  fillbatch: { name: 'fillrandom', flags: ['--batch_size=1000'], isFresh: true },
  fillsync: { name: 'fillrandom', flags: ['--sync=1'], isFresh: true },
  overwrite: { name: 'overwrite' },
  readrandom: { name: 'readrandom' },
  readmissing: { name: 'readmissing' },
  updaterandom: { name: 'updaterandom' },
  readrandomwriterandom: { name: 'readrandomwriterandom' },
  scan50: { name: 'seekrandom', flags: ['--seek_nexts=50'] },
  readseq: { name: 'readseq' },
  readreverse: { name: 'readreverse' },
  compact: { name: 'compact' },
  'readrandom-compacted': { name: 'readrandom' },
  'readseq-compacted': { name: 'readseq' },
}

/** What one line of the report says. */
interface Line {
  readonly name: string
  readonly seconds: number
  readonly operations: number
}

const linePattern = /^(\w+)\s*:\s+([\d.]+) micros\/op \d+ ops\/sec [\d.]+ seconds (\d+) operations/

const percentilesPattern = /P50: ([\d.]+) .*P99: ([\d.]+) P99\.9: ([\d.]+)/

/** Reads the output of db_bench: one measurement per line of a benchmark, in order. */
export function parseOutput(output: string): (Line & Partial<ProgramMeasurement>)[] {
  const found: (Line & Partial<ProgramMeasurement>)[] = []
  // Progress overwrites its line.
  for (const line of output.split(/[\r\n]+/)) {
    const match = linePattern.exec(line)
    if (match !== null) {
      const operations = Number(match[3])
      // Its seconds have three digits only.
      found.push({ name: match[1], seconds: (Number(match[2]) * operations) / 1e6, operations })
      continue
    }
    const percentiles = percentilesPattern.exec(line)
    const last = found.at(-1)
    if (percentiles === null || last === undefined || last.p50us !== undefined) continue
    found[found.length - 1] = {
      ...last,
      p50us: Number(percentiles[1]),
      p99us: Number(percentiles[2]),
      p999us: Number(percentiles[3]),
    }
  }
  return found
}

function execute(flags: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('db_bench', [...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let errors = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2000)))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`db_bench ended with ${code}: ${errors}`))
    })
  })
}

/** Puts workloads that can share one process together: the same flags, no fresh store between. */
function groupWorkloads(workloads: readonly string[]): string[][] {
  const groups: string[][] = []
  let flags = ''
  for (const workload of workloads) {
    const benchmark = benchmarks[workload]
    const ownFlags = (benchmark.flags ?? []).join(' ')
    if (groups.length > 0 && ownFlags === flags && benchmark.isFresh !== true) {
      groups.at(-1)!.push(workload)
    } else {
      groups.push([workload])
      flags = ownFlags
    }
  }
  return groups
}

async function run(settings: ProgramSettings): Promise<readonly ProgramMeasurement[]> {
  const { records, directory, durability } = settings
  const known = settings.workloads.filter(({ name }) => Object.hasOwn(benchmarks, name))
  const callsOf = new Map(known.map(({ name, calls }) => [name, calls]))
  const measured: ProgramMeasurement[] = []
  for (const group of groupWorkloads(known.map(({ name }) => name))) {
    const [first] = group
    const { isFresh = false, flags = [] } = benchmarks[first]
    const isFill = isFresh || first === 'overwrite'
    const timed = group.filter((name) => name !== 'compact')
    const reads = Math.min(...timed.map((name) => callsOf.get(name)!))
    const output = await execute([
      `--benchmarks=${group.map((name) => benchmarks[name].name).join(',')}`,
      `--db=${directory}`,
      `--use_existing_db=${isFresh ? 0 : 1}`,
      `--num=${records}`,
      ...(first === 'fillsync' ? [`--writes=${callsOf.get(first)}`] : []),
      ...(isFill ? [] : [`--reads=${reads}`]),
      `--key_size=${settings.keyBytes}`,
      `--value_size=${settings.valueBytes}`,
      `--cache_size=${settings.cacheBytes}`,
      '--compression_type=lz4',
      '--bloom_bits=10',
      '--histogram=1',
      `--seed=${settings.seed}`,
      `--disable_wal=${durability === 'none' ? 1 : 0}`,
      ...flags,
    ])
    const lines = parseOutput(output)
    if (lines.length !== group.length) {
      throw new Error(`db_bench reported ${lines.length} benchmarks instead of ${group.join(', ')}`)
    }
    for (const [at, { seconds, operations, p50us, p99us, p999us }] of lines.entries()) {
      measured.push({ workload: group[at], seconds, operations, p50us, p99us, p999us })
    }
  }
  return measured
}

function version(): string {
  let text: string
  try {
    text = execFileSync('db_bench', ['--version'], { encoding: 'utf8', stdio: 'pipe' })
  } catch {
    throw new Error('db_bench is not installed (Debian: apt-get install rocksdb-tools)')
  }
  return text.trim().split('\n')[0]
}

/** The native RocksDB. */
export const engine: ProgramAdapter = {
  kind: 'program',
  name: 'rocksdb-cpp',
  durabilities: ['none', 'buffered', 'sync'],
  suites: ['db-bench'],
  version,
  run,
}
