/**
 * Random ingest without end: first as fast as it goes, then at 80 % of that. Measures the longest
 * wait of a put and the delay of the event loop, which background work must not spoil.
 */
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Database, type EmbeddedTable } from '../../src/index.js'
import type { ResultRecord } from '../harness/record.js'
import { RandomRecords } from './records.js'

const batch = 256

async function writeBatch(table: EmbeddedTable, random: RandomRecords): Promise<void> {
  const puts: Promise<void>[] = []
  for (let i = 0; i < batch; i++) {
    puts.push(
      table.put({ row: random.key(), cells: { 'f:': random.value() }, durability: 'ASYNC_WAL' }),
    )
  }
  await Promise.all(puts)
}

/** Runs both phases, each for so many seconds, over so many keys. */
export async function measureIngest(
  directory: string,
  keys: number,
  seconds: number,
  seed: number,
): Promise<ResultRecord[]> {
  const database = await Database.open(join(directory, 'ingest'))
  const table = await database.createTable('t', { families: { f: {} } })
  const random = new RandomRecords(seed, keys)
  const fastest = await phase(table, random, seconds, Infinity)
  const results = [recordOf('ingest at the maximum', fastest)]
  results.push(
    recordOf('ingest at 80 %', await phase(table, random, seconds, 0.8 * fastest.opsPerSecond)),
  )
  await database.flush()
  while (database.statistics().compactionQueue > 0) await sleep(20)
  const idleBytes = database.statistics().tableFileBytes
  await database.compact('t')
  const space = idleBytes / database.statistics().tableFileBytes
  await database.close()
  const last = results.pop()!
  return [...results, { ...last, bytesOnDisk: idleBytes, extra: { ...last.extra, space } }]
}

interface Phase {
  readonly operations: number
  readonly seconds: number
  readonly opsPerSecond: number
  readonly maxUs: number
  readonly delayP99us: number
  readonly delayP999us: number
}

async function phase(
  table: EmbeddedTable,
  random: RandomRecords,
  seconds: number,
  rateMax: number,
): Promise<Phase> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const start = performance.now()
  let operations = 0
  let longest = 0
  for (;;) {
    const before = performance.now()
    if (before - start >= seconds * 1000) break
    await writeBatch(table, random)
    operations += batch
    longest = Math.max(longest, performance.now() - before)
    const ahead = (operations / rateMax) * 1000 - (performance.now() - start)
    if (ahead > 1) await sleep(ahead)
  }
  delay.disable()
  const took = (performance.now() - start) / 1000
  return {
    operations,
    seconds: took,
    opsPerSecond: operations / took,
    maxUs: longest * 1000,
    // The timer of the monitor itself waits for a millisecond.
    delayP99us: delay.percentile(99) / 1000 - 1000,
    delayP999us: delay.percentile(99.9) / 1000 - 1000,
  }
}

function recordOf(workload: string, measured: Phase): ResultRecord {
  const { operations, seconds, opsPerSecond, maxUs, delayP99us, delayP999us } = measured
  return {
    suite: 'compaction',
    workload,
    engine: 'cellar',
    durability: 'buffered',
    records: operations,
    operations,
    seconds,
    opsPerSecond,
    maxUs,
    repeats: 1,
    spread: { low: opsPerSecond, high: opsPerSecond },
    extra: { eventLoopDelayP99us: delayP99us, eventLoopDelayP999us: delayP999us },
  }
}
