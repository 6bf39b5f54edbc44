/**
 * Turns the mutations of callers into the cells of the engine's mutation buffer.
 *
 * One writer serves one engine. `begin` fixes row and sequence; the `add…` methods check everything
 * and encode; nothing is part of the database before `Engine.apply`, so any error leaves it
 * unchanged.
 */
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { CellType, cellTypeCode, type CellTypeCode } from '../cell/cell-type.js'
import { checkCellBytes } from '../cell/limits.js'
import {
  checkTimestamp,
  latestTimestamp,
  timestampHigh,
  timestampLow,
  type Timestamp,
} from '../cell/timestamp.js'
import type { FamilyState, TableState } from '../engine/catalog.js'
import type { Engine } from '../engine/engine.js'
import type { Durability } from '../wal/log.js'
import type { CollectedRow } from '../scan/row-collector.js'
import { checkBytesLike, parseSingleColumn } from '../cell/column-name.js'
import { noSuchFamily } from './column-name.js'
import type { RowKey } from './row-key.js'
import type {
  Append,
  BytesLike,
  ColumnName,
  Increment,
  Put,
  PutCell,
  RowOperation,
} from './types.js'

/** Overhead that HBase counts for a cell on top of row, family, qualifier and value. */
export const cellOverheadBytes = 20

export class MutationWriter {
  readonly engine: Engine
  /** The mutation will not be applied. */
  isTrial = false
  private table!: TableState
  private row!: RowKey
  private sequence = 0
  /** Server timestamp of this mutation; 0 = not assigned yet. */
  private serverTimestamp = 0
  private putTimestampMin: Timestamp = 0
  /** The cells being added belong to a put, not to an increment or append. */
  private isPut = false
  /** Family, key start, key end, value end of the cells that go into the result. */
  private resultCells: number[] = []

  constructor(engine: Engine) {
    this.engine = engine
  }

  /**
   * Starts a mutation of one row. Puts with the server's timestamp get at least `putTimestampMin`.
   * A trial is only there to find mistakes and is not applied.
   */
  begin(table: TableState, row: RowKey, putTimestampMin: Timestamp = 0, isTrial = false): void {
    this.isTrial = isTrial
    this.isPut = false
    this.table = table
    this.row = row
    this.sequence = this.engine.lastSequence + 1
    this.serverTimestamp = 0
    this.putTimestampMin = putTimestampMin
    if (this.resultCells.length > 0) this.resultCells = []
    this.engine.mutation.begin()
  }

  /**
   * Goes on with another row under the same sequence, after the caller has changed the row that
   * `begin` was given. The timestamp of the row before is taken, whatever becomes of the mutation.
   */
  nextRow(): void {
    if (this.serverTimestamp !== 0) this.engine.clock.accept()
    this.serverTimestamp = 0
    this.putTimestampMin = 0
  }

  /** Number of cells encoded so far. */
  get cellCount(): number {
    return this.engine.mutation.entryCount
  }

  /** Finds a family or throws `ERR_NO_SUCH_COLUMN_FAMILY`. */
  family(name: string): FamilyState {
    const family = this.table.familyByName.get(name)
    if (family === undefined) throw noSuchFamily(name, this.table.name, this.table.familyNames)
    return family
  }

  /** Encodes the cells of a put. */
  addPut(put: RowOperation<Put>): void {
    const { cells, timestamp } = put
    const ttl = checkTtl(put.ttl)
    if (typeof cells !== 'object' || cells === null) {
      throw invalidArgument('put needs cells: an object of columns or an array of cells')
    }
    const before = this.cellCount
    this.isPut = true
    if (Array.isArray(cells)) {
      for (const cell of cells as readonly PutCell[]) this.addPutCell(cell, timestamp, ttl)
    } else {
      for (const name in cells as Readonly<Record<string, unknown>>) {
        const value = (cells as Readonly<Record<string, unknown>>)[name]
        this.addNamedValue(name, value, timestamp, ttl)
      }
    }
    this.isPut = false
    if (this.cellCount === before) throw invalidArgument('put has no cells')
  }

  private addNamedValue(
    name: string,
    value: unknown,
    timestamp: Timestamp | undefined,
    ttl: number,
  ): void {
    if (typeof value === 'string' || value instanceof Uint8Array) {
      this.addCell(name, CellType.put, timestamp, ttl, value)
      return
    }
    if (typeof value !== 'object' || value === null) {
      throw invalidArgument(`value of '${name}' must be a string, bytes or {value, timestamp}`)
    }
    const { value: content, timestamp: own } = value as { value: BytesLike; timestamp?: Timestamp }
    this.addCell(name, CellType.put, own === undefined ? timestamp : own, ttl, content)
  }

  private addPutCell(cell: PutCell, timestamp: Timestamp | undefined, ttl: number): void {
    if (typeof cell !== 'object' || cell === null) {
      throw invalidArgument('each cell of a put must be an object {column, value}')
    }
    const type = cell.type === undefined ? CellType.put : cellTypeCode(cell.type)
    if (type === undefined) throw invalidArgument(`unknown cell type '${cell.type}'`)
    const { column, timestamp: own = timestamp, value = '' } = cell
    this.addCell(column, type, own, ttl, value)
  }

  /** Encodes one cell by its column's name. */
  addCell(
    column: ColumnName,
    type: CellTypeCode,
    timestamp: Timestamp | undefined,
    ttl: number,
    value: BytesLike,
  ): void {
    const { family, escapedQualifier } = parseSingleColumn(column)
    checkBytesLike(value, 'value')
    this.encode(this.family(family), escapedQualifier, type, timestamp, ttl, value)
  }

  /** Encodes one cell; an absent timestamp (or 2^63-1) is the server's. */
  encode(
    family: FamilyState,
    qualifier: Buffer,
    type: CellTypeCode,
    timestamp: Timestamp | undefined,
    ttl: number,
    value: BytesLike,
  ): void {
    const { engine, row } = this
    const valueBytes = typeof value === 'string' ? Buffer.byteLength(value) : value.length
    checkCellBytes(
      row.length + family.name.length + qualifier.length + valueBytes + cellOverheadBytes,
      engine.options.cellBytesMax,
    )
    let high: number
    let low: number
    if (timestamp === undefined || timestamp === latestTimestamp) {
      const assigned = this.assignTimestamp()
      const chosen = this.isPut && this.putTimestampMin > assigned ? this.putTimestampMin : assigned
      high = timestampHigh(chosen)
      low = timestampLow(chosen)
    } else {
      checkTimestamp(timestamp, 'timestamp')
      this.checkSlop(timestamp)
      high = timestampHigh(timestamp)
      low = timestampLow(timestamp)
    }
    engine.mutation.add(
      family.store,
      row.buffer,
      row.length,
      qualifier,
      high,
      low,
      type,
      this.sequence,
      ttl,
      value,
    )
  }

  /** The server's timestamp of this mutation: one for all its cells. */
  assignTimestamp(): number {
    if (this.serverTimestamp === 0) {
      const { engine, row } = this
      this.serverTimestamp = this.isTrial ? 1 : engine.clock.propose(row.buffer, row.length)
      engine.mutation.raiseServerTimestamp(this.serverTimestamp)
    }
    return this.serverTimestamp
  }

  /** Applies the mutation: from now on it is part of the database. REQUIRES not a trial. */
  apply(durability: Durability): void {
    if (this.serverTimestamp !== 0) this.engine.clock.accept()
    this.engine.apply(durability)
  }

  /** Makes the cell encoded last part of {@link takeResult}. */
  includeInResult(family: FamilyState): void {
    const { keyStarts, keyEnds, entryCount, length } = this.engine.mutation
    const last = entryCount - 1
    this.resultCells.push(family.index, keyStarts[last], keyEnds[last], length)
  }

  /** Whether cells were marked for the result. */
  get hasResult(): boolean {
    return this.resultCells.length > 0
  }

  /** The marked cells, in HBase's order, copied out of the mutation buffer. */
  takeResult(): CollectedRow {
    const { buffer, length } = this.engine.mutation
    const page = Buffer.from(buffer.subarray(0, this.hasResult ? length : 0))
    const cells: number[][] = []
    for (let i = 0; i < this.resultCells.length; i += 4) {
      cells.push(this.resultCells.slice(i, i + 4))
    }
    cells.sort((a, b) => {
      if (a[0] !== b[0]) return a[0] - b[0]
      return Buffer.compare(page.subarray(a[1], a[2]), page.subarray(b[1], b[2]))
    })
    return { page, cells: cells.flat(), partial: false }
  }

  private checkSlop(timestamp: Timestamp): void {
    const slop = this.engine.options.timestampSlopMilliseconds
    if (slop === Infinity) return
    const latest = this.engine.now() + slop
    if (timestamp <= latest) return
    throw new CellarError(
      ErrorCode.failedSanityCheck,
      `timestamp ${timestamp} is more than ${slop} ms ahead of the clock`,
    )
  }
}

/** Checks a cell TTL in milliseconds; 0 = none. */
export function checkTtl(ttl: number | undefined): number {
  if (ttl === undefined) return 0
  if (typeof ttl !== 'number' || !Number.isInteger(ttl) || ttl < 1 || ttl >= 2 ** 48) {
    throw invalidArgument(`ttl must be an integer of 1 to 2^48-1 milliseconds, got ${String(ttl)}`)
  }
  return ttl
}

/** The columns of an increment or append as a list, whichever form they were given in. */
export function listColumns<T>(
  columns: Readonly<Record<string, T>> | readonly { readonly column: ColumnName }[],
  what: string,
  read: (entry: { readonly column: ColumnName }) => T,
): { column: ColumnName; amount: T }[] {
  if (typeof columns !== 'object' || columns === null) {
    throw invalidArgument(`${what} needs columns: an object or an array`)
  }
  const list: { column: ColumnName; amount: T }[] = []
  if (Array.isArray(columns)) {
    for (const entry of columns as readonly { readonly column: ColumnName }[]) {
      if (typeof entry !== 'object' || entry === null) {
        throw invalidArgument(`each column of ${what} must be an object`)
      }
      list.push({ column: entry.column, amount: read(entry) })
    }
  } else {
    for (const [column, amount] of Object.entries(columns))
      list.push({ column, amount: amount as T })
  }
  if (list.length === 0) throw invalidArgument(`${what} has no columns`)
  return list
}

/** What increments and appends have in common. */
export type ReadModifyWrite = RowOperation<Increment> | RowOperation<Append>
