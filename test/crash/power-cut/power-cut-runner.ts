/**
 * Runs histories on the memory file system, takes the images that a power cut could leave before
 * every operation of the file system, and recovers them.
 */
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { crashPolicies, type CrashPolicy } from '../../doubles/power-cut.js'
import { Database } from '../../../src/entries/index.js'
import { Workload } from '../history.js'
import { Model, observe } from '../model.js'
import {
  digestOf,
  generatorOf,
  placeInHistory,
  recover,
  recoverAndWrite,
  type Expectation,
  type Recovered,
} from '../recovery.js'
import { randomOperations, type Scenario } from '../scenarios.js'

/** A file system as a power cut leaves it, and what must be found in it. */
export interface CrashImage {
  readonly fileSystem: SimulatedDisk
  readonly expectation: Expectation
  readonly workload: Workload
  /** Scenario, place, policy and seed, to find it again. */
  readonly origin: string
}

/** What was done. */
export interface CrashCounts {
  /** Places at which the power was cut. */
  places: number
  images: number
  /** Images that differ from those before; the others are judged without opening them again. */
  distinct: number
  /** Images that were left out because the time was up. */
  skipped: number
}

/** A failure that can be found again. */
export interface CrashFailure {
  readonly origin: string
  readonly message: string
}

/** Policies whose images depend on the seed. */
const randomPolicies: ReadonlySet<CrashPolicy> = new Set([
  'keepRandomBlocks',
  'keepRandomBlocksGarbage',
  'anyDirectoryOperations',
  'orderedDirectoryOperations',
  'tornLastWrite',
])

/** Of so many recovered images one is written to and opened again as well. */
const distinctPerWrite = 3

export const defaultDirectory = '/db'

/** A file system for a scenario; the default directory is there and durable. */
export function newFileSystem(): SimulatedDisk {
  const fileSystem = new SimulatedDisk()
  fileSystem.makeDirectorySync(defaultDirectory)
  fileSystem.syncDirectorySync('/')
  return fileSystem
}

/** What takes images of a workload's file system. */
function photographer(
  workload: Workload,
  fileSystem: SimulatedDisk,
  name: string,
  seed: number,
  seedsPerPolicy: number,
  images: CrashImage[],
): () => void {
  let place = 0
  return () => {
    place++
    for (const [index, policy] of crashPolicies.entries()) {
      const count = randomPolicies.has(policy) ? seedsPerPolicy : 1
      for (let i = 0; i < count; i++) {
        images.push({
          fileSystem: fileSystem.crash(policy, generatorOf(seed, place, index, i)),
          expectation: {
            ...workload.progress,
            // With everything kept, the image is what the end of the process leaves.
            interruption: policy === 'keepAll' ? 'process end' : 'power cut',
          },
          workload,
          origin: `${name}, place ${place}, ${policy} ${i}`,
        })
      }
    }
  }
}

/** Runs a scenario to its end and returns the images of every place. */
export async function photographScenario(
  scenario: Scenario,
  seed: number,
  seedsPerPolicy: number,
): Promise<{ readonly images: CrashImage[]; readonly places: number }> {
  const fileSystem = newFileSystem()
  const directory = scenario.directory ?? defaultDirectory
  const workload = new Workload(fileSystem, directory, scenario.options ?? {})
  const images: CrashImage[] = []
  const take = photographer(workload, fileSystem, scenario.name, seed, seedsPerPolicy, images)
  let places = 0
  fileSystem.beforeOperation = () => {
    places++
    take()
  }
  await workload.open()
  await workload.run(scenario.operations)
  take()
  fileSystem.beforeOperation = undefined
  await workload.database?.close()
  return { images, places: places + 1 }
}

/** Recovers images, each distinct one once, until the deadline. */
export class ImageJudge {
  readonly counts: CrashCounts = { places: 0, images: 0, distinct: 0, skipped: 0 }
  readonly failures: CrashFailure[] = []
  private readonly known = new Map<Workload, Map<string, Recovered>>()

  /** True if the image kept what it must. */
  async judge(image: CrashImage): Promise<boolean> {
    const { workload, fileSystem, expectation } = image
    let known = this.known.get(workload)
    if (known === undefined) this.known.set(workload, (known = new Map<string, Recovered>()))
    const digest = digestOf(fileSystem, workload.directory)
    this.counts.images++
    try {
      const before = known.get(digest)
      if (before !== undefined) {
        placeInHistory(workload, before.observed, expectation)
        return true
      }
      this.counts.distinct++
      const write = this.counts.distinct % distinctPerWrite === 0
      const judge = write ? recoverAndWrite : recover
      known.set(digest, await judge(workload, fileSystem, expectation))
      return true
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.failures.push({ origin: image.origin, message })
      return false
    }
  }

  /** Judges images in the given order; what is left at the deadline is counted as skipped. */
  async judgeAll(images: readonly CrashImage[], deadline: number): Promise<void> {
    for (const [index, image] of images.entries()) {
      if (Date.now() > deadline || this.failures.length > 20) {
        this.counts.skipped += images.length - index
        return
      }
      await this.judge(image)
    }
  }

  /** Forgets what was found of finished workloads. */
  forget(): void {
    this.known.clear()
  }
}

/**
 * Cuts the power a second time, at every operation of the recovery of an image, and once more when
 * it is done: what its opener has seen must then stay.
 */
export async function photographRecovery(
  image: CrashImage,
  seed: number,
): Promise<readonly CrashImage[]> {
  const { workload, fileSystem, expectation, origin } = image
  const second = fileSystem.crash('keepAll', () => 0)
  const images: CrashImage[] = []
  let place = 0
  let seen: Expectation = expectation
  const take = (): void => {
    place++
    for (const [index, policy] of crashPolicies.entries()) {
      images.push({
        fileSystem: second.crash(policy, generatorOf(seed, place, index)),
        expectation: policy === 'keepAll' ? seen : { ...seen, interruption: 'power cut' },
        workload,
        origin: `${origin}, then place ${place} of its recovery, ${policy}`,
      })
    }
  }
  second.beforeOperation = take
  const database = await Database.open(workload.directory, {
    ...workload.options,
    fileSystem: second,
  })
  const change = placeInHistory(workload, observe(database), expectation)
  seen = { ...expectation, fsynced: change, synced: change }
  take()
  await database.close()
  take()
  return images
}

/** What a chain of cuts did. */
export interface ChainResult {
  readonly cuts: number
  readonly failure?: CrashFailure
}

/** Random histories with a cut in each, every one going on from what the cut before had left. */
export async function runChain(
  seed: number,
  cuts: number,
  operations: number,
): Promise<ChainResult> {
  const random = generatorOf(seed)
  let fileSystem = newFileSystem()
  let start: (Workload & { readonly recovered: number }) | undefined
  const sizes = [64 * 1024, 256 * 1024, 1024 * 1024]
  for (let cut = 1; cut <= cuts; cut++) {
    const options = { logBytesMax: sizes[Math.floor(random() * 3)] }
    const workload = new Workload(fileSystem, defaultDirectory, options, start)
    if (start !== undefined) workload.model = start.model
    const images: CrashImage[] = []
    const origin = `chain with seed ${seed}, cut ${cut}`
    try {
      const policy = crashPolicies[Math.floor(random() * crashPolicies.length)]
      const image = await cutAtRandom(workload, fileSystem, policy, random, operations)
      images.push({ ...image, origin: `${origin}, ${policy}` })
      const again = image.fileSystem.crash('keepAll', () => 0)
      const { change, observed } = await recoverAndWrite(workload, again, image.expectation)
      fileSystem = image.fileSystem
      start = Object.assign(workload, { recovered: change })
      start.model = modelFrom(observed.text)
      const kept = [...workload.unlogged].filter(([row]) => observed.unlogged.has(row))
      workload.unlogged.clear()
      for (const [row, history] of kept) {
        workload.unlogged.set(
          row,
          history.filter(({ shown }) => shown === observed.unlogged.get(row)).slice(-1),
        )
      }
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
      return { cuts: cut, failure: { origin: images[0]?.origin ?? origin, message } }
    }
  }
  return { cuts }
}

async function cutAtRandom(
  workload: Workload,
  fileSystem: SimulatedDisk,
  policy: CrashPolicy,
  random: () => number,
  operationsMax: number,
): Promise<Omit<CrashImage, 'origin'>> {
  await workload.open()
  const count = 3 + Math.floor(random() * operationsMax)
  const operations = randomOperations(workload, random, count)
  // A few operations of the file system for each of ours, so most cuts fall inside.
  const place = fileSystem.operationCount + 1 + Math.floor(random() * count * 3)
  let taken: Omit<CrashImage, 'origin'> | undefined
  const take = (): void => {
    const interruption = policy === 'keepAll' ? 'process end' : 'power cut'
    taken ??= {
      fileSystem: fileSystem.crash(policy, random),
      expectation: { ...workload.progress, interruption },
      workload,
    }
  }
  fileSystem.beforeOperation = () => {
    if (fileSystem.operationCount >= place) take()
  }
  for (const operation of operations) {
    if (taken === undefined) await workload.perform(operation)
  }
  take()
  fileSystem.beforeOperation = undefined
  await workload.database!.close()
  return taken!
}

/** The model whose text this is. */
function modelFrom(text: string): Model {
  const model = new Model()
  const lines = text.split('\n').filter((line) => line !== '')
  for (const line of lines) {
    const table = /^([^/[]+)\[(.*)\]$/.exec(line)
    if (table !== null) model.createTable(table[1], table[2].split(' ').filter(Boolean))
  }
  for (const line of lines) {
    const cell = /^([^/[]+)\/([^/]+)\/([^:]+):([^=]+)=(.*)$/.exec(line)
    if (cell !== null) model.put(cell[1], cell[2], cell[3], cell[4], cell[5])
  }
  return model
}

/** Brings a list into random order. */
export function shuffle<T>(list: T[], random: () => number): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[list[i], list[j]] = [list[j], list[i]]
  }
  return list
}
