/** One list of operations under every set of options: all say the same, and what the model says. */
import { rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { shrinkList } from '../helpers/shrink.js'
import { compare } from './comparison.js'
import { familyOptions, operationsOn, type Operation } from './operations.js'
import { fileSystemOf, optionSets, policySets, type OptionSet } from './option-sets.js'

/** What lists of operations did so far. */
export type OptionCounts = { rounds: number; sets: number; operations: number }

const operationsPerList = 80
const operationsBetweenScans = 20

/** What the engine said under a set, or how it differed from the model. */
async function run(
  set: OptionSet,
  families: readonly string[],
  operations: readonly Operation[],
): Promise<{ readonly said?: string; readonly wrong?: string }> {
  const home = mkdtempSync(join(tmpdir(), 'cellar-options-'))
  const { options, family, durability, form = 'async' } = set
  const setup = { families, form, blockCacheBytesMax: 64 * 1024, options, family, durability }
  const fileSystem = fileSystemOf(set)
  try {
    const directory = fileSystem.constructor.name === 'NodeFileSystem' ? join(home, 'db') : '/db'
    const between = operationsBetweenScans
    return { said: await compare(setup, operations, fileSystem, directory, between) }
  } catch (error) {
    return { wrong: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Runs the list of a seed; what is wrong with it, of the shortest operations that show it. */
export async function checkOptions(
  seed: number,
  counts: OptionCounts,
): Promise<string | undefined> {
  const names = Object.keys(familyOptions)
  const families = [
    names[seed % names.length],
    names[Math.floor(seed / names.length) % names.length],
  ]
  const some = [...new Set(families)]
  const [list] = fc.sample(
    fc.array(operationsOn(some, 2), {
      minLength: operationsPerList,
      maxLength: operationsPerList,
    }),
    { seed, numRuns: 1 },
  )
  const unmerged = list.filter(({ kind }) => kind !== 'merge')
  const [first] = Object.values(optionSets)
  const expected = await run(first, some, unmerged)
  for (const [name, set] of [...Object.entries(optionSets), ...Object.entries(policySets)]) {
    const isPolicy = Object.hasOwn(policySets, name)
    const findWrong = async (operations: readonly Operation[]): Promise<string | undefined> => {
      const { said, wrong } = await run(set, some, operations)
      if (wrong !== undefined || isPolicy) return wrong
      const other = operations === unmerged ? expected : await run(first, some, operations)
      return said === other.said ? undefined : 'says something else than with the default options'
    }
    const operations = isPolicy ? list : unmerged
    counts.sets++
    counts.operations += operations.length
    if ((await findWrong(operations)) === undefined) continue
    const fails = async (shorter: readonly Operation[]): Promise<boolean> => {
      return (await findWrong(shorter)) !== undefined
    }
    const shortest = await shrinkList(operations, fails)
    const steps = shortest.map((operation) => fc.stringify(operation)).join('\n')
    return `${name}, families ${some.join(', ')}:\n${steps}\n${await findWrong(shortest)}`
  }
  counts.rounds++
  return undefined
}
