/**
 * Long campaigns of the tests: `npm run crash -- [options]`.
 *
 * Exit codes: 0 nothing was lost, 1 a promise was broken, 2 the command line is wrong.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { describeEnvironment } from '../../../bench/environment.js'
import { UsageError } from '../../../bench/harness/options.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { projectRoot } from '../../helpers/project-root.js'
import { reliabilityPage } from './promises.js'
import { addCounts, pageOf, readRuns, writeRun, type RunRecord } from './record.js'
import { kindNames } from './kinds.js'
import { testKinds } from './test-kinds.js'
import type { Told } from './slice.js'

const usage = `usage: npm run crash -- [--kind KIND] [--seconds N] [--seed S] [--record]

options
  --kind KIND     one of the kinds below; all (default): all, in slices of equal time
  --seconds N     how long; default 60
  --minutes N     the same in minutes
  --seed S        the first seed of each kind; the next rounds count up; default: drawn.
                  Without --seconds and --minutes, one round: that repeats a failure
  --rounds N      end after N rounds of each kind
  --workers N     processes at a time; default: one for each core
  --record [DIR]  keep what was done in DIR, default test/results, once a minute and at the
                  end; test/RESULTS.md is made of test/results at the end
  --page          only make test/RESULTS.md of test/results, and the tables of
                  docs/reliability.md
  --help          this text

kinds, in memory unless said otherwise
  power-cut     images of every place, cuts in recoveries, chains of cuts
  faults        every call of the file system fails, one after the other
  kill          a loading process is killed, on real files
  background    flushes, compactions, snapshots, closes that overlap, on real files
  buffers       held calls from buffers that are used again
  runtimes      two runtimes on one directory, of this Node and those that
                CELLAR_OTHER_RUNTIMES names (paths of node, bun, deno)
  moved         the directory of an open database is moved, others take its path
  damage        every bit and every length of log and manifest, on real files
  memory        large values and open scans, in a process of its own
  salvage       bits, lengths and losses of every kind of file: verify, salvage, repair
  model         random operations beside the reference model
  owned         owners of one log in drawn interleavings
  options       one list of operations under every set of options
  histories     concurrent calls over lives that end in all ways: do they have an order?
  histories-http  the same for records over HTTP, of a server that is killed
  all others run a test file with a seed of their own (test/crash/campaign/test-kinds.ts)
  ${Object.keys(testKinds).join(' ')}
`

interface Settings {
  readonly kinds: readonly string[]
  readonly seconds: number
  readonly seed: number
  readonly rounds: number
  readonly workers: number
  /** Undefined: nothing is written. */
  readonly recordPath: string | undefined
}

const resultsPath = join(projectRoot, 'test', 'results')

function numberOf(name: string, text: string, min: number): number {
  const number = Number(text)
  if (text === '' || !Number.isFinite(number) || number < min) {
    throw new UsageError(`--${name} must be a number of at least ${min}, not '${text}'`)
  }
  return number
}

const optionsOfCommand = {
  kind: { type: 'string', default: 'all' },
  seconds: { type: 'string' },
  minutes: { type: 'string' },
  seed: { type: 'string' },
  rounds: { type: 'string' },
  workers: { type: 'string' },
  record: { type: 'boolean', default: false },
  page: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: optionsOfCommand, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function settingsOf({ values, positionals }: ReturnType<typeof valuesOf>): Settings {
  const { kind, seconds, minutes, seed, rounds, workers, record } = values
  if (positionals.length > (record ? 1 : 0)) throw new UsageError(`what is ${positionals[0]}?`)
  if (kind !== 'all' && !kindNames.includes(kind)) throw new UsageError(`there is no kind ${kind}`)
  const isRepeat = seed !== undefined && seconds === undefined && minutes === undefined
  const limit = isRepeat ? '1' : 'Infinity'
  return {
    kinds: kind === 'all' ? kindNames : [kind],
    seconds: isRepeat
      ? Infinity
      : seconds === undefined
        ? 60 * numberOf('minutes', minutes ?? '1', 0)
        : numberOf('seconds', seconds, 0),
    seed: Math.floor(seed === undefined ? Date.now() % 1e7 : numberOf('seed', seed, 0)),
    rounds: rounds === undefined ? Number(limit) : numberOf('rounds', rounds, 1),
    workers: numberOf('workers', workers ?? (isRepeat ? '1' : String(cpus().length)), 1),
    recordPath: record ? resolve(positionals[0] ?? resultsPath) : undefined,
  }
}

const sliceProgram = new URL('slice.js', import.meta.url)
/** A kind that broke so many promises is not drawn any more. */
const failuresMax = 3
/** What takes longer has hung; a busy machine may take twenty times as long as a quiet one. */
const roundMinutesMax = 45

interface KindState {
  readonly kind: string
  next: number
  rounds: number
  seconds: number
  failures: number
  running: boolean
}

/** A run: slices of all kinds in processes, those first that had the least time. */
class Run {
  readonly record: RunRecord
  private readonly settings: Settings
  private readonly states: readonly KindState[]
  private readonly children = new Set<ChildProcess>()
  private readonly started = performance.now()
  private readonly path: string | undefined
  private stopped = false

  constructor(settings: Settings) {
    this.settings = settings
    this.states = settings.kinds.map((kind) => {
      return { kind, next: settings.seed, rounds: 0, seconds: 0, failures: 0, running: false }
    })
    const { date, commit = 'unknown', node, platform } = describeEnvironment()
    const { workers } = settings
    this.record = { date, commit, node, platform, workers, seconds: 0, kinds: {}, failures: [] }
    if (settings.recordPath !== undefined) {
      this.path = join(settings.recordPath, `${date.replace(/[:.]/g, '-')}.json`)
    }
  }

  async carryOut(): Promise<void> {
    const flushing = setInterval(() => this.flush(), 60_000)
    try {
      await Promise.all(Array.from({ length: this.settings.workers }, () => this.work()))
    } finally {
      clearInterval(flushing)
      this.flush()
    }
  }

  /** Ends all slices at once. */
  stop(): void {
    this.stopped = true
    for (const child of this.children) child.kill('SIGKILL')
  }

  private get secondsLeft(): number {
    return this.settings.seconds - (performance.now() - this.started) / 1000
  }

  private flush(): void {
    this.record.seconds = Math.round((performance.now() - this.started) / 1000)
    if (this.path !== undefined) writeRun(this.path, this.record)
  }

  private async work(): Promise<void> {
    while (!this.stopped && this.secondsLeft > 0) {
      const free = this.states.filter((state) => {
        const isOver = state.rounds >= this.settings.rounds || state.failures >= failuresMax
        return !state.running && !isOver
      })
      if (free.length === 0) return
      const state = free.reduce((least, each) => (each.seconds < least.seconds ? each : least))
      await this.slice(state)
    }
  }

  private async slice(state: KindState): Promise<void> {
    const { kind, next: first } = state
    const seconds = Math.min(
      this.secondsLeft,
      Math.max(2, Math.min(30, this.settings.seconds / 100)),
    )
    const rounds = this.settings.rounds - state.rounds
    const args = [kind, String(first), String(seconds), String(rounds)]
    const start = performance.now()
    state.running = true
    const child = fork(sliceProgram, args, { env: childEnvironment, execArgv: [] })
    this.children.add(child)
    let told: Told = { next: first, counts: {} }
    let last = start
    child.on('message', (message) => {
      told = message as Told
      last = performance.now()
    })
    const watch = setInterval(() => {
      if (performance.now() - last > roundMinutesMax * 60_000) child.kill('SIGKILL')
    }, 5000)
    const code = await new Promise<number | string | null>((resolve) => {
      child.on('close', (code, signal) => resolve(code ?? signal))
    })
    clearInterval(watch)
    this.children.delete(child)
    state.running = false
    const elapsed = (performance.now() - start) / 1000
    state.seconds += elapsed
    state.rounds += told.next - first
    state.next = told.next
    this.record.kinds[kind] ??= { seconds: 0, firstSeed: first, counts: {} }
    const record = this.record.kinds[kind]
    record.seconds = Math.round(state.seconds)
    addCounts(record.counts, told.counts)
    const hung = code !== 0 && !this.stopped ? `its process ended with ${code}` : undefined
    const failure = told.failure ?? hung
    const counts = Object.entries(told.counts).map(([name, count]) => `${name} ${count}`)
    process.stderr.write(
      `${kind}, from seed ${first}, ${elapsed.toFixed(1)} s: ${counts.join(', ')}\n`,
    )
    if (failure === undefined) return
    const seed = told.failure === undefined ? told.next : told.next - 1
    if (told.failure === undefined) state.next = seed + 1
    state.failures++
    this.record.failures.push({ kind, seed, message: failure.split('\n')[0] })
    process.stdout.write(
      `\nFAILED ${kind}, seed ${seed}\n${failure}\nagain: npm run crash -- --kind ${kind} --seed ${seed}\n`,
    )
    this.flush()
  }
}

/** Makes the page of the recorded runs, and the tables of docs/reliability.md. */
async function writePages(): Promise<void> {
  const runs = readRuns(resultsPath)
  if (runs.length > 0) writeFileSync(join(projectRoot, 'test', 'RESULTS.md'), pageOf(runs))
  const path = join(projectRoot, 'docs', 'reliability.md')
  writeFileSync(path, await reliabilityPage(readFileSync(path, 'utf8'), runs))
}

async function main(args: readonly string[]): Promise<number> {
  const parsed = valuesOf(args)
  if (parsed.values.help) {
    process.stdout.write(usage)
    return 0
  }
  if (parsed.values.page) {
    await writePages()
    return 0
  }
  const settings = settingsOf(parsed)
  const run = new Run(settings)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => run.stop())
  await run.carryOut()
  if (settings.recordPath === resultsPath) await writePages()
  const { failures, kinds } = run.record
  process.stdout.write(
    `${Object.keys(kinds).length} kinds from seed ${settings.seed}; broken promises: ${failures.length}\n`,
  )
  return failures.length === 0 ? 0 : 1
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${usage}`)
    else console.error(error)
    process.exitCode = error instanceof UsageError ? 2 : 1
  },
)
