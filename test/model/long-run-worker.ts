/**
 * The thread of a long run: lists of random operations on the engine and on the model. It answers
 * with how many operations were carried out, or fails with fast-check's shrunk counterexample.
 */
import fc from 'fast-check'
import { parentPort, workerData } from 'node:worker_threads'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import { compare, type Setup } from './comparison.js'
import { operationsOn } from './operations.js'

/** What a thread is asked. */
export interface LongRun {
  readonly seed: number
  /** Families are taken from these, up to two a list. */
  readonly families: readonly string[]
  readonly form: Setup['form']
  readonly operations: number
}

const operationsPerList = 250
const jobsOneIn = 4
/** Full scans are what takes the time; the reads among the operations look as well. */
const operationsBetweenScans = 25
/** After so long the shortest list so far has to do: lists of this length may take hours. */
const shrinkingMillisecondsMax = 120_000

async function carryOut({ seed, families, form, operations }: LongRun): Promise<number> {
  let count = 0
  const setup = fc.record({
    families: fc.subarray([...families], { minLength: 1, maxLength: 2 }),
    form: fc.constant(form),
    blockCacheBytesMax: fc.constantFrom(64 * 1024, 0),
  })
  const run = setup.chain((chosen) => {
    const list = fc.array(operationsOn(chosen.families, jobsOneIn), {
      minLength: operationsPerList,
      maxLength: operationsPerList,
    })
    return fc.tuple(fc.constant(chosen), list)
  })
  let shrinkingEnd = Infinity
  const property = fc.asyncProperty(run, async ([chosen, list]) => {
    if (performance.now() > shrinkingEnd) return
    try {
      await compare(chosen, list, new SimulatedDisk(), '/database', operationsBetweenScans)
    } catch (error) {
      if (shrinkingEnd === Infinity) shrinkingEnd = performance.now() + shrinkingMillisecondsMax
      throw error
    }
    count += list.length
  })
  await fc.assert(property, { seed, numRuns: Math.ceil(operations / operationsPerList) })
  return count
}

parentPort?.postMessage(await carryOut(workerData as LongRun))
