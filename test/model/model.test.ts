/**
 * The engine against the reference model: random operations, after each the same outcome, every few
 * operations the same full scans in all directions. fast-check shrinks what fails.
 *
 * CELLAR_SEED repeats a run; CELLAR_MODEL_RUNS sets how many lists of operations are tried.
 *
 * @runs alone
 */
import fc from 'fast-check'
import t from 'tap'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import { NodeFileSystem } from '../../src/storage/fs/node-fs.js'
import { compare, type Setup } from './comparison.js'
import { familyOptions, operationsOn } from './operations.js'
import { lengthOf } from '../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20260917)
const runs = lengthOf('CELLAR_MODEL_RUNS', 60, 500)
const operationsMax = 60
const timeout = 900_000 + 100 * runs

t.setTimeout(2 * timeout)

const setup: fc.Arbitrary<Setup> = fc.record({
  families: fc.subarray(Object.keys(familyOptions), { minLength: 1, maxLength: 2 }),
  form: fc.constantFrom('sync', 'async'),
  blockCacheBytesMax: fc.constantFrom(64 * 1024, 0),
})

const run = setup.chain((chosen) => {
  return fc.tuple(
    fc.constant(chosen),
    fc.array(operationsOn(chosen.families), { maxLength: operationsMax, size: 'max' }),
  )
})

void t.test(`the engine agrees with the model in memory (seed ${seed})`, { timeout }, async (t) => {
  const property = fc.asyncProperty(run, async ([chosen, operations]) => {
    await compare(chosen, operations, new SimulatedDisk(), '/database')
  })
  await fc.assert(property, { seed, numRuns: runs })
  t.pass(`${runs} lists of operations`)
})

void t.test(`the engine agrees with the model on files (seed ${seed})`, { timeout }, async (t) => {
  const root = t.testdir({})
  let number = 0
  const property = fc.asyncProperty(run, async ([chosen, operations]) => {
    await compare(chosen, operations, new NodeFileSystem(), `${root}/${number++}`)
  })
  const few = Math.ceil(runs / 10)
  await fc.assert(property, { seed: seed + 1, numRuns: few })
  t.pass(`${few} lists of operations`)
})
