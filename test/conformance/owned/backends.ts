/** The suites of the systems on owned databases, over any store that is atomic per row. */
import type { Clock, Database } from '../../../src/api/index.js'
import {
  openMetadataStore,
  type CellarMetadataStore,
  type MetadataStore,
} from '../../../src/entries/metastore-pulsar.js'
import { ownDatabase } from '../../../src/hbase/owned/own-database.js'
import { CellarMetaStore } from '../../../src/systems/metastore/index.js'
import type { MetadataBackend } from '../../suites/metadata/suite.js'
import type { MetastoreBackend } from '../../suites/metastore/suite.js'
import type { MessagingBackend, SuiteDatabase } from '../messaging/case.js'

/** An empty store. */
export interface OpenStore {
  readonly store: Database
  /** Closes the store; its data are no longer needed. */
  readonly close: () => Promise<void>
}

/** Opens an empty store, by a clock if one is given. */
export type StoreOpener = (clock?: Clock) => Promise<OpenStore>

let spaces = 0

/** For the suite of the metastore. */
export function metastoreOn(openStore: StoreOpener): MetastoreBackend {
  return {
    name: 'owned',
    capabilities: { unorderedTable: 'declared-unordered', guards: true, synchronousReads: false },
    droppedCursors: 500,
    create: async () => {
      const { store, close } = await openStore()
      const database = await ownDatabase(store, { name: 'suite' })
      return {
        open: async () => {
          const metastore = new CellarMetaStore()
          const configuration = { database, unorderedTables: ['declared-unordered'] }
          await metastore.init(configuration, metastore.getVersion())
          return metastore
        },
        dispose: async () => {
          await database.close()
          await close()
        },
      }
    },
  }
}

/** For the suite of the metadata store. */
export function metadataOn(openStore: StoreOpener): MetadataBackend {
  return {
    name: 'owned',
    create: async () => {
      const url = `cellar:/owned${++spaces}`
      const { store, close } = await openStore()
      const faultsOf = (handle: MetadataStore): CellarMetadataStore['faults'] =>
        (handle as CellarMetadataStore).faults
      return {
        open: (configuration) =>
          openMetadataStore(url, {
            ...configuration,
            openDatabase: () => ownDatabase(store, { name: 'metadata' }),
          }),
        expireSession: async (handle) => faultsOf(handle).expireSession(),
        disconnect: async (handle) => faultsOf(handle).disconnect(),
        reconnect: (handle) => faultsOf(handle).reconnect(),
        dispose: close,
      }
    },
  }
}

/** For the suites of messaging with transactions, and of the repository. */
export function databasesOn(openStore: StoreOpener): MessagingBackend {
  return {
    name: 'owned',
    open: async (clock): Promise<SuiteDatabase> => {
      const { store, close } = await openStore(clock)
      const own = (): Promise<Database> => ownDatabase(store, { name: 'suite', clock })
      let database = await own()
      return {
        database,
        reopen: async () => {
          await database.close()
          database = await own()
          return database
        },
        close: async () => {
          await database.close()
          await close()
        },
      }
    },
  }
}
