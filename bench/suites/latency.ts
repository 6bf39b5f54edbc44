/**
 * Latency under an open load: calls start at a fixed rate, whatever the answers do, and are timed
 * from the moment at which they should have started. The delay of the event loop is measured
 * beside.
 *
 * The load is half reads, half writes of rows of one kilobyte with awaited calls, while memtables
 * are flushed and files are merged; the rates are low enough for every engine to follow on a slow
 * machine, so what differs are the tails. A rate that an engine cannot follow shows as a latency of
 * seconds.
 */
import { decimalKeys } from '../harness/draws/keys.js'
import { printablePool, ValuePool } from '../harness/draws/values.js'
import type { Generator, GeneratorContext, Phase, WorkloadSuite } from '../harness/workload.js'

const keyBytes = 16
const valueBytes = 1000
const batchRows = 100
/** Calls under way at most; further ones start late, which their latency shows. */
const concurrencyMax = 1000

const keys = decimalKeys(keyBytes)
const all = [0]

function load({ records, seed }: GeneratorContext): Generator {
  const pool = new ValuePool(printablePool(seed), valueBytes)
  let next = 0
  return (operation) => {
    operation.kind = 'putMany'
    const size = Math.max(0, Math.min(batchRows, records - next))
    operation.rows = Array.from({ length: size }, (_, at) => ({
      row: keys.make(next + at),
      columns: all,
      values: [pool.next()],
    }))
    next += size
  }
}

function mixed(readPart: number): Phase['generate'] {
  return ({ records, random, seed }) => {
    const pool = new ValuePool(printablePool(seed ^ 1), valueBytes)
    let written = 0
    return (operation) => {
      const isRead = random.fraction() < readPart
      operation.kind = isRead ? 'get' : 'put'
      // The order of calls under way is not defined, so no two of them write the same row.
      keys.set(operation, isRead ? random.below(records) : written)
      if (isRead) return
      written = (written + 1) % records
      operation.columns = all
      operation.values = [pool.next()]
    }
  }
}

const rates = [1000, 5000]

/** Seconds of load for each thousand records. */
const secondsPerThousand = 0.1

const loadPhase: Phase = {
  name: 'load',
  calls: (records) => Math.ceil(records / batchRows),
  operationsPerCall: batchRows,
  generate: load,
  isMeasured: false,
}

const openPhase = (name: string, readPart: number, rate: number): Phase => ({
  name: `${name}-${rate}`,
  calls: (records) => (records / 1000) * secondsPerThousand * rate,
  generate: mixed(readPart),
  form: 'awaited',
  concurrency: concurrencyMax,
  ratePerSecond: rate,
  // Which slot a call gets depends on when the others end.
  isUnordered: true,
})

/** Latency under open load. */
export const suite: WorkloadSuite = {
  name: 'latency',
  summary: 'open load at fixed rates: percentiles from the intended start, event-loop delay',
  defaultRecords: 10_000,
  sequences: [
    {
      name: 'buffered',
      columns: ['value'],
      keyBytes,
      valueBytes,
      phases: [
        loadPhase,
        ...rates.map((rate) => openPhase('half-reads', 0.5, rate)),
        ...rates.map((rate) => openPhase('writes', 0, rate)),
      ],
    },
    {
      name: 'sync',
      columns: ['value'],
      keyBytes,
      valueBytes,
      durability: 'sync',
      phases: [{ ...loadPhase, name: 'load-sync' }, openPhase('sync-half-reads', 0.5, rates[0])],
    },
  ],
}
