/**
 * Entry of the benchmarks: `npm run bench -- SUITE [options]`.
 *
 * Exit codes: 0 done, 1 a benchmark failed, 2 the command line is wrong.
 */
import { parseArgs } from 'node:util'
import { UsageError } from './usage.js'
import type { SuiteSettings } from './usage.js'

type Suite = (settings: SuiteSettings) => Promise<number>

/** Suites by name; a module is loaded only if it is asked for. */
const suites: Readonly<Record<string, () => Promise<Suite>>> = {
  micro: async () => (await import('./micro/main.js')).runMicro,
}

const usage = `usage: npm run bench -- SUITE [PART...] [--out FILE] [--quick]

suites
  micro       single structures; parts are the names of files in bench/micro

options
  --out FILE  write the results as JSON, with machine, Node version and commit
  --quick     short runs: shows that everything works, the figures mean little
  --help      this text
`

async function main(args: readonly string[]): Promise<number> {
  let parsed
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        out: { type: 'string' },
        quick: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  const { values, positionals } = parsed
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const [name, ...parts] = positionals
  if (name === undefined) throw new UsageError('no suite is named')
  if (!Object.hasOwn(suites, name)) throw new UsageError(`there is no suite ${name}`)
  const suite = await suites[name]()
  return suite({ parts, outPath: values.out, quick: values.quick })
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${usage}`)
    else console.error(error)
    process.exitCode = error instanceof UsageError ? 2 : 1
  },
)
