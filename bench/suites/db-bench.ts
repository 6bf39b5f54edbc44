/**
 * The workloads of `db_bench`, as LevelDB defines them: keys of 16 decimal digits, values of 100
 * bytes that compress to half, random numbers of Park and Miller with the seed 1000.
 *
 * `fillrandom` draws with repeats, so that about 63 % of the keys exist afterwards. Beside
 * LevelDB's own there are the forms that matter in Node: awaited calls, 1000 concurrent ones, scans
 * of 50 rows.
 */
import { every, part } from '../harness/calls.js'
import { decimalKeys } from '../harness/draws/keys.js'
import type { Operation } from '../harness/operation.js'
import { ParkMiller } from '../harness/draws/random.js'
import { strideOf } from '../harness/draws/stride.js'
import { compressiblePool, ValuePool } from '../harness/draws/values.js'
import type { Generator, GeneratorContext, Phase, WorkloadSuite } from '../harness/workload.js'

const keyBytes = 16
const valueBytes = 100
const largeValueBytes = 100_000
/** Rows of a batch. */
export const batchRows = 1000
const concurrentCalls = 1000
const scanRows = 50

/** Seed of the first thread of db_bench. */
const threadSeed = 1000

const keys = decimalKeys(keyBytes)
const all = [0]

/** Draws the number of a record for each call. */
type Draw = (index: number) => number

const inOrder: (context: GeneratorContext) => Draw = () => (index) => index

/** Keys at random, with repeats. */
export const atRandom = ({ records, seed }: GeneratorContext): Draw => {
  const random = new ParkMiller(threadSeed + (seed - defaultSeed))
  return () => random.below(records)
}

/** Every key once: calls that run at the same time must not write the same one. */
export const scattered = ({ records }: GeneratorContext): Draw => {
  const stride = strideOf(records)
  return (index) => (index * stride) % records
}

/** Runs with this seed draw the numbers that db_bench draws. */
const defaultSeed = 301

/** Puts of the keys that `draw` names. */
export function puts(
  draw: (context: GeneratorContext) => Draw,
  bytes = valueBytes,
): Phase['generate'] {
  return (context) => {
    const next = draw(context)
    const pool = new ValuePool(compressiblePool(context.seed), bytes)
    const values: Buffer[] = [pool.next()]
    return (operation, index) => {
      operation.kind = 'put'
      keys.set(operation, next(index))
      values[0] = pool.next()
      operation.columns = all
      operation.values = values
    }
  }
}

/** Batches of 1000 random keys; the same rows are filled again and again. */
export function batches(context: GeneratorContext): Generator {
  const next = atRandom(context)
  const pool = new ValuePool(compressiblePool(context.seed), valueBytes)
  const rows = Array.from({ length: batchRows }, () => {
    return { row: Buffer.alloc(keyBytes), columns: all, values: [pool.next()] }
  })
  return (operation) => {
    operation.kind = 'putMany'
    for (const row of rows) {
      keys.write(row.row, next(0))
      row.values[0] = pool.next()
    }
    operation.rows = rows
  }
}

/** Gets of the keys that `draw` names. */
export function gets(draw: (context: GeneratorContext) => Draw): Phase['generate'] {
  return (context) => {
    const next = draw(context)
    return (operation, index) => {
      operation.kind = 'get'
      keys.set(operation, next(index))
    }
  }
}

/** Keys without their last digit: between two that may exist, so filters do not end the search. */
function missing(context: GeneratorContext): Generator {
  const next = atRandom(context)
  const key = Buffer.alloc(keyBytes)
  return (operation) => {
    operation.kind = 'get'
    keys.write(key, next(0))
    key.copy(operation.makeRow(keyBytes - 1))
  }
}

/** The first hundredth of the keys. */
const inHotRange = ({ records, seed }: GeneratorContext): Draw => {
  const random = new ParkMiller(threadSeed + (seed - defaultSeed))
  const range = Math.ceil(records / 100)
  return () => random.below(range)
}

/** Scans of so many rows from random keys on. */
export function scans(rows: number): Phase['generate'] {
  return (context) => {
    const next = atRandom(context)
    return (operation) => {
      operation.kind = 'scan'
      operation.limit = rows
      keys.set(operation, next(0))
    }
  }
}

/** Scans of all rows, in one call. */
export const fullScan =
  (reversed: boolean): Phase['generate'] =>
  () =>
  (operation: Operation) => {
    operation.kind = 'scan'
    operation.makeRow(0)
    operation.limit = 0
    operation.reversed = reversed
  }

function deletes(draw: (context: GeneratorContext) => Draw): Phase['generate'] {
  return (context) => {
    const next = draw(context)
    return (operation, index) => {
      operation.kind = 'delete'
      keys.set(operation, next(index))
    }
  }
}

/** `updaterandom` gets and puts the same key; `readrandomwriterandom` puts one time in ten. */
function mixed(kind: 'readModifyWrite' | 'put', otherPart: number): Phase['generate'] {
  return (context) => {
    const next = atRandom(context)
    const pool = new ValuePool(compressiblePool(context.seed), valueBytes)
    const values: Buffer[] = [pool.next()]
    return (operation) => {
      operation.kind = context.random.fraction() < otherPart ? kind : 'get'
      keys.set(operation, next(0))
      values[0] = pool.next()
      operation.columns = all
      operation.values = values
    }
  }
}

const batchCalls = (records: number): number => records / batchRows

const fullScanOf = (name: string, reversed: boolean): Phase => ({
  name,
  calls: () => 1,
  countsRows: true,
  generate: fullScan(reversed),
})

const random: readonly Phase[] = [
  { name: 'fillrandom', calls: every, generate: puts(atRandom), isWhole: true },
  { name: 'overwrite', calls: part(2), generate: puts(atRandom) },
  { name: 'readrandom', calls: part(2), generate: gets(atRandom) },
  { name: 'readmissing', calls: part(2), generate: missing },
  { name: 'readhot', calls: part(2), generate: gets(inHotRange) },
  { name: 'readrandom-awaited', calls: part(10), generate: gets(atRandom), form: 'awaited' },
  { name: 'updaterandom', calls: part(5), generate: mixed('readModifyWrite', 1) },
  { name: 'readrandomwriterandom', calls: part(5), generate: mixed('put', 0.1) },
  fullScanOf('readseq', false),
  fullScanOf('readreverse', true),
  { name: 'compact', calls: () => 1, maintenance: 'compact', generate: fullScan(false) },
  { name: 'readrandom-compacted', calls: part(2), generate: gets(atRandom) },
  fullScanOf('readseq-compacted', false),
  { name: 'seekrandom', calls: part(10), generate: scans(1) },
  { name: 'scan50', calls: part(50), generate: scans(scanRows) },
  { name: 'deleterandom', calls: part(10), generate: deletes(atRandom) },
]

/** One column; keys of 16, values of 100 bytes. */
export const sizes = { columns: ['value'], keyBytes, valueBytes }

/** LevelDB's and RocksDB's micro-workloads. */
export const suite: WorkloadSuite = {
  name: 'db-bench',
  summary: 'the workloads of LevelDB and RocksDB: keys of 16, values of 100 bytes',
  defaultRecords: 1_000_000,
  defaultRepeat: 1,
  sequences: [
    {
      name: 'fillseq',
      ...sizes,
      phases: [
        { name: 'fillseq', calls: every, generate: puts(inOrder), isWhole: true },
        { name: 'deleteseq', calls: part(2), generate: deletes(inOrder) },
      ],
    },
    {
      name: 'fillbatch',
      ...sizes,
      phases: [
        { name: 'fillbatch', calls: batchCalls, operationsPerCall: batchRows, generate: batches },
      ],
    },
    {
      name: 'fillrandom-awaited',
      ...sizes,
      phases: [
        {
          name: 'fillrandom-awaited',
          calls: part(2),
          generate: puts(atRandom),
          form: 'awaited',
        },
      ],
    },
    { name: 'random', ...sizes, phases: random },
    {
      name: 'sync',
      ...sizes,
      durability: 'sync',
      phases: [
        { name: 'fillsync', calls: part(100), generate: puts(atRandom) },
        {
          name: 'fillsync-concurrent',
          calls: part(5),
          generate: puts(scattered),
          form: 'awaited',
          concurrency: concurrentCalls,
        },
      ],
    },
    {
      name: 'fill100K',
      ...sizes,
      valueBytes: largeValueBytes,
      phases: [{ name: 'fill100K', calls: part(1000), generate: puts(atRandom, largeValueBytes) }],
    },
  ],
}
