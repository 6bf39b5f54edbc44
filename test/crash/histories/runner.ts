/** Histories over several lives of a database on a simulated disk; each ends in its own way. */
import { ManualClock } from '../../../src/base/clock.js'
import { Database, type DatabaseOptions } from '../../../src/entries/index.js'
import { FaultyFileSystem, type Fault } from '../../doubles/faulty-fs.js'
import { CrashPolicy } from '../../doubles/power-cut.js'
import type { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { shrinkList } from '../../helpers/shrink.js'
import { newFileSystem } from '../power-cut/power-cut-runner.js'
import { generatorOf } from '../recovery.js'
import { drawSteps, History, type HistoryStore, type Judgement, type Step } from './history.js'
import { TableStore } from './table-store.js'

/** How a life ends: after how many changes of the file system, or which of its calls fails. */
type End =
  | { readonly kind: 'close' }
  | { readonly kind: 'kill'; readonly at: number }
  | { readonly kind: 'power cut'; readonly at: number; readonly policy: CrashPolicy }
  | { readonly kind: 'fault'; readonly fault: Fault }

/** A history before it is run. */
export interface HistoryPlan {
  readonly seed: number
  /** FSYNC_WAL: power cuts are among the ends. */
  readonly durability: 'SYNC_WAL' | 'FSYNC_WAL'
  readonly options: DatabaseOptions
  readonly steps: readonly Step[]
  readonly ends: readonly End[]
}

/** What histories did so far. */
export type HistoryCounts = {
  rounds: number
  histories: number
  calls: number
  unknown: number
  crashes: number
  failures: number
}

/** Breaks something between the clients and the database. */
export type Plant = (store: HistoryStore, random: () => number) => HistoryStore

const directory = '/db'
const lives = 4

function drawEnd(random: () => number, durability: HistoryPlan['durability']): End {
  const draw = random()
  const at = 1 + Math.floor(random() * random() * 200)
  const policies = Object.values(CrashPolicy)
  const policy = policies[Math.floor(random() * policies.length)]
  if (draw < 0.15) return { kind: 'close' }
  if (draw < 0.4) return { kind: 'kill', at }
  if (draw < 0.65 && durability === 'FSYNC_WAL') return { kind: 'power cut', at, policy }
  const syncFailures = ['keep', 'revert', 'clean'] as const
  const isDurable = durability === 'FSYNC_WAL'
  const fault: Fault = {
    failAt: 1 + Math.floor(random() * random() * 120),
    errno: random() < 0.5 ? 'EIO' : 'ENOSPC',
    persistent: random() < 0.3,
    partialWrite: random() < 0.5,
    syncFailure: isDurable ? syncFailures[Math.floor(random() * 3)] : 'keep',
    only: random() < 0.5 ? ({ kind }) => kind === 'write' || kind === 'sync' : undefined,
  }
  return { kind: 'fault', fault }
}

/** Draws a history. */
export function drawPlan(seed: number): HistoryPlan {
  const random = generatorOf(seed, 11)
  const durability = random() < 0.6 ? 'FSYNC_WAL' : 'SYNC_WAL'
  const weights = { get: 4, put: 3, compareAndSet: 5, increment: 3, delete: 1, batch: 4, scan: 3 }
  const clients = 2 + Math.floor(random() * 5)
  return {
    seed,
    durability,
    options: {
      executor: 'inline',
      memtableBytesMax: 256 * 1024,
      flushBytes: 64 * 1024,
      blockCacheBytesMax: random() < 0.5 ? 0 : 64 * 1024,
      quickReads: random() < 0.3,
      logBytesMax: 64 * 1024,
      compactionEnabled: random() < 0.5,
    },
    steps: drawSteps(random, lives, clients, 10, weights),
    ends: Array.from({ length: lives }, () => drawEnd(random, durability)),
  }
}

/** Runs a history; what is wrong with it, or undefined. */
export class HistoryRun {
  readonly counts: HistoryCounts
  readonly #plan: HistoryPlan
  readonly #plant: Plant
  readonly #random: () => number
  readonly #history = new History()
  readonly #clock = new ManualClock(1_000_000)
  #disk: SimulatedDisk = newFileSystem()

  constructor(plan: HistoryPlan, counts: HistoryCounts, plant: Plant = (store) => store) {
    this.#plan = plan
    this.counts = counts
    this.#plant = plant
    this.#random = generatorOf(plan.seed, 12)
  }

  async run(): Promise<string | undefined> {
    const { ends, steps } = this.#plan
    for (const [life, end] of ends.entries()) {
      const calls = steps.filter((step) => step.life === life)
      await this.#live(calls, end)
      this.counts.crashes++
    }
    const database = await this.#open(this.#disk)
    await this.#history.observe(this.#storeOf(database))
    await database.close()
    this.counts.histories++
    this.counts.calls += this.#history.answered
    this.counts.unknown += this.#history.unknown
    return this.#history.judge()
  }

  #storeOf(database: Database): HistoryStore {
    return this.#plant(new TableStore(database), this.#random)
  }

  #open(fileSystem: SimulatedDisk | FaultyFileSystem): Promise<Database> {
    return Database.open(directory, { ...this.#plan.options, clock: this.#clock, fileSystem })
  }

  async #live(steps: readonly Step[], end: End): Promise<void> {
    const disk = this.#disk
    const faulty = new FaultyFileSystem(disk)
    const database = await this.#open(faulty)
    await TableStore.create(database, this.#plan.durability)
    const store = this.#storeOf(database)
    await this.#history.observe(store)
    // Until its moment comes, the image of the crash is the disk at the end.
    let image: SimulatedDisk | undefined
    const crash = (): void => {
      const random = generatorOf(this.#plan.seed)
      // A disk that fails for good does not take the statement of the failed sync. Then an open
      // refuses a log without its bytes (ERR_CORRUPTION) until the machine was started anew.
      const isLost =
        end.kind === 'fault' && end.fault.syncFailure !== 'keep' && end.fault.persistent === true
      if (end.kind === 'power cut') image = disk.crash(end.policy, random)
      else image = isLost ? disk.crash('keepAll', random) : disk.kill()
      this.#history.crash()
    }
    if (end.kind === 'fault') faulty.arm(end.fault)
    if (end.kind === 'kill' || end.kind === 'power cut') {
      let left = end.at
      disk.beforeOperation = () => {
        if (--left === 0) crash()
      }
    }
    const judge = (_: unknown, begunAfterFailure: boolean): Judgement => {
      // A database that has not failed has refused the call; one that had failed has refused it.
      return begunAfterFailure || database.failure === undefined ? 'not done' : 'unknown'
    }
    const background = this.#disturb(database, () => image !== undefined)
    const hasFailed = (): boolean => database.failure !== undefined
    await this.#history.run(store, steps, judge, hasFailed)
    await background
    this.counts.failures += faulty.failures
    if (end.kind === 'close') {
      await database.close()
      this.#history.crash()
      return
    }
    if (image === undefined) crash()
    disk.beforeOperation = undefined
    faulty.disarm()
    await database.close().catch(() => undefined)
    this.#disk = image!
  }

  /** Flushes and compactions beside the calls, and a clock that goes on. */
  async #disturb(database: Database, isOver: () => boolean): Promise<void> {
    for (let i = 0; i < 12 && !isOver(); i++) {
      this.#clock.milliseconds += Math.floor(this.#random() * 3)
      await new Promise((resolve) => setImmediate(resolve))
      const draw = this.#random()
      const work =
        draw < 0.2
          ? database.flush()
          : draw < 0.3
            ? database.compact(undefined, { major: this.#random() < 0.5 })
            : undefined
      // With a failing file system it may fail: that is not what is looked at.
      await work?.catch(() => undefined)
    }
  }
}

/** What is wrong with the history of a run, an end of the database with an error included. */
async function verdict(run: HistoryRun): Promise<string | undefined> {
  return run.run().catch((error: unknown) => {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  })
}

/** No counts yet. */
export function newCounts(): HistoryCounts {
  return { rounds: 0, histories: 0, calls: 0, unknown: 0, crashes: 0, failures: 0 }
}

/** Runs the history of a seed; what is wrong with it, of the shortest steps that show it. */
export async function checkHistory(
  seed: number,
  counts: HistoryCounts,
  plant?: Plant,
): Promise<string | undefined> {
  const plan = drawPlan(seed)
  const run = (steps: readonly Step[]): Promise<string | undefined> => {
    return verdict(new HistoryRun({ ...plan, steps }, newCounts(), plant))
  }
  const wrong = await verdict(new HistoryRun(plan, counts, plant))
  if (wrong === undefined) return undefined
  const fails = async (steps: readonly Step[]): Promise<boolean> => (await run(steps)) !== undefined
  const steps = await shrinkList(plan.steps, fails)
  return `${steps.length} of ${plan.steps.length} steps\n${(await run(steps)) ?? wrong}`
}
