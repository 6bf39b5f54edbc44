/** The published suite of the content repository against the embedded engine and the plain one. */
import t from 'tap'
import type { RepositoryBackend } from './case.js'
import { runRepositorySuite } from './suite.js'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { backendsMax } from '../../helpers/length.js'

const embedded: RepositoryBackend = {
  name: 'the embedded engine',
  open: async (clock) => {
    const fileSystem = new MemoryFileSystem()
    const open = (): Promise<Database> =>
      Database.open('/database', {
        clock,
        fileSystem,
        executor: 'inline',
        compactionEnabled: false,
        memtableBytesMax: 1 << 20,
        flushBytes: 256 * 1024,
      })
    let database = await open()
    return {
      database,
      reopen: async () => {
        await database.close()
        database = await open()
        return database
      },
      close: () => database.close(),
    }
  },
}

/** Holds what it has for as long as the case runs. */
const memory: RepositoryBackend = {
  name: 'the plain backend in memory',
  open: async (clock) => {
    const database = await ModelDatabase.open({ clock })
    return { database, reopen: async () => database, close: () => database.close() }
  },
}

const casesExpected = 156

for (const backend of [embedded, memory].slice(0, backendsMax)) {
  void t.test(`repository over ${backend.name}`, async (t) => {
    const { run } = await runRepositorySuite(t, backend)
    t.equal(run, casesExpected, 'cases run')
  })
}
