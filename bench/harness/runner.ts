/**
 * Runs the phases of a sequence on one open engine, in this process, and measures them.
 *
 * The clock is read once after every call, so latencies include the making of the operation (some
 * tens of nanoseconds) and nothing is sampled. A loop that never awaits gives up its turn every ten
 * milliseconds, as an application would have to.
 */
import { openLoop } from './open-loop.js'
import { Checksum } from './draws/checksum.js'
import type { OpenedEngine, RowValues, Store } from './engine.js'
import type { RecordableHistogram } from 'node:perf_hooks'
import { newLatencies, percentilesOf, recordLatency } from './report/latencies.js'
import { Operation } from './operation.js'
import { observeProcess } from './processes/process-counters.js'
import { seededRandom } from './draws/random.js'
import { Slot } from './slot.js'
import type { Generator, Phase, Sequence } from './workload.js'

/** The checksum over the answers to the first calls of a phase. */
export interface Mark {
  readonly calls: number
  readonly checksum: string
}

/** What a phase gave on one engine, once. */
export interface PhaseOutcome {
  readonly workload: string
  readonly isMeasured: boolean
  readonly operations: number
  /** The phase ended before all its calls were made. */
  readonly isCut?: boolean
  readonly seconds: number
  /** Undefined, as what follows: a program of its own did not tell. */
  readonly p50us?: number
  readonly p99us?: number
  readonly p999us?: number
  readonly maxUs?: number
  readonly bytesOnDisk?: number
  /** Rows and values that the phase wrote. */
  readonly bytesGiven: number
  /** Undefined where the platform does not tell. */
  readonly bytesWritten?: number
  readonly peakRssBytes?: number
  readonly cpuSeconds?: number
  readonly checksum?: string
  /** What the answers came to on the way; undefined behind a phase that was cut. */
  readonly marks?: readonly Mark[]
  readonly extra: Readonly<Record<string, number>>
}

/** What the phases are run with. */
export interface RunSettings {
  readonly directory: string
  readonly records: number
  readonly seed: number
  /** Most seconds of a phase that may end early; 0 = no bound. */
  readonly phaseSecondsMax: number
}

/** Longest time without a turn of the event loop, in milliseconds. */
const turnMilliseconds = 10

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** What the loops add up. */
export interface Tally {
  readonly latencies: RecordableHistogram
  /** Calls that were made. */
  calls: number
  /** No call is started after so many milliseconds. */
  readonly millisecondsMax: number
  seconds: number
  /** Checksums so far, after one call, two, four and so on. */
  readonly marks: Mark[]
  /** Calls at which the next mark is due. */
  nextMark: number
  /** The answers come in any order, and only their successes are counted. */
  readonly isUnordered: boolean
  readonly extra: Record<string, number>
}

async function runOneByOne(
  store: Store,
  generate: Generator,
  calls: number,
  slot: Slot,
  tally: Tally,
): Promise<void> {
  const { operation } = slot
  const { latencies, millisecondsMax } = tally
  const started = performance.now()
  let last = started
  let turnStarted = started
  for (let index = 0; index < calls; index++) {
    generate(operation, index)
    const done = slot.carryOut(store)
    if (done instanceof Promise) await done
    const now = performance.now()
    recordLatency(latencies, now - last)
    last = now
    tally.calls++
    if (tally.calls >= tally.nextMark) mark(tally, [slot])
    if (now - started > millisecondsMax) break
    if (now - turnStarted > turnMilliseconds) {
      await nextTurn()
      turnStarted = performance.now()
    }
  }
  tally.seconds = (performance.now() - started) / 1000
}

/** Starts `slots.length` calls at once and waits for all; the latency is that of the wave. */
async function runInWaves(
  store: Store,
  generate: Generator,
  calls: number,
  slots: readonly Slot[],
  tally: Tally,
): Promise<void> {
  const pending: Promise<void>[] = []
  const started = performance.now()
  let last = started
  for (let index = 0; index < calls; index += slots.length) {
    const size = Math.min(slots.length, calls - index)
    pending.length = 0
    for (let at = 0; at < size; at++) {
      const slot = slots[at]
      generate(slot.operation, index + at)
      const done = slot.carryOut(store)
      if (done instanceof Promise) pending.push(done)
    }
    if (pending.length > 0) await Promise.all(pending)
    const now = performance.now()
    recordLatency(tally.latencies, now - last)
    last = now
    tally.calls += size
    if (tally.calls >= tally.nextMark) mark(tally, slots)
    if (now - started > tally.millisecondsMax) break
  }
  tally.seconds = (performance.now() - started) / 1000
}

/** Notes the checksum so far, and again after twice as many calls. */
function mark(tally: Tally, slots: readonly Slot[]): void {
  const checksum = checksumOf(slots, tally.isUnordered)
  tally.marks.push({ calls: tally.calls, checksum })
  tally.nextMark = 2 * tally.calls
}

async function runMaintenance(engine: OpenedEngine, phase: Phase, tally: Tally): Promise<void> {
  const started = performance.now()
  await engine[phase.maintenance!]?.()
  tally.seconds = (performance.now() - started) / 1000
  tally.calls = 1
  recordLatency(tally.latencies, tally.seconds * 1000)
}

/** Calls that a phase makes for so many records. */
export function callsOf(phase: Phase, records: number): number {
  if (phase.maintenance !== undefined) return 1
  return Math.max(1, Math.floor(phase.calls(records)))
}

/**
 * What phases worked with, kept to the end of the process: V8 throws compiled code away when a
 * collection finds no object of a class any more that it was compiled for, and then every phase
 * would begin with interpreted code.
 */
const kept: object[] = []

/** Runs one phase. */
async function runPhase(
  engine: OpenedEngine,
  sequence: Sequence,
  phase: Phase,
  position: number,
  settings: RunSettings,
  memory: Map<string, number>,
): Promise<PhaseOutcome> {
  const calls = callsOf(phase, settings.records)
  const store = phase.form === 'awaited' ? engine.awaited : engine.fastest
  const slots: Slot[] = []
  for (let at = 0; at < (phase.concurrency ?? 1); at++) {
    slots.push(new Slot(new Operation(), sequence.columns.length))
  }
  const isBounded = phase.isWhole !== true && settings.phaseSecondsMax > 0
  const tally: Tally = {
    latencies: newLatencies(),
    calls: 0,
    millisecondsMax: isBounded ? settings.phaseSecondsMax * 1000 : Infinity,
    seconds: 0,
    marks: [],
    nextMark: 1,
    isUnordered: phase.isUnordered ?? false,
    extra: {},
  }
  // Every phase has numbers of its own, so leaving one out changes nothing for the others.
  const seed = (settings.seed + Math.imul(position + 1, 0x9e3779b1)) >>> 0
  const context = {
    records: settings.records,
    calls,
    random: seededRandom(seed),
    seed: settings.seed,
    memory,
  }
  const observed = observeProcess(settings.directory)
  const canMaintain = phase.maintenance === undefined || engine[phase.maintenance] !== undefined
  if (phase.maintenance !== undefined) await runMaintenance(engine, phase, tally)
  else {
    const generate = phase.generate(context)
    kept.push(slots, tally, context, generate)
    if (phase.ratePerSecond !== undefined) {
      await openLoop(store, generate, calls, phase.ratePerSecond, slots, tally)
      tally.calls = calls
    } else if (slots.length === 1) await runOneByOne(store, generate, calls, slots[0], tally)
    else await runInWaves(store, generate, calls, slots, tally)
  }
  const { latencies, seconds, extra } = tally
  return {
    workload: phase.name,
    isMeasured: (phase.isMeasured ?? true) && canMaintain,
    operations:
      phase.countsRows === true
        ? slots.reduce((sum, slot) => sum + slot.rowsVisited, 0)
        : tally.calls * (phase.operationsPerCall ?? 1),
    ...(tally.calls < calls && { isCut: true }),
    seconds,
    ...percentilesOf(latencies),
    ...observed.end(),
    bytesGiven: slots.reduce((sum, slot) => sum + slot.bytesGiven, 0),
    checksum: checksumOf(slots, tally.isUnordered),
    marks: tally.marks,
    extra,
  }
}

function checksumOf(slots: readonly Slot[], isUnordered: boolean): string {
  const checksum = new Checksum()
  if (isUnordered) checksum.addNumber(slots.reduce((sum, slot) => sum + slot.successes, 0))
  else for (const slot of slots) checksum.addNumber(parseInt(slot.checksum.hex, 16))
  return checksum.hex
}

/** Checksum over every byte of every row, and the number of rows. */
export async function checksumOfState(store: Store): Promise<{ rows: number; checksum: string }> {
  const checksum = new Checksum()
  const range = { start: Buffer.alloc(0), stop: undefined, limit: 0, reversed: false }
  const rows = await store.scan(range, (row: Buffer, values: RowValues) => {
    checksum.addAll(row)
    for (const value of values) {
      if (value === undefined) checksum.addNumber(-1)
      else checksum.addAll(value)
    }
  })
  return { rows, checksum: checksum.hex }
}

/** Runs the phases one after the other. */
export async function runSequence(
  engine: OpenedEngine,
  sequence: Sequence,
  phases: readonly Phase[],
  settings: RunSettings,
  onPhase: (phase: Phase) => void = () => undefined,
): Promise<PhaseOutcome[]> {
  const outcomes: PhaseOutcome[] = []
  const memory = new Map<string, number>()
  let hasCut = false
  for (const [position, phase] of phases.entries()) {
    onPhase(phase)
    ;(globalThis as { gc?: () => void }).gc?.()
    const outcome = await runPhase(engine, sequence, phase, position, settings, memory)
    const wasCut = hasCut
    hasCut ||= outcome.isCut === true
    // Others may have come further. Answers to the same first calls are still the same, but not
    // those of the phases behind.
    const { marks } = outcome
    const known = wasCut ? undefined : marks
    outcomes.push(hasCut ? { ...outcome, checksum: undefined, marks: known } : outcome)
  }
  return outcomes
}
