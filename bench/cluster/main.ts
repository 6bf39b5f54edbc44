/**
 * `npm run cluster`: a database outgrows its machine, and comes back. See the usage below.
 *
 * Exit codes: 0 every cell was verified, 1 a difference or a failure, 2 wrong options, 3 Java,
 * Maven or the artifacts of HBase are missing.
 */
import { parseArgs } from 'node:util'
import { Reporter } from '../cities/report.js'
import { Journey } from './journey.js'
import { findHBase, LiveHBase } from './live-hbase.js'

const usage = `Usage: npm run cluster -- [options]

Starts a live Apache HBase 2.6 with its Thrift2 gateway on this machine. Loads cities into a Cellar
database, moves it to HBase while it is written to, and verifies every cell. Runs the orders
(transactions and messages) and the brokers (metadata, locks, elections) on HBase, and kills the
process that owns their database. Moves everything back while it is written to, and verifies every
cell again.

  --cities N   cities to load (default: 4000)
  --kills N    how often the process of the orders is killed (default: 3)
  --seed N     seed of the times of the kills (default: 1)
  --help       print this text

Needs Java from version 17 on, Maven, and bash. Maven fetches the artifacts of HBase at the first
run. HBase runs on the local file system here, so nothing it stores is durable.
`

interface Settings {
  readonly cities: number
  readonly kills: number
  readonly seed: number
}

/** The options; undefined: print the usage. Throws `TypeError`. */
function settingsOf(words: readonly string[]): Settings | undefined {
  const number = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...words],
    options: { cities: number, kills: number, seed: number, help: { type: 'boolean' } },
  })
  if (values.help === true) return undefined
  const read = (name: 'cities' | 'kills' | 'seed', missing: number): number => {
    const value = Number(values[name] ?? missing)
    if (Number.isSafeInteger(value) && value > 0) return value
    throw new TypeError(`--${name} must be a positive whole number`)
  }
  return { cities: read('cities', 4_000), kills: read('kills', 3), seed: read('seed', 1) }
}

async function run(settings: Settings): Promise<number> {
  const reporter = new Reporter(process.stdout)
  process.env['CELLAR_HBASE'] ??= 'fetch'
  reporter.title('a live HBase')
  const installation = findHBase()
  if ('obstacle' in installation) {
    process.stderr.write(`HBase cannot be started: ${installation.obstacle}\n`)
    return 3
  }
  const live = await reporter.time('start of HBase', () => LiveHBase.start(installation.classPath))
  try {
    reporter.line(`the Thrift2 gateway answers at 127.0.0.1:${live.port}`)
    const journey = new Journey(live.port, settings, reporter)
    await journey.run()
    reporter.title('report')
    reporter.timingTable()
    reporter.line(`\n${journey.summary()}`)
    return 0
  } finally {
    await live.stop()
  }
}

async function main(words: readonly string[]): Promise<number> {
  let settings: Settings | undefined
  try {
    settings = settingsOf(words)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`)
    return 2
  }
  if (settings === undefined) {
    process.stdout.write(usage)
    return 0
  }
  try {
    return await run(settings)
  } catch (error) {
    process.stderr.write(`\nFAILED: ${error instanceof Error ? error.stack : String(error)}\n`)
    return 1
  }
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})
