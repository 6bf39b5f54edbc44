/** The subjects: Cellar's store and a bare table, ZooKeeper, and peers behind the same calls. */
import { writeChained, type ChainedBatch } from '../engines/level-store.js'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '../../src/entries/index.js'
import {
  hasCode,
  metadataStoreOf,
  openMetadataStore,
  type CachingStore,
  type Stat,
} from '../../src/systems/metastore/pulsar/index.js'
import { ZooKeeperServer, zookeeperMissing } from './zookeeper-server.js'
import { loadPeer, peerVersion, writeBufferBytes } from '../engines/peers.js'
import { childrenBySeek, MapSubject, PeerSubject, type PeerRecords } from './peers.js'
import type { EphemeralOwner, Subject, SubjectEntry, SubjectSettings } from './subject.js'

const ownVersion = 'this tree'

const versionOf = ({ version }: Stat): number => version

function refused(error: unknown): undefined {
  if (!hasCode(error, 'badVersion')) throw error
}

/** A subject over a store of the package. */
function subjectOf(
  store: CachingStore,
  openOwner: () => Promise<CachingStore>,
  close: () => Promise<void>,
): Subject {
  return {
    put: (path, value, expected) => store.put(path, value, expected).then(versionOf, refused),
    get: async (path) => {
      const found = await store.get(path)
      return found === undefined ? undefined : { value: found.value, version: found.stat.version }
    },
    children: (path) => store.getChildrenFromStore(path),
    listen: (listener) => {
      store.registerListener(({ type, path }) => {
        if (type !== 'ChildrenChanged') listener(type, path)
      })
    },
    openSession: async (): Promise<EphemeralOwner> => {
      const owner = await openOwner()
      return {
        put: async (path) => {
          await owner.put(path, '', -1, { ephemeral: true })
        },
        expire: () => owner.close(),
      }
    },
    close,
  }
}

async function openCellar({ directory, cacheBytes }: SubjectSettings): Promise<Subject> {
  const database = await Database.open(directory, { blockCacheBytesMax: cacheBytes })
  const store = await metadataStoreOf(database)
  return subjectOf(
    store,
    () => metadataStoreOf(database),
    async () => {
      await store.close()
      await database.close()
    },
  )
}

/** Durable puts of a table without versions, children, feed and sessions. */
async function openTable({ directory, cacheBytes }: SubjectSettings): Promise<Subject> {
  const database = await Database.open(directory, { blockCacheBytesMax: cacheBytes })
  const families = { n: {} }
  const table = await database.createTable('bare', { families, durability: 'FSYNC_WAL' })
  return {
    put: (path, value) => table.put({ row: path, cells: { 'n:': value } }).then(() => 0),
    get: () => Promise.resolve(undefined),
    children: () => Promise.resolve([]),
    listen: () => undefined,
    close: () => database.close(),
  }
}

async function openZooKeeper({ directory }: SubjectSettings): Promise<Subject> {
  const server = await ZooKeeperServer.start({ parent: directory, heapMebibytes: 2048 })
  const open = (): Promise<CachingStore> =>
    openMetadataStore(`zk:127.0.0.1:${server.port}`, { sessionTimeoutMilliseconds: 10_000 })
  const store = await open()
  return subjectOf(store, open, async () => {
    await store.close()
    await server.remove()
  })
}

interface Lmdb {
  get(key: Buffer): Buffer | undefined
  put(key: Buffer, value: Buffer): Promise<boolean>
  remove(key: Buffer): Promise<boolean>
  getKeys(options: object): Iterable<Buffer>
  close(): Promise<void>
}

async function openLmdb({ directory }: SubjectSettings): Promise<Subject> {
  const lmdb = loadPeer<{ open(options: object): Lmdb }>('lmdb').open({
    path: join(directory, 'data.mdb'),
    encoding: 'binary',
    keyEncoding: 'binary',
    // Acknowledge when the transaction is on the disk, not before.
    overlappingSync: false,
  })
  const records: PeerRecords = {
    get: (key) => lmdb.get(key),
    // Writes of one turn share a transaction.
    write: async (key, value) => {
      await (value === undefined ? lmdb.remove(key) : lmdb.put(key, value))
    },
    children: async (path) =>
      childrenBySeek(path, (start) => {
        for (const key of lmdb.getKeys({ start, limit: 1 })) return key
        return undefined
      }),
    close: () => lmdb.close(),
  }
  return new PeerSubject(records, true)
}

interface Level {
  open(): Promise<void>
  close(): Promise<void>
  getSync(key: Buffer): Buffer | undefined
  batch(): ChainedBatch
  put(key: Buffer, value: Buffer, options: object): Promise<void>
  iterator(options: object): AsyncIterable<[Buffer, Buffer]>
}

/** The layout and the calls of Pulsar's RocksDB store, over LevelDB. */
async function openLevel({ directory, cacheBytes }: SubjectSettings): Promise<Subject> {
  interface Module {
    readonly ClassicLevel: new (directory: string, options: object) => Level
  }
  const level = new (loadPeer<Module>('classic-level').ClassicLevel)(directory, {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    cacheSize: cacheBytes,
    writeBufferSize: writeBufferBytes,
  })
  await level.open()
  // A call holds its thread until its sync is over, so the next one of the caller waits.
  let last: Promise<void> = Promise.resolve()
  const records: PeerRecords = {
    get: (key) => level.getSync(key),
    write: (key, value) => {
      last = last.then(() => level.put(key, value!, { sync: true }))
      return last
    },
    // As the store does it: every descendant is read, with its value.
    children: async (path) => {
      const prefix = `${path}/`
      const names = new Set<string>()
      const range = { gte: Buffer.from(prefix), lt: Buffer.from(`${path}0`) }
      for await (const [key] of level.iterator(range)) {
        const rest = key.toString('utf8', prefix.length)
        const slash = rest.indexOf('/')
        names.add(slash < 0 ? rest : rest.slice(0, slash))
      }
      return [...names].sort()
    },
    writeMany: (puts) =>
      writeChained(
        level,
        puts.map(([key, value]) => ({ type: 'put' as const, key, value })),
        { sync: true },
      ),
    close: () => level.close(),
  }
  return new PeerSubject(records, false)
}

function installed(missing: string | undefined, version: string): string {
  if (missing !== undefined) throw new Error(missing)
  return version
}

/** In the order of the runs. */
export const subjectEntries: readonly SubjectEntry[] = [
  {
    name: 'cellar',
    isPeer: false,
    isDurable: true,
    isSerial: false,
    version: () => ownVersion,
    open: openCellar,
  },
  {
    name: 'bare table.put',
    isPeer: false,
    isDurable: true,
    isSerial: false,
    isLimit: true,
    version: () => ownVersion,
    open: openTable,
  },
  {
    name: 'lmdb',
    isPeer: true,
    isDurable: true,
    isSerial: false,
    version: () => peerVersion('lmdb'),
    open: openLmdb,
  },
  {
    name: 'rocksdb-layout',
    isPeer: true,
    isDurable: true,
    isSerial: true,
    version: () => `classic-level ${peerVersion('classic-level')}`,
    open: openLevel,
  },
  {
    name: 'zookeeper',
    isPeer: false,
    isDurable: true,
    isSerial: false,
    version: () => installed(zookeeperMissing(), '3.8'),
    open: openZooKeeper,
  },
  {
    name: 'map',
    isPeer: false,
    isDurable: false,
    isSerial: false,
    version: () => ownVersion,
    open: () => Promise.resolve(new MapSubject()),
  },
]

/** Opens a subject in a directory that it gets. */
export function openSubject(entry: SubjectEntry, settings: SubjectSettings): Promise<Subject> {
  mkdirSync(settings.directory, { recursive: true })
  return entry.open(settings)
}
