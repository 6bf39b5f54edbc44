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

/** The items of an iterator: `take` maps a row to an item. */
class Items<T> {
  readonly #pages: RowPages
  readonly #take: (row: Result) => T | undefined

  /** `take` returns undefined for a row that has only other columns. */
  constructor(pages: RowPages, take: (row: Result) => T | undefined) {
    this.#pages = pages
    this.#take = take
  }

  /** The next item; undefined at the end. */
  async next(): Promise<T | undefined> {
    for (;;) {
      const row = this.#pages.takeReady() ?? (await this.#pages.takeNext())
      if (row === undefined) return undefined
      const item = this.#take(row)
      if (item !== undefined) return item
    }
  }

  /** The next up to `size` items; an empty array at the end. */
  async nextMany(size: number): Promise<T[]> {
    for (;;) {
      const rows = await this.#pages.takeMany(size)
      const items: T[] = []
      for (let i = 0; i < rows.length; i++) {
        const item = this.#take(rows[i])
        if (item !== undefined) items.push(item)
      }
      if (items.length > 0 || rows.length === 0) return items
    }
  }

  seek(target: LevelKey): void {
    this.#pages.seek(target)
  }

  close(): void {
    this.#pages.close()
  }
}

/** The property of an iterator that holds its items. */
const itemsKey = Symbol('items')

/**
 * The methods that abstract-level calls. No instance exists: the end of this file copies the
 * methods.
 */
class ItemMethods<T> {
  declare readonly [itemsKey]: Items<T>

  _next(): Promise<T | undefined> {
    return this[itemsKey].next()
  }

  _nextv(size: number): Promise<T[]> {
    return this[itemsKey].nextMany(size)
  }

  _seek(target: LevelKey): void {
    this[itemsKey].seek(target)
  }

  async _close(): Promise<void> {
    this[itemsKey].close()
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
    this[itemsKey] = new Items(pages, (row) => {
      const value = row.value(column)
      if (value === undefined) return undefined
      return [
        hasKeys ? keyOf(row, isKeyText) : undefined,
        hasValues ? inFormat(value, isValueText) : undefined,
      ]
    })
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
    this[itemsKey] = new Items(pages, (row) => (row.has(column) ? keyOf(row, isText) : undefined))
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
    this[itemsKey] = new Items(pages, (row) => {
      const value = row.value(column)
      return value === undefined ? undefined : inFormat(value, isText)
    })
  }
}

const { _next, _nextv, _seek, _close } = Object.getOwnPropertyDescriptors(ItemMethods.prototype)
for (const { prototype } of [CellarIterator, CellarKeyIterator, CellarValueIterator]) {
  Object.defineProperties(prototype, { _next, _nextv, _seek, _close })
}
