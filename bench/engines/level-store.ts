/**
 * A store over an abstract-level database, whichever implements it: reads have a synchronous form,
 * writes are promises.
 *
 * abstract-level has no compare-and-set: updates run under a lock of their key in this process.
 */
import type { CallForm, OpenedEngine, OpenSettings } from '../harness/engine.js'
import type { KeyRange, KeyValuePut, KeyValueStore, KeyVisitor } from '../harness/key-value.js'
import { rowsOver } from '../harness/layouts.js'
import { KeyLocks } from './key-locks.js'

interface LevelIterator {
  nextv(size: number): Promise<[Buffer, Buffer][]>
  close(): Promise<void>
}

/** One write of a batch. */
export type LevelOperation =
  | { readonly type: 'put'; readonly key: Buffer; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: Buffer }

/** A batch that is filled call by call. */
export interface ChainedBatch {
  put(key: Buffer, value: Buffer): unknown
  del(key: Buffer): unknown
  write(options: object): Promise<void>
}

/**
 * How a store writes batches: the form that takes the database the least time. classic-level takes
 * a chained batch in half the time of an array; `CellarLevel` takes an array without copying it.
 */
export type BatchForm = 'array' | 'chained'

/** What is used of abstract-level, with keys and values as Buffers. */
export interface Level {
  open(): Promise<void>
  close(): Promise<void>
  get(key: Buffer): Promise<Buffer | undefined>
  getSync(key: Buffer): Buffer | undefined
  getMany(keys: readonly Buffer[]): Promise<(Buffer | undefined)[]>
  put(key: Buffer, value: Buffer, options: object): Promise<void>
  batch(operations: readonly LevelOperation[], options: object): Promise<void>
  batch(): ChainedBatch
  iterator(options: object): LevelIterator
  compactRange(start: Buffer, end: Buffer, options: object): Promise<void>
}

/** Writes operations by a chained batch. */
export function writeChained(
  level: { batch(): ChainedBatch },
  operations: readonly LevelOperation[],
  options: object,
): Promise<void> {
  const batch = level.batch()
  for (const operation of operations) {
    if (operation.type === 'put') batch.put(operation.key, operation.value)
    else batch.del(operation.key)
  }
  return batch.write(options)
}

/** Keys that one hand-over of an iterator brings at most. */
const keysPerStep = 1000

class LevelStore implements KeyValueStore {
  readonly #level: Level
  readonly #form: CallForm
  readonly #batchForm: BatchForm
  readonly #writeOptions: object
  readonly #locks = new KeyLocks()

  constructor(level: Level, form: CallForm, batchForm: BatchForm, isSync: boolean) {
    this.#level = level
    this.#form = form
    this.#batchForm = batchForm
    this.#writeOptions = { sync: isSync }
  }

  get(key: Buffer): Buffer | undefined | Promise<Buffer | undefined> {
    return this.#form === 'fastest' ? this.#level.getSync(key) : this.#level.get(key)
  }

  getMany(keys: readonly Buffer[]): (Buffer | undefined)[] | Promise<(Buffer | undefined)[]> {
    if (this.#form === 'fastest') return keys.map((key) => this.#level.getSync(key))
    return this.#level.getMany(keys)
  }

  put(key: Buffer, value: Buffer): Promise<void> {
    return this.#level.put(key, value, this.#writeOptions)
  }

  putMany(puts: readonly KeyValuePut[]): Promise<void> {
    return this.#write(puts.map(({ key, value }) => ({ type: 'put' as const, key, value })))
  }

  deleteMany(keys: readonly Buffer[]): Promise<void> {
    return this.#write(keys.map((key) => ({ type: 'del' as const, key })))
  }

  #write(operations: readonly LevelOperation[]): Promise<void> {
    if (this.#batchForm === 'array') return this.#level.batch(operations, this.#writeOptions)
    return writeChained(this.#level, operations, this.#writeOptions)
  }

  async scan({ start, stop, limit, reversed }: KeyRange, visit: KeyVisitor): Promise<void> {
    const iterator = this.#level.iterator({
      ...(start.length === 0 ? {} : reversed ? { lte: start } : { gte: start }),
      ...(stop === undefined ? {} : { lt: stop }),
      limit: limit === 0 ? -1 : limit,
      reverse: reversed,
      highWaterMarkBytes: 1024 * 1024,
    })
    try {
      for (;;) {
        const entries = await iterator.nextv(keysPerStep)
        if (entries.length === 0) return
        for (const [key, value] of entries) if (!visit(key, value)) return
      }
    } finally {
      await iterator.close()
    }
  }

  update(
    key: Buffer,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): Promise<boolean> {
    // The caller may use the bytes of the key again while the lock is waited for.
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

/** Opens a database as a store of rows. */
export async function openLevel(
  level: Level,
  settings: OpenSettings,
  batchForm: BatchForm,
): Promise<OpenedEngine> {
  await level.open()
  const { layout, columns, durability } = settings
  const store = (form: CallForm) =>
    rowsOver(new LevelStore(level, form, batchForm, durability === 'sync'), layout, columns.length)
  return {
    fastest: store('fastest'),
    awaited: store('awaited'),
    compact: () =>
      level.compactRange(Buffer.alloc(0), Buffer.alloc(64, 0xff), { keyEncoding: 'buffer' }),
    close: () => level.close(),
  }
}
