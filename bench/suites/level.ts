/**
 * abstract-level databases side by side: Cellar's `CellarLevel` and classic-level, called through
 * the same methods with keys of 16 and values of 100 bytes.
 *
 * `put`, `get` and `batch` await each call; `get-concurrent` and `put-concurrent` have 1000 under
 * way. A batch goes in the form that takes each the least time: an array for Cellar, a chained
 * batch for classic-level. The iterators read with `nextv(1000)`.
 */
import { every, part } from '../harness/calls.js'
import type { Phase, WorkloadSuite } from '../harness/workload.js'
import {
  atRandom,
  batches,
  batchRows,
  fullScan,
  gets,
  puts,
  scans,
  scattered,
  sizes,
} from './db-bench.js'

const concurrency = 1000
const awaited = 'awaited'

const iterator = (name: string, reversed: boolean): Phase => ({
  name,
  calls: () => 1,
  countsRows: true,
  generate: fullScan(reversed),
})

const batch: Phase = {
  name: 'batch',
  calls: (records) => records / batchRows,
  operationsPerCall: batchRows,
  generate: batches,
}

const reads: readonly Phase[] = [
  { name: 'get', calls: part(2), generate: gets(atRandom), form: awaited },
  { name: 'get-concurrent', calls: part(2), generate: gets(scattered), form: awaited, concurrency },
  { name: 'getSync', calls: every, generate: gets(atRandom) },
  iterator('iterator', false),
  iterator('iterator-reverse', true),
  { name: 'iterator-50', calls: part(50), generate: scans(50) },
  { name: 'iterator-1', calls: part(10), generate: scans(1) },
]

/** The suite. */
export const suite: WorkloadSuite = {
  name: 'level',
  summary: 'abstract-level: cellardb/level and classic-level through the same calls',
  defaultRecords: 50_000,
  engines: ['cellar-level', 'classic-level'],
  sequences: [
    {
      name: 'put',
      ...sizes,
      phases: [
        { name: 'put', calls: part(2), generate: puts(atRandom), form: awaited },
        {
          name: 'put-concurrent',
          calls: part(2),
          generate: puts(scattered),
          form: awaited,
          concurrency,
        },
      ],
    },
    {
      name: 'read',
      ...sizes,
      phases: [
        batch,
        { name: 'compact', calls: () => 1, maintenance: 'compact', generate: fullScan(false) },
        ...reads,
      ],
    },
  ],
}
