/**
 * The process that the metastore kill test kills: conditional puts and removes until it dies, with
 * a line on standard output before each and after each acknowledgement.
 */
import { writeSync } from 'node:fs'
import { Database } from '../../../src/entries/index.js'
import {
  CellarMetaStore,
  Value,
  Version,
  type MetastoreTable,
} from '../../../src/systems/metastore/index.js'
import { lineOf, tableName, writerCount, type MetastorePlan } from './metastore-plan.js'

const plan = JSON.parse(process.argv[2]) as MetastorePlan

async function write(table: MetastoreTable, writer: number): Promise<void> {
  const versions = new Map<string, Version>()
  for (let number = 0; ; number++) {
    const row = `${writer}:${number % 5}`
    const found = versions.get(row) ?? (await storedVersion(table, row))
    const text = `${plan.round}.${number}`
    const note = { row, text, version: '-' }
    if (number % 7 === 6 && found !== Version.NEW) {
      writeSync(1, lineOf({ ...note, type: 'try', kind: 'remove' }))
      await table.remove(row, found)
      writeSync(1, lineOf({ ...note, type: 'done', kind: 'remove' }))
      versions.set(row, Version.NEW)
    } else {
      writeSync(1, lineOf({ ...note, type: 'try', kind: 'put' }))
      const value = new Value({ text, padding: Buffer.alloc(300, text) })
      const version = await table.put(row, value, found)
      writeSync(1, lineOf({ ...note, type: 'done', kind: 'put', version: version.toString() }))
      versions.set(row, version)
    }
    if (number === 3) process.send?.('acknowledged')
  }
}

async function storedVersion(table: MetastoreTable, row: string): Promise<Version> {
  try {
    return (await table.get(row)).version
  } catch {
    return Version.NEW
  }
}

async function main(): Promise<void> {
  const store = new CellarMetaStore()
  const databaseOptions = { memtableBytesMax: 512 * 1024, flushBytes: 128 * 1024 }
  const openDatabase = (): Promise<Database> => Database.open(plan.directory, databaseOptions)
  await store.init({ openDatabase }, store.getVersion())
  const table = await store.createTable(tableName)
  await Promise.all(Array.from({ length: writerCount }, (_, writer) => write(table, writer)))
}

main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(7)
})
