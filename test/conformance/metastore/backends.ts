/** The backends that the suite runs against here. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { MetastoreBackend } from '../../../src/conformance/metastore/suite.js'
import { Database, MemoryFileSystem } from '../../../src/index.js'
import {
  CellarMetaStore,
  MemoryMetaStore,
  MemoryMetastoreData,
} from '../../../src/metastore/index.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const unorderedTable = 'declared-unordered'

/** The one in memory. */
export const memoryBackend: MetastoreBackend = {
  name: 'memory',
  capabilities: { unorderedTable },
  collectGarbage,
  droppedCursors: 20_000,
  create: async () => {
    const data = new MemoryMetastoreData()
    return {
      open: async () => {
        const store = new MemoryMetaStore()
        await store.init({ data, unorderedTables: [unorderedTable] }, store.getVersion())
        return store
      },
      dispose: async () => undefined,
    }
  },
}

/** The one over tables, with files in memory. */
export const cellarBackend: MetastoreBackend = {
  name: 'cellar',
  capabilities: { unorderedTable },
  collectGarbage,
  droppedCursors: Number(process.env.CELLAR_DROPPED_CURSORS ?? 20_000),
  create: async () => {
    const fileSystem = new MemoryFileSystem()
    const database = await Database.open('/database', { fileSystem, executor: 'inline' })
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
