/**
 * The process in which one engine runs one sequence: started by `child-process.ts`, told what to do
 * by one message, answers with one message.
 *
 * Before the phases they are run on small stores, again and again for most of a second: what is
 * measured is compiled code. After the phases the store is closed, opened again and read from end
 * to end: what the checksum of the state is made of was really written.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { engineEntry, loadEngine, loadSuite } from '../registry.js'
import { checksumOfState, runSequence, type PhaseOutcome } from '../runner.js'
import type { Durability, EngineAdapter, Layout } from '../engine.js'
import type { Phase, Sequence } from '../workload.js'

/** What the child is told. */
export interface ChildTask {
  /** URL of the suite's module. */
  readonly suiteModule: string
  readonly sequence: string
  /** Names of the phases to run; all that come before the last wanted one. */
  readonly phases: readonly string[]
  readonly engine: string
  readonly layout: Layout
  readonly durability: Durability
  readonly directory: string
  readonly records: number
  readonly seed: number
  readonly cacheBytes: number
  readonly phaseSecondsMax: number
  /** Whether the phases are run on small stores first. */
  readonly warmsUp: boolean
  /** Whether the final state is read. */
  readonly readsState: boolean
}

/** What the child answers. */
export type ChildAnswer =
  | {
      readonly kind: 'done'
      readonly outcomes: readonly PhaseOutcome[]
      readonly state: { readonly rows: number; readonly checksum: string } | undefined
    }
  | { readonly kind: 'failed'; readonly message: string }

/** What the child tells meanwhile: the phase that begins. */
export interface ChildNews {
  readonly kind: 'phase'
  readonly name: string
}

async function findSequence(task: ChildTask): Promise<Sequence> {
  const suite = await loadSuite({ name: task.suiteModule, module: task.suiteModule })
  const sequences = 'sequences' in suite ? suite.sequences : []
  const found = sequences.find(({ name }) => name === task.sequence)
  if (found === undefined) throw new Error(`no sequence ${task.sequence} in ${task.suiteModule}`)
  return found
}

async function loadAdapter(task: ChildTask): Promise<EngineAdapter> {
  const engine = await loadEngine(engineEntry(task.engine))
  if (engine.kind !== 'store') throw new Error(`${task.engine} runs in a program of its own`)
  return engine
}

/** Records of a round of the warm-up, at most: enough for the compiler to have seen every call. */
const warmUpRecordsMax = 5000
/**
 * The warm-up begins no further round after so long. Phases that make few calls need several rounds
 * before the compiler is done with them.
 */
const warmUpMilliseconds = 800
/** No phase of the warm-up is longer, if it can be cut. */
const phaseSecondsMax = 0.4

/**
 * Runs the phases on small stores of their own, so that no phase pays for compilation. The last one
 * stays open until the function that is returned is called, as `kept` in the runner says.
 */
async function warmUp(
  task: ChildTask,
  adapter: EngineAdapter,
  sequence: Sequence,
  phases: readonly Phase[],
): Promise<() => Promise<void>> {
  const end = performance.now() + warmUpMilliseconds
  const { durability, layout, seed, cacheBytes } = task
  const { columns } = sequence
  const records = Math.min(warmUpRecordsMax, Math.ceil(task.records / 2))
  let close: (() => Promise<void>) | undefined
  for (let round = 0; round === 0 || performance.now() < end; round++) {
    const directory = join(task.directory, `warm-up-${round}`)
    mkdirSync(directory)
    const opened = await adapter.open({ directory, durability, layout, columns, cacheBytes })
    await runSequence(opened, sequence, phases, { directory, records, seed, phaseSecondsMax })
    await close?.()
    close = async () => {
      await opened.close()
      rmSync(directory, { recursive: true })
    }
  }
  return close!
}

async function runPhases(task: ChildTask, onPhase: (name: string) => void): Promise<ChildAnswer> {
  const sequence = await findSequence(task)
  const adapter = await loadAdapter(task)
  const { durability, layout, records, seed, cacheBytes } = task
  const directory = join(task.directory, 'measured')
  mkdirSync(directory)
  const phases = sequence.phases.filter(({ name }) => task.phases.includes(name))
  const settings = { directory, durability, layout, columns: sequence.columns, cacheBytes }
  const endWarmUp = task.warmsUp ? await warmUp(task, adapter, sequence, phases) : undefined
  let opened = await adapter.open(settings)
  const run = { directory, records, seed, phaseSecondsMax: task.phaseSecondsMax }
  const outcomes = await runSequence(opened, sequence, phases, run, ({ name }) => onPhase(name))
  await endWarmUp?.()
  if (!task.readsState || outcomes.some(({ isCut }) => isCut)) {
    await opened.close()
    return { kind: 'done', outcomes, state: undefined }
  }
  if (adapter.isVolatile !== true) {
    await opened.close()
    opened = await adapter.open(settings)
  }
  const state = await checksumOfState(opened.fastest)
  await opened.close()
  return { kind: 'done', outcomes, state }
}

/** Runs the task in this process. Never rejects: what goes wrong is an answer. */
export async function runTask(
  task: ChildTask,
  onPhase: (name: string) => void = () => undefined,
): Promise<ChildAnswer> {
  try {
    return await runPhases(task, onPhase)
  } catch (error) {
    return { kind: 'failed', message: String((error as Error).stack ?? error) }
  }
}

if (process.argv[1] === import.meta.filename && process.send !== undefined) {
  process.once('message', (task: ChildTask) => {
    const tell = (name: string): void => void process.send!({ kind: 'phase', name })
    void runTask(task, tell).then((answer) => process.send!(answer, () => process.exit(0)))
  })
}
