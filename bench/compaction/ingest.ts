/**
 * Random ingest without end: first as fast as it goes, then at 80 % of that, with a fixed rate at
 * which puts start whatever the answers do. Measures what background work must not spoil: the
 * longest time without the answer of any put, the time of a put from when it should have started,
 * and the delay of the event loop.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Database, type EmbeddedTable } from '../../src/entries/index.js'
import type { RecordableHistogram } from 'node:perf_hooks'
import { newLatencies, percentilesOf, recordLatency } from '../harness/report/latencies.js'
import type { ResultRecord } from '../harness/report/record.js'
import { processorWaitMilliseconds } from './processor-wait.js'
import { RandomRecords } from './records.js'

/** Puts under way in the first phase. */
const putsAtOnce = 256
/** Puts that are started in one turn of the event loop at most. */
const putsPerTurnMax = 512
/** Puts under way in the second phase, if the answers fall behind. */
const putsUnderWayMax = 8192
/** Longest measurement of the maximum. */
const maximumSecondsMax = 60
/** A family is at rest twice five seconds after its last flush at the latest. */
const untilRestMilliseconds = 11_000
/** Shorter runs are tests of the bench itself. */
const restSecondsMin = 5
/** The timer of the delay's monitor waits for so long itself. */
const resolutionMilliseconds = 1

/** Runs both phases over so many keys; the second one takes `seconds`. */
export async function measureIngest(
  directory: string,
  keys: number,
  seconds: number,
  seed: number,
): Promise<ResultRecord[]> {
  const path = join(directory, 'ingest')
  const database = await Database.open(path)
  const table = await database.createTable('t', { families: { f: {} } })
  const random = new RandomRecords(seed, keys)
  const measure = (length: number, rateMax: number): Promise<Measured> =>
    measured(database, new Load(table, random, rateMax), length)
  const fastest = await measure(Math.min(seconds, maximumSecondsMax), Infinity)
  const steady = await measure(seconds, 0.8 * (fastest.operations / fastest.seconds))
  await database.flush()
  if (seconds >= restSecondsMin) await sleep(untilRestMilliseconds)
  while (database.statistics().compactionQueue > 0) await sleep(20)
  const idleBytes = await settledBytes(path)
  await database.compact('t')
  const space = idleBytes / (await settledBytes(path))
  await database.close()
  return [
    recordOf('ingest at the maximum', fastest, {}),
    { ...recordOf('ingest at 80 %', steady, { space }), bytesOnDisk: idleBytes },
  ]
}

/** What a phase gave. */
interface Measured {
  readonly operations: number
  readonly seconds: number
  readonly cpuSeconds: number
  /** Nanoseconds from when a put should have started. */
  readonly latency: RecordableHistogram
  readonly gapMilliseconds: number
  readonly delayP99us: number
  readonly delayP999us: number
  readonly stalls: number
  readonly writeAmplification: number
  /** Part of the time in which the event loop's thread waited for a processor. */
  readonly processorWaitPart: number | undefined
}

/** Puts at a rate, or as fast as they are answered. */
class Load {
  readonly latency = newLatencies()
  operations = 0
  gapMilliseconds = 0
  private readonly table: EmbeddedTable
  private readonly random: RandomRecords
  private readonly rateMax: number
  private underWay = 0
  private answeredAt = 0
  private failure: unknown = undefined

  constructor(table: EmbeddedTable, random: RandomRecords, rateMax: number) {
    this.table = table
    this.random = random
    this.rateMax = rateMax
  }

  async run(seconds: number): Promise<void> {
    const start = performance.now()
    this.answeredAt = start
    for (;;) {
      const now = performance.now()
      const elapsed = now - start
      if (elapsed >= seconds * 1000 || this.failure !== undefined) break
      const isPaced = this.rateMax !== Infinity
      const due = isPaced ? Math.floor((elapsed / 1000) * this.rateMax) : Infinity
      const mostUnderWay = isPaced ? putsUnderWayMax : putsAtOnce
      const end = Math.min(due, this.operations + putsPerTurnMax)
      while (this.operations < end && this.underWay < mostUnderWay) {
        this.put(isPaced ? start + (this.operations * 1000) / this.rateMax : now)
      }
      if (this.operations < due) await nextTurn()
      else await sleep(1)
    }
    while (this.underWay > 0) await sleep(1)
    if (this.failure !== undefined) throw this.failure as Error
  }

  private put(intended: number): void {
    this.operations++
    this.underWay++
    const { random } = this
    this.table.put({ row: random.key(), cells: { 'f:': random.value() } }).then(
      () => this.answered(intended),
      (error: unknown) => {
        this.underWay--
        this.failure = error
      },
    )
  }

  private answered(intended: number): void {
    const now = performance.now()
    this.underWay--
    recordLatency(this.latency, now - intended)
    this.gapMilliseconds = Math.max(this.gapMilliseconds, now - this.answeredAt)
    this.answeredAt = now
  }
}

/** Runs a load and looks at the process meanwhile. */
async function measured(database: Database, load: Load, seconds: number): Promise<Measured> {
  const before = database.statistics()
  const waitBefore = processorWaitMilliseconds()
  const cpu = process.cpuUsage()
  const delay = monitorEventLoopDelay({ resolution: resolutionMilliseconds })
  delay.enable()
  const start = performance.now()
  await load.run(seconds)
  const took = (performance.now() - start) / 1000
  delay.disable()
  const { user, system } = process.cpuUsage(cpu)
  const wait = processorWaitMilliseconds()
  const after = database.statistics()
  const delayOf = (percent: number): number =>
    Math.max(0, delay.percentile(percent) / 1000 - resolutionMilliseconds * 1000)
  return {
    operations: load.operations,
    seconds: took,
    cpuSeconds: (user + system) / 1e6,
    latency: load.latency,
    gapMilliseconds: load.gapMilliseconds,
    delayP99us: delayOf(99),
    delayP999us: delayOf(99.9),
    stalls: after.stalls - before.stalls,
    writeAmplification: after.writeAmplification,
    processorWaitPart:
      wait === undefined || waitBefore === undefined
        ? undefined
        : (wait - waitBefore) / 1000 / took,
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Bytes of all files of the database, once no more of them go. */
async function settledBytes(path: string): Promise<number> {
  let before = -1
  for (;;) {
    const bytes = readdirSync(path).reduce(
      (sum, name) => sum + (statSync(join(path, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
    if (bytes === before) return bytes
    before = bytes
    await sleep(200)
  }
}

function recordOf(
  workload: string,
  phase: Measured,
  more: Readonly<Record<string, number>>,
): ResultRecord {
  const { operations, seconds, latency, processorWaitPart: wait } = phase
  const opsPerSecond = operations / seconds
  return {
    suite: 'compaction',
    workload,
    engine: 'cellar',
    durability: 'buffered',
    records: operations,
    operations,
    seconds,
    opsPerSecond,
    ...percentilesOf(latency),
    cpuSeconds: phase.cpuSeconds,
    writeAmplification: phase.writeAmplification,
    repeats: 1,
    spread: { low: opsPerSecond, high: opsPerSecond },
    extra: {
      putMaxMs: latency.max / 1e6,
      gapMaxMs: phase.gapMilliseconds,
      loopDelayP99us: phase.delayP99us,
      loopDelayP999us: phase.delayP999us,
      stalls: phase.stalls,
      ...(wait === undefined ? {} : { processorWaitPart: wait }),
      ...more,
    },
  }
}
