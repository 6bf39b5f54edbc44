/**
 * The MetaStore over a key-value store, for the peers: what somebody would write who needs one over
 * LMDB or LevelDB. Conditional puts read, compare, merge and write under a lock of their key; rows
 * are one value each, the version in front. Versions are kept in memory only and cursors pages are
 * read ahead, which is less than `CellarMetaStore` promises and not slower.
 */
import { CellarError } from '../../src/entries/index.js'
import {
  LongVersion,
  MetastoreErrorCode,
  Value,
  Version,
  type FieldSelection,
  type GetOptions,
  type KeyRange,
  type MetaStore,
  type MetastoreCursor,
  type MetastoreItem,
  type MetastoreScannableTable,
  type Versioned,
} from '../../src/systems/metastore/index.js'

/** Keys from `start` (inclusive) to `end` (exclusive), in pages. */
export interface Pages {
  next(count: number): Promise<[Buffer, Buffer][]>
  close(): void
}

/** The peer. Writes are acknowledged when they are as durable as was asked for. */
export interface KeyValue {
  get(key: Buffer): Buffer | undefined
  write(key: Buffer, value: Buffer | undefined): Promise<void>
  pages(start: Buffer, end: Buffer): Pages
  close(): Promise<void>
}

const pageSize = 1000

/** One store object; tables are prefixes of its keys. */
export class KeyValueMetaStore implements MetaStore {
  readonly #store: KeyValue

  constructor(store: KeyValue) {
    this.#store = store
  }

  getName(): string {
    return 'key-value'
  }

  getVersion(): number {
    return 1
  }

  async init(): Promise<void> {
    // The peer is open already.
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  createTable(name: string): Promise<MetastoreScannableTable> {
    return this.createScannableTable(name)
  }

  async createScannableTable(name: string): Promise<MetastoreScannableTable> {
    return new KeyValueTable(this.#store, name)
  }
}

let lastVersion = 0n

class KeyValueTable implements MetastoreScannableTable {
  readonly #store: KeyValue
  readonly #name: string
  readonly #locks = new Map<string, Promise<unknown>>()

  constructor(store: KeyValue, name: string) {
    this.#store = store
    this.#name = name
  }

  getName(): string {
    return this.#name
  }

  async get(key: string, options: GetOptions = {}): Promise<Versioned<Value>> {
    const stored = this.#store.get(this.#keyOf(key))
    if (stored === undefined) throw new CellarError(MetastoreErrorCode.noKey, key)
    return decodeRow(stored, options.fields ?? null)
  }

  put(key: string, value: Value, version: Version): Promise<Version> {
    return this.#alone(key, async () => {
      const row = this.#keyOf(key)
      const stored = this.#check(row, version)
      const next = new LongVersion(++lastVersion)
      const merged = stored === undefined ? value : stored.value.merge(value)
      await this.#store.write(row, encodeRow(merged, next))
      return next
    })
  }

  remove(key: string, version: Version): Promise<void> {
    return this.#alone(key, async () => {
      const row = this.#keyOf(key)
      if (this.#check(row, version) === undefined) {
        throw new CellarError(MetastoreErrorCode.noKey, key)
      }
      await this.#store.write(row, undefined)
    })
  }

  unwatch(): boolean {
    return false
  }

  openCursor(fields: FieldSelection = null): Promise<MetastoreCursor> {
    return this.openRange(wholeTable, fields)
  }

  async openRange(range: KeyRange, fields: FieldSelection = null): Promise<MetastoreCursor> {
    const { firstKey, lastKey, lastInclusive } = range
    const start = this.#keyOf(firstKey ?? '')
    const end =
      lastKey === null
        ? Buffer.from(`${this.#name}\u0001`)
        : this.#keyOf(lastInclusive ? `${lastKey}\0` : lastKey)
    const pages = this.#store.pages(start, end)
    const cursor = new PageCursor(pages, this.#name.length + 1, fields)
    await cursor.fill()
    return cursor
  }

  close(): void {
    // Nothing is held.
  }

  #keyOf(key: string): Buffer {
    return Buffer.from(`${this.#name}\0${key}`)
  }

  #check(row: Buffer, version: Version): Versioned<Value> | undefined {
    const bytes = this.#store.get(row)
    if (bytes === undefined) {
      if (version === Version.NEW) return undefined
      throw new CellarError(MetastoreErrorCode.noKey, 'absent')
    }
    if (version === Version.NEW) throw new CellarError(MetastoreErrorCode.keyExists, 'present')
    const stored = decodeRow(bytes, null)
    if (stored.version.compare(version) === 'CONCURRENTLY') return stored
    throw new CellarError(MetastoreErrorCode.badVersion, 'other version')
  }

  #alone<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(key)
    const result = before === undefined ? task() : before.then(task, task)
    this.#locks.set(key, result)
    const forget = (): void => {
      if (this.#locks.get(key) === result) this.#locks.delete(key)
    }
    result.then(forget, forget)
    return result
  }
}

const wholeTable: KeyRange = {
  firstKey: null,
  firstInclusive: true,
  lastKey: null,
  lastInclusive: true,
  order: 'ASC',
}

class PageCursor implements MetastoreCursor {
  readonly #pages: Pages
  readonly #keyStart: number
  readonly #fields: FieldSelection
  #page: [Buffer, Buffer][] = []
  #at = 0

  constructor(pages: Pages, keyStart: number, fields: FieldSelection) {
    this.#pages = pages
    this.#keyStart = keyStart
    this.#fields = fields
  }

  async fill(): Promise<void> {
    this.#page = await this.#pages.next(pageSize)
    this.#at = 0
    if (this.#page.length === 0) this.#pages.close()
  }

  hasMoreEntries(): boolean {
    return this.#at < this.#page.length
  }

  async asyncReadEntries(count: number): Promise<MetastoreItem[]> {
    const items = this.readEntries(count)
    if (this.#at === this.#page.length && items.length > 0) await this.fill()
    return items
  }

  readEntries(count: number): MetastoreItem[] {
    const entries = this.#page.slice(this.#at, this.#at + count)
    this.#at += entries.length
    return entries.map(([key, value]) => ({
      key: key.toString('utf8', this.#keyStart),
      value: decodeRow(value, this.#fields),
    }))
  }

  close(): void {
    this.#pages.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MetastoreItem, void, void> {
    while (this.hasMoreEntries()) yield* await this.asyncReadEntries(pageSize)
  }
}

/** Eight bytes of version, then each field as name length, name, data length, data. */
function encodeRow(value: Value, version: LongVersion): Buffer {
  const head = Buffer.alloc(8)
  head.writeBigInt64BE(version.value)
  const parts: Buffer[] = [head]
  for (const [name, data] of value.getFieldsMap()) {
    if (data === null) continue
    const lengths = Buffer.alloc(6)
    lengths.writeUInt16BE(Buffer.byteLength(name))
    lengths.writeUInt32BE(data.length, 2)
    parts.push(lengths, Buffer.from(name), data)
  }
  return Buffer.concat(parts)
}

function decodeRow(row: Buffer, fields: FieldSelection): Versioned<Value> {
  const value = new Value()
  if (fields === null || fields.size > 0) {
    for (let at = 8; at < row.length;) {
      const nameEnd = at + 6 + row.readUInt16BE(at)
      const end = nameEnd + row.readUInt32BE(at + 2)
      const name = row.toString('latin1', at + 6, nameEnd)
      if (fields === null || fields.has(name)) value.setField(name, row.subarray(nameEnd, end))
      at = end
    }
  }
  return { value, version: new LongVersion(row.readBigInt64BE(0)) }
}
