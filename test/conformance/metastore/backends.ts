/** The backends that the suite runs against here. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { MetastoreBackend } from '../../suites/metastore/suite.js'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { CellarMetaStore } from '../../../src/systems/metastore/index.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { lengthOf } from '../../helpers/length.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

let spaces = 0

const unorderedTable = 'declared-unordered'

/** The one over the model of a database, which has nothing of the engine. */
export const modelBackend: MetastoreBackend = {
  name: 'model',
  capabilities: { unorderedTable, guards: true },
  collectGarbage,
  droppedCursors: lengthOf('CELLAR_DROPPED_CURSORS', 2_000, 20_000),
  create: async () => {
    const database = await ModelDatabase.open()
    return {
      open: async () => {
        const store = new CellarMetaStore()
        await store.init({ database, unorderedTables: [unorderedTable] }, store.getVersion())
        return store
      },
      dispose: () => database.close(),
    }
  },
}

/** The one over tables, with files in memory. */
export const cellarBackend: MetastoreBackend = {
  name: 'cellar',
  capabilities: { unorderedTable, guards: true },
  collectGarbage,
  droppedCursors: lengthOf('CELLAR_DROPPED_CURSORS', 2_000, 20_000),
  create: async () => {
    const databaseOptions = { fileSystem: new MemoryFileSystem(), executor: 'inline' } as const
    const directory = `/database${++spaces}`
    // Store objects find each other by the function: the first calls it, the last closes.
    const openDatabase = (): Promise<Database> => Database.open(directory, databaseOptions)
    return {
      open: async () => {
        const store = new CellarMetaStore()
        const configuration = { openDatabase, unorderedTables: [unorderedTable] }
        await store.init(configuration, store.getVersion())
        return store
      },
      dispose: () => Promise.resolve(),
    }
  },
}
