/**
 * lmdb: LMDB, a memory-mapped B+-tree. Reads are synchronous; a synchronous write is a transaction
 * of its own, promised writes of one turn share one.
 *
 * `buffered` is its `noSync`: unlike the logs of the others, it may leave a damaged file after a
 * loss of power. `cacheBytes` has no meaning for a mapped file.
 *
 * Batches are transactions of synchronous puts: promised puts, and its `batch`, take as much time.
 */
import { join } from 'node:path'
import type { CallForm, EngineAdapter, OpenedEngine, OpenSettings } from '../harness/engine.js'
import type { KeyRange, KeyValuePut, KeyValueStore, KeyVisitor } from '../harness/key-value.js'
import { rowsOver } from '../harness/layouts.js'
import { loadPeer, peerVersion } from './peers.js'

interface Lmdb {
  get(key: Buffer): Buffer | undefined
  put(key: Buffer, value: Buffer): Promise<boolean>
  putSync(key: Buffer, value: Buffer): boolean
  remove(key: Buffer): Promise<boolean>
  removeSync(key: Buffer): boolean
  transactionSync<T>(step: () => T): T
  transaction<T>(step: () => T): Promise<T>
  getRange(options: object): Iterable<{ key: Buffer; value: Buffer }>
  close(): Promise<void>
}

interface LmdbModule {
  open(options: object): Lmdb
}

class LmdbStore implements KeyValueStore {
  readonly #lmdb: Lmdb
  readonly #form: CallForm

  constructor(lmdb: Lmdb, form: CallForm) {
    this.#lmdb = lmdb
    this.#form = form
  }

  get(key: Buffer): Buffer | undefined {
    return this.#lmdb.get(key)
  }

  put(key: Buffer, value: Buffer): void | Promise<void> {
    if (this.#form === 'awaited')
      return this.#lmdb.put(key, value) as Promise<unknown> as Promise<void>
    this.#lmdb.putSync(key, value)
  }

  putMany(puts: readonly KeyValuePut[]): void | Promise<void> {
    const lmdb = this.#lmdb
    const write = (): void => {
      for (const { key, value } of puts) lmdb.putSync(key, value)
    }
    return this.#form === 'awaited' ? lmdb.transaction(write) : lmdb.transactionSync(write)
  }

  deleteMany(keys: readonly Buffer[]): void | Promise<void> {
    const lmdb = this.#lmdb
    const write = (): void => {
      for (const key of keys) lmdb.removeSync(key)
    }
    return this.#form === 'awaited' ? lmdb.transaction(write) : lmdb.transactionSync(write)
  }

  scan({ start, stop, limit, reversed }: KeyRange, visit: KeyVisitor): void {
    const range = this.#lmdb.getRange({
      ...(start.length === 0 ? {} : { start }),
      ...(stop === undefined ? {} : { end: stop }),
      ...(limit === 0 ? {} : { limit }),
      ...(reversed ? { reverse: true } : {}),
    })
    for (const { key, value } of range) if (!visit(key, value)) return
  }

  update(
    key: Buffer,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): boolean | Promise<boolean> {
    const lmdb = this.#lmdb
    const owned = this.#form === 'awaited' ? Buffer.from(key) : key
    const write = (): boolean => {
      const next = change(lmdb.get(owned))
      if (next === undefined) return false
      if (Buffer.isBuffer(next)) lmdb.putSync(owned, next)
      else lmdb.removeSync(owned)
      return true
    }
    // This is the only process, so nothing comes between the read and the write of one turn.
    return this.#form === 'awaited' ? lmdb.transaction(write) : write()
  }
}

async function open(settings: OpenSettings): Promise<OpenedEngine> {
  const { directory, durability, layout, columns, readsAhead = true } = settings
  const lmdb = loadPeer<LmdbModule>('lmdb').open({
    path: join(directory, 'data.mdb'),
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: durability === 'buffered',
    // Acknowledge when the transaction is on the disk, not before.
    overlappingSync: false,
    noReadAhead: !readsAhead,
  })
  const store = (form: CallForm) => rowsOver(new LmdbStore(lmdb, form), layout, columns.length)
  return {
    fastest: store('fastest'),
    awaited: store('awaited'),
    close: () => lmdb.close(),
  }
}

/** LMDB for Node. */
export const engine: EngineAdapter = {
  kind: 'store',
  name: 'lmdb',
  layouts: ['row', 'cells'],
  durabilities: ['buffered', 'sync'],
  version: () => peerVersion('lmdb'),
  open,
}
