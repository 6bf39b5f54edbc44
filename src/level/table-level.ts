/**
 * An abstract-level database over one table.
 *
 * abstract-level checks, encodes and defers. Its private methods (`_get`, `_put`, ...) receive keys
 * and values as text or bytes. Reads fix their view of the database in the event-loop turn of the
 * call, as abstract-level demands. Writes are applied in that turn too.
 */
import {
  AbstractLevel,
  type AbstractBatchOperation,
  type AbstractBatchOptions,
  type AbstractChainedBatch,
  type AbstractDelOptions,
  type AbstractIteratorOptions,
  type AbstractKeyIteratorOptions,
  type AbstractPutOptions,
  type AbstractValueIteratorOptions,
  type Transcoder,
} from 'abstract-level'
import { checkObject, invalidArgument, readArguments, requireCapability } from '../api/index.js'
import type { Get, Mutation, Result, Snapshot, SyncTable, Table } from '../api/index.js'
import { levelError, LevelErrorCode } from './errors.js'
import { CellarIterator, CellarKeyIterator, CellarValueIterator, type Entry } from './iterators.js'
import { BatchRows, inFormat, keyOfRow, rowOfKey, textOrBytes, type LevelKey } from './keys.js'
import { CellarSnapshot } from './level-snapshot.js'
import { addPlainBatch } from './plain-batch.js'
import { readColumn, RowPages, type KeyRange } from './row-pages.js'
import { openLevel, readSetup } from './source.js'
import type {
  DatabaseOpener,
  LevelDatabase,
  LevelSetup,
  OpenRequest,
  TableLevelOptions,
} from './source.js'

/** Options of writes, beside those of abstract-level. */
export interface LevelWriteOptions {
  /**
   * Acknowledges when the log is on the device, so the write survives a power loss. Default false:
   * the durability of the table.
   */
  readonly sync?: boolean | undefined
}

/** Options of a private method of abstract-level: encodings are already formats. */
interface Formats {
  readonly keyEncoding?: unknown
  readonly valueEncoding?: unknown
}

interface PrivateOptions extends Formats {
  /** As in abstract-level, null means no snapshot. */
  readonly snapshot?: CellarSnapshot | null
  readonly signal?: AbortSignal
  readonly sync?: boolean
}

type ClearOptions = KeyRange & PrivateOptions & { readonly limit: number }

/** An encoded operation of a batch, as abstract-level passes it. */
type PrivateOperation =
  | { readonly type: 'put'; readonly key: LevelKey; readonly value: LevelKey }
  | { readonly type: 'del'; readonly key: LevelKey }

/** Operations that one step of `clear` deletes together. */
const clearRowsMax = 1000

const textFormat = 'utf8'

/** The view of the option `snapshot`, if one is given. `ERR_INVALID_ARGUMENT`. */
function givenView({ snapshot }: PrivateOptions): Snapshot | undefined {
  if (snapshot === undefined || snapshot === null) return undefined
  if (snapshot instanceof CellarSnapshot) return snapshot.view
  throw invalidArgument('the snapshot belongs to another database')
}

function keyOf({ row }: Result, { keyEncoding }: Formats): LevelKey {
  return inFormat(keyOfRow(row!), keyEncoding === textFormat)
}

function valueIn(value: Buffer, { valueEncoding }: Formats): LevelKey {
  return inFormat(value, valueEncoding === textFormat)
}

/**
 * An abstract-level database over one table of any backend.
 *
 * Keys are at most 32,767 bytes, values at most `cellBytesMax`. Bytes that a read returns may share
 * memory with other reads: they never change, and the caller must not change them.
 */
export class TableLevel<K = string, V = string> extends AbstractLevel<
  string | Buffer | Uint8Array,
  K,
  V
> {
  readonly #setup: LevelSetup
  readonly #column: string
  readonly #columns: readonly [string]
  /** The columns of every read. */
  readonly #read: readonly [string]
  readonly #deletion: readonly Mutation[]
  #table!: Table
  #database!: LevelDatabase
  /** Calls of `clear` that run: the close waits for them. */
  readonly #clears = new Set<Promise<void>>()

  /**
   * A Level over an open database, which the caller closes, or over one that an opener opens and
   * the Level closes.
   *
   * `ERR_INVALID_ARGUMENT`; `ERR_UNSUPPORTED` for a backend without atomic mutations of several
   * rows. A failed open has the code `LEVEL_DATABASE_NOT_OPEN`. Its cause is `LEVEL_LOCKED` for a
   * directory that is already open, else the error of the database.
   */
  constructor(where: LevelDatabase | DatabaseOpener, options: TableLevelOptions<K, V> = {}) {
    const { setup, forward } = readSetup(where, options)
    const { capabilities, column } = setup
    requireCapability(capabilities, 'atomicAcrossRows', 'a Level')
    // The published type of manifests lacks `getSync`.
    const manifest = {
      encodings: { buffer: true, utf8: true, view: true },
      has: true,
      createIfMissing: true,
      errorIfExists: true,
      getSync: capabilities.sync,
      implicitSnapshots: capabilities.snapshots,
      explicitSnapshots: capabilities.snapshots,
      additionalMethods: { compactRange: setup.canCompact },
      signals: { iterators: true },
    }
    super(manifest, forward)
    this.#setup = setup
    this.#column = column
    this.#columns = [column]
    this.#read = [readColumn(column)]
    this.#deletion = [{ delete: { columns: this.#columns } }]
  }

  /** The directory, if the Level opens one. */
  get location(): string | undefined {
    return this.#setup.location
  }

  /** Writes a value. */
  override put(key: K, value: V): Promise<void>
  override put<K1 = K, V1 = V>(
    key: K1,
    value: V1,
    options: AbstractPutOptions<K1, V1> & LevelWriteOptions,
  ): Promise<void>
  override put(key: K, value: V, options?: AbstractPutOptions<K, V>): Promise<void> {
    return super.put(key, value, options!)
  }

  /** Deletes a key, which need not exist. */
  override del(key: K): Promise<void>
  override del<K1 = K>(key: K1, options: AbstractDelOptions<K1> & LevelWriteOptions): Promise<void>
  override del(key: K, options?: AbstractDelOptions<K>): Promise<void> {
    return super.del(key, options!)
  }

  /** Applies puts and deletions atomically; without operations, returns a chained batch. */
  override batch(operations: AbstractBatchOperation<this, K, V>[]): Promise<void>
  override batch<K1 = K, V1 = V>(
    operations: AbstractBatchOperation<this, K1, V1>[],
    options: AbstractBatchOptions<K1, V1> & LevelWriteOptions,
  ): Promise<void>
  override batch(): AbstractChainedBatch<this, K, V>
  override batch(
    ...given: [AbstractBatchOperation<this, K, V>[]?, AbstractBatchOptions<K, V>?]
  ): Promise<void> | AbstractChainedBatch<this, K, V> {
    if (given.length === 0) return super.batch()
    const [operations, options] = given
    const rows = this.#newRows()
    if (!addPlainBatch(this, rows, operations, options)) return super.batch(operations!, options!)
    const { sync } = (options ?? {}) as LevelWriteOptions
    return this.#mutateRows(rows, sync).then(() => {})
  }

  /**
   * Flushes the table, then merges the files that hold keys from `start` up to but excluding `end`.
   * `LEVEL_NOT_SUPPORTED` if the backend has no compaction.
   */
  async compactRange<K1 = K>(
    start: K1,
    end: K1,
    options: { readonly keyEncoding?: string | Transcoder.PartialEncoder<K1> } = {},
  ): Promise<void> {
    if (this.status === 'opening') {
      return this.deferAsync(() => this.compactRange(start, end, options))
    }
    if (this.status !== 'open') throw levelError(LevelErrorCode.notOpen, 'the database is not open')
    const { startRow, stopRow } = readArguments(() => {
      const { keyEncoding } = checkObject(options, 'the options of compactRange')
      // Without a name this is the encoding of the database; the published type lacks this case.
      const encoding = this.keyEncoding(keyEncoding as Transcoder.PartialEncoding<K1>)
      return { startRow: rowOfKey(encoding.encode(start)), stopRow: rowOfKey(encoding.encode(end)) }
    })
    if (this.#database.compact === undefined) {
      throw levelError(LevelErrorCode.notSupported, 'the backend has no compaction')
    }
    return this.#database.compact(this.#setup.table, { startRow, stopRow })
  }

  /** @internal */
  async _open(request: OpenRequest): Promise<void> {
    const { database, table } = await openLevel(this.#setup, request)
    this.#database = database
    this.#table = table
  }

  /** @internal */
  async _close(): Promise<void> {
    await Promise.allSettled(this.#clears)
    // A Level whose open failed has no database.
    const database: LevelDatabase | undefined = this.#database
    if (this.#setup.isOwn) await database?.close()
  }

  /** @internal */
  async _get(key: LevelKey, options: PrivateOptions): Promise<LevelKey | undefined> {
    const view = this.#view(options)
    try {
      const result = await this.#table.get(this.#getOf(key, view))
      return this.#valueOf(result, options)
    } finally {
      this.#release(view, options)
    }
  }

  /** @internal Only called if `supports.getSync`. */
  _getSync(key: LevelKey, options: PrivateOptions): LevelKey | undefined {
    const table = this.#table as Table & SyncTable
    return this.#valueOf(table.getSync(this.#getOf(key, givenView(options))), options)
  }

  /** @internal */
  async _getMany(
    keys: readonly LevelKey[],
    options: PrivateOptions,
  ): Promise<(LevelKey | undefined)[]> {
    const view = this.#view(options)
    try {
      const results = await this.#table.getList(keys.map((key) => this.#getOf(key, view)))
      return results.map((result) => this.#valueOf(result, options))
    } finally {
      this.#release(view, options)
    }
  }

  /** @internal */
  async _has(key: LevelKey, options: PrivateOptions): Promise<boolean> {
    const view = this.#view(options)
    try {
      return await this.#table.exists(this.#getOf(key, view, this.#columns))
    } finally {
      this.#release(view, options)
    }
  }

  /** @internal */
  async _hasMany(keys: readonly LevelKey[], options: PrivateOptions): Promise<boolean[]> {
    const view = this.#view(options)
    try {
      return await this.#table.existsList(keys.map((key) => this.#getOf(key, view, this.#columns)))
    } finally {
      this.#release(view, options)
    }
  }

  /** @internal */
  _put(key: LevelKey, value: LevelKey, { sync }: PrivateOptions): Promise<unknown> {
    const cells = { [this.#column]: textOrBytes(value, 'a value') }
    const put = { row: rowOfKey(key), cells }
    return this.#table.put(sync === true ? { ...put, durability: 'FSYNC_WAL' } : put)
  }

  /** @internal */
  _del(key: LevelKey, { sync }: PrivateOptions): Promise<void> {
    const deletion = { row: rowOfKey(key), columns: this.#columns }
    return this.#table.delete(sync === true ? { ...deletion, durability: 'FSYNC_WAL' } : deletion)
  }

  /** @internal */
  _batch(operations: readonly PrivateOperation[], { sync }: PrivateOptions): Promise<unknown> {
    if (operations.length === 0) return Promise.resolve()
    const rows = this.#newRows()
    for (const operation of operations) {
      if (operation.type === 'put') rows.put(operation.key, operation.value)
      else rows.del(operation.key)
    }
    return this.#mutateRows(rows, sync)
  }

  #newRows(): BatchRows {
    return new BatchRows(this.#column, this.#deletion)
  }

  /** No promise lies between this and the table, so write events come in the order of the calls. */
  #mutateRows(batch: BatchRows, sync: boolean | undefined): Promise<unknown> {
    const rows = batch.take()
    return this.#table.mutateRows(sync === true ? { rows, durability: 'FSYNC_WAL' } : { rows })
  }

  /** @internal Deletes the rows that exist at the call, page by page; not atomic. */
  async _clear(options: ClearOptions): Promise<void> {
    const run = this.#clear(options)
    this.#clears.add(run)
    await run.finally(() => this.#clears.delete(run))
  }

  async #clear(options: ClearOptions): Promise<void> {
    const column = this.#column
    const pages = this.#pages(options)
    let left = options.limit < 0 ? Infinity : options.limit
    try {
      while (left > 0) {
        const results = await pages.takeMany(Math.min(left, clearRowsMax))
        if (results.length === 0) return
        const held = results.filter((result) => result.has(column))
        if (held.length === 0) continue
        left -= held.length
        const rows = held.map(({ row }) => ({ row: row!, mutations: this.#deletion }))
        await this.#table.mutateRows({ rows })
      }
    } finally {
      pages.close()
    }
  }

  /** @internal */
  _iterator(options: AbstractIteratorOptions<K, V> & KeyRange): CellarIterator<this, K, V> {
    const [hasKeys, hasValues] = [options.keys !== false, options.values !== false]
    const take = (row: Result): Entry | undefined => {
      const value = row.value(this.#column)
      if (value === undefined) return undefined
      return [
        hasKeys ? keyOf(row, options) : undefined,
        hasValues ? valueIn(value, options) : undefined,
      ]
    }
    return new CellarIterator(this, options, { pages: this.#pages(options), take })
  }

  /** @internal */
  _keys(options: AbstractKeyIteratorOptions<K> & KeyRange): CellarKeyIterator<this, K> {
    const take = (row: Result): LevelKey | undefined => {
      return row.has(this.#column) ? keyOf(row, options) : undefined
    }
    return new CellarKeyIterator(this, options, { pages: this.#pages(options), take })
  }

  /** @internal */
  _values(options: AbstractValueIteratorOptions<K, V> & KeyRange): CellarValueIterator<this, K, V> {
    const take = (row: Result): LevelKey | undefined => this.#valueOf(row, options)
    return new CellarValueIterator(this, options, { pages: this.#pages(options), take })
  }

  /** @internal Only called if `supports.explicitSnapshots`. */
  _snapshot(options: object): CellarSnapshot {
    return new CellarSnapshot(this.#database.snapshot(), options)
  }

  #getOf(key: LevelKey, snapshot: Snapshot | undefined, columns = this.#read): Get {
    const row = rowOfKey(key)
    return snapshot === undefined ? { row, columns } : { row, columns, snapshot }
  }

  #valueOf(result: Result, options: Formats): LevelKey | undefined {
    const value = result.value(this.#column)
    return value === undefined ? undefined : valueIn(value, options)
  }

  /**
   * The view of a read without its own snapshot, taken in the event-loop turn of the call. A read
   * that waits for the disk must not see later writes.
   */
  #view(options: PrivateOptions): Snapshot | undefined {
    const view = givenView(options)
    if (view !== undefined) return view
    return this.#database.capabilities.snapshots ? this.#database.snapshot() : undefined
  }

  #release(view: Snapshot | undefined, { snapshot }: PrivateOptions): void {
    if (!(snapshot instanceof CellarSnapshot)) view?.close()
  }

  #pages(options: KeyRange & object): RowPages {
    const { snapshot, signal } = options as PrivateOptions
    return new RowPages(this.#table, options, {
      column: this.#column,
      snapshot: this.#view({ snapshot }),
      ownsSnapshot: !(snapshot instanceof CellarSnapshot),
      signal,
    })
  }
}
