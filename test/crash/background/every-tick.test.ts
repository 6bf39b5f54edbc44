/**
 * Calls of every kind in every tick of every operation in the background; see `every-tick.ts`.
 *
 * @runs campaign
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { hasPool } from '../../../src/storage/job/threads/worker-executor.js'
import { lengthOf } from '../../helpers/length.js'
import { randomFrom, seed } from '../../unit/storage/version/fixtures.js'
import {
  blockingCalls,
  calls,
  intrude,
  operations,
  prepare,
  tightMemory,
  type Ground,
  type Intrusion,
} from './every-tick.js'

/** One tick of so many is tried in the sweeps. */
const stride = lengthOf('CELLAR_TICK_STRIDE', 24, 1)
/** Calls drawn by the seed. */
const inlineRuns = lengthOf('CELLAR_TICK_RUNS', 40, 4000)
const workerRuns = lengthOf('CELLAR_WORKER_TICK_RUNS', 2, 200)

/** Makes a new ground for each run. */
type NewGround = () => Ground

async function inMemory(): Promise<NewGround> {
  const fileSystem = new SimulatedDisk()
  const options = { ...tightMemory, executor: 'inline' } as const
  await prepare({ directory: '/db', options: { ...options, fileSystem } })
  return () => ({ directory: '/db', options: { ...options, fileSystem: fileSystem.kill() } })
}

async function onDisk(root: string): Promise<NewGround> {
  const options = { ...tightMemory, executor: 'worker' } as const
  const first = join(root, 'prepared')
  await prepare({ directory: first, options })
  let made = 0
  return () => {
    const directory = join(root, `db${made++}`)
    cpSync(first, directory, { recursive: true })
    return { directory, options }
  }
}

async function wrongOf(makeGround: NewGround, intrusion: Intrusion): Promise<string[]> {
  const { wrong } = await intrude(makeGround(), intrusion)
  const { operation, call, tick } = intrusion
  return wrong.map((what) => `${operation}, ${call} in tick ${tick}: ${what}`)
}

/** Number of ticks of an operation with no call in it. */
async function ticksOf(makeGround: NewGround, operation: string): Promise<number> {
  return (await intrude(makeGround(), { operation, call: 'flush', tick: Infinity })).ticks
}

/** Calls and ticks drawn by the seed. */
async function draw(makeGround: NewGround, runs: number): Promise<string[]> {
  const random = randomFrom(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]
  const ticks = new Map<string, number>()
  const wrong: string[] = []
  for (let i = 0; i < runs; i++) {
    const operation = pick(Object.keys(operations))
    const call = pick(Object.keys(calls))
    if (!ticks.has(operation)) ticks.set(operation, await ticksOf(makeGround, operation))
    const tick = Math.floor(random() * ticks.get(operation)!)
    wrong.push(...(await wrongOf(makeGround, { operation, call, tick })))
  }
  return wrong
}

void t.test(`a synchronous put in ticks of a flush, one in ${stride}`, async (t) => {
  const makeGround = await inMemory()
  const ticks = await ticksOf(makeGround, 'flush')
  const wrong: string[] = []
  for (let tick = 0; tick < ticks; tick += stride) {
    const intrusion = { operation: 'flush', call: 'a synchronous put', tick }
    wrong.push(...(await wrongOf(makeGround, intrusion)))
  }
  t.same(wrong, [], `${ticks} ticks`)
})

for (const operation of ['flush', 'compaction', 'close']) {
  void t.test(`synchronous writers in ticks of a ${operation}, one in ${stride}`, async (t) => {
    const makeGround = await inMemory()
    const ticks = await ticksOf(makeGround, operation)
    let first = 0
    for (const call of Object.keys(blockingCalls)) {
      const wrong: string[] = []
      for (let tick = first++ % stride; tick < ticks; tick += stride) {
        wrong.push(...(await wrongOf(makeGround, { operation, call, tick })))
      }
      t.same(wrong, [], call)
    }
  })
}

void t.test(`calls of all kinds in ticks of all operations, inline, seed ${seed}`, async (t) => {
  t.same(await draw(await inMemory(), inlineRuns), [], `${inlineRuns} runs`)
})

const reason =
  process.env['CELLAR_EXECUTOR'] === 'inline'
    ? 'CELLAR_EXECUTOR=inline: no threads'
    : !hasPool()
      ? 'piscina is not installed'
      : false

void t.test(`the same on worker threads, seed ${seed}`, { skip: reason }, async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'cellar-ticks-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  t.same(await draw(await onDisk(root), workerRuns), [], `${workerRuns} runs`)
})
