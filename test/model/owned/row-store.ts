/**
 * A store that is atomic per row and offers nothing else, in a hundred lines: rows of a log with a
 * state that is compared and replaced, and rows of data with cells at timestamps.
 */
import type { LogRow, RowChange } from '../../../src/hbase/owned/log/log-store.js'
import type { RowWrite } from '../../../src/hbase/owned/log/apply.js'
import type { LoggedCell } from '../../../src/hbase/owned/log/logged-batch.js'

interface StoredRow {
  state: Buffer
  version: number
  readonly batches: Map<number, Buffer>
}

/** The cells of a row of data: the text of a cell by column, timestamp and type. */
type DataRow = Map<string, string>

/** The store. Every method is one step. */
export class RowStore {
  readonly #logRows = new Map<string, StoredRow>()
  /** Rows below a delete marker, which hides their cells for good: versions are no times. */
  readonly #removed = new Set<string>()
  readonly #data = new Map<string, DataRow>()
  /** The clock of the store, for cells without a timestamp. */
  #now = 1_000_000n

  /** Names of the rows of the log. */
  get logRows(): string[] {
    return [...this.#logRows.keys()].sort()
  }

  read(row: string, what: 'all' | 'state'): LogRow {
    const found = this.#logRows.get(row)
    if (found === undefined) return { state: undefined, batches: new Map() }
    return { state: found.state, batches: new Map(what === 'all' ? found.batches : []) }
  }

  change(row: string, { expected, state, version, batches }: RowChange): boolean {
    const found = this.#logRows.get(row)
    const isExpected =
      found === undefined || expected === undefined
        ? found === undefined && expected === undefined
        : found.state.equals(expected)
    if (!isExpected) return false
    // The cells lie behind the marker.
    if (this.#removed.has(row)) return true
    // An older version of the cell would stay behind the newer one.
    const newer = found !== undefined && found.version > version ? found : { state, version }
    const kept = found?.batches ?? new Map<number, Buffer>()
    for (const { sequence, bytes } of batches) kept.set(sequence, bytes)
    this.#logRows.set(row, { state: newer.state, version: newer.version, batches: kept })
    return true
  }

  /** Removes a row as HBase does, with a delete marker. */
  remove(row: string): void {
    this.#logRows.delete(row)
    this.#removed.add(row)
  }

  /** Writes the cells of one row of data. */
  write({ table, row, cells }: RowWrite): void {
    this.#now += 1n
    const name = `${table}/${row.toString()}`
    let found = this.#data.get(name)
    if (found === undefined) this.#data.set(name, (found = new Map<string, string>()))
    for (const cell of cells) found.set(cellKey(cell, this.#now), cell.value.toString())
  }

  /** Whether a row of data has a cell. */
  has(cell: LoggedCell): boolean {
    const row = this.#data.get(`${cell.table}/${cell.row.toString()}`)
    return row?.get(cellKey(cell, 0n)) === cell.value.toString()
  }

  /** All cells of all rows of data, sorted. */
  dataCells(): string[] {
    return [...this.#data]
      .flatMap(([name, row]) => [...row].map(([key, value]) => `${name} ${key} = ${value}`))
      .sort()
  }
}

/** The name of a cell within its row. */
function cellKey({ family, qualifier, timestamp, type }: LoggedCell, now: bigint): string {
  return `${family}:${qualifier.toString()} @${(timestamp as bigint | undefined) ?? now} ${type}`
}
