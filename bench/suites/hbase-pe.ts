/**
 * The commands of HBase's PerformanceEvaluation, with one client: rows of 26 decimal digits, one
 * column of 1000 bytes.
 *
 * In PerformanceEvaluation every command of the check family puts the cell with the row as its
 * value and then does the conditional operation: one operation is both. `filterScan` looks for one
 * value in all rows. A random row is drawn modulo the number of rows, as there.
 */
import { every, part } from '../harness/calls.js'
import { decimalKeys } from '../harness/draws/keys.js'
import type { Operation } from '../harness/operation.js'
import { printablePool, ValuePool } from '../harness/draws/values.js'
import type { Generator, GeneratorContext, Phase, WorkloadSuite } from '../harness/workload.js'

const keyBytes = 26
const valueBytes = 1000

const keys = decimalKeys(keyBytes)

const dataColumn = [0]
/** Columns of the second table; PerformanceEvaluation names them after the command. */
const conditionalColumns = ['increment', 'append', 'check']
const counterColumn = [0]
const appendColumn = [1]
const checkColumn = [2]

type Fill = (operation: Operation, row: number, context: GeneratorContext) => void

/** Commands that go through the rows in order, or draw them. */
function command(order: 'sequential' | 'random', make: (context: GeneratorContext) => Fill) {
  return (context: GeneratorContext): Generator => {
    const fill = make(context)
    const { records, random } = context
    return (operation, index) => {
      const row = order === 'random' ? random.below(records) : index % records
      keys.set(operation, row)
      fill(operation, row, context)
    }
  }
}

const writes = ({ seed }: GeneratorContext): Fill => {
  const pool = new ValuePool(printablePool(seed), valueBytes)
  const values: Buffer[] = [pool.next()]
  return (operation) => {
    operation.kind = 'put'
    operation.columns = dataColumn
    values[0] = pool.next()
    operation.values = values
  }
}

const reads = (): Fill => (operation) => {
  operation.kind = 'get'
}

/** `randomSeekScan`: 100 rows from a random start; `scanRangeN`: N rows by start and stop row. */
const seekRows = 100

const seeks = (): Fill => (operation) => {
  operation.kind = 'scan'
  operation.limit = seekRows
}

const ranges =
  (rows: number) =>
  ({ records }: GeneratorContext): Fill => {
    const stop = Buffer.alloc(keyBytes)
    return (operation, row) => {
      const start = Math.min(row, Math.max(0, records - rows))
      keys.set(operation, start)
      keys.write(stop, start + rows)
      operation.kind = 'scan'
      operation.limit = 0
      operation.stop = stop
    }
  }

const fullScans = (reversed: boolean): Phase['generate'] => {
  return () => (operation) => {
    operation.kind = 'scan'
    operation.makeRow(0)
    operation.limit = 0
    operation.stop = undefined
    operation.reversed = reversed
  }
}

/** A value that is in the pool, so some rows have it. */
function filterScans({ seed, random }: GeneratorContext): Generator {
  const pool = new ValuePool(printablePool(seed), valueBytes)
  return (operation) => {
    operation.kind = 'scan'
    operation.makeRow(0)
    operation.limit = 0
    operation.stop = undefined
    operation.reversed = false
    operation.valueEquals = pool.any(random)
  }
}

const increments = (): Fill => (operation) => {
  operation.kind = 'increment'
  operation.columns = counterColumn
  operation.amount = 1
}

const appends = (): Fill => (operation) => {
  operation.kind = 'append'
  operation.columns = appendColumn
  operation.values = [Buffer.from(operation.row)]
}

/**
 * The conditional half of a check command: mutate and put write the row again, delete removes it.
 */
const checks =
  (isDelete: boolean): (() => Fill) =>
  () =>
  (operation) => {
    operation.kind = 'putAndCheck'
    operation.columns = checkColumn
    operation.expected = Buffer.from(operation.row)
    operation.value = isDelete ? undefined : operation.expected
  }

const rangePhase = (rows: number, divisor: number): Phase => ({
  name: `scanRange${rows}`,
  calls: part(divisor),
  generate: command('random', ranges(rows)),
})

const dataPhases: readonly Phase[] = [
  {
    name: 'sequentialWrite',
    calls: every,
    generate: command('sequential', writes),
    isWhole: true,
  },
  { name: 'randomWrite', calls: part(2), generate: command('random', writes) },
  { name: 'sequentialRead', calls: part(2), generate: command('sequential', reads) },
  { name: 'randomRead', calls: part(2), generate: command('random', reads) },
  { name: 'scan', calls: () => 1, countsRows: true, generate: fullScans(false) },
  { name: 'reverseScan', calls: () => 1, countsRows: true, generate: fullScans(true) },
  { name: 'randomSeekScan', calls: part(100), generate: command('random', seeks) },
  rangePhase(10, 20),
  rangePhase(100, 100),
  rangePhase(1000, 1000),
  rangePhase(10_000, 5000),
  { name: 'filterScan', calls: part(5000), generate: filterScans },
]

const conditionalPhases: readonly Phase[] = [
  { name: 'increment', calls: part(2), generate: command('random', increments) },
  { name: 'append', calls: part(2), generate: command('random', appends) },
  { name: 'checkAndMutate', calls: part(2), generate: command('sequential', checks(false)) },
  { name: 'checkAndPut', calls: part(2), generate: command('sequential', checks(false)) },
  { name: 'checkAndDelete', calls: part(2), generate: command('sequential', checks(true)) },
]

/** HBase's own suite. */
export const suite: WorkloadSuite = {
  name: 'hbase-pe',
  summary: "the commands of HBase's PerformanceEvaluation: rows of 26 digits, values of 1000 bytes",
  defaultRecords: 1_000_000,
  defaultRepeat: 1,
  sequences: [
    { name: 'data', columns: ['0'], keyBytes, valueBytes, phases: dataPhases },
    {
      name: 'conditional',
      columns: conditionalColumns,
      keyBytes,
      valueBytes: keyBytes,
      phases: conditionalPhases,
    },
  ],
}
