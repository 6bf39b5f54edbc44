/** The published suite of search backends against the embedded index, over both backends. */
import t from 'tap'
import type { Database as Tables } from '../../../src/api/index.js'
import { runSearchSuite, type SearchSuiteBackend } from './suite.js'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { EmbeddedSearch } from '../../../src/systems/repository/index.js'

function embedded(
  name: string,
  openTables: () => Promise<{ database: Tables; reopen: () => Promise<Tables> }>,
): SearchSuiteBackend {
  return {
    name,
    open: async () => {
      const tables = await openTables()
      let { database } = tables
      let search = await EmbeddedSearch.open(database)
      return {
        search,
        reopen: async () => {
          await search.close()
          database = await tables.reopen()
          search = await EmbeddedSearch.open(database)
          return search
        },
        close: async () => {
          await search.close()
          await database.close()
        },
      }
    },
  }
}

const backends = [
  embedded('the embedded index', async () => {
    const fileSystem = new MemoryFileSystem()
    const open = (): Promise<Database> =>
      Database.open('/database', { fileSystem, executor: 'inline', compactionEnabled: false })
    let database = await open()
    return {
      database,
      reopen: async () => {
        await database.close()
        database = await open()
        return database
      },
    }
  }),
  embedded('the embedded index over plain tables in memory', async () => {
    const database = await ModelDatabase.open()
    return { database, reopen: async () => database }
  }),
]

for (const backend of backends) {
  void t.test(backend.name, async (t) => {
    t.equal((await runSearchSuite(t, backend)).run, 18, 'cases run')
  })
}
