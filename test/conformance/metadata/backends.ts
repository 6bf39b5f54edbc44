/** The backends that the metadata suite runs against here. */
import { Database, MemoryFileSystem } from '../../../src/index.js'
import type { MetadataBackend } from '../../../src/conformance/metadata/suite.js'
import {
  openMetadataStore,
  type CellarMetadataStore,
  type MetadataStore,
} from '../../../src/metastore/pulsar/index.js'

let spaces = 0

const faultsOf = (store: MetadataStore): CellarMetadataStore['faults'] =>
  (store as CellarMetadataStore).faults

/** A store over tables whose files survive the closing of all handles. */
export const cellarBackend: MetadataBackend = {
  name: 'cellar',
  create: async () => {
    const fileSystem = new MemoryFileSystem()
    const url = `cellar:/metadata${++spaces}`
    return {
      open: () =>
        openMetadataStore(url, {
          openDatabase: ({ address }) => Database.open(address, { fileSystem, executor: 'inline' }),
        }),
      expireSession: async (store) => faultsOf(store).expireSession(),
      disconnect: async (store) => faultsOf(store).disconnect(),
      reconnect: (store) => faultsOf(store).reconnect(),
      dispose: async () => undefined,
    }
  },
}

/** A store that lives as long as there are handles. */
export const memoryBackend: MetadataBackend = {
  name: 'memory',
  create: async () => {
    const url = `memory:space${++spaces}`
    return {
      open: () =>
        openMetadataStore(url, {
          openDatabase: () =>
            Database.open('/metadata', { fileSystem: new MemoryFileSystem(), executor: 'inline' }),
        }),
      expireSession: async (store) => faultsOf(store).expireSession(),
      disconnect: async (store) => faultsOf(store).disconnect(),
      reconnect: (store) => faultsOf(store).reconnect(),
      dispose: async () => undefined,
    }
  },
}
