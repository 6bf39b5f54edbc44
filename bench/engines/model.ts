/**
 * The oracle: rows in a Map of this process, nothing on disk. Its answers are what the others are
 * compared with, its speed means nothing.
 */
import type {
  EngineAdapter,
  OpenedEngine,
  OpenSettings,
  RowPut,
  RowValues,
  RowVisitor,
  ScanRange,
  Store,
} from '../harness/engine.js'
import { addToCounter, counterOf } from '../harness/layouts.js'

/** A row by its bytes as a Latin-1 string, whose order is the order of the bytes. */
const nameOf = (row: Buffer): string => row.toString('latin1')

class ModelRows implements Store {
  readonly #columnCount: number
  readonly #rows = new Map<string, RowValues>()
  /** All names in order; undefined while it has to be made again. */
  #names: string[] | undefined

  constructor(columnCount: number) {
    this.#columnCount = columnCount
  }

  get(row: Buffer, values: RowValues): boolean {
    const found = this.#rows.get(nameOf(row))
    if (found === undefined) return false
    for (let at = 0; at < this.#columnCount; at++) values[at] = found[at]
    return true
  }

  put(row: Buffer, columns: readonly number[], values: readonly Buffer[]): void {
    const name = nameOf(row)
    let found = this.#rows.get(name)
    if (found === undefined) {
      found = Array<Buffer | undefined>(this.#columnCount).fill(undefined)
      this.#rows.set(name, found)
      this.#insertName(name)
    }
    for (let at = 0; at < columns.length; at++) found[columns[at]] = Buffer.from(values[at])
  }

  putMany(rows: readonly RowPut[]): void {
    for (const { row, columns, values } of rows) this.put(row, columns, values)
  }

  delete(row: Buffer): void {
    if (this.#rows.delete(nameOf(row))) this.#names = undefined
  }

  scan({ start, stop, limit, reversed, valueEquals }: ScanRange, visit: RowVisitor): number {
    const names = (this.#names ??= [...this.#rows.keys()].sort())
    const step = reversed ? -1 : 1
    const end = stop === undefined ? names.length : lowerBound(names, nameOf(stop))
    let visited = 0
    for (let at = this.#firstOf(names, start, reversed); at >= 0 && at < end; at += step) {
      const values = this.#rows.get(names[at])!
      if (valueEquals !== undefined && values[0]?.equals(valueEquals) !== true) continue
      visit(Buffer.from(names[at], 'latin1'), values)
      visited++
      if (visited === limit) break
    }
    return visited
  }

  #firstOf(names: readonly string[], start: Buffer, reversed: boolean): number {
    if (start.length === 0) return reversed ? names.length - 1 : 0
    const name = nameOf(start)
    const at = lowerBound(names, name)
    return reversed && names[at] !== name ? at - 1 : at
  }

  checkAndPut(row: Buffer, column: number, expected: Buffer, value: Buffer | undefined): boolean {
    const found = this.#rows.get(nameOf(row))
    if (found?.[column]?.equals(expected) !== true) return false
    found[column] = value && Buffer.from(value)
    if (found.every((cell) => cell === undefined)) this.delete(row)
    return true
  }

  increment(row: Buffer, column: number, amount: number): number {
    const next = addToCounter(this.#rows.get(nameOf(row))?.[column], amount)
    this.put(row, [column], [next])
    return counterOf(next)
  }

  append(row: Buffer, column: number, value: Buffer): void {
    const current = this.#rows.get(nameOf(row))?.[column] ?? Buffer.alloc(0)
    this.put(row, [column], [Buffer.concat([current, value])])
  }

  #insertName(name: string): void {
    if (this.#names === undefined) return
    // Between scans, as workloads with few inserts do; a load makes the list once, afterwards.
    this.#names.splice(lowerBound(this.#names, name), 0, name)
  }
}

/** Position of the first name that is not below `name`. */
function lowerBound(names: readonly string[], name: string): number {
  let low = 0
  let high = names.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (names[middle] < name) low = middle + 1
    else high = middle
  }
  return low
}

/** Rows in memory; shown to tests so that they can break it. */
export function openModel(columnCount: number): OpenedEngine {
  const rows = new ModelRows(columnCount)
  return { fastest: rows, awaited: rows, close: () => undefined }
}

/** The oracle. */
export const engine: EngineAdapter = {
  kind: 'store',
  name: 'model',
  layouts: ['native'],
  durabilities: ['none', 'buffered', 'sync'],
  isVolatile: true,
  version: () => 'this tree',
  open: ({ columns }: OpenSettings) => Promise.resolve(openModel(columns.length)),
}
