/**
 * Compare-and-set and counters on rows of 10 fields of 100 bytes.
 *
 * What a check expects is known beforehand, because the calls come one after the other: nine of ten
 * hold, one of ten is stale and must fail. In the contended workload 1000 calls at a time want the
 * same cell of the same row, and exactly one of each wave may win. `hot-row` increments a counter
 * of one row a hundred times as often as there are records, a million times by default, and reads
 * the row before, between and after: what a read costs must not grow with what was overwritten.
 */
import { every, part } from '../harness/calls.js'
import type { Random } from '../harness/draws/random.js'
import { decimalKeys } from '../harness/draws/keys.js'
import { printablePool, ValuePool } from '../harness/draws/values.js'
import type { Generator, GeneratorContext, Phase, WorkloadSuite } from '../harness/workload.js'

const fieldCount = 10
const fieldBytes = 100
const keyBytes = 16
/** Rows that the hot workloads use. */
const hotRows = 100
const waveCalls = 1000
const batchRows = 100

const fields = Array.from({ length: fieldCount }, (_, field) => `field${field}`)
const allFields = fields.map((_, field) => field)
/** The field that is compared and set; counters have the next one. */
const checkedField = [0]
const counterField = [1]

const keys = decimalKeys(keyBytes)

/** Where a phase keeps which value of the pool a row holds; absent: the loaded one. */
const versionName = (row: number): string => `version ${row}`

const poolOf = (seed: number): readonly Buffer[] => {
  const pool = new ValuePool(printablePool(seed), fieldBytes)
  return Array.from({ length: pool.size }, () => pool.next())
}

function load({ records, seed }: GeneratorContext): Generator {
  const values = poolOf(seed)
  const counter = Buffer.alloc(8)
  let next = 0
  return (operation) => {
    operation.kind = 'putMany'
    const end = Math.min(records, next + batchRows)
    operation.rows = Array.from({ length: Math.max(0, end - next) }, (_, at) => ({
      row: keys.make(next + at),
      columns: allFields,
      values: allFields.map((field) =>
        field === counterField[0] ? counter : values[(next + at + field) % values.length],
      ),
    }))
    next = end
  }
}

/** One in this many checks is stale. */
const staleEvery = 10

function checks(choose: (records: number, random: Random) => number): Phase['generate'] {
  return ({ records, random, seed, memory }) => {
    const values = poolOf(seed)
    return (operation, index) => {
      const row = choose(records, random)
      const version = memory.get(versionName(row)) ?? row
      operation.kind = 'checkAndPut'
      keys.set(operation, row)
      operation.columns = checkedField
      operation.value = values[(version + 1) % values.length]
      const isStale = index % staleEvery === staleEvery - 1
      // A value that the cell does not hold, and has never held if it was not written before.
      operation.expected = values[(version + (isStale ? 2 : 0)) % values.length]
      if (!isStale) memory.set(versionName(row), version + 1)
    }
  }
}

const anyRow = (records: number, random: Random): number => random.below(records)
const hotRow = (records: number, random: Random): number => random.below(Math.min(hotRows, records))

/** All calls of a wave want the same cell. */
function contended({ records, seed, memory }: GeneratorContext): Generator {
  const values = poolOf(seed)
  const rowOf = (wave: number): number => wave % Math.min(hotRows, records)
  let row = 0
  let version = 0
  return (operation, index) => {
    if (index % waveCalls === 0) {
      row = rowOf(index / waveCalls)
      version = memory.get(versionName(row)) ?? row
      memory.set(versionName(row), version + 1)
    }
    operation.kind = 'checkAndPut'
    keys.set(operation, row)
    operation.columns = checkedField
    operation.expected = values[version % values.length]
    operation.value = values[(version + 1) % values.length]
  }
}

function increments({ records, random }: GeneratorContext): Generator {
  return (operation, index) => {
    operation.kind = 'increment'
    keys.set(operation, hotRow(records, random))
    operation.columns = counterField
    operation.amount = 1 + (index % 5)
  }
}

const theRow = 0

/** Increments of the hot row for a record. */
const hotRowFactor = 100
/** Of the hot row's calls one in so many reads the row. */
const hotReadEvery = 11
/** The part of the hot row's calls that writes. */
export const hotRowWritePart = 1 - 1 / hotReadEvery

/** Gets of the hot row before and after: of fewer the first ones decide. */
const hotReads = (records: number): number => records * 10

function hotRowReads(): Generator {
  return (operation) => {
    operation.kind = 'get'
    keys.set(operation, theRow)
  }
}

function hotRowIncrements(): Generator {
  return (operation, index) => {
    operation.kind = index % hotReadEvery === 0 ? 'get' : 'increment'
    keys.set(operation, theRow)
    operation.columns = counterField
    operation.amount = 1
  }
}

const waves = (records: number): number => Math.ceil(records / waveCalls) * waveCalls

const loading: Phase = {
  name: 'load',
  calls: (records) => Math.ceil(records / batchRows),
  operationsPerCall: batchRows,
  generate: load,
  isMeasured: false,
  isWhole: true,
}

const shape = { columns: fields, keyBytes, valueBytes: fieldBytes }

/** Compare-and-set. */
export const suite: WorkloadSuite = {
  name: 'cas',
  summary: 'compare-and-set and counters, one after the other and contended',
  defaultRecords: 10_000,
  sequences: [
    {
      name: 'buffered',
      ...shape,
      phases: [
        loading,
        { name: 'cas-hot', calls: every, generate: checks(hotRow) },
        { name: 'cas-hot-awaited', calls: every, generate: checks(hotRow), form: 'awaited' },
        { name: 'cas-cold', calls: every, generate: checks(anyRow) },
        {
          name: 'cas-contended',
          calls: waves,
          generate: contended,
          form: 'awaited',
          concurrency: waveCalls,
          isUnordered: true,
        },
        { name: 'increment-hot', calls: every, generate: increments },
      ],
    },
    {
      name: 'hot-row',
      ...shape,
      phases: [
        { ...loading, name: 'load-hot-row' },
        { name: 'hot-row-get-before', calls: hotReads, generate: hotRowReads },
        {
          name: 'hot-row',
          calls: (records) => (records * hotRowFactor * hotReadEvery) / (hotReadEvery - 1),
          generate: hotRowIncrements,
        },
        { name: 'hot-row-get-after', calls: hotReads, generate: hotRowReads },
      ],
    },
    {
      name: 'sync',
      ...shape,
      durability: 'sync',
      phases: [
        { ...loading, name: 'load-sync' },
        {
          name: 'cas-sync',
          calls: part(10),
          generate: checks(anyRow),
          form: 'awaited',
        },
      ],
    },
  ],
}
