/**
 * Systems that open while their tables are made or dropped by others.
 *
 * @runs campaign
 */
import t from 'tap'
import { CellarError, Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { metadataStoreOf } from '../../../src/systems/metastore/pulsar/index.js'
import { TransactionManager } from '../../../src/systems/transactions/index.js'
import { withMembers } from '../../helpers/planted.js'

const names = ['nodes', 'index', 'owned', 'feed', 'control'].map((name) => `metadata.${name}`)
const openings: Readonly<Record<string, (database: Database) => Promise<{ close(): unknown }>>> = {
  'a metadata store': (database) => metadataStoreOf(database),
  'a transaction manager': (database) =>
    TransactionManager.open(database, { sweepMilliseconds: 0 }),
}

function openDatabase(): Promise<Database> {
  const fileSystem = new MemoryFileSystem()
  return Database.open('/db', { fileSystem, executor: 'inline' })
}

for (const [name, open] of Object.entries(openings)) {
  void t.test(`${name} takes tables that another one makes in between`, async (t) => {
    const database = await openDatabase()
    const made: string[] = []
    const raced = withMembers(database, {
      createTable: async (...values: Parameters<Database['createTable']>) => {
        made.push(values[0])
        await database.createTable(...values)
        return database.createTable(...values)
      },
    })
    await (await open(raced)).close()
    t.ok(made.length > 0, 'each table was made twice')
    await (await open(database)).close()
    await database.close()
  })

  void t.test(
    `${name} that opens while its tables are dropped ends, and opens again`,
    async (t) => {
      for (let turns = 0; turns < 30; turns++) {
        const database = await openDatabase()
        const drop = async (): Promise<void> => {
          for (let i = 0; i < turns; i++) await Promise.resolve()
          for (const table of ['tx.state', ...names]) {
            await database.admin.disableTable(table).catch(() => undefined)
            await database.admin.deleteTable(table).catch(() => undefined)
          }
        }
        const [opened] = await Promise.allSettled([open(database), drop()])
        if (opened.status === 'fulfilled') await Promise.resolve(opened.value.close()).catch(ofCode)
        else ofCode(opened.reason)
        await drop()
        const again = await open(database)
        await again.close()
        await database.close()
      }
      t.pass('all have ended')
    },
  )
}

function ofCode(error: unknown): void {
  if (error instanceof CellarError) return
  throw error as Error
}
