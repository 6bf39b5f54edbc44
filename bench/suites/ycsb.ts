/**
 * YCSB's core workloads A to F: rows of 10 fields of 100 random printable bytes, keys `user` +
 * hash, reads of all fields, updates of one field, true scrambled zipfian.
 *
 * The load is measured on its own. A, B, C, F and D run on one store, E on a freshly loaded one, as
 * YCSB recommends. One client, one call after the other, in the form that is fastest for the
 * engine.
 */
import { part } from '../harness/calls.js'
import { ycsbKeys } from '../harness/draws/keys.js'
import type { RowPut } from '../harness/engine.js'
import type { Operation, OperationKind } from '../harness/operation.js'
import { printablePool, ValuePool } from '../harness/draws/values.js'
import type { Generator, GeneratorContext, Phase, WorkloadSuite } from '../harness/workload.js'
import { Latest, ScrambledZipfian } from '../harness/draws/zipfian.js'

const fieldCount = 10
const fieldBytes = 100
const scanRowsMax = 100

const fields = Array.from({ length: fieldCount }, (_, field) => `field${field}`)
const allFields = fields.map((_, field) => field)
/** Lists of one field each, made once. */
const singleFields = allFields.map((field) => [field])

/** Where a sequence keeps how many records there are. */
const insertedName = 'inserted'

/** Rows of a batch of the load; YCSB inserts one by one, which `load` would only make slower. */
const loadBatchRows = 100

function load(context: GeneratorContext): Generator {
  const { records, random, seed, memory } = context
  const pool = new ValuePool(printablePool(seed), fieldBytes)
  memory.set(insertedName, records)
  let next = 0
  return (operation) => {
    operation.kind = 'putMany'
    const rows: RowPut[] = []
    for (let at = 0; at < loadBatchRows && next < records; at++, next++) {
      rows.push({
        row: ycsbKeys.make(next),
        columns: allFields,
        values: allFields.map(() => pool.any(random)),
      })
    }
    operation.rows = rows
  }
}

/** Draws one record that exists. */
type Chooser = (context: GeneratorContext, inserts: number) => () => number

const scrambled: Chooser = (context, inserts) => {
  const { records, random, calls, memory } = context
  // Twice the expected inserts, and YCSB's upper bound is inclusive.
  const items = records + Math.floor(2 * calls * inserts) + 1
  const zipfian = new ScrambledZipfian(items, random)
  return () => {
    for (;;) {
      const index = zipfian.next()
      if (index < memory.get(insertedName)!) return index
    }
  }
}

const latest: Chooser = ({ random, memory }) => {
  const zipfian = new Latest(memory.get(insertedName)! - 1, random)
  return () => zipfian.next(memory.get(insertedName)! - 1)
}

/** A mix of two kinds of operations. */
interface Mix {
  readonly name: string
  readonly often: OperationKind
  readonly oftenPart: number
  readonly seldom: 'put' | 'insert' | 'readModifyWrite' | undefined
  readonly chooser: Chooser
}

function mixed({ often, oftenPart, seldom, chooser }: Mix): Phase['generate'] {
  return (context) => {
    const { random, seed, memory } = context
    const pool = new ValuePool(printablePool(seed ^ 0x5bd1e995), fieldBytes)
    const choose = chooser(context, seldom === 'insert' ? 1 - oftenPart : 0)
    const oneValue: Buffer[] = [pool.next()]
    const update = (operation: Operation, kind: 'put' | 'readModifyWrite'): void => {
      operation.kind = kind
      ycsbKeys.set(operation, choose())
      operation.columns = singleFields[random.below(fieldCount)]
      oneValue[0] = pool.any(random)
      operation.values = oneValue
    }
    const insert = (operation: Operation): void => {
      const index = memory.get(insertedName)!
      operation.kind = 'put'
      ycsbKeys.set(operation, index)
      operation.columns = allFields
      operation.values = allFields.map(() => pool.any(random))
      memory.set(insertedName, index + 1)
    }
    return (operation) => {
      if (random.fraction() >= oftenPart && seldom !== undefined) {
        if (seldom === 'insert') insert(operation)
        else update(operation, seldom)
        return
      }
      operation.kind = often
      ycsbKeys.set(operation, choose())
      if (often === 'scan') operation.limit = 1 + random.below(scanRowsMax)
    }
  }
}

const mixes: readonly Mix[] = [
  { name: 'A', often: 'get', oftenPart: 0.5, seldom: 'put', chooser: scrambled },
  { name: 'B', often: 'get', oftenPart: 0.95, seldom: 'put', chooser: scrambled },
  { name: 'C', often: 'get', oftenPart: 1, seldom: undefined, chooser: scrambled },
  { name: 'F', often: 'get', oftenPart: 0.5, seldom: 'readModifyWrite', chooser: scrambled },
  { name: 'D', often: 'get', oftenPart: 0.95, seldom: 'insert', chooser: latest },
]

const scanMix: Mix = {
  name: 'E',
  often: 'scan',
  oftenPart: 0.95,
  seldom: 'insert',
  chooser: scrambled,
}

/** Calls of E for a record: each visits 50 rows on average. */
const scanDivisor = 20

const loadPhase = (name: string, isMeasured: boolean): Phase => ({
  name,
  calls: (records) => Math.ceil(records / loadBatchRows),
  operationsPerCall: loadBatchRows,
  generate: load,
  isMeasured,
  isWhole: true,
})

const shape = { columns: fields, keyBytes: 23, valueBytes: fieldBytes }

/** YCSB's core workloads. */
export const suite: WorkloadSuite = {
  name: 'ycsb',
  summary: 'YCSB A to F: rows of 10 fields of 100 bytes, scrambled zipfian',
  defaultRecords: 1_000_000,
  defaultRepeat: 1,
  sequences: [
    {
      name: 'point',
      ...shape,
      phases: [
        loadPhase('load', true),
        ...mixes.map((mix) => {
          return { name: mix.name, calls: part(2), generate: mixed(mix) }
        }),
      ],
    },
    {
      name: 'scan',
      ...shape,
      phases: [
        loadPhase('load-E', false),
        { name: 'E', calls: part(scanDivisor), generate: mixed(scanMix) },
      ],
    },
  ],
}
