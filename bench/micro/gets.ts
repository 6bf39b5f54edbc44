/**
 * CPU time of single reads, by where the row lies and how wide it is: gates for the read path.
 *
 * Besides the suite it runs by itself and prints the least CPU time of a call over some rounds, in
 * microseconds, which a busy machine disturbs less than rates:
 * `node build/bench/micro/gets.js [--rounds 15] [--only TEXT]`.
 */
import type Benchmark from 'benchmark'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Database, type EmbeddedTable as Table } from '../../src/entries/index.js'

/** Reads that one call of a workload makes. */
export const readsPerCall = 100

const rowCount = 2000
/** Rows of a table whose reads wait for memory: not all fit the caches of the processor. */
const manyRowCount = 50_000
const versionCount = 300_000
const valueBytes = 100

/** Least CPU time of a sample. */
const sampleMicroseconds = 15_000

interface Workload {
  readonly name: string
  /** The suite leaves workloads with promises out. */
  readonly run: () => void | Promise<void>
}

let workloads: readonly Workload[] = []
let bytesSeen = 0

function rowName(index: number): string {
  return `row${String(index).padStart(8, '0')}`
}

function columnNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `f:field${index}`)
}

function fill(table: Table, columns: readonly string[], rows = rowCount): void {
  const value = Buffer.alloc(valueBytes, 'v')
  for (let index = 0; index < rows; index++) {
    const cells = Object.fromEntries(columns.map((column) => [column, value]))
    table.putSync({ row: rowName(index), cells })
  }
}

/** The names of all rows, in no order. */
function shuffledRows(count: number): string[] {
  return Array.from({ length: count }, (_, index) => rowName((index * 617) % count))
}

/** Reads `readsPerCall` rows, others in each call, in no order. */
function overRows(read: (row: string) => void, count = rowCount): () => void {
  const rows = shuffledRows(count)
  let next = 0
  return () => {
    for (let i = 0; i < readsPerCall; i++) {
      read(rows[next])
      next = next + 1 === count ? 0 : next + 1
    }
  }
}

/** A table whose rows lie in `files` files, or in the memtable if that is 0. */
async function makeTable(database: Database, columns: number, files: number): Promise<Table> {
  const name = `wide${columns}files${files}`
  await database.admin.createTable(name, { families: { f: { versions: 1 } } })
  const table = database.table(name)
  for (let i = 0; i < Math.max(files, 1); i++) {
    fill(table, columnNames(columns))
    if (files > 0) await database.flush()
  }
  return table
}

function singleReads(table: Table, place: string, columns: number): Workload[] {
  const named = columnNames(columns).slice(0, 1)
  const made = [
    { name: 'row', run: overRows((row) => void table.getSync({ row })) },
    { name: 'row, versions: 1', run: overRows((row) => void table.getSync({ row, versions: 1 })) },
    { name: 'column', run: overRows((row) => void table.getSync({ row, columns: named })) },
    {
      name: 'row and values',
      run: overRows((row) => readValues(table, row, columnNames(columns))),
    },
  ]
  return made.map(({ name, run }) => ({ name: `${place} x ${columns}: ${name}`, run }))
}

function readValues(table: Table, row: string, columns: readonly string[]): void {
  const result = table.getSync({ row })
  for (let i = 0; i < columns.length; i++) bytesSeen += result.value(columns[i])?.length ?? 0
}

/** Many rows in one file, all cached after a first round. */
async function manyReads(database: Database): Promise<Workload[]> {
  const columns = columnNames(10)
  await database.admin.createTable('many', { families: { f: {} } })
  const table = database.table('many')
  fill(table, columns, manyRowCount)
  await database.flush()
  await database.compact('many')
  const run = overRows((row) => readValues(table, row, columns), manyRowCount)
  for (let i = 0; i < (2 * manyRowCount) / readsPerCall; i++) run()
  return [{ name: 'many x 10: row and values', run }]
}

/** Gets that miss the cache: blocking, awaited while reads are quick, and by another thread. */
async function missedReads(directory: string): Promise<Workload[]> {
  const made: Workload[] = []
  for (const quickReads of [true, false]) {
    const options = { blockCacheBytesMax: 0, quickReads }
    const database = await Database.open(join(directory, `missed ${quickReads}`), options)
    await database.admin.createTable('missed', { families: { f: {} } })
    const table = database.table('missed')
    fill(table, columnNames(1), manyRowCount)
    await database.flush()
    const rows = shuffledRows(manyRowCount)
    let next = 0
    const awaited = async (): Promise<void> => {
      for (let i = 0; i < readsPerCall; i++) await table.get({ row: rows[next++ % rows.length] })
    }
    made.push({ name: `missed: awaited, quickReads ${quickReads}`, run: awaited })
    if (!quickReads) continue
    const run = overRows((row) => void table.getSync({ row }), manyRowCount)
    made.push({ name: 'missed: getSync', run })
  }
  return made
}

async function versionReads(database: Database): Promise<Workload[]> {
  await database.admin.createTable('counters', { families: { f: { versions: 1 } } })
  const table = database.table('counters')
  table.incrementSync({ row: 'fresh', columns: { 'f:n': 1 } })
  for (let i = 0; i < versionCount; i++) {
    table.incrementSync({ row: 'often', columns: { 'f:n': 1 } })
    table.putSync({ row: 'over', cells: { 'f:n': 'v' } })
  }
  table.putSync({ row: 'single', cells: { 'f:n': 'v' } })
  return ['fresh', 'often', 'single', 'over'].flatMap((row) => {
    const columns = ['f:n']
    return [
      { name: `${row}: row`, run: repeated(() => void table.getSync({ row })) },
      { name: `${row}: column`, run: repeated(() => void table.getSync({ row, columns })) },
      { name: `${row}: versions`, run: repeated(() => void table.getSync({ row, versions: 3 })) },
    ]
  })
}

function repeated(read: () => void): () => void {
  return () => {
    for (let i = 0; i < readsPerCall; i++) read()
  }
}

/** Fills a database in a directory of its own, which goes when the process ends. */
export async function prepare(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-gets-'))
  const database = await Database.open(join(directory, 'db'), { compactionEnabled: false })
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const made: Workload[] = []
  for (const files of [0, 1, 4]) {
    for (const columns of [1, 10]) {
      const table = await makeTable(database, columns, files)
      made.push(...singleReads(table, files === 0 ? 'memory' : `${files} files`, columns))
    }
  }
  const others = [await versionReads(database), await manyReads(database)]
  workloads = [...made, ...others.flat(), ...(await missedReads(directory))]
}

/** Adds the benchmarks to a suite. REQUIRES {@link prepare}. */
export function addTo(suite: Benchmark.Suite): void {
  for (const { name, run } of workloads) {
    if (!name.includes('awaited')) suite.add(`${name} (x ${readsPerCall})`, run)
  }
}

/** Over calls of some ten milliseconds, because the clock of the CPU time is coarse. */
async function cpuMicrosecondsPerRead(run: Workload['run']): Promise<number> {
  const before = process.cpuUsage()
  let calls = 0
  for (;;) {
    const done = run()
    if (done !== undefined) await done
    calls++
    const { user, system } = process.cpuUsage(before)
    if (user + system >= sampleMicroseconds) return (user + system) / (calls * readsPerCall)
  }
}

async function main(): Promise<void> {
  const options = { rounds: { type: 'string' }, only: { type: 'string' } } as const
  const { values } = parseArgs({ options })
  await prepare()
  const chosen = workloads.filter(({ name }) => name.includes(values.only ?? ''))
  const least = new Map<string, number>()
  for (let round = 0; round < Number(values.rounds ?? 15); round++) {
    for (const { name, run } of chosen) {
      const each = await cpuMicrosecondsPerRead(run)
      least.set(name, Math.min(each, least.get(name) ?? Infinity))
    }
  }
  for (const [name, each] of least) console.log(`${each.toFixed(3).padStart(8)}  ${name}`)
  process.exit(bytesSeen < 0 ? 1 : 0)
}

if (process.argv[1] === import.meta.filename) await main()
