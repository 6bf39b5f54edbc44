/**
 * Owned databases over the engine reduced to row atomicity, in the published suites.
 *
 * @runs alone
 */
import t from 'tap'
import type { Database } from '../../../src/api/index.js'
import { ownDatabase } from '../../../src/hbase/owned/owned-database.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import {
  openMetadataStore,
  type CellarMetadataStore,
  type MetadataStore,
} from '../../../src/entries/metastore-pulsar.js'
import { CellarMetaStore } from '../../../src/systems/metastore/index.js'
import { runMetadataSuite, type MetadataBackend } from '../../suites/metadata/suite.js'
import { runMetastoreSuite, type MetastoreBackend } from '../../suites/metastore/suite.js'
import { reduceToRows } from '../../helpers/row-atomic.js'

let spaces = 0

const metastoreBackend: MetastoreBackend = {
  name: 'owned',
  capabilities: { unorderedTable: 'declared-unordered', guards: true, synchronousReads: false },
  droppedCursors: 500,
  create: async () => {
    const database = await openOwned()
    return {
      open: async () => {
        const store = new CellarMetaStore()
        const configuration = { database, unorderedTables: ['declared-unordered'] }
        await store.init(configuration, store.getVersion())
        return store
      },
      dispose: () => database.close(),
    }
  },
}

const metadataBackend: MetadataBackend = {
  name: 'owned',
  create: async () => {
    const url = `cellar:/owned${++spaces}`
    const store = await openMemoryDatabase()
    const faultsOf = (handle: MetadataStore): CellarMetadataStore['faults'] =>
      (handle as CellarMetadataStore).faults
    return {
      open: (configuration) =>
        openMetadataStore(url, {
          ...configuration,
          openDatabase: () => ownDatabase(reduceToRows(store), { name: 'metadata' }),
        }),
      expireSession: async (handle) => faultsOf(handle).expireSession(),
      disconnect: async (handle) => faultsOf(handle).disconnect(),
      reconnect: (handle) => faultsOf(handle).reconnect(),
      dispose: () => store.close(),
    }
  },
}

/** An owned database over an engine of its own, which is closed with it. */
async function openOwned(): Promise<Database> {
  const store = await openMemoryDatabase()
  return ownDatabase(reduceToRows(store), { name: 'suite' })
}

void t.test('the metastore on an owned database', async (t) => {
  const { run } = await runMetastoreSuite(t, metastoreBackend)
  t.ok(run >= 90, `${run} cases run`)
})

void t.test('the metadata store on an owned database', async (t) => {
  await runMetadataSuite(t, metadataBackend)
})
