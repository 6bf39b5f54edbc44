/** The stores that are measured: Cellar's, and those over the peers. */
import { writeChained, type ChainedBatch, type LevelOperation } from '../engines/level-store.js'
import { join } from 'node:path'
import { Database } from '../../src/entries/index.js'
import { CellarMetaStore, type MetaStore } from '../../src/systems/metastore/index.js'
import { loadPeer, peerVersion, writeBufferBytes } from '../engines/peers.js'
import { KeyValueMetaStore, type KeyValue, type Pages } from './key-value-metastore.js'

/** What a store is opened with. */
export interface StoreSettings {
  readonly directory: string
  /** Whether an acknowledged write survives the loss of power. */
  readonly isSync: boolean
  readonly cacheBytes: number
}

/** A store by name. */
export interface StoreEntry {
  readonly name: string
  /** Whether it needs the package of the peers. */
  readonly isPeer: boolean
  /** Throws if it cannot be used here. */
  version(): string
  open(settings: StoreSettings): Promise<MetaStore>
}

const ownVersion = 'this tree'

interface Lmdb {
  get(key: Buffer): Buffer | undefined
  put(key: Buffer, value: Buffer): Promise<boolean>
  remove(key: Buffer): Promise<boolean>
  getRange(options: object): Iterable<{ key: Buffer; value: Buffer }>
  close(): Promise<void>
}

interface Level {
  open(): Promise<void>
  close(): Promise<void>
  getSync(key: Buffer): Buffer | undefined
  batch(): ChainedBatch
  iterator(options: object): {
    nextv(size: number): Promise<[Buffer, Buffer][]>
    close(): Promise<void>
  }
}

async function openLmdb({ directory, isSync }: StoreSettings): Promise<MetaStore> {
  const lmdb = loadPeer<{ open(options: object): Lmdb }>('lmdb').open({
    path: join(directory, 'data.mdb'),
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: !isSync,
    // Acknowledge when the transaction is on the disk, not before.
    overlappingSync: false,
  })
  const store: KeyValue = {
    get: (key) => lmdb.get(key),
    // Writes of one turn share a transaction.
    write: async (key, value) => {
      await (value === undefined ? lmdb.remove(key) : lmdb.put(key, value))
    },
    pages: (start, end) => lmdbPages(lmdb.getRange({ start, end })),
    close: () => lmdb.close(),
  }
  return new KeyValueMetaStore(store)
}

function lmdbPages(range: Iterable<{ key: Buffer; value: Buffer }>): Pages {
  const iterator = range[Symbol.iterator]()
  return {
    next: async (count) => {
      const page: [Buffer, Buffer][] = []
      while (page.length < count) {
        const step = iterator.next()
        if (step.done === true) break
        page.push([step.value.key, step.value.value])
      }
      return page
    },
    close: () => void iterator.return?.(),
  }
}

async function openLevel(settings: StoreSettings): Promise<MetaStore> {
  interface Module {
    readonly ClassicLevel: new (directory: string, options: object) => Level
  }
  const level = new (loadPeer<Module>('classic-level').ClassicLevel)(settings.directory, {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    cacheSize: settings.cacheBytes,
    writeBufferSize: writeBufferBytes,
  })
  await level.open()
  const group = new GroupWriter((operations) =>
    writeChained(level, operations, { sync: settings.isSync }),
  )
  const store: KeyValue = {
    get: (key) => level.getSync(key),
    write: (key, value) =>
      group.write(value === undefined ? { type: 'del', key } : { type: 'put', key, value }),
    pages: (start, end) => {
      const options = { gte: start, lt: end, highWaterMarkBytes: 1024 * 1024 }
      const iterator = level.iterator(options)
      return { next: (count) => iterator.nextv(count), close: () => void iterator.close() }
    },
    close: () => level.close(),
  }
  return new KeyValueMetaStore(store)
}

/** Writes that arrive while a batch is under way go together in the next, and share its sync. */
class GroupWriter {
  readonly #writeBatch: (operations: LevelOperation[]) => Promise<void>
  #waiting: { operation: LevelOperation; done: (error?: Error) => void }[] = []
  #isWriting = false

  constructor(writeBatch: (operations: LevelOperation[]) => Promise<void>) {
    this.#writeBatch = writeBatch
  }

  write(operation: LevelOperation): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error?: Error): void => (error === undefined ? resolve() : reject(error))
      this.#waiting.push({ operation, done })
      if (this.#isWriting) return
      this.#isWriting = true
      queueMicrotask(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      let failure: Error | undefined
      try {
        await this.#writeBatch(group.map(({ operation }) => operation))
      } catch (error) {
        failure = error as Error
      }
      for (const { done } of group) done(failure)
    }
    this.#isWriting = false
  }
}

async function openCellar(settings: StoreSettings): Promise<MetaStore> {
  const store = new CellarMetaStore()
  const configuration = {
    openDatabase: () => {
      return Database.open(settings.directory, { blockCacheBytesMax: settings.cacheBytes })
    },
    durability: settings.isSync ? ('FSYNC_WAL' as const) : ('SYNC_WAL' as const),
  }
  await store.init(configuration, store.getVersion())
  return store
}

/** In the order of the runs. */
export const storeEntries: readonly StoreEntry[] = [
  { name: 'cellar', isPeer: false, version: () => ownVersion, open: openCellar },
  { name: 'lmdb', isPeer: true, version: () => peerVersion('lmdb'), open: openLmdb },
  {
    name: 'classic-level',
    isPeer: true,
    version: () => peerVersion('classic-level'),
    open: openLevel,
  },
]
