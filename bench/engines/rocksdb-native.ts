/**
 * rocksdb-native: RocksDB in C++, all calls are promises. It offers no synced writes, so only
 * `buffered` is measured, and no compare-and-set: updates run under a lock of their key.
 */
import type { EngineAdapter, OpenedEngine, OpenSettings } from '../harness/engine.js'
import type { KeyRange, KeyValuePut, KeyValueStore, KeyVisitor } from '../harness/key-value.js'
import { rowsOver } from '../harness/layouts.js'
import { KeyLocks } from './key-locks.js'
import { loadPeer, peerVersion } from './peers.js'

interface ReadBatch {
  get(key: Buffer): Promise<Buffer | null>
  flush(): Promise<void>
  destroy(): void
}

interface WriteBatch {
  tryPut(key: Buffer, value: Buffer): void
  tryDelete(key: Buffer): void
  flush(): Promise<void>
  destroy(): void
}

interface Rocks {
  ready(): Promise<void>
  get(key: Buffer): Promise<Buffer | null>
  put(key: Buffer, value: Buffer): Promise<void>
  read(options: object): ReadBatch
  write(options: object): WriteBatch
  iterator(range: object, options: object): AsyncIterable<{ key: Buffer; value: Buffer }>
  flush(): Promise<void>
  compactRange(): Promise<void>
  close(options: object): Promise<void>
}

type RocksModule = new (directory: string, options: object) => Rocks

/** Keys that one hand-over of an iterator brings at most. */
const keysPerStep = 256

class RocksStore implements KeyValueStore {
  readonly #rocks: Rocks
  readonly #locks = new KeyLocks()

  constructor(rocks: Rocks) {
    this.#rocks = rocks
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    return (await this.#rocks.get(key)) ?? undefined
  }

  async getMany(keys: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
    const batch = this.#rocks.read({ capacity: keys.length })
    const values = keys.map((key) => batch.get(key))
    await batch.flush()
    batch.destroy()
    return (await Promise.all(values)).map((value) => value ?? undefined)
  }

  put(key: Buffer, value: Buffer): Promise<void> {
    return this.#rocks.put(key, value)
  }

  putMany(puts: readonly KeyValuePut[]): Promise<void> {
    return this.#write(puts.length, (batch) => {
      for (const { key, value } of puts) batch.tryPut(key, value)
    })
  }

  deleteMany(keys: readonly Buffer[]): Promise<void> {
    return this.#write(keys.length, (batch) => {
      for (const key of keys) batch.tryDelete(key)
    })
  }

  async #write(capacity: number, fill: (batch: WriteBatch) => void): Promise<void> {
    const batch = this.#rocks.write({ capacity })
    fill(batch)
    await batch.flush()
    batch.destroy()
  }

  async scan({ start, stop, limit, reversed }: KeyRange, visit: KeyVisitor): Promise<void> {
    const range = {
      ...(start.length === 0 ? {} : reversed ? { lte: start } : { gte: start }),
      ...(stop === undefined ? {} : { lt: stop }),
    }
    const capacity = limit === 0 ? keysPerStep : Math.min(limit, keysPerStep)
    const options = { reverse: reversed, capacity, ...(limit === 0 ? {} : { limit }) }
    for await (const { key, value } of this.#rocks.iterator(range, options)) {
      if (!visit(key, value)) return
    }
  }

  update(
    key: Buffer,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): Promise<boolean> {
    const owned = Buffer.from(key)
    return this.#locks.run(owned, async () => {
      const next = change(await this.get(owned))
      if (next === undefined) return false
      if (Buffer.isBuffer(next)) await this.put(owned, next)
      else await this.deleteMany([owned])
      return true
    })
  }
}

async function open(settings: OpenSettings): Promise<OpenedEngine> {
  const RocksDB = loadPeer<RocksModule>('rocksdb-native')
  const rocks = new RocksDB(settings.directory, {})
  await rocks.ready()
  const store = rowsOver(new RocksStore(rocks), settings.layout, settings.columns.length)
  return {
    fastest: store,
    awaited: store,
    flush: () => rocks.flush(),
    compact: () => rocks.compactRange(),
    close: () => rocks.close({ force: true }),
  }
}

/** RocksDB for Node and Bare. */
export const engine: EngineAdapter = {
  kind: 'store',
  name: 'rocksdb-native',
  layouts: ['row', 'cells'],
  durabilities: ['buffered'],
  version: () => `${peerVersion('rocksdb-native')} (its block cache has no option for the bytes)`,
  open,
}
