/** The kinds of crash campaigns, each a source of rounds that are determined by their seeds. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { loadChecksums } from '../../../src/storage/codec/checksum.js'
import { hasPool } from '../../../src/storage/job/threads/worker-executor.js'
import { checkCallOrder } from '../../helpers/call-order.js'
import { shrinkCount } from '../../helpers/shrink.js'
import type { LongRun } from '../../model/long-run-worker.js'
import { familyOptions } from '../../model/operations.js'
import { checkOptions } from '../../model/option-runs.js'
import { ownedSteps, simulate } from '../../model/owned/simulation.js'
import { operations, overlap } from '../background/operations.js'
import { faultKinds, faultScenarios, runWithFault } from '../faults/faults-runner.js'
import { damageRound } from '../damage/damage-files.js'
import { checkHistory, newCounts } from '../histories/runner.js'
import { checkHttpHistory } from '../histories/http-runner.js'
import { KillTest } from '../kill/kill-runner.js'
import { MovedTest } from '../moved/moved-runner.js'
import {
  ImageJudge,
  photographRecovery,
  photographScenario,
  runChain,
  type CrashFailure,
} from '../power-cut/power-cut-runner.js'
import { judgeMixed, loadMemory } from '../memory/memory-runner.js'
import { generatorOf } from '../recovery.js'
import {
  containedRuntime,
  otherRuntimes,
  RuntimesTest,
  thisRuntime,
} from '../runtimes/runtimes-runner.js'
import { makeOriginal, SalvageTest, type Harm } from '../salvage/salvage-runner.js'
import { scenarios } from '../scenarios.js'

/** A campaign that is going on. */
export interface Campaign {
  /** What was done so far, by name. */
  readonly counts: Readonly<Record<string, number>>
  /** One round; rejects if a promise was broken. */
  round(seed: number): Promise<void>
  /** Removes what it made on disk. */
  end(): void
}

/** A broken promise and where it was. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly origin: string

  constructor({ origin, message }: CrashFailure) {
    super(message)
    this.origin = origin
  }
}

/** Images of a scenario that are looked at in one round. */
const imagesPerRound = 300
/** Recoveries that are interrupted in one round. */
const recoveriesPerRound = 2

function powerCuts(): Campaign {
  const counts = { rounds: 0, images: 0, distinct: 0, recoveries: 0, cuts: 0 }
  return {
    counts,
    async round(seed) {
      const random = generatorOf(seed)
      const chain = await runChain(seed, 5, 20 + Math.floor(random() * 80))
      counts.cuts += chain.cuts
      if (chain.failure !== undefined) throw new Failure(chain.failure)
      const scenario = scenarios[seed % scenarios.length]
      const { images } = await photographScenario(scenario, seed, 3)
      const judge = new ImageJudge()
      const chosen = images
        .map((image) => ({ image, place: random() }))
        .sort((a, b) => a.place - b.place)
        .slice(0, imagesPerRound)
        .map(({ image }) => image)
      await judge.judgeAll(chosen, Infinity)
      for (const image of chosen.slice(0, recoveriesPerRound)) {
        await judge.judgeAll(await photographRecovery(image, seed), Infinity)
        counts.recoveries++
      }
      counts.images += judge.counts.images
      counts.distinct += judge.counts.distinct
      counts.rounds++
      if (judge.failures.length > 0) throw new Failure(judge.failures[0])
    },
    end() {},
  }
}

function faults(): Campaign {
  const counts = { rounds: 0, runs: 0 }
  const unhandled: unknown[] = []
  const listener = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', listener)
  return {
    counts,
    async round(seed) {
      const scenario = faultScenarios[seed % faultScenarios.length]
      const kind = faultKinds[Math.floor(seed / faultScenarios.length) % faultKinds.length]
      for (let failAt = 1; ; failAt++) {
        const { failures, complaints } = await runWithFault(scenario, kind, failAt)
        const origin = `${scenario.name}, ${kind.name}, call ${failAt}`
        if (complaints.length > 0) throw new Failure({ origin, message: complaints.join('\n') })
        await new Promise((resolve) => setImmediate(resolve))
        if (unhandled.length > 0) {
          throw new Failure({ origin, message: `unhandled rejection: ${String(unhandled[0])}` })
        }
        if (failures === 0) break
        counts.runs++
      }
      counts.rounds++
    },
    end() {
      process.off('unhandledRejection', listener)
    },
  }
}

function kills(): Campaign {
  const test = new KillTest()
  return {
    counts: test.counts as unknown as Record<string, number>,
    async round(seed) {
      const random = generatorOf(seed, 1)
      await test.round(seed, 120 + random() * random() * 3000)
    },
    end() {
      test.remove()
    },
  }
}

function runtimes(): Campaign {
  const test = new RuntimesTest()
  const contained = containedRuntime()
  const containers = contained === undefined ? [] : [contained]
  const all = [thisRuntime, ...containers, ...otherRuntimes()]
  const counts = test.counts as unknown as Record<string, number>
  counts.runtimes = all.length
  return {
    counts,
    async round(seed) {
      const random = generatorOf(seed)
      const first = all[Math.floor(random() * all.length)]
      // With others at hand, two different ones; else this one meets itself.
      const rest = all.length > 1 ? all.filter((runtime) => runtime !== first) : all
      await test.round(first, rest[Math.floor(random() * rest.length)], random)
    },
    end() {
      test.remove()
    },
  }
}

function moves(): Campaign {
  const test = new MovedTest()
  return {
    counts: test.counts,
    async round(seed) {
      // Elsewhere a moved directory is refused, which test/unit/storage/fs covers.
      if (process.platform === 'linux') await test.round(generatorOf(seed))
    },
    end() {},
  }
}

/** Places of each file that are harmed in one round. */
const harmsPerFile = 12

/** Bits, lengths and whole files of every kind of file, of a closed and of a killed database. */
function salvages(): Campaign {
  const counts = { rounds: 0, harms: 0, sound: 0, lossless: 0, losses: 0, hopeless: 0 }
  return {
    counts,
    async round(seed) {
      const random = generatorOf(seed, 4)
      await loadChecksums()
      const original = await makeOriginal(random, seed % 2 === 0)
      const test = new SalvageTest(original)
      for (const [file, { length }] of original.files) {
        const harms: Harm[] = [{ kind: 'remove' }]
        // Behind the log and in the reserve there is empty room.
        const end = file.endsWith('.log') || file === 'RESERVE' ? Math.min(length, 16_000) : length
        for (let i = 0; i < harmsPerFile && length > 0; i++) {
          const at = Math.floor(random() * end)
          harms.push({ kind: 'flip', at, bit: Math.floor(random() * 8) })
          if (i % 3 === 0) harms.push({ kind: 'cut', length: Math.floor(random() * end) })
        }
        for (const harm of harms) {
          await test.check(file, harm)
          counts.harms++
        }
      }
      for (const outcome of ['sound', 'lossless', 'losses', 'hopeless'] as const) {
        counts[outcome] += test.counts[outcome]
      }
      counts.rounds++
    },
    end() {},
  }
}

/** Operations on the engine and on the model that are drawn in one round. */
const modelOperations = 2500

function models(): Campaign {
  const counts = { rounds: 0, operations: 0 }
  return {
    counts,
    async round(seed) {
      const form = seed % 2 === 0 ? 'sync' : 'async'
      const families = Object.keys(familyOptions)
      const workerData: LongRun = { seed, families, form, operations: modelOperations }
      const program = new URL('../../model/long-run-worker.js', import.meta.url)
      const worker = new Worker(program, { workerData })
      const [count] = (await once(worker, 'message')) as [number]
      await worker.terminate()
      counts.operations += count
      counts.rounds++
    },
    end() {},
  }
}

const isRight = (): boolean => false
const isWrong = (): boolean => true

/** Owners of one log, in interleavings that a scheduler draws. */
function owners(): Campaign {
  const counts = { rounds: 0, histories: 0, acknowledged: 0, takeovers: 0, killed: 0 }
  return {
    counts,
    async round(seed) {
      await loadChecksums()
      const happened = await simulate(seed).catch(async (error: unknown) => {
        const fails = (steps: number) => simulate(seed, steps).then(isRight, isWrong)
        const steps = await shrinkCount(ownedSteps, fails)
        const message = await simulate(seed, steps).then(() => String(error), String)
        throw new Failure({ origin: `${steps} of ${ownedSteps} steps`, message })
      })
      for (const name of ['acknowledged', 'takeovers', 'killed'] as const) {
        counts[name] += happened[name]
      }
      counts.histories++
      counts.rounds++
    },
    end() {},
  }
}

function damages(): Campaign {
  const counts = { rounds: 0, refused: 0, cut: 0, opened: 0 }
  return {
    counts,
    async round(seed) {
      const found = await damageRound(seed)
      for (const kind of ['refused', 'cut', 'opened'] as const) counts[kind] += found[kind]
      counts.rounds++
    },
    end() {},
  }
}

/** MiB of the budgets, and of the values put. */
const memoryBudgetMib = 16
const memoryDataMib = 400

function memories(): Campaign {
  const counts = { rounds: 0 }
  return {
    counts,
    async round(seed) {
      const baseline = await loadMemory('baseline', 1, memoryBudgetMib)
      const mode = seed % 2 === 0 ? 'mixed' : 'scans'
      const report = await loadMemory(mode, memoryDataMib, memoryBudgetMib)
      const message = judgeMixed(report, baseline, memoryBudgetMib)
      if (message !== undefined) throw new Failure({ origin: mode, message })
      counts.rounds++
    },
    end() {},
  }
}

/** Two to five background operations that overlap, in both executors. */
function background(): Campaign {
  const root = mkdtempSync(join(tmpdir(), 'cellar-background-'))
  const names = Object.keys(operations)
  const hasThreads = hasPool()
  const counts = { rounds: 0, operations: 0 }
  return {
    counts,
    async round(seed) {
      const random = generatorOf(seed, 2)
      const count = 2 + Math.floor(random() * 4)
      const chosen = Array.from({ length: count }, () => names[Math.floor(random() * names.length)])
      for (const executor of hasThreads ? (['inline', 'worker'] as const) : ['inline' as const]) {
        const name = `${seed}-${executor}`
        const directory = join(root, name)
        const bulkDirectory = join(root, `${name}-bulk`)
        const [wrong] = await overlap({ directory, bulkDirectory, executor }, chosen)
        rmSync(directory, { recursive: true })
        rmSync(bulkDirectory, { recursive: true })
        const origin = `${chosen.join(', ')}, ${executor}`
        if (wrong !== undefined) throw new Failure({ origin, message: wrong })
        counts.operations += count
      }
      counts.rounds++
    },
    end() {
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** The first calls of a seed, from reused buffers; what is wrong, and how many there were. */
async function callsOf(seed: number, callsMax = Infinity): Promise<[string | undefined, number]> {
  const random = generatorOf(seed, 3)
  const database = await Database.open('/db', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    memtableBytesMax: 256 * 1024,
    flushBytes: 128 * 1024,
    blockCacheBytesMax: random() < 0.5 ? 0 : 1024 * 1024,
    compactionEnabled: random() < 0.5,
  })
  const calls = Math.min(callsMax, 1000 + Math.floor(random() * 4000))
  const [wrong] = await checkCallOrder(database, random, calls)
  await database.close()
  return [wrong, calls]
}

/** Calls of all kinds from reused buffers, held back, in the order of each row. */
function buffers(): Campaign {
  const counts = { rounds: 0, calls: 0 }
  return {
    counts,
    async round(seed) {
      const [wrong, calls] = await callsOf(seed)
      if (wrong !== undefined) {
        const fails = async (fewer: number) => (await callsOf(seed, fewer))[0] !== undefined
        const origin = `${await shrinkCount(calls, fails)} of ${calls} calls`
        throw new Failure({ origin, message: wrong })
      }
      counts.calls += calls
      counts.rounds++
    },
    end() {},
  }
}

/** Histories of a round. */
const historiesPerRound = 20

/** Concurrent calls over lives that end in all ways: do they have an order? */
function histories(): Campaign {
  const counts = newCounts()
  return {
    counts,
    async round(seed) {
      await loadChecksums()
      for (let i = 0; i < historiesPerRound; i++) {
        const wrong = await checkHistory(seed * historiesPerRound + i, counts)
        if (wrong !== undefined) throw new Failure({ origin: `history ${i}`, message: wrong })
      }
      counts.rounds++
    },
    end() {},
  }
}

/** One list of operations under every set of options. */
function options(): Campaign {
  const counts = { rounds: 0, sets: 0, operations: 0 }
  return {
    counts,
    async round(seed) {
      await loadChecksums()
      const message = await checkOptions(seed, counts)
      if (message !== undefined) throw new Failure({ origin: 'options', message })
    },
    end() {},
  }
}

/** Histories of records over HTTP, against a server that is killed and started again. */
function httpHistories(): Campaign {
  const counts = { rounds: 0, histories: 0, calls: 0, unknown: 0, kills: 0 }
  return {
    counts,
    async round(seed) {
      const message = await checkHttpHistory(seed, counts)
      if (message !== undefined) throw new Failure({ origin: 'over HTTP', message })
      counts.rounds++
    },
    end() {},
  }
}

/** The kinds that are carried out in the process of the campaign, by name. */
export const campaigns: Readonly<Record<string, () => Campaign>> = {
  'power-cut': powerCuts,
  faults,
  kill: kills,
  background,
  buffers,
  runtimes,
  moved: moves,
  damage: damages,
  salvage: salvages,
  model: models,
  owned: owners,
  options,
  histories,
  'histories-http': httpHistories,
  memory: memories,
}
