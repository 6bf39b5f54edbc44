/** The backends that the metadata suite runs against here. */
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import type { MetadataBackend } from '../../suites/metadata/suite.js'
import {
  openMetadataStore,
  type CellarMetadataStore,
  type MetadataStore,
  type ZooKeeperMetadataStore,
} from '../../../src/entries/metastore-pulsar.js'
import { ZkClient } from '../../../src/systems/metastore/zookeeper/client.js'
import { ZooKeeperServer } from '../../../bench/metadata/zookeeper-server.js'

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
      open: (configuration) =>
        openMetadataStore(url, {
          ...configuration,
          openDatabase: ({ address }) => Database.open(address, { fileSystem, executor: 'inline' }),
        }),
      expireSession: async (store) => faultsOf(store).expireSession(),
      disconnect: async (store) => faultsOf(store).disconnect(),
      reconnect: (store) => faultsOf(store).reconnect(),
      dispose: async () => undefined,
    }
  },
}

/** A store in memory, which lives as long as there are handles. */
export const memoryBackend: MetadataBackend = {
  name: 'memory',
  create: async () => {
    const url = `memory:space${++spaces}`
    return {
      open: (configuration) => openMetadataStore(url, configuration),
      expireSession: async (store) => faultsOf(store).expireSession(),
      disconnect: async (store) => faultsOf(store).disconnect(),
      reconnect: (store) => faultsOf(store).reconnect(),
      dispose: async () => undefined,
    }
  },
}

/** Ends a session from another connection, as an administrator would. */
async function endSession(port: number, id: bigint, password: Buffer): Promise<void> {
  const clock = { now: () => Date.now() }
  await new Promise<void>((resolve) => {
    const addresses = [{ host: '127.0.0.1', port }]
    const settings = { addresses, timeoutMilliseconds: 10_000, requestBytesMax: 1_000, clock }
    const client = new ZkClient(settings, {
      onConnected: () => void client.close().then(resolve),
      onDisconnected: () => undefined,
      onSessionLost: () => undefined,
      onEvent: () => undefined,
    })
    client.resume(id, password)
    client.start()
  })
}

/** A real server of its own, below a path as Pulsar's clusters have one. */
export const zookeeperBackend: MetadataBackend = {
  name: 'zookeeper',
  capabilities: { extensions: false },
  create: async () => {
    const server = await ZooKeeperServer.start()
    const faults = (store: MetadataStore): ZooKeeperMetadataStore['faults'] =>
      (store as ZooKeeperMetadataStore).faults
    return {
      open: (configuration) =>
        openMetadataStore(`zk:127.0.0.1:${server.port}/pulsar`, {
          sessionTimeoutMilliseconds: 10_000,
          ...configuration,
        }),
      expireSession: async (store) => {
        const { id, password } = faults(store).session()
        // A client that is connected would take its session back before it is ended.
        faults(store).disconnect()
        await endSession(server.port, id, password)
        faults(store).reconnect()
      },
      disconnect: async (store) => faults(store).disconnect(),
      reconnect: async (store) => faults(store).reconnect(),
      dispose: () => server.remove(),
    }
  },
}
