/**
 * A process of the library: adds what is missing, then changes records until it is killed, and
 * tells what was acknowledged, line by line. With `complete` it ends when every package has its
 * versions.
 */
import { writeSync } from 'node:fs'
import { readPackages, type Package } from './packages.js'
import { change, complete, idOf, openLibrary, write, type Library, type Tell } from './program.js'
import { numbers } from './random.js'

const lanes = 8
const addedMax = 20
const tell: Tell = (note) => void writeSync(1, `${JSON.stringify(note)}\n`)

/** Changes packages of its own: two of them never write one record at the same time. */
async function work(
  library: Library,
  all: readonly Package[],
  seed: number,
  lane: number,
): Promise<never> {
  const packages = all.filter((_, at) => at % lanes === lane)
  const random = numbers(seed * lanes + lane)
  // A few of those that are missing, so that there are changes from the first process on.
  let added = 0
  for (const each of packages) {
    if (await library.table.exists(idOf(each.name))) continue
    await write(library, each, tell)
    if (++added >= addedMax) break
  }
  for (;;) {
    await change(library, packages, random, tell)
    // Room for the subscription and for timers.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function main(directory: string, seed: number, isLast: boolean): Promise<void> {
  const packages = readPackages()
  const library = await openLibrary(directory)
  if (isLast) {
    for (const each of packages) await complete(library, each, tell)
    await library.close()
    return
  }
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(library, packages, seed, lane)))
}

main(process.argv[2], Number(process.argv[3]), process.argv[4] === 'complete').catch(
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  },
)
