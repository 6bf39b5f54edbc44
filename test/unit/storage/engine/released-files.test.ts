/** Files that a compaction has replaced go when the last user is done, without other work. */
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { Database, type EmbeddedTable } from '../../../../src/entries/index.js'

const directory = '/db'
const options = { executor: 'inline', compactionEnabled: false } as const

/** Names of SSTables and value files. */
function filesOf(fileSystem: SimulatedDisk): string[] {
  return fileSystem.listSync(directory).filter((name) => /\.(sst|val)$/.test(name))
}

/** A table with two files, each with a value file. */
async function twoFiles(): Promise<{
  fileSystem: SimulatedDisk
  database: Database
  table: EmbeddedTable
}> {
  const fileSystem = new SimulatedDisk()
  const database = await Database.open(directory, { ...options, fileSystem })
  const families = { f: { versions: 1, mob: true, mobThreshold: 10 } }
  const table = await database.createTable('t', { families })
  for (let file = 0; file < 2; file++) {
    for (let i = 0; i < 5; i++) {
      await table.put({ row: `r${i}`, cells: { 'f:q': `value ${file} of ${i}` } })
    }
    await database.flush()
  }
  t.equal(filesOf(fileSystem).length, 4)
  return { fileSystem, database, table }
}

async function turns(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
}

void t.test('a scan that ends gives its files back', async (t) => {
  const { fileSystem, database, table } = await twoFiles()
  const scanner = table.scan({ batch: 1 })
  t.match(await scanner.next(), { done: false })
  await database.compact('t')
  await turns()
  t.ok(filesOf(fileSystem).length > 4, 'the scan keeps its files')
  for await (const result of scanner) t.match(result.value('f:q'), /^value 1/)
  await turns()
  t.equal(filesOf(fileSystem).length, 2)
  await database.close()
})
