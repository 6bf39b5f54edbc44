/**
 * Entry of the benchmarks: `npm run bench -- SUITE [PART...] [options]`.
 *
 * Exit codes: 0 done, 1 a benchmark failed or engines disagree, 2 the command line is wrong, 130
 * interrupted.
 */
import { describeEnvironment } from './environment.js'
import { recordedRepeats, recordedSuites } from './recording.js'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fillIn, optionsUsage, parseOptions, UsageError } from './harness/options.js'
import type { AskedOptions, BenchOptions } from './harness/options.js'
import { formatPage } from './harness/report/plot.js'
import { showProgress, type Progress } from './harness/progress.js'
import { loadSuite, suiteEntries, suiteEntry, type Entry } from './harness/registry.js'
import { makeReport, type Report } from './harness/report/report.js'
import { isFinished, RunLog } from './harness/run-log.js'
import type { Suite, SuiteContext, SuiteOutcome } from './harness/suite.js'
import { runWorkloads } from './harness/run-workloads.js'
import { countWins, formatTable } from './harness/report/table.js'
import type { WorkloadSuite } from './harness/workload.js'

const interruptedCode = 130

function usage(): string {
  const suites = suiteEntries.map(({ name, summary }) => `  ${name.padEnd(18)}  ${summary}\n`)
  return `usage: npm run bench -- SUITE [PART...] [options]

suites
${suites.join('')}  all                 every suite, one after the other
  record              what the README and the overview show; see bench/recording.ts; parts are
                      suites, for some of them alone
  ./mine.js           a module of yours that exports 'suite'; see bench/README.md

${optionsUsage}`
}

async function runSuite(
  entry: Entry,
  suite: Suite | WorkloadSuite,
  context: SuiteContext,
): Promise<SuiteOutcome> {
  if ('run' in suite) return suite.run(context)
  return runWorkloads(entry.module, suite, context)
}

/** Writes the figures, and the page that shows them beside. */
function writeReport(path: string, report: Report): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(report, undefined, 2)}\n`)
  writeFileSync(`${path.replace(/\.json$/, '')}.html`, formatPage(report))
}

/** Runs one suite, prints its table and writes its file. Returns whether all went well. */
async function runOne(
  entry: Entry,
  asked: AskedOptions,
  progress: Progress,
  outPath: string | undefined,
): Promise<boolean> {
  const suite = await loadSuite(entry)
  const options: BenchOptions = fillIn(asked, 'run' in suite ? {} : suite)
  if (outPath !== undefined && options.resumes && isFinished(entry.name, options, outPath)) {
    progress.note(`${entry.name}: ${outPath} is there already`)
    return true
  }
  const log = RunLog.open(entry.name, options, outPath)
  const directory = mkdtempSync(join(options.directory ?? tmpdir(), 'cellar-bench-'))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  const onInterrupt = (): void => {
    progress.close()
    remove()
    process.exit(interruptedCode)
  }
  process.once('SIGINT', onInterrupt)
  let outcome: SuiteOutcome
  try {
    outcome = await runSuite(entry, suite, { options, progress, log, directory })
  } finally {
    process.off('SIGINT', onInterrupt)
    remove()
    progress.close()
  }
  process.stdout.write(`${formatTable(outcome.results)}\n${countWins(outcome.results)}`)
  for (const { engine, reason } of outcome.leftOut) {
    process.stdout.write(`left out: ${engine}: ${reason}\n`)
  }
  for (const failure of outcome.failures) process.stderr.write(`FAILED: ${failure}\n`)
  if (outPath !== undefined) writeReport(outPath, makeReport(entry.name, options, outcome))
  return outcome.failures.length === 0
}

/** Records the suites of `recording.ts`, or those that are named. */
async function recordAll(options: AskedOptions, progress: Progress): Promise<number> {
  const { outPath } = options
  if (outPath === undefined) throw new UsageError('record needs --out')
  const { commit } = describeEnvironment()
  if (commit?.endsWith('-dirty') === true) {
    throw new UsageError('commit first: recorded tables name one commit')
  }
  const names = recordedSuites.map(({ name }) => name)
  const unknown = options.parts.find((part) => !names.includes(part))
  if (unknown !== undefined) {
    throw new UsageError(`'${unknown}' is none of the recorded suites: ${names.join(', ')}`)
  }
  let allGood = true
  for (const suite of recordedSuites) {
    const { name, phaseSeconds = 1 } = suite
    if (options.parts.length > 0 && !options.parts.includes(name)) continue
    const asked = {
      ...options,
      parts: [],
      engines: options.engines.length > 0 ? options.engines : (suite.engines ?? []),
      records: options.records ?? suite.records,
      repeat: options.repeat ?? recordedRepeats,
      seconds: options.seconds ?? suite.seconds,
      cacheBytes: options.cacheBytes ?? suite.cacheBytes,
      phaseSecondsMax: phaseSeconds,
    }
    const path = join(outPath, `${name}.json`)
    allGood = (await runOne(suiteEntry(name), asked, progress, path)) && allGood
  }
  return allGood ? 0 : 1
}

async function main(words: readonly string[]): Promise<number> {
  const options = parseOptions(words)
  if (options.help) {
    process.stdout.write(usage())
    return 0
  }
  const progress = showProgress(process.stderr)
  if (options.suite === 'record') return recordAll(options, progress)
  if (options.suite !== 'all') {
    const isGood = await runOne(suiteEntry(options.suite), options, progress, options.outPath)
    return isGood ? 0 : 1
  }
  if (options.parts.length > 0) throw new UsageError(`${options.suite} has no parts`)
  let allGood = true
  for (const entry of suiteEntries) {
    const path = options.outPath && join(options.outPath, `${entry.name}.json`)
    allGood = (await runOne(entry, options, progress, path)) && allGood
  }
  return allGood ? 0 : 1
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${usage()}`)
    else console.error(error)
    process.exitCode = error instanceof UsageError ? 2 : 1
  },
)
