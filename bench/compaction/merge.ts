/**
 * How many entries a second one worker merges, beside RocksDB's manual compaction in C++ with one
 * thread (`db_bench`, Debian package rocksdb-tools): the same number of records of 16 + 100 bytes
 * with random keys, of which about a third repeat, written without compaction, LZ4.
 *
 * The rate is records written by seconds of the compaction, and `cpuSeconds` that of all threads
 * meanwhile: on a machine that is not quiet the latter says more.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Database } from '../../src/index.js'
import type { ResultRecord } from '../harness/record.js'
import { RandomRecords } from './records.js'

const mebibyte = 1024 * 1024

/** Entries merged by Cellar in one worker thread. */
export async function mergeCellar(
  directory: string,
  records: number,
  seed: number,
  verify: boolean,
): Promise<ResultRecord> {
  const database = await Database.open(join(directory, `merge-${verify}`), {
    compactionEnabled: false,
    compactionVerify: verify,
    // One worker, as one thread of the peer.
    compactionSplitBytesMin: Number.MAX_SAFE_INTEGER,
    memtableBytesMax: 256 * mebibyte,
    flushBytes: 64 * mebibyte,
  })
  const table = await database.createTable('t', { families: { f: {} } })
  const random = new RandomRecords(seed, records)
  for (let i = 0; i < records; i++) {
    table.putSync({ row: random.key(), cells: { 'f:': random.value() }, durability: 'ASYNC_WAL' })
  }
  await database.flush()
  const files = database.statistics().tableFiles
  const cpu = process.cpuUsage()
  const start = performance.now()
  await database.compact('t')
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const statistics = database.statistics()
  await database.close()
  return recordOf(verify ? 'merge, read back' : 'merge', 'cellar', records, seconds, {
    cpuSeconds: (user + system) / 1e6,
    bytesOnDisk: statistics.tableFileBytes,
    extra: { inputFiles: files, entriesRead: statistics.compactionEntriesRead },
  })
}

/** The peer's; a reason if it cannot be had. */
export function mergeRocksDb(directory: string, records: number): ResultRecord | string {
  const path = join(directory, 'rocksdb')
  const common = [
    `--db=${path}`,
    `--num=${records}`,
    '--key_size=16',
    '--value_size=100',
    '--compression_type=lz4',
    '--disable_auto_compactions=1',
    '--max_background_jobs=1',
    '--subcompactions=1',
    '--bloom_bits=10',
    '--seed=301',
  ]
  const options = { encoding: 'utf8' } as const
  const fill = spawnSync('db_bench', ['--benchmarks=fillrandom', ...common], options)
  if (fill.error !== undefined) return 'db_bench (Debian package rocksdb-tools) is not installed'
  if (fill.status !== 0) return `db_bench fails: ${fill.stderr.trim().slice(0, 200)}`
  const compact = ['--benchmarks=compact', '--use_existing_db=1', ...common]
  const run = spawnSync('db_bench', compact, options)
  const found = /compact +: +([\d.]+) micros\/op/.exec(run.stdout)
  if (found === null) return 'db_bench does not tell how long the compaction took'
  return recordOf('merge', 'rocksdb-cpp', records, Number(found[1]) / 1e6, {})
}

function recordOf(
  workload: string,
  engine: string,
  records: number,
  seconds: number,
  more: Partial<ResultRecord>,
): ResultRecord {
  const opsPerSecond = records / seconds
  return {
    suite: 'compaction',
    workload,
    engine,
    durability: 'buffered',
    records,
    operations: records,
    seconds,
    opsPerSecond,
    repeats: 1,
    spread: { low: opsPerSecond, high: opsPerSecond },
    ...more,
  }
}
