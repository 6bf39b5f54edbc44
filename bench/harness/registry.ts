/**
 * Suites and engines by name. A module is loaded only if it is asked for: peers may be absent.
 *
 * A suite's module exports `suite`, an engine's module exports `engine`. A name that contains a
 * slash after a dot, or ends in `.js` or `.mjs`, is the path of such a module instead: that is how
 * users add their own without touching this file.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Engine } from './engine.js'
import { UsageError } from './options.js'
import type { Suite } from './suite.js'
import type { WorkloadSuite } from './workload.js'

/** Something that can be named. */
export interface Entry {
  readonly name: string
  /** URL of the module. */
  readonly module: string
}

const at = (path: string): string => new URL(`../${path}`, import.meta.url).href

/** In the order of the usage text and of `all`. */
export const suiteEntries: readonly (Entry & { readonly summary: string })[] = [
  {
    name: 'micro',
    module: at('micro/main.js'),
    summary: 'single structures; parts are the names of files in bench/micro',
  },
  {
    name: 'db-bench',
    module: at('suites/db-bench.js'),
    summary: 'the workloads of LevelDB and RocksDB: keys of 16, values of 100 bytes',
  },
  {
    name: 'ycsb',
    module: at('suites/ycsb.js'),
    summary: 'YCSB A to F: rows of 10 fields of 100 bytes, scrambled zipfian',
  },
  {
    name: 'compaction',
    module: at('compaction/main.js'),
    summary: 'merging, ingest without end; parts are merge, ingest, policies, hooks',
  },
  {
    name: 'cas',
    module: at('suites/cas.js'),
    summary: 'compare-and-set and counters, one after the other and contended',
  },
  {
    name: 'hbase-pe',
    module: at('suites/hbase-pe.js'),
    summary: "the commands of HBase's PerformanceEvaluation: 26 digits, 1000 bytes",
  },
  {
    name: 'latency',
    module: at('suites/latency.js'),
    summary: 'open load at fixed rates: percentiles, delay of the event loop',
  },
  {
    name: 'scale',
    module: at('suites/scale.js'),
    summary: 'stores of 1, 4, 16 and 50 times the records: what an operation costs then',
  },
  {
    name: 'transfer',
    module: at('suites/transfer.js'),
    summary: 'export and import beside a scan, a bulk load and a compaction; parts: small, large',
  },
  {
    name: 'level',
    module: at('suites/level.js'),
    summary: 'abstract-level: cellardb/level and classic-level through the same calls',
  },
  {
    name: 'metastore',
    module: at('metastore/main.js'),
    summary: "Hedwig's and the ledger manager's calls, over Cellar, LMDB, LevelDB and in memory",
  },
  {
    name: 'metadata',
    module: at('metadata/main.js'),
    summary: "Pulsar's metadata: Cellar, LMDB, ZooKeeper, Pulsar's RocksDB store and a Map",
  },
  {
    name: 'messaging',
    module: at('messaging/main.js'),
    summary: 'publish and poll beside Redis Streams, lmdb and SQLite; transactions',
  },
  {
    name: 'memory',
    module: at('memory/main.js'),
    summary: 'gets in a control group with half and a quarter of the memory that the data take',
  },
  {
    name: 'repository',
    module: at('repository/main.js'),
    summary: 'records beside better-sqlite3 with JSON and FTS5, PouchDB and MiniSearch',
  },
]

/** Of every suite that names none, in the order of the tables. */
export const engineEntries: readonly Entry[] = [
  { name: 'cellar', module: at('engines/cellar.js') },
  { name: 'classic-level', module: at('engines/classic-level.js') },
  { name: 'lmdb', module: at('engines/lmdb.js') },
  { name: 'better-sqlite3', module: at('engines/better-sqlite3.js') },
  { name: 'rocksdb-native', module: at('engines/rocksdb-native.js') },
  { name: 'rocksdb-cpp', module: at('engines/rocksdb-cpp.js') },
]

/** Only of suites that name them, or by `--engines`. */
const otherEngineEntries: readonly Entry[] = [
  { name: 'cellar-level', module: at('engines/cellar-level.js') },
]

/** Answers what the others are compared with; not measured. */
export const modelEntry: Entry = { name: 'model', module: at('engines/model.js') }

function entryOf(kind: string, entries: readonly Entry[], name: string): Entry {
  const found = entries.find((entry) => entry.name === name)
  if (found !== undefined) return found
  if (name.startsWith('.') || name.startsWith('/') || /\.m?js$/.test(name)) {
    return { name, module: pathToFileURL(resolve(name)).href }
  }
  const names = entries.map((entry) => entry.name).join(', ')
  throw new UsageError(`there is no ${kind} ${name}; there are ${names}`)
}

async function load<T>(kind: string, { name, module }: Entry): Promise<T> {
  const exported = (await import(module)) as Record<string, T | undefined>
  const value = exported[kind]
  if (value === undefined) throw new UsageError(`${name} does not export '${kind}'`)
  return value
}

/** The suite of that name or path. @throws UsageError */
export const suiteEntry = (name: string): Entry => entryOf('suite', suiteEntries, name)

/** The engine of that name or path. @throws UsageError */
export const engineEntry = (name: string): Entry =>
  name === modelEntry.name
    ? modelEntry
    : entryOf('engine', [...engineEntries, ...otherEngineEntries], name)

/** Loads a suite's module. */
export function loadSuite(entry: Entry): Promise<Suite | WorkloadSuite> {
  return load<Suite | WorkloadSuite>('suite', entry)
}

/** Loads an engine's module; the engine itself may still turn out to be absent. */
export function loadEngine(entry: Entry): Promise<Engine> {
  return load<Engine>('engine', entry)
}
