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
import type { LevelKey } from './keys.js'
import type { RowPages } from './row-pages.js'

/** The rows of an iterator, and the item of a row; undefined for a row that has other columns. */
export interface Items<T> {
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

/** A key and a value; undefined if the iterator leaves them out. */
export type Entry = [LevelKey | undefined, LevelKey | undefined]

/** Entries. */
export class CellarIterator<TDatabase, K, V> extends AbstractIterator<TDatabase, K, V> {
  /** @internal */
  readonly [itemsKey]: Items<Entry>

  /** @internal Made by `TableLevel.iterator`. */
  constructor(db: TDatabase, options: AbstractIteratorOptions<K, V>, items: Items<Entry>) {
    super(db, options)
    this[itemsKey] = items
  }
}

/** Keys alone. */
export class CellarKeyIterator<TDatabase, K> extends AbstractKeyIterator<TDatabase, K> {
  /** @internal */
  readonly [itemsKey]: Items<LevelKey>

  /** @internal Made by `TableLevel.keys`. */
  constructor(db: TDatabase, options: AbstractKeyIteratorOptions<K>, items: Items<LevelKey>) {
    super(db, options)
    this[itemsKey] = items
  }
}

/** Values alone. */
export class CellarValueIterator<TDatabase, K, V> extends AbstractValueIterator<TDatabase, K, V> {
  /** @internal */
  readonly [itemsKey]: Items<LevelKey>

  /** @internal Made by `TableLevel.values`. */
  constructor(db: TDatabase, options: AbstractValueIteratorOptions<K, V>, items: Items<LevelKey>) {
    super(db, options)
    this[itemsKey] = items
  }
}

const { _next, _nextv, _seek, _close } = Object.getOwnPropertyDescriptors(ItemMethods.prototype)
for (const { prototype } of [CellarIterator, CellarKeyIterator, CellarValueIterator]) {
  Object.defineProperties(prototype, { _next, _nextv, _seek, _close })
}
