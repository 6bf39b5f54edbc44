/**
 * Turns the mutations of callers into the cells of the engine's mutation buffer.
 *
 * One writer serves one engine. `begin` fixes row and sequence; the `add…` methods check everything
 * and encode; nothing is part of the database before `apply`, so any error leaves it unchanged.
 *
 * Several mutations may be applied together, as a group: `beginGroup`, then for each `beginMember`,
 * `add…` and `endMember`, or `dropMember`. Each has a sequence of its own.
 */
import {
  checkArray,
  checkBytesLike,
  countNames,
  isBytes,
  isWellFormed,
  loneSurrogate,
  OptionNames,
  shown,
} from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { isFamilyMarker } from '../../cell/cell-key.js'
import { CellType, cellTypeCode, type CellTypeCode } from '../../cell/cell-type.js'
import { checkCellBytes } from '../../cell/limits.js'
import {
  checkTimestamp,
  latestTimestamp,
  timestampHigh,
  timestampLow,
  type Timestamp,
} from '../../cell/timestamp.js'
import type { FamilyState, TableState } from '../../engine/catalog.js'
import type { Engine } from '../../engine/engine.js'
import { textBytes } from '../../engine/mutation-buffer.js'
import type { Durability } from '../../wal/log.js'
import type { CollectedRow } from '../../scan/row-collector.js'
import { PutColumns } from '../arguments/put-columns.js'
import type { RowKey } from '../arguments/row-key.js'
import type {
  Append,
  BytesLike,
  ColumnName,
  Increment,
  Put,
  PutCell,
  PutValue,
  RowOperation,
} from '../../api/index.js'

/** Overhead that HBase counts for a cell on top of row, family, qualifier and value. */
export const cellOverheadBytes = 20

/** A value with a timestamp of its own. */
export type TimedValue = Exclude<PutValue, BytesLike>

const putNames = new OptionNames<Put>('a put', {
  row: true,
  cells: true,
  timestamp: true,
  ttl: true,
  durability: true,
})
/** The names of a cell of a put, in the long form. */
export const cellNames = new OptionNames<PutCell>('a cell of a put', {
  column: true,
  value: true,
  timestamp: true,
  type: true,
})
/** The names of a value with a timestamp of its own. */
export const valueNames = new OptionNames<TimedValue>('a value of a put', {
  value: true,
  timestamp: true,
})

/** How many of its names a put has with a value. */
function knownNames(put: RowOperation<Put> & { readonly durability?: unknown }): number {
  let count = 0
  if (put.cells !== undefined) count++
  if (put.row !== undefined) count++
  if (put.timestamp !== undefined) count++
  if (put.ttl !== undefined) count++
  if (put.durability !== undefined) count++
  return count
}

export class MutationWriter {
  readonly engine: Engine
  /** The mutation will not be applied. */
  isTrial = false
  private row!: RowKey
  private readonly columns = new PutColumns()
  private sequence = 0
  /** Time of the group; 0 = the clock is read for each mutation. */
  private groupTime = 0
  /** Server timestamp of this mutation; 0 = not assigned yet. */
  private serverTimestamp = 0
  private putTimestampMin: Timestamp = 0
  /** The cells being added belong to a put, not to an increment or append. */
  private isPut = false
  /** Family and entry of the cells that go into the result. */
  private resultCells: number[] = []
  /** The mutation has an increment or an append, whether or not that returns its cells. */
  givesResult = false

  constructor(engine: Engine) {
    this.engine = engine
  }

  /**
   * Starts a mutation of one row. Puts with the server's timestamp get at least `putTimestampMin`.
   * A trial is only there to find mistakes and is not applied.
   */
  begin(table: TableState, row: RowKey, putTimestampMin: Timestamp = 0, isTrial = false): void {
    this.beginGroup(table, row, 0)
    this.beginMember(putTimestampMin, isTrial)
  }

  /**
   * Starts a group of mutations of the rows that `row` will hold. `now` is the time for all of
   * them; 0 = the clock is read for each.
   */
  beginGroup(table: TableState, row: RowKey, now: number): void {
    this.columns.use(table)
    this.row = row
    this.groupTime = now
    if (this.resultCells.length > 0) this.resultCells = []
    this.givesResult = false
    this.engine.clock.release()
    this.engine.mutation.begin()
  }

  /** Whether the group takes another member. */
  get hasRoom(): boolean {
    return this.engine.mutation.hasRoom
  }

  /** Starts a mutation of the group. */
  beginMember(putTimestampMin: Timestamp = 0, isTrial = false): void {
    const { engine } = this
    this.isTrial = isTrial
    this.isPut = false
    this.sequence = engine.lastSequence + 1 + engine.mutation.mutationCount
    this.serverTimestamp = 0
    this.putTimestampMin = putTimestampMin
    engine.mutation.open()
  }

  /** Ends a mutation: it will be applied with the group. Its timestamp is taken. */
  endMember(): void {
    const { clock, mutation } = this.engine
    mutation.finish()
    if (this.serverTimestamp !== 0) clock.accept()
    clock.keep()
  }

  /** Takes back the mutation that is not ended yet. */
  dropMember(): void {
    this.engine.mutation.drop()
  }

  /**
   * Goes on with another row under the same sequence, after the caller has changed the row that
   * `begin` was given. A mutation that is not applied takes no timestamp of any row.
   */
  nextRow(): void {
    if (this.serverTimestamp !== 0) this.engine.clock.reserve()
    this.serverTimestamp = 0
    this.putTimestampMin = 0
  }

  /**
   * Goes on with a row of another table under the sequence of the mutation that `other` has begun.
   * REQUIRES a writer of the same engine.
   */
  join(other: MutationWriter, table: TableState, row: RowKey): void {
    other.nextRow()
    this.columns.use(table)
    this.row = row
    this.groupTime = other.groupTime
    if (this.resultCells.length > 0) this.resultCells = []
    this.isTrial = false
    this.isPut = false
    this.sequence = other.sequence
    this.serverTimestamp = 0
    this.putTimestampMin = 0
  }

  /** Number of cells of the mutation encoded so far. */
  get cellCount(): number {
    return this.engine.mutation.openEntryCount
  }

  /** Finds a family or throws `ERR_NO_SUCH_COLUMN_FAMILY`. */
  family(name: string): FamilyState {
    return this.columns.family(name)
  }

  /** Encodes the cells of a put. */
  addPut(put: RowOperation<Put>): void {
    const { cells, timestamp } = put
    if (countNames(put) !== knownNames(put)) putNames.check(put)
    const ttl = checkTtl(put.ttl)
    if (typeof cells !== 'object' || cells === null) {
      throw invalidArgument('put needs cells: an object of columns or an array of cells')
    }
    this.isPut = true
    let place = 0
    if (Array.isArray(cells)) {
      for (const cell of cells as readonly PutCell[]) {
        this.addPutCell(cell, place++, timestamp, ttl)
      }
    } else {
      for (const name in cells as Readonly<Record<string, unknown>>) {
        const value = (cells as Readonly<Record<string, unknown>>)[name]
        this.addNamedValue(name, place++, value, timestamp, ttl)
      }
    }
    this.isPut = false
    if (place === 0) throw invalidArgument('put has no cells')
  }

  private addNamedValue(
    name: string,
    place: number,
    value: unknown,
    timestamp: Timestamp | undefined,
    ttl: number,
  ): void {
    if (typeof value === 'string' || isBytes(value)) {
      this.addCell(name, place, CellType.put, timestamp, ttl, value)
      return
    }
    if (typeof value !== 'object' || value === null) {
      throw invalidArgument(`value of '${name}' must be a string, bytes or {value, timestamp}`)
    }
    const { value: content, timestamp: own } = value as TimedValue
    if (content === undefined || countNames(value) !== (own === undefined ? 1 : 2))
      valueNames.check(value as TimedValue)
    this.addCell(name, place, CellType.put, own === undefined ? timestamp : own, ttl, content)
  }

  private addPutCell(
    cell: PutCell,
    place: number,
    timestamp: Timestamp | undefined,
    ttl: number,
  ): void {
    if (typeof cell !== 'object' || cell === null) {
      throw invalidArgument('each cell of a put must be an object {column, value}')
    }
    const { column, type: typeName, timestamp: own = timestamp, value = '' } = cell
    cellNames.check(cell)
    const type = typeName === undefined ? CellType.put : cellTypeCode(typeName)
    if (type === undefined) throw invalidArgument(`unknown cell type ${shown(typeName)}`)
    this.addCell(column, place, type, own, ttl, value)
  }

  /** Encodes one cell by its column's name. */
  private addCell(
    name: ColumnName,
    place: number,
    type: CellTypeCode,
    timestamp: Timestamp | undefined,
    ttl: number,
    value: BytesLike,
  ): void {
    const column = this.columns.find(name, place)
    if (typeof value !== 'string') checkBytesLike(value, 'value')
    if (type !== CellType.put && isFamilyMarker(type) && column.escapedQualifier.length > 0) {
      throw invalidArgument('a marker of a whole family has the empty qualifier')
    }
    this.encode(column.family, column.escapedQualifier, type, timestamp, ttl, value)
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
    const valueBytes = typeof value === 'string' ? textBytes(value) : value.length
    if (typeof value === 'string' && valueBytes !== value.length && !isWellFormed(value)) {
      throw loneSurrogate('value')
    }
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
      if (this.isPut) this.checkSlop(timestamp)
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
      valueBytes,
    )
  }

  /** The server's timestamp of this mutation: one for all its cells. */
  assignTimestamp(): number {
    if (this.serverTimestamp === 0) {
      const { engine, row } = this
      const now = this.groupTime === 0 ? engine.now() : this.groupTime
      this.serverTimestamp = this.isTrial ? 1 : engine.clock.propose(row.buffer, row.length, now)
      engine.mutation.raiseServerTimestamp(this.serverTimestamp)
    }
    return this.serverTimestamp
  }

  /** Applies the mutation: from now on it is part of the database. REQUIRES not a trial. */
  apply(durability: Durability): void {
    this.endMember()
    this.engine.apply(durability)
  }

  /** Applies all mutations of the group that were ended; false if there are none. */
  applyGroup(durability: Durability): boolean {
    if (this.engine.mutation.mutationCount === 0) return false
    this.engine.apply(durability)
    return true
  }

  /** Makes the cell encoded last part of {@link takeResult}. */
  includeInResult(family: FamilyState): void {
    this.resultCells.push(family.index, this.engine.mutation.entryCount - 1)
  }

  /** Whether cells were marked for the result. */
  get hasResult(): boolean {
    return this.resultCells.length > 0
  }

  /** The marked cells, as they were encoded, copied out of the mutation. REQUIRES `apply`. */
  takeResult(): CollectedRow {
    const { buffer, length, keyStarts, keyEnds, valueEnds } = this.engine.mutation
    const page = Buffer.from(buffer.subarray(0, this.hasResult ? length : 0))
    const cells: number[] = []
    for (let i = 0; i < this.resultCells.length; i += 2) {
      const entry = this.resultCells[i + 1]
      cells.push(this.resultCells[i], keyStarts[entry], keyEnds[entry], valueEnds[entry])
    }
    return { page, cells, partial: false }
  }

  /**
   * Refuses a timestamp of a put, an increment or an append that is too far ahead. Deletes have
   * none, as in HBase: what was written before the limit can still be deleted.
   */
  checkSlop(timestamp: Timestamp): void {
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
    throw invalidArgument(`ttl must be an integer of 1 to 2^48-1 milliseconds, got ${shown(ttl)}`)
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
    for (const entry of checkArray(columns as readonly { readonly column: ColumnName }[], what)) {
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
