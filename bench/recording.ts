/**
 * `npm run bench -- record --out bench/results`: the suites that README.md, docs/performance.md and
 * the overview show, all on this Node and commit, three times each. That takes one to two hours on
 * two cores.
 *
 * The stores have a million rows, or are more than four times as large as the cache. Of `db-bench`
 * and `ycsb` all engines have a cache that holds the store: LMDB has that whatever it is told,
 * because it maps its file, and Cellar by default, with a quarter of the memory. A workload on a
 * loaded store ends after one second, where no other time stands here. With `--resume` an
 * interrupted recording goes on. `record cas level` records these suites alone.
 */
import { totalmem } from 'node:os'

/** A suite to record; what is undefined is as the suite has it. */
export interface RecordedSuite {
  readonly name: string
  readonly records?: number
  /** Most seconds of a phase that may end early. Default 1. */
  readonly phaseSeconds?: number
  /** Length of a measurement without an end of its own. */
  readonly seconds?: number
  readonly cacheBytes?: number
  readonly engines?: readonly string[]
}

/** Times that each suite runs; figures are medians. */
export const recordedRepeats = 3

const million = 1_000_000
const mebibyte = 1024 * 1024

// Without rocksdb-native: on Node 26 a load of it has stood still for minutes. Wide rows of the
// peers are one value each, the layout that reads and loads them fastest.
const stores = ['cellar', 'classic-level', 'lmdb', 'better-sqlite3']
const wideStores = ['cellar', 'classic-level/row', 'lmdb/row', 'better-sqlite3']

/** In the order in which they run. */
export const recordedSuites: readonly RecordedSuite[] = [
  {
    name: 'db-bench',
    records: million,
    cacheBytes: 512 * mebibyte,
    engines: [...stores, 'rocksdb-cpp'],
  },
  {
    name: 'ycsb',
    records: million,
    // As much as Cellar takes by default.
    cacheBytes: Math.floor(totalmem() / 4 / mebibyte) * mebibyte,
    phaseSeconds: 10,
    engines: wideStores,
  },
  // 1,000 bytes a row: 4.5 times the cache.
  { name: 'hbase-pe', records: 300_000, cacheBytes: 64 * mebibyte, engines: wideStores },
  // The largest store has 5 million cells of 116 bytes, which is ten times the cache.
  { name: 'scale', records: 100_000, cacheBytes: 56 * mebibyte, engines: stores },
  { name: 'level', records: million },
  { name: 'cas', engines: stores },
  { name: 'metastore' },
  { name: 'metadata' },
  { name: 'messaging' },
  { name: 'repository' },
  { name: 'latency', engines: stores },
  { name: 'transfer' },
  { name: 'compaction', seconds: 60 },
]
