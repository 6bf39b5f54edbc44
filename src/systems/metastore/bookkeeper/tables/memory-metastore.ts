/**
 * The MetaStore in memory, for tests: the same interface, nothing durable, nothing shared beyond
 * the {@link MemoryMetastoreData} that store objects are given.
 *
 * A cursor keeps the rows of its range, which are never changed but replaced.
 */
import { OptionNames, shown } from '../../../../api/index.js'
import { warnOfListener } from '../../kernel/listener-errors.js'
import { copyOfConfiguration } from '../arguments.js'
import { badVersion, guardFailed, keyExists, MetastoreException, noKey } from '../errors.js'
import { compareKeys } from '../keys.js'
import { OperationOrder } from './operation-order.js'
import type { RowStore } from './row-store.js'
import { TableCursor } from './table-cursor.js'
import type { CursorOwner, CursorView, ReleaseReason } from './table-cursor.js'
import { TableHandle } from './table-handle.js'
import type {
  KeyRange,
  MetaStore,
  MetastoreCursor,
  MetastoreItem,
  MetastoreScannableTable,
  MetastoreTable,
  RowGuard,
} from '../types.js'
import { ALL_FIELDS, Value, type FieldChange, type FieldSelection } from '../value.js'
import { LongVersion, Version, type Versioned } from './version.js'
import { Watchers } from './watchers.js'

interface Row {
  readonly fields: ReadonlyMap<string, Buffer>
  readonly version: LongVersion
}

/** The data of store objects in memory; outlives them. */
export class MemoryMetastoreData {
  readonly #tables = new Map<string, MemoryRows>()
  #lastVersion = 0n

  /** @internal The rows of a table, made at the first call. */
  table(name: string): MemoryRows {
    let rows = this.#tables.get(name)
    if (rows === undefined) {
      rows = new MemoryRows(() => new LongVersion(++this.#lastVersion))
      this.#tables.set(name, rows)
    }
    return rows
  }
}

/** @internal One table in memory. */
export class MemoryRows implements RowStore {
  readonly watchers = new Watchers()
  readonly #order = new OperationOrder()
  readonly #rows = new Map<string, Row>()
  readonly #nextVersion: () => LongVersion
  /** All keys in order; undefined if they have to be sorted again. */
  #keys: string[] | undefined = []

  constructor(nextVersion: () => LongVersion) {
    this.#nextVersion = nextVersion
  }

  get(
    key: string,
    fields: FieldSelection,
    settled?: (error: unknown) => void,
  ): Promise<Versioned<Value>> {
    const step = async (): Promise<Versioned<Value>> => {
      const row = this.#rows.get(key)
      if (row === undefined) throw noKey()
      return versionedOf(row, fields)
    }
    return this.#order.onKey(key, step, settled)
  }

  put(
    key: string,
    changes: readonly FieldChange[],
    version: Version,
    guard?: RowGuard,
  ): Promise<Version> {
    const step = async (): Promise<Version> => {
      this.#checkGuard(guard)
      return this.#put(key, changes, version)
    }
    return this.#order.onKey(key, step, (error) => {
      if (error === undefined) this.watchers.notify(key, 'CHANGED')
    })
  }

  remove(key: string, version: Version, guard?: RowGuard): Promise<void> {
    const step = async (): Promise<void> => {
      this.#checkGuard(guard)
      this.#remove(key, version)
    }
    return this.#order.onKey(key, step, (error) => {
      if (error === undefined) this.watchers.notify(key, 'REMOVED')
    })
  }

  fail<T>(error: unknown): Promise<T> {
    return this.#order.fail(error)
  }

  openRange(range: KeyRange, fields: FieldSelection, owner: CursorOwner): Promise<MetastoreCursor> {
    return this.#order.onAll(() => {
      const items = this.#keysOf(range).map((key) => ({ key, row: this.#rows.get(key)! }))
      return TableCursor.open(new MemoryView(items, fields), owner)
    })
  }

  #checkGuard(guard: RowGuard | undefined): void {
    if (guard === undefined) return
    const stored = this.#rows.get(guard.key)?.version
    if (stored?.compare(guard.version) === 'CONCURRENTLY') return
    throw guardFailed(stored, guard.version)
  }

  #put(key: string, changes: readonly FieldChange[], version: Version): Version {
    const row = this.#rows.get(key)
    if (row === undefined) {
      if (version !== Version.NEW) throw noKey()
      this.#keys = undefined
    } else {
      if (version === Version.NEW) throw keyExists()
      checkMatch(row, version)
    }
    const fields = new Map(row?.fields)
    for (const { name, data } of changes) {
      if (data === null) fields.delete(name)
      else fields.set(name, typeof data === 'string' ? Buffer.from(data) : data)
    }
    const next = this.#nextVersion()
    this.#rows.set(key, { fields, version: next })
    return next
  }

  #remove(key: string, version: Version): void {
    const row = this.#rows.get(key)
    if (row === undefined) throw noKey()
    checkMatch(row, version)
    this.#rows.delete(key)
    this.#keys = undefined
  }

  #keysOf({ firstKey, firstInclusive, lastKey, lastInclusive, order }: KeyRange): string[] {
    this.#keys ??= [...this.#rows.keys()].sort(compareKeys)
    const ascending = order === 'ASC'
    const low = ascending ? firstKey : lastKey
    const high = ascending ? lastKey : firstKey
    const lowInclusive = ascending ? firstInclusive : lastInclusive
    const highInclusive = ascending ? lastInclusive : firstInclusive
    const start = low === null ? 0 : countBelow(this.#keys, low, !lowInclusive)
    const end = high === null ? this.#keys.length : countBelow(this.#keys, high, highInclusive)
    const keys = this.#keys.slice(start, Math.max(start, end))
    return ascending ? keys : keys.reverse()
  }
}

/** How many keys lie below a key, or up to it. */
function countBelow(keys: readonly string[], key: string, inclusive: boolean): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const compared = compareKeys(keys[middle], key)
    if (compared < 0 || (inclusive && compared === 0)) low = middle + 1
    else high = middle
  }
  return low
}

function checkMatch(row: Row, given: Version): void {
  if (row.version.compare(given) !== 'CONCURRENTLY') throw badVersion(row.version, given)
}

/** Copies of the wanted fields. */
function versionedOf(row: Row, fields: FieldSelection): Versioned<Value> {
  const value = new Value()
  for (const [name, data] of row.fields) {
    if (fields === ALL_FIELDS || fields.has(name)) value.setField(name, Buffer.from(data))
  }
  return { value, version: row.version }
}

/** The rows of a range; nothing is pinned but memory. */
class MemoryView implements CursorView {
  released: ReleaseReason | undefined = undefined
  #items: readonly { key: string; row: Row }[]
  readonly #fields: FieldSelection
  #position = 0

  constructor(items: readonly { key: string; row: Row }[], fields: FieldSelection) {
    this.#items = items
    this.#fields = fields
  }

  read(count: number): Promise<MetastoreItem[]> {
    return Promise.resolve(this.readSync(count))
  }

  readSync(count: number): MetastoreItem[] {
    const items = this.#items.slice(this.#position, this.#position + count)
    this.#position += items.length
    return items.map(({ key, row }) => ({ key, value: versionedOf(row, this.#fields) }))
  }

  release(reason: ReleaseReason): void {
    this.released ??= reason
    this.#items = []
  }
}

/** Settings of a {@link MemoryMetaStore}. */
export interface MemoryMetastoreConfiguration {
  /** Shared by the store objects that name it. Default: data of its own. */
  readonly data?: MemoryMetastoreData | undefined
  /** Names of tables that `createScannableTable` refuses. Default: none. */
  readonly unorderedTables?: readonly string[] | undefined
  /** Told what watchers throw. Default: `process.emitWarning`. */
  readonly onListenerError?: (error: unknown) => void
}

const names = new OptionNames<MemoryMetastoreConfiguration>('a metastore in memory', {
  data: true,
  unorderedTables: true,
  onListenerError: true,
})

/** A store object in memory. Call `init` first. */
export class MemoryMetaStore implements MetaStore {
  #data: MemoryMetastoreData | undefined = undefined
  #configuration: MemoryMetastoreConfiguration = {}
  readonly #handles = new Set<TableHandle>()

  getName(): string {
    return 'memory'
  }

  getVersion(): number {
    return 1
  }

  async init(configuration: MemoryMetastoreConfiguration, version: number): Promise<void> {
    if (version !== 1)
      throw new MetastoreException(`the store has version 1, not ${shown(version)}`)
    if (this.#data !== undefined) throw new MetastoreException('the store is open already')
    this.#configuration = copyOfConfiguration(configuration, names)
    this.#data = this.#configuration.data ?? new MemoryMetastoreData()
  }

  async close(): Promise<void> {
    this.#data = undefined
    for (const handle of this.#handles) handle.close()
  }

  async createTable(name: string): Promise<MetastoreTable> {
    return this.#open(name)
  }

  async createScannableTable(name: string): Promise<MetastoreScannableTable> {
    if (this.#configuration.unorderedTables?.includes(name) === true) {
      throw new MetastoreException(`table '${name}' is declared to be unordered`)
    }
    return this.#open(name)
  }

  #open(name: string): TableHandle {
    if (this.#data === undefined) throw new MetastoreException('the store is not open')
    if (typeof name !== 'string') throw new MetastoreException('a table is named by a string')
    const handle: TableHandle = new TableHandle(name, this.#data.table(name), {
      cursorIdleMilliseconds: Infinity,
      onListenerError: this.#configuration.onListenerError ?? warnOfListener,
      onClose: () => this.#handles.delete(handle),
    })
    this.#handles.add(handle)
    return handle
  }
}
