/**
 * A program that opens a database in whatever runtime it is started with, for tests that start it
 * in several. Imports nothing that only Node has.
 *
 * `runtime-child.js DIRECTORY MARK` says `open`, or the code of the error. Then it obeys lines on
 * its input: `write N` puts N rows `MARK-number` durably and says `written TOTAL`; `close` closes
 * and says `closed`.
 */
import { createInterface } from 'node:readline'
import { CellarError, Database } from '../../../src/entries/index.js'

async function main(directory: string, mark: string): Promise<void> {
  let database: Database
  try {
    database = await Database.open(directory, { executor: 'inline' })
  } catch (error) {
    console.log(error instanceof CellarError ? error.code : String(error))
    return
  }
  const table = database.hasTable('t')
    ? database.table('t')
    : await database.createTable('t', { families: { f: {} } })
  let total = [...table.scanSync({ prefix: `${mark}-` })].length
  console.log('open')
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, count] = line.split(' ')
    if (command === 'close') break
    for (let i = 0; i < Number(count); i++) {
      const row = `${mark}-${String(total++).padStart(6, '0')}`
      await table.put({ row, cells: { 'f:v': mark }, durability: 'FSYNC_WAL' })
    }
    console.log(`written ${total}`)
  }
  await database.close()
  console.log('closed')
  process.exit(0)
}

void main(process.argv[2], process.argv[3])
