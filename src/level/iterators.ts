/**
 * The iterators of a Level: entries, keys or values of the rows of one {@link RowPages}.
 *
 * abstract-level has a base class for each of the three. They share the methods of
 * {@link ItemMethods}.
 */
import {
  AbstractIterator,
  AbstractKeyIterator,
  AbstractValueIterator,
  type AbstractIteratorOptions,
  type AbstractKeyIteratorOptions,
  type AbstractValueIteratorOptions,
} from 'abstract-level'
import type { Result } from '../api/index.js'
import { inFormat, keyOfRow, type LevelKey } from './keys.js'
import type { RowPages } from './row-pages.js'

/** Options of a private method of abstract-level: encodings are already formats. */
interface Formats {
  readonly keyEncoding?: unknown
  readonly valueEncoding?: unknown
}

const textFormat = 'utf8'

function keyOf(result: Result, isText: boolean): LevelKey {
  return inFormat(keyOfRow(result.row!), isText)
}

/** The rows of an iterator, and the item of a row; undefined for a row that has other columns. */
interface Items<T> {
  readonly pages: RowPages
  readonly take: (row: Result) => T | undefined
}

/** The property of an iterator that holds its items. */
const itemsKey = Symbol('items')

/**
 * The methods that abstract-level calls. No instance exists: the end of this file copies the
 * methods.
 */
class ItemMethods<T> {
  declare readonly [itemsKey]: Items<T>

  async _next(): Promise<T | undefined> {
    const { pages, take } = this[itemsKey]
    for (;;) {
      const row = pages.takeReady() ?? (await pages.takeNext())
      if (row === undefined) return undefined
      const item = take(row)
      if (item !== undefined) return item
    }
  }

  async _nextv(size: number): Promise<T[]> {
    const { pages, take } = this[itemsKey]
    for (;;) {
      const rows = await pages.takeMany(size)
      const items = rows.map(take).filter((item) => item !== undefined)
      if (items.length > 0 || rows.length === 0) return items
    }
  }

  _seek(target: LevelKey): void {
    this[itemsKey].pages.seek(target)
  }

  async _close(): Promise<void> {
    this[itemsKey].pages.close()
  }
}

type Entry = [LevelKey | undefined, LevelKey | undefined]

/** Entries. */
export class CellarIterator<TDatabase, K, V> extends AbstractIterator<TDatabase, K, V> {
  /** @internal */
  readonly [itemsKey]: Items<Entry>

  /** @internal Made by `TableLevel.iterator`. */
  constructor(
    db: TDatabase,
    options: AbstractIteratorOptions<K, V>,
    pages: RowPages,
    column: string,
  ) {
    super(db, options)
    const { keyEncoding, valueEncoding } = options as Formats
    const isKeyText = keyEncoding === textFormat
    const isValueText = valueEncoding === textFormat
    const hasKeys = options.keys !== false
    const hasValues = options.values !== false
    const take = (row: Result): Entry | undefined => {
      const value = row.value(column)
      if (value === undefined) return undefined
      return [
        hasKeys ? keyOf(row, isKeyText) : undefined,
        hasValues ? inFormat(value, isValueText) : undefined,
      ]
    }
    this[itemsKey] = { pages, take }
  }
}

/** Keys alone. */
export class CellarKeyIterator<TDatabase, K> extends AbstractKeyIterator<TDatabase, K> {
  /** @internal */
  readonly [itemsKey]: Items<LevelKey>

  /** @internal Made by `TableLevel.keys`. */
  constructor(
    db: TDatabase,
    options: AbstractKeyIteratorOptions<K>,
    pages: RowPages,
    column: string,
  ) {
    super(db, options)
    const isText = (options as Formats).keyEncoding === textFormat
    const take = (row: Result): LevelKey | undefined =>
      row.has(column) ? keyOf(row, isText) : undefined
    this[itemsKey] = { pages, take }
  }
}

/** Values alone. */
export class CellarValueIterator<TDatabase, K, V> extends AbstractValueIterator<TDatabase, K, V> {
  /** @internal */
  readonly [itemsKey]: Items<LevelKey>

  /** @internal Made by `TableLevel.values`. */
  constructor(
    db: TDatabase,
    options: AbstractValueIteratorOptions<K, V>,
    pages: RowPages,
    column: string,
  ) {
    super(db, options)
    const isText = (options as Formats).valueEncoding === textFormat
    const take = (row: Result): LevelKey | undefined => {
      const value = row.value(column)
      return value === undefined ? undefined : inFormat(value, isText)
    }
    this[itemsKey] = { pages, take }
  }
}

const { _next, _nextv, _seek, _close } = Object.getOwnPropertyDescriptors(ItemMethods.prototype)
for (const { prototype } of [CellarIterator, CellarKeyIterator, CellarValueIterator]) {
  Object.defineProperties(prototype, { _next, _nextv, _seek, _close })
}
