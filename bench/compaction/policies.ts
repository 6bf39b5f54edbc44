/**
 * What each policy costs and gives on random overwrites: bytes written for each byte of the user,
 * time of a random get, and space after idle by that of a database that holds the live data alone.
 * The default policy was chosen by this (docs/decisions.md).
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Database, type CompactionSetting } from '../../src/entries/index.js'
import type { ResultRecord } from '../harness/report/record.js'
import { RandomRecords } from './records.js'

const mebibyte = 1024 * 1024
/** Gets that are timed. */
const getsMax = 20_000

/** The policies that keep everything. */
export const measuredPolicies: readonly CompactionSetting[] = [
  { policy: 'exploring' },
  { policy: 'tiered' },
  { policy: 'lazy-leveled' },
  { policy: 'leveled' },
]

/** Writes `records` records over a quarter as many keys, waits, reads. */
export async function measurePolicy(
  directory: string,
  compaction: CompactionSetting,
  records: number,
  seed: number,
): Promise<ResultRecord> {
  const database = await Database.open(join(directory, compaction.policy), {
    flushBytes: 4 * mebibyte,
    memtableBytesMax: 32 * mebibyte,
    blockCacheBytesMax: 32 * mebibyte,
  })
  // Scaled to memtables of 4 MiB, so that a short run fills several levels.
  const scaled = scale(compaction)
  const table = await database.createTable('t', { families: { f: { compaction: scaled } } })
  const random = new RandomRecords(seed, Math.ceil(records / 4))
  const start = performance.now()
  for (let i = 0; i < records; i++) {
    await table.put({ row: random.key(), cells: { 'f:': random.value() }, durability: 'ASYNC_WAL' })
  }
  await database.flush()
  while (database.statistics().compactionQueue > 0) await sleep(20)
  const seconds = (performance.now() - start) / 1000
  const { writeAmplification, tableFileBytes, readAmplification } = database.statistics()
  const gets = Math.min(getsMax, records)
  const readStart = performance.now()
  for (let i = 0; i < gets; i++) table.getSync({ row: random.key() })
  const getMicroseconds = ((performance.now() - readStart) * 1000) / gets
  await database.compact('t')
  const liveBytes = database.statistics().tableFileBytes
  await database.close()
  const opsPerSecond = records / seconds
  return {
    suite: 'compaction',
    workload: `overwrite, ${compaction.policy}`,
    engine: 'cellar',
    durability: 'buffered',
    records,
    operations: records,
    seconds,
    opsPerSecond,
    bytesOnDisk: tableFileBytes,
    writeAmplification,
    repeats: 1,
    spread: { low: opsPerSecond, high: opsPerSecond },
    extra: { runs: readAmplification, getUs: getMicroseconds, space: tableFileBytes / liveBytes },
  }
}

function scale(compaction: CompactionSetting): CompactionSetting {
  if (compaction.policy === 'leveled') {
    return { ...compaction, baseBytes: 8 * mebibyte, fileBytes: 2 * mebibyte }
  }
  if (compaction.policy === 'lazy-leveled') return { ...compaction, fileBytes: 4 * mebibyte }
  if (compaction.policy === 'exploring') return { ...compaction, ratioBytesMin: mebibyte }
  return compaction
}
