/** The iterators of a Level: entries, keys or values over one {@link RowPages}. */
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

/** Options as abstract-level hands them to a private method: encodings are formats. */
interface Formats {
  readonly keyEncoding?: unknown
  readonly valueEncoding?: unknown
}

const textFormat = 'utf8'

function keyOf(result: Result, isText: boolean): LevelKey {
  return inFormat(keyOfRow(result.row!), isText)
}

/** Takes what one row gives, or undefined of a row that has other columns only. */
type Take<T> = (row: Result) => T | undefined

/** The next item of `pages`; undefined at the end. */
async function takeNext<T>(pages: RowPages, take: Take<T>): Promise<T | undefined> {
  for (;;) {
    const row = pages.takeReady() ?? (await pages.takeNext())
    if (row === undefined) return undefined
    const item = take(row)
    if (item !== undefined) return item
  }
}

/** The next up to `size` items; none at the end. */
async function takeMany<T>(pages: RowPages, size: number, take: Take<T>): Promise<T[]> {
  for (;;) {
    const rows = await pages.takeMany(size)
    const items: T[] = []
    for (let i = 0; i < rows.length; i++) {
      const item = take(rows[i])
      if (item !== undefined) items.push(item)
    }
    if (items.length > 0 || rows.length === 0) return items
  }
}

type Entry = [LevelKey | undefined, LevelKey | undefined]

/** Entries. Private methods are called by abstract-level. */
export class CellarIterator<TDatabase, K, V> extends AbstractIterator<TDatabase, K, V> {
  readonly #pages: RowPages
  readonly #take: Take<Entry>

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
    this.#pages = pages
    this.#take = (row) => {
      const value = row.value(column)
      if (value === undefined) return undefined
      return [
        hasKeys ? keyOf(row, isKeyText) : undefined,
        hasValues ? inFormat(value, isValueText) : undefined,
      ]
    }
  }

  /** @internal */
  _next(): Promise<Entry | undefined> {
    return takeNext(this.#pages, this.#take)
  }

  /** @internal */
  _nextv(size: number): Promise<Entry[]> {
    return takeMany(this.#pages, size, this.#take)
  }

  /** @internal */
  _seek(target: LevelKey): void {
    this.#pages.seek(target)
  }

  /** @internal */
  async _close(): Promise<void> {
    this.#pages.close()
  }
}

/** Keys alone. */
export class CellarKeyIterator<TDatabase, K> extends AbstractKeyIterator<TDatabase, K> {
  readonly #pages: RowPages
  readonly #take: Take<LevelKey>

  /** @internal Made by `TableLevel.keys`. */
  constructor(
    db: TDatabase,
    options: AbstractKeyIteratorOptions<K>,
    pages: RowPages,
    column: string,
  ) {
    super(db, options)
    const isText = (options as Formats).keyEncoding === textFormat
    this.#pages = pages
    this.#take = (row) => (row.has(column) ? keyOf(row, isText) : undefined)
  }

  /** @internal */
  _next(): Promise<LevelKey | undefined> {
    return takeNext(this.#pages, this.#take)
  }

  /** @internal */
  _nextv(size: number): Promise<LevelKey[]> {
    return takeMany(this.#pages, size, this.#take)
  }

  /** @internal */
  _seek(target: LevelKey): void {
    this.#pages.seek(target)
  }

  /** @internal */
  async _close(): Promise<void> {
    this.#pages.close()
  }
}

/** Values alone. */
export class CellarValueIterator<TDatabase, K, V> extends AbstractValueIterator<TDatabase, K, V> {
  readonly #pages: RowPages
  readonly #take: Take<LevelKey>

  /** @internal Made by `TableLevel.values`. */
  constructor(
    db: TDatabase,
    options: AbstractValueIteratorOptions<K, V>,
    pages: RowPages,
    column: string,
  ) {
    super(db, options)
    const isText = (options as Formats).valueEncoding === textFormat
    this.#pages = pages
    this.#take = (row) => {
      const value = row.value(column)
      return value === undefined ? undefined : inFormat(value, isText)
    }
  }

  /** @internal */
  _next(): Promise<LevelKey | undefined> {
    return takeNext(this.#pages, this.#take)
  }

  /** @internal */
  _nextv(size: number): Promise<LevelKey[]> {
    return takeMany(this.#pages, size, this.#take)
  }

  /** @internal */
  _seek(target: LevelKey): void {
    this.#pages.seek(target)
  }

  /** @internal */
  async _close(): Promise<void> {
    this.#pages.close()
  }
}
