/**
 * The process that the kill test kills: loads a database until it dies, and writes a line
 * `writer number` to standard output for each acknowledged operation.
 */
import { writeSync } from 'node:fs'
import { Database, type EmbeddedTable } from '../../../src/entries/index.js'
import {
  lastOf,
  otherTableOf,
  stepOf,
  tableOf,
  tables,
  valueOf,
  writerCount,
  type ChildPlan,
} from './kill-plan.js'
import { generatorOf } from '../recovery.js'

const plan = JSON.parse(process.argv[2]) as ChildPlan
const random = generatorOf(plan.seed)
let acknowledged = false

function cellsOf(writer: number, number: number, table = tableOf(writer)): Record<string, string> {
  const value = valueOf(writer, number)
  return Object.fromEntries(tables[table].map((family) => [`${family}:v`, value]))
}

async function perform(database: Database, writer: number, number: number): Promise<void> {
  const table: EmbeddedTable = database.table(tableOf(writer))
  const step = stepOf(writer, number)
  const synchronous = (number + plan.seed) % 3 === 0
  switch (step.kind) {
    case 'put': {
      const durability = number % 20 === 0 ? 'FSYNC_WAL' : 'SYNC_WAL'
      const put = { row: step.row, cells: cellsOf(writer, number), durability } as const
      if (synchronous) table.putSync(put)
      else await table.put(put)
      return
    }
    case 'list': {
      const puts = step.rows.map((row, i) => ({ row, cells: cellsOf(writer, number + i) }))
      if (synchronous) table.putListSync(puts)
      else await table.putList(puts)
      return
    }
    case 'check': {
      const base = plan.bases[writer]
      const equals = step.previous <= base ? null : valueOf(writer, step.previous)
      const check = { row: step.row, column: 'f:v', equals }
      const action = { put: { cells: cellsOf(writer, number) } }
      const { success } = synchronous
        ? table.checkAndMutateSync(check, action)
        : await table.checkAndMutate(check, action)
      if (!success) throw new Error(`check ${number} of writer ${writer} failed`)
      return
    }
    case 'increment': {
      const increment = { row: step.row, columns: { 'f:count': 1 } }
      if (synchronous) table.incrementSync(increment)
      else await table.increment(increment)
      return
    }
    case 'atomic': {
      const mutations = [tableOf(writer), otherTableOf(writer)].map((name) => {
        const put = { cells: cellsOf(writer, number, name) }
        return { table: name, row: step.row, mutations: [{ put }] }
      })
      await database.atomic({ mutations })
      return
    }
    case 'delete':
      if (synchronous) table.deleteSync({ row: step.row })
      else await table.delete({ row: step.row })
  }
}

async function write(database: Database, writer: number): Promise<void> {
  for (let number = plan.done[writer] + 1; ; number = lastOf(writer, number) + 1) {
    await perform(database, writer, number)
    writeSync(1, `${writer} ${lastOf(writer, number)}\n`)
    if (!acknowledged) process.send?.('acknowledged')
    acknowledged = true
    if (number % 16 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Flushes now and then, and creates and drops a table that nobody looks at. */
async function disturb(database: Database): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 5 + random() * 60))
    const draw = random()
    if (draw < 0.4) await database.flush(draw < 0.2 ? undefined : 'odd')
    else if (database.hasTable('extra')) await database.dropTable('extra')
    else {
      const extra = await database.createTable('extra', { families: { f: {} } })
      await extra.put({ row: 'r', cells: { 'f:v': 'x'.repeat(5000) } })
    }
  }
}

async function main(): Promise<void> {
  const database = await Database.open(plan.directory, {
    memtableBytesMax: 512 * 1024,
    flushBytes: 128 * 1024,
    logBytesMax: 512 * 1024,
    blockCacheBytesMax: 1024 * 1024,
  })
  for (const [name, families] of Object.entries(tables)) {
    if (database.hasTable(name)) continue
    const options = Object.fromEntries(families.map((family) => [family, {}]))
    await database.createTable(name, { families: options })
  }
  writeSync(1, 'ready\n')
  const writers = Array.from({ length: writerCount }, (_, writer) => write(database, writer))
  await Promise.all([...writers, disturb(database)])
}

main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(7)
})
