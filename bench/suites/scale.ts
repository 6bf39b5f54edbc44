/**
 * How the cost of an operation grows with the data: the same workloads on stores of one, four,
 * sixteen and fifty times the records, one cell of 100 bytes each: 1 to 50 million cells.
 *
 * The cache stays the same (`--cache-mebibytes`), so the larger stores do not fit into it: with the
 * default of 512 MiB the smallest is cached as a whole, and the largest is ten times as large. The
 * number of reads does not grow with the store. Peers fill the smallest store only; the larger ones
 * would take them hours. For the same reason what gets cost all engines in a store of four and of
 * ten times the cache is measured on the smallest store with a smaller cache.
 *
 * Before anything is measured, the load's work in the background ends, and as many rows are read as
 * the smallest store has, each once: where everything fits into the cache it is there then.
 */
import { every } from '../harness/calls.js'
import { decimalKeys } from '../harness/draws/keys.js'
import { strideOf } from '../harness/draws/stride.js'
import { printablePool, ValuePool } from '../harness/draws/values.js'
import type {
  Generator,
  GeneratorContext,
  Phase,
  Sequence,
  WorkloadSuite,
} from '../harness/workload.js'
import { ScrambledZipfian } from '../harness/draws/zipfian.js'

const keyBytes = 16
const valueBytes = 100
const batchRows = 1000
const scanRows = 50

const keys = decimalKeys(keyBytes)
const all = [0]

/**
 * Every record once, in an order that looks random: multiplied by a number without common divisor.
 */
function load({ records, seed }: GeneratorContext): Generator {
  const pool = new ValuePool(printablePool(seed), valueBytes)
  const step = strideOf(records)
  let next = 0
  let position = 0
  const rows = Array.from({ length: batchRows }, () => {
    return { row: Buffer.alloc(keyBytes), columns: all, values: [pool.next()] }
  })
  return (operation) => {
    const size = Math.max(0, Math.min(batchRows, records - next))
    operation.kind = 'putMany'
    for (let at = 0; at < size; at++) {
      keys.write(rows[at].row, position)
      rows[at].values[0] = pool.next()
      position = (position + step) % records
    }
    operation.rows = size === batchRows ? rows : rows.slice(0, size)
    next += size
  }
}

function uniformGets({ records, random }: GeneratorContext): Generator {
  return (operation) => {
    operation.kind = 'get'
    keys.set(operation, random.below(records))
  }
}

function zipfianGets({ records, random }: GeneratorContext): Generator {
  const zipfian = new ScrambledZipfian(records, random)
  return (operation) => {
    operation.kind = 'get'
    keys.set(operation, zipfian.next())
  }
}

function shortScans({ records, random }: GeneratorContext): Generator {
  return (operation) => {
    operation.kind = 'scan'
    operation.limit = scanRows
    keys.set(operation, random.below(records))
  }
}

function overwrites({ records, random, seed }: GeneratorContext): Generator {
  const pool = new ValuePool(printablePool(seed ^ 1), valueBytes)
  const values: Buffer[] = [pool.next()]
  return (operation) => {
    operation.kind = 'put'
    keys.set(operation, random.below(records))
    operation.columns = all
    values[0] = pool.next()
    operation.values = values
  }
}

/** Every row once, or as many of them as there are calls. */
function getsOnce({ records }: GeneratorContext): Generator {
  const stride = strideOf(records)
  return (operation, index) => {
    operation.kind = 'get'
    keys.set(operation, (index * stride) % records)
  }
}

const factors = [1, 4, 16, 50]

/** Peers fill stores up to so many times the records. */
const peersFactorMax = 1

/** Calls of the smallest store, whatever the size of this one. */
const callsOf =
  (factor: number, divisor: number) =>
  (records: number): number =>
    records / factor / divisor

const loading: Phase = {
  name: 'load',
  calls: (records) => Math.ceil(records / batchRows),
  operationsPerCall: batchRows,
  generate: load,
  isWhole: true,
}

/** A filled store at rest whose cache holds what it can. */
const preparing = (factor: number): readonly Phase[] => [
  { name: 'flush', calls: () => 1, maintenance: 'flush', generate: load, isMeasured: false },
  { name: 'settle', calls: () => 1, maintenance: 'settle', generate: load, isMeasured: false },
  {
    name: 'get-once',
    calls: callsOf(factor, 1),
    generate: getsOnce,
    isMeasured: false,
    isWhole: true,
  },
]

const shape = { columns: ['value'], keyBytes, valueBytes }

function sequenceOf(factor: number): Sequence {
  return {
    name: `${factor}x`,
    ...shape,
    recordsFactor: factor,
    engines: factor > peersFactorMax ? ['cellar'] : undefined,
    phases: [
      loading,
      ...preparing(factor),
      { name: 'get-uniform', calls: callsOf(factor, 1), generate: uniformGets },
      { name: 'get-zipfian', calls: callsOf(factor, 1), generate: zipfianGets },
      { name: 'scan50', calls: callsOf(factor, 20), generate: shortScans },
      { name: 'overwrite', calls: callsOf(factor, 1), generate: overwrites },
    ],
  }
}

/** Gets of a store of so many times the cache. */
function beyondCache(times: number): Sequence {
  return {
    name: `${times}x the cache`,
    ...shape,
    cacheBytes: (records) => Math.ceil((records * (keyBytes + valueBytes)) / times),
    phases: [
      { ...loading, isMeasured: false },
      ...preparing(1),
      { name: `get-uniform-${times}x-cache`, calls: every, generate: uniformGets },
      { name: `get-zipfian-${times}x-cache`, calls: every, generate: zipfianGets },
    ],
  }
}

/** Growth of the data. */
export const suite: WorkloadSuite = {
  name: 'scale',
  summary: 'stores of 1, 4, 16 and 50 times the records: what an operation costs then',
  defaultRecords: 1_000_000,
  defaultRepeat: 1,
  defaultCacheBytes: 512 * 1024 * 1024,
  sequences: [...factors.map(sequenceOf), ...[4, 10].map(beyondCache)],
}
