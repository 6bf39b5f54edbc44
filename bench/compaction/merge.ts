/**
 * How many entries a second one worker merges, beside RocksDB's manual compaction in C++ with one
 * thread (`db_bench`, Debian package rocksdb-tools): the same number of records of 16 + 100 bytes
 * with random keys, of which about a third repeat, written without compaction, LZ4.
 *
 * The rate is entries read by seconds of the compaction. Both engines drop repeated keys when they
 * flush, each at other points of the stream, so the entries they read are counted, not supposed;
 * RocksDB's stand in its log. The CPU time is that of all threads meanwhile in Cellar and that of
 * the compaction alone in RocksDB: on a machine that is not quiet it says more than the clock.
 *
 * A table of a fifth of the records goes first through the same worker thread, so that what is
 * measured is compiled code; a thread that is new takes some 0.15 s more, which `cold` tells.
 *
 * RocksDB does not read its output back, so what compares with it is `merge`; `merge, read back`
 * is what Cellar does unless it is told otherwise.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '../../src/entries/index.js'
import type { ResultRecord } from '../harness/report/record.js'
import { median } from '../harness/report/summarize.js'
import { RandomRecords } from './records.js'

const mebibyte = 1024 * 1024

/** Entries merged by Cellar in one worker thread. */
export async function mergeCellar(
  directory: string,
  records: number,
  seed: number,
  verify: boolean,
  repeats: number,
): Promise<ResultRecord> {
  const database = await Database.open(join(directory, `merge-${verify}`), {
    compactionEnabled: false,
    compactionVerify: verify,
    // One worker, as one thread of the peer.
    compactionSplitBytesMin: Number.MAX_SAFE_INTEGER,
    memtableBytesMax: 256 * mebibyte,
    flushBytes: 64 * mebibyte,
  })
  const cold = await fillAndMerge(database, 'cold', Math.ceil(records / 5), seed)
  const merges: Merge[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    merges.push(await fillAndMerge(database, `warm-${repeat}`, records, seed + repeat))
  }
  await database.close()
  const extra = { coldEntriesPerSecond: cold.entries / cold.seconds }
  return recordOf(verify ? 'merge, read back' : 'merge', 'cellar', records, merges, extra)
}

interface Merge {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly entries: number
  readonly files: number
  readonly bytes: number
}

/** Writes a table of so many records and merges its files. */
async function fillAndMerge(
  database: Database,
  name: string,
  records: number,
  seed: number,
): Promise<Merge> {
  const before = database.statistics()
  const table = await database.createTable(name, { families: { f: {} } })
  const random = new RandomRecords(seed, records)
  for (let i = 0; i < records; i++) {
    table.putSync({ row: random.key(), cells: { 'f:': random.value() }, durability: 'ASYNC_WAL' })
  }
  await database.flush()
  const files = database.statistics().tableFiles - before.tableFiles
  const cpu = process.cpuUsage()
  const start = performance.now()
  await database.compact(name)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const after = database.statistics()
  return {
    seconds,
    cpuSeconds: (user + system) / 1e6,
    entries: after.compactionEntriesRead - before.compactionEntriesRead,
    files,
    bytes: after.tableFileBytes - before.tableFileBytes,
  }
}

/** The peer's; a reason if it cannot be had. */
export function mergeRocksDb(
  directory: string,
  records: number,
  repeats: number,
): ResultRecord | string {
  const merges: Merge[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    const merge = runRocksDb(join(directory, `rocksdb-${repeat}`), records, 301 + repeat)
    if (typeof merge === 'string') return merge
    merges.push(merge)
  }
  return recordOf('merge', 'rocksdb-cpp', records, merges, {})
}

function runRocksDb(path: string, records: number, seed: number): Merge | string {
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
    `--seed=${seed}`,
  ]
  const options = { encoding: 'utf8' } as const
  const fill = spawnSync('db_bench', ['--benchmarks=fillrandom', ...common], options)
  if (fill.error !== undefined) return 'db_bench (Debian package rocksdb-tools) is not installed'
  if (fill.status !== 0) return `db_bench fails: ${fill.stderr.trim().slice(0, 200)}`
  const compact = ['--benchmarks=compact', '--use_existing_db=1', ...common]
  const run = spawnSync('db_bench', compact, options)
  const found = /compact +: +([\d.]+) micros\/op/.exec(run.stdout)
  const job = findCompaction(readFileSync(join(path, 'LOG'), 'utf8'))
  if (found === null || job === undefined) {
    return 'db_bench does not tell how long the compaction took'
  }
  return { seconds: Number(found[1]) / 1e6, ...job }
}

/** The last compaction in a log of RocksDB, which writes its events as JSON. */
function findCompaction(log: string): Omit<Merge, 'seconds'> | undefined {
  let files = 0
  let found: Omit<Merge, 'seconds'> | undefined
  for (const line of log.split('\n')) {
    const at = line.indexOf('EVENT_LOG_v1 ')
    if (at < 0) continue
    const event = JSON.parse(line.slice(at + 'EVENT_LOG_v1 '.length)) as Record<string, unknown>
    if (event['event'] === 'compaction_started') {
      files = (event['files_L0'] as readonly unknown[]).length
    } else if (event['event'] === 'compaction_finished') {
      found = {
        entries: Number(event['num_input_records']),
        cpuSeconds: Number(event['compaction_time_cpu_micros']) / 1e6,
        bytes: Number(event['total_output_size']),
        files,
      }
    }
  }
  return found
}

/** Medians of the repetitions, each for itself. */
function recordOf(
  workload: string,
  engine: string,
  records: number,
  merges: readonly Merge[],
  extra: Record<string, number>,
): ResultRecord {
  const middle = (of: (merge: Merge) => number): number => median(merges.map(of))
  const rates = merges.map(({ entries, seconds }) => entries / seconds)
  return {
    suite: 'compaction',
    workload,
    engine,
    durability: 'buffered',
    records,
    operations: middle(({ entries }) => entries),
    seconds: middle(({ seconds }) => seconds),
    opsPerSecond: middle(({ entries, seconds }) => entries / seconds),
    repeats: merges.length,
    spread: { low: Math.min(...rates), high: Math.max(...rates) },
    cpuSeconds: middle(({ cpuSeconds }) => cpuSeconds),
    bytesOnDisk: middle(({ bytes }) => bytes),
    extra: { inputFiles: middle(({ files }) => files), ...extra },
  }
}
