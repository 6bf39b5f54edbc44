/** A process of the library: adds what is missing, then changes records until it is killed. */
import { readPackages, type Package } from './packages.js'
import { change, idOf, openLibrary, write, type Library } from './program.js'
import { numbers } from './random.js'

const lanes = 8

/** Changes packages of its own: two of them never write one record at the same time. */
async function work(
  library: Library,
  all: readonly Package[],
  seed: number,
  lane: number,
): Promise<never> {
  const packages = all.filter((_, at) => at % lanes === lane)
  const random = numbers(seed * lanes + lane)
  for (const each of packages) {
    if (!(await library.table.exists(idOf(each.name)))) await write(library, each)
  }
  for (;;) {
    await change(library, packages, random)
    // Room for the subscription and for timers.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function main(directory: string, seed: number): Promise<void> {
  const packages = readPackages()
  const library = await openLibrary(directory)
  process.stdout.write('open\n')
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(library, packages, seed, lane)))
}

main(process.argv[2], Number(process.argv[3])).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
})
