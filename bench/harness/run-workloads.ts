/**
 * Runs a suite of workloads on all engines: every engine in a process of its own, alternately, as
 * often as asked, and compares what they answered.
 *
 * The model answers first if the data is small enough; what differs from it, or without it from the
 * first engine, is a failure of the run.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { preparePeers } from '../engines/peers.js'
import type { Durability, Engine, Layout, ProgramAdapter } from './engine.js'
import { runInChild } from './processes/child-process.js'
import { runTask, type ChildAnswer, type ChildTask } from './processes/child.js'
import { compareAnswers, type Answered } from './report/compare.js'
import { UsageError, type BenchOptions } from './options.js'
import type { LeftOut, ResultRecord } from './report/record.js'
import { engineEntries, engineEntry, loadEngine, modelEntry } from './registry.js'
import type { Entry } from './registry.js'
import { callsOf, type PhaseOutcome } from './runner.js'
import type { SuiteContext, SuiteOutcome } from './suite.js'
import { summarize, type Measured } from './report/summarize.js'
import type { Phase, Sequence, WorkloadSuite } from './workload.js'

/** Cells up to which the model is asked as well: it keeps all in memory and is never cut. */
const modelCellsMax = 500_000

/** Rows up to which the final state is read from end to end. */
const stateRowsMax = 10_000_000

/** Engines of this package that `npm run bench` installs. */
const peerNames = ['classic-level', 'lmdb', 'better-sqlite3', 'rocksdb-native']

/** An engine that takes part, in one layout. */
interface Contestant {
  /** `lmdb`, or `lmdb/row` where rows have several columns. */
  readonly label: string
  /** As the registry knows it. */
  readonly reference: string
  readonly engine: Engine
  readonly layout: Layout
  /** The first of the layouts that were asked for: where rows have one column they are alike. */
  readonly isFirst: boolean
}

/** What every step of a run needs. */
interface Run {
  readonly suite: WorkloadSuite
  readonly suiteModule: string
  readonly context: SuiteContext
  readonly records: number
  readonly measured: Measured[]
  readonly answered: Answered[]
  readonly failures: string[]
  readonly leftOut: LeftOut[]
}

/** Splits `lmdb/row` into engine and layout. Paths keep their slashes. */
function splitName(name: string): { reference: string; layout: string | undefined } {
  const match = /^([^./]+)\/(native|cells|row)$/.exec(name)
  return match === null
    ? { reference: name, layout: undefined }
    : { reference: match[1], layout: match[2] }
}

function wantedEntries(
  options: BenchOptions,
  suite: WorkloadSuite,
): { entry: Entry; layout: string | undefined }[] {
  if (options.engines.length === 0) {
    const entries = suite.engines?.map(engineEntry) ?? engineEntries
    return entries.map((entry) => ({ entry, layout: undefined }))
  }
  return options.engines.map((name) => {
    const { reference, layout } = splitName(name)
    return { entry: engineEntry(reference), layout }
  })
}

/** Engines that can be used here, by name, and those that cannot. */
async function findContestants(run: Run): Promise<{
  contestants: Contestant[]
  versions: Record<string, string>
}> {
  const { context, suite } = run
  const wanted = wantedEntries(context.options, suite)
  if (wanted.some(({ entry }) => peerNames.includes(entry.name))) {
    await preparePeers((text) => context.progress.note(text))
  }
  const contestants: Contestant[] = []
  const versions: Record<string, string> = {}
  for (const { entry, layout } of wanted) {
    const engine = await loadEngine(entry)
    if (engine.kind === 'program' && !engine.suites.includes(suite.name)) continue
    try {
      versions[engine.name] = await engine.version()
    } catch (error) {
      run.leftOut.push({ engine: engine.name, reason: (error as Error).message })
      continue
    }
    contestants.push(...layoutsOf(engine, entry.name, layout, suite))
  }
  return { contestants, versions }
}

function layoutsOf(
  engine: Engine,
  reference: string,
  wanted: string | undefined,
  suite: WorkloadSuite,
): Contestant[] {
  if (engine.kind === 'program') {
    return [{ label: engine.name, reference, engine, layout: 'native', isFirst: true }]
  }
  const isWide = suite.sequences.some(({ columns }) => columns.length > 1)
  const known = engine.layouts.filter((layout) => wanted === undefined || layout === wanted)
  if (known.length === 0) {
    const names = engine.layouts.join(', ')
    throw new UsageError(`${engine.name} has no layout ${wanted}; it has ${names}`)
  }
  const layouts = isWide ? known : known.slice(0, 1)
  return layouts.map((layout, at) => {
    const label = isWide && engine.layouts.length > 1 ? `${engine.name}/${layout}` : engine.name
    return { label, reference, engine, layout, isFirst: at === 0 }
  })
}

/** The sequences that hold a wanted workload, and the phases up to the last of them. */
export function selectPhases(
  suite: WorkloadSuite,
  parts: readonly string[],
): { sequence: Sequence; phases: readonly Phase[] }[] {
  const all = suite.sequences.flatMap(({ phases }) => phases.map(({ name }) => name))
  const unknown = parts.filter((part) => !all.includes(part))
  if (unknown.length > 0) {
    const names = [...new Set(all)].join(', ')
    throw new UsageError(`${suite.name} has no part ${unknown.join(', ')}; it has ${names}`)
  }
  if (parts.length === 0) {
    return suite.sequences.map((sequence) => ({ sequence, phases: sequence.phases }))
  }
  return suite.sequences.flatMap((sequence) => {
    const last = sequence.phases.findLastIndex(({ name }) => parts.includes(name))
    return last < 0 ? [] : [{ sequence, phases: sequence.phases.slice(0, last + 1) }]
  })
}

function durabilityOf(sequence: Sequence, options: BenchOptions): Durability {
  return sequence.durability ?? options.durability ?? 'buffered'
}

async function inDirectory<T>(run: Run, use: (directory: string) => Promise<T>): Promise<T> {
  const directory = join(run.context.directory, 'store')
  mkdirSync(directory, { recursive: true })
  try {
    return await use(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function recordsOf(run: Run, sequence: Sequence): number {
  return run.records * (sequence.recordsFactor ?? 1)
}

/** Cells up to which the model is asked in this process: it is not measured. */
const modelCellsHereMax = 100_000

/** Runs a store in a process of its own, but for a small model. */
function runStore(
  run: Run,
  sequence: Sequence,
  phases: readonly Phase[],
  reference: string,
  layout: Layout,
): Promise<ChildAnswer> {
  const { options } = run.context
  const records = recordsOf(run, sequence)
  const cells = records * sequence.columns.length
  const isHere = reference === modelEntry.name && cells <= modelCellsHereMax
  const execute = isHere ? runTask : runInChild
  const tell = (name: string): void => run.context.progress.detail(name)
  const task = (directory: string): ChildTask => {
    return {
      suiteModule: run.suiteModule,
      sequence: sequence.name,
      phases: phases.map(({ name }) => name),
      engine: reference,
      layout,
      durability: durabilityOf(sequence, options),
      directory,
      records,
      seed: options.seed,
      cacheBytes: sequence.cacheBytes?.(records) ?? options.cacheBytes,
      phaseSecondsMax: reference === modelEntry.name ? 0 : options.phaseSecondsMax,
      warmsUp: reference !== modelEntry.name && !options.isQuick,
      readsState: records <= stateRowsMax,
    }
  }
  return inDirectory(run, (directory) => execute(task(directory), tell))
}

async function runProgram(
  run: Run,
  sequence: Sequence,
  phases: readonly Phase[],
  engine: ProgramAdapter,
): Promise<PhaseOutcome[]> {
  const { options } = run.context
  const records = recordsOf(run, sequence)
  const measured = await inDirectory(run, (directory) =>
    engine.run({
      directory,
      durability: durabilityOf(sequence, options),
      suite: run.suite.name,
      workloads: phases.map((phase) => {
        return { name: phase.name, calls: callsOf(phase, records) }
      }),
      records,
      keyBytes: sequence.keyBytes,
      valueBytes: sequence.valueBytes,
      cacheBytes: sequence.cacheBytes?.(records) ?? options.cacheBytes,
      seed: options.seed,
    }),
  )
  return measured.map((one) => ({ isMeasured: true, bytesGiven: 0, extra: {}, ...one }))
}

/** What one engine gives, once. */
async function askContestant(
  run: Run,
  sequence: Sequence,
  phases: readonly Phase[],
  { engine, reference, layout }: Contestant,
): Promise<ChildAnswer> {
  if (engine.kind === 'store') return runStore(run, sequence, phases, reference, layout)
  try {
    const outcomes = await runProgram(run, sequence, phases, engine)
    return { kind: 'done', outcomes, state: undefined }
  } catch (error) {
    return { kind: 'failed', message: (error as Error).message }
  }
}

/** Runs one engine once, unless that was done before, and keeps what it gave. */
async function runContestant(
  run: Run,
  sequence: Sequence,
  phases: readonly Phase[],
  contestant: Contestant,
  round: number,
): Promise<void> {
  const { label, engine } = contestant
  const { options, log } = run.context
  const records = recordsOf(run, sequence)
  const durability = durabilityOf(sequence, options)
  const before = log.find(sequence.name, label, round)
  const answer = before ?? (await askContestant(run, sequence, phases, contestant))
  if (answer.kind === 'failed') {
    run.failures.push(`${label}: ${sequence.name}: ${answer.message}`)
    return
  }
  if (before === undefined) log.add({ sequence: sequence.name, engine: label, round, answer })
  // Programs of their own do not tell what they answer.
  if (engine.kind === 'store') {
    run.answered.push({ sequence: sequence.name, engine: label, ...answer })
  }
  const { parts } = options
  for (const outcome of answer.outcomes) {
    if (!outcome.isMeasured || (parts.length > 0 && !parts.includes(outcome.workload))) continue
    run.measured.push({ suite: run.suite.name, engine: label, durability, records, outcome })
  }
}

async function askModel(run: Run, sequence: Sequence, phases: readonly Phase[]): Promise<void> {
  if (recordsOf(run, sequence) * sequence.columns.length > modelCellsMax) return
  run.context.progress.begin(`${sequence.name}: expected answers`)
  const answer = await runStore(run, sequence, phases, modelEntry.name, 'native')
  if (answer.kind === 'failed') run.failures.push(`model: ${sequence.name}: ${answer.message}`)
  else run.answered.push({ sequence: sequence.name, engine: modelEntry.name, ...answer })
  run.context.progress.end()
}

/** Whether an engine takes part in a sequence: layouts of wide rows only where rows are wide. */
function canRun({ engine, isFirst }: Contestant, sequence: Sequence, run: Run): boolean {
  if (sequence.columns.length === 1 && !isFirst) return false
  for (const { engines } of [run.suite, sequence]) {
    if (engines !== undefined && !engines.includes(engine.name)) return false
  }
  return engine.durabilities.includes(durabilityOf(sequence, run.context.options))
}

/** Says once per engine and durability what cannot be measured. */
function noteDurability(run: Run, { label, engine }: Contestant, durability: Durability): void {
  const reason = `offers no durability '${durability}'`
  const isKnown = run.leftOut.some((entry) => entry.engine === label && entry.reason === reason)
  if (!isKnown && !engine.durabilities.includes(durability)) {
    run.leftOut.push({ engine: label, reason })
  }
}

/** Runs a suite of workloads. @throws UsageError */
export async function runWorkloads(
  suiteModule: string,
  suite: WorkloadSuite,
  context: SuiteContext,
): Promise<SuiteOutcome> {
  const { options, progress } = context
  const selected = selectPhases(suite, options.parts)
  const run: Run = {
    suite,
    suiteModule,
    context,
    records: options.records ?? (options.isQuick ? quickRecords(suite) : suite.defaultRecords),
    measured: [],
    answered: [],
    failures: [],
    leftOut: [],
  }
  const { contestants, versions } = await findContestants(run)
  for (const { sequence, phases } of selected) {
    const able = contestants.filter((contestant) => canRun(contestant, sequence, run))
    for (const contestant of contestants) {
      noteDurability(run, contestant, durabilityOf(sequence, options))
    }
    progress.expect(1 + able.length * options.repeat)
    await askModel(run, sequence, phases)
    for (let round = 1; round <= options.repeat; round++) {
      for (const contestant of able) {
        progress.begin(`${sequence.name}: ${contestant.label}, ${round} of ${options.repeat}`)
        await runContestant(run, sequence, phases, contestant, round)
        progress.end()
      }
    }
  }
  const results: ResultRecord[] = summarize(run.measured)
  const failures = [...run.failures, ...compareAnswers(run.answered)]
  return { results, engines: versions, leftOut: run.leftOut, failures }
}

/** Records of a run that only shows that everything works. */
const quickRecords = ({ defaultRecords }: WorkloadSuite): number =>
  Math.min(500, Math.max(100, Math.floor(defaultRecords / 100)))
