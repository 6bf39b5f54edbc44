/**
 * Rows with columns over a key-value engine, in two layouts: one key per cell, or one encoded value
 * per row. Rows of a single column are plain keys and values in both.
 *
 * A cell's key is the row, a zero byte, and the position of the column; so rows of several columns
 * must not contain zero bytes. An encoded row is one 32-bit length per column (-1: absent), then
 * the values.
 */
import type {
  Awaitable,
  Layout,
  RowPut,
  RowValues,
  RowVisitor,
  ScanRange,
  Store,
} from './engine.js'
import type { KeyRange, KeyValuePut, KeyValueStore } from './key-value.js'

/** Calls `next` with the value, now or when it is there. */
export function whenDone<T, R>(value: Awaitable<T>, next: (value: T) => R): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

const counterBytes = 8

/** The counter that `value` holds (absent: 0), increased, as bytes. */
export function addToCounter(value: Buffer | undefined, amount: number): Buffer {
  const sum = Buffer.allocUnsafe(counterBytes)
  sum.writeBigInt64BE((value === undefined ? 0n : value.readBigInt64BE(0)) + BigInt(amount), 0)
  return sum
}

/** The number that {@link addToCounter} wrote. */
export function counterOf(value: Buffer): number {
  return Number(value.readBigInt64BE(0))
}

/** Makes a row store in the given layout. */
export function rowsOver(store: KeyValueStore, layout: Layout, columnCount: number): Store {
  if (columnCount === 1) return new PlainRows(store)
  return layout === 'cells' ? new CellRows(store, columnCount) : new EncodedRows(store, columnCount)
}

/** What the layouts share: an update of one value under one key. */
abstract class KeyedRows {
  protected readonly store: KeyValueStore

  constructor(store: KeyValueStore) {
    this.store = store
  }

  /** Changes one column; `change` as in `KeyValueStore.update`. */
  protected abstract updateColumn(
    row: Buffer,
    column: number,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): Awaitable<boolean>

  checkAndPut(
    row: Buffer,
    column: number,
    expected: Buffer,
    value: Buffer | undefined,
  ): Awaitable<boolean> {
    return this.updateColumn(row, column, (current) => {
      return current !== undefined && current.equals(expected) ? (value ?? []) : undefined
    })
  }

  increment(row: Buffer, column: number, amount: number): Awaitable<number> {
    let sum = 0
    const done = this.updateColumn(row, column, (current) => {
      const next = addToCounter(current, amount)
      sum = counterOf(next)
      return next
    })
    return whenDone(done, () => sum)
  }

  append(row: Buffer, column: number, value: Buffer): Awaitable<void> {
    const done = this.updateColumn(row, column, (current) => {
      return current === undefined ? value : Buffer.concat([current, value])
    })
    return whenDone(done, () => undefined)
  }
}

/** Rows of one column: the row is the key. */
class PlainRows extends KeyedRows implements Store {
  get(row: Buffer, values: RowValues): Awaitable<boolean> {
    const found = this.store.get(row)
    if (found instanceof Promise) {
      return found.then((value) => {
        values[0] = value
        return value !== undefined
      })
    }
    values[0] = found
    return found !== undefined
  }

  put(row: Buffer, _columns: readonly number[], values: readonly Buffer[]): Awaitable<void> {
    return this.store.put(row, values[0])
  }

  putMany(rows: readonly RowPut[]): Awaitable<void> {
    return this.store.putMany(rows.map(({ row, values }) => ({ key: row, value: values[0] })))
  }

  delete(row: Buffer): Awaitable<void> {
    return this.store.deleteMany([row])
  }

  scan(range: ScanRange, visit: RowVisitor): Awaitable<number> {
    const { valueEquals, limit } = range
    const values: RowValues = [undefined]
    let visited = 0
    const keys = valueEquals === undefined ? range : { ...range, limit: 0 }
    const done = this.store.scan(keys, (key, value) => {
      if (valueEquals !== undefined && !valueEquals.equals(value)) return true
      values[0] = value
      visit(key, values)
      visited++
      return visited !== limit
    })
    return whenDone(done, () => visited)
  }

  protected updateColumn(
    row: Buffer,
    _column: number,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): Awaitable<boolean> {
    return this.store.update(row, change)
  }
}

const lengthBytes = 4
const absent = -1

/** One key per row. */
class EncodedRows extends KeyedRows implements Store {
  readonly #columnCount: number

  constructor(store: KeyValueStore, columnCount: number) {
    super(store)
    this.#columnCount = columnCount
  }

  get(row: Buffer, values: RowValues): Awaitable<boolean> {
    const found = this.store.get(row)
    if (found instanceof Promise) return found.then((value) => this.#decode(value, values))
    return this.#decode(found, values)
  }

  put(row: Buffer, columns: readonly number[], values: readonly Buffer[]): Awaitable<void> {
    if (columns.length === this.#columnCount) return this.store.put(row, this.#encode(values))
    const done = this.store.update(row, (current) => {
      const merged = this.#decoded(current)
      for (let at = 0; at < columns.length; at++) merged[columns[at]] = values[at]
      return this.#encode(merged)
    })
    return whenDone(done, () => undefined)
  }

  putMany(rows: readonly RowPut[]): Awaitable<void> {
    return this.store.putMany(
      rows.map(({ row, values }) => ({ key: row, value: this.#encode(values) })),
    )
  }

  delete(row: Buffer): Awaitable<void> {
    return this.store.deleteMany([row])
  }

  scan(range: ScanRange, visit: RowVisitor): Awaitable<number> {
    const { valueEquals, limit } = range
    const values = emptyRow(this.#columnCount)
    let visited = 0
    const keys = valueEquals === undefined ? range : { ...range, limit: 0 }
    const done = this.store.scan(keys, (key, encoded) => {
      this.#decode(encoded, values)
      if (valueEquals !== undefined && values[0]?.equals(valueEquals) !== true) return true
      visit(key, values)
      visited++
      return visited !== limit
    })
    return whenDone(done, () => visited)
  }

  protected updateColumn(
    row: Buffer,
    column: number,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): Awaitable<boolean> {
    return this.store.update(row, (current) => {
      const merged = this.#decoded(current)
      const next = change(merged[column])
      if (next === undefined) return undefined
      merged[column] = Buffer.isBuffer(next) ? next : undefined
      return merged.every((value) => value === undefined) ? [] : this.#encode(merged)
    })
  }

  #decoded(encoded: Buffer | undefined): RowValues {
    const values = emptyRow(this.#columnCount)
    this.#decode(encoded, values)
    return values
  }

  #decode(encoded: Buffer | undefined, values: RowValues): boolean {
    if (encoded === undefined) return false
    let start = this.#columnCount * lengthBytes
    for (let column = 0; column < this.#columnCount; column++) {
      const length = encoded.readInt32LE(column * lengthBytes)
      if (length === absent) {
        values[column] = undefined
      } else {
        values[column] = encoded.subarray(start, start + length)
        start += length
      }
    }
    return true
  }

  /** `values` has a place for each column. */
  #encode(values: readonly (Buffer | undefined)[]): Buffer {
    let size = this.#columnCount * lengthBytes
    for (let column = 0; column < this.#columnCount; column++) size += values[column]?.length ?? 0
    const encoded = Buffer.allocUnsafe(size)
    let start = this.#columnCount * lengthBytes
    for (let column = 0; column < this.#columnCount; column++) {
      const value = values[column]
      encoded.writeInt32LE(value === undefined ? absent : value.length, column * lengthBytes)
      if (value !== undefined) start += value.copy(encoded, start)
    }
    return encoded
  }
}

const suffixBytes = 2

/** One key per cell. */
class CellRows extends KeyedRows implements Store {
  readonly #columnCount: number

  constructor(store: KeyValueStore, columnCount: number) {
    super(store)
    this.#columnCount = columnCount
  }

  get(row: Buffer, values: RowValues): Awaitable<boolean> {
    values.fill(undefined)
    if (this.store.getMany !== undefined) {
      const keys = values.map((_, column) => cellKey(row, column))
      return whenDone(this.store.getMany(keys), (found) => {
        let isPresent = false
        for (let column = 0; column < found.length; column++) {
          values[column] = found[column]
          isPresent ||= found[column] !== undefined
        }
        return isPresent
      })
    }
    let count = 0
    const done = this.store.scan(this.#rangeOfRow(row), (key, value) => {
      values[key[key.length - 1]] = value
      count++
      return true
    })
    return whenDone(done, () => count > 0)
  }

  put(row: Buffer, columns: readonly number[], values: readonly Buffer[]): Awaitable<void> {
    if (columns.length === 1) return this.store.put(cellKey(row, columns[0]), values[0])
    return this.store.putMany(cellsOf(row, columns, values))
  }

  putMany(rows: readonly RowPut[]): Awaitable<void> {
    return this.store.putMany(
      rows.flatMap(({ row, columns, values }) => cellsOf(row, columns, values)),
    )
  }

  delete(row: Buffer): Awaitable<void> {
    const keys: Buffer[] = []
    for (let column = 0; column < this.#columnCount; column++) keys.push(cellKey(row, column))
    return this.store.deleteMany(keys)
  }

  scan(range: ScanRange, visit: RowVisitor): Awaitable<number> {
    const { limit, reversed, valueEquals } = range
    const values = emptyRow(this.#columnCount)
    let visited = 0
    let current: Buffer | undefined
    const finish = (): void => {
      if (current === undefined || (limit > 0 && visited >= limit)) return
      if (valueEquals === undefined || values[0]?.equals(valueEquals) === true) {
        visit(current, values)
        visited++
      }
    }
    const cellLimit = valueEquals === undefined ? limit * this.#columnCount : 0
    const keys: KeyRange = {
      // Reversed, the start is the last cell of the row.
      start: reversed && range.start.length > 0 ? cellKey(range.start, 255) : range.start,
      stop: range.stop,
      // Rows may lack cells, so this many cells are enough but not always needed.
      limit: cellLimit,
      reversed,
    }
    const done = this.store.scan(keys, (key, value) => {
      const rowLength = key.length - suffixBytes
      const isSame =
        current !== undefined &&
        current.length === rowLength &&
        key.compare(current, 0, rowLength, 0, rowLength) === 0
      if (!isSame) {
        finish()
        if (limit > 0 && visited >= limit) {
          current = undefined
          return false
        }
        current = key.subarray(0, rowLength)
        values.fill(undefined)
      }
      values[key[key.length - 1]] = value
      return true
    })
    return whenDone(done, () => {
      finish()
      return visited
    })
  }

  protected updateColumn(
    row: Buffer,
    column: number,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): Awaitable<boolean> {
    return this.store.update(cellKey(row, column), change)
  }

  #rangeOfRow(row: Buffer): KeyRange {
    const stop = Buffer.allocUnsafe(row.length + 1)
    row.copy(stop)
    stop[row.length] = 1
    return { start: cellKey(row, 0), stop, limit: this.#columnCount, reversed: false }
  }
}

function emptyRow(columnCount: number): RowValues {
  return Array<Buffer | undefined>(columnCount).fill(undefined)
}

function cellKey(row: Buffer, column: number): Buffer {
  const key = Buffer.allocUnsafe(row.length + suffixBytes)
  row.copy(key)
  key[row.length] = 0
  key[row.length + 1] = column
  return key
}

function cellsOf(
  row: Buffer,
  columns: readonly number[],
  values: readonly Buffer[],
): KeyValuePut[] {
  return columns.map((column, at) => ({ key: cellKey(row, column), value: values[at] }))
}
