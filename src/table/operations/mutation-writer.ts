/**
 * Turns the mutations of callers into cells of the engine's mutation buffer.
 *
 * A writer belongs to one engine. `begin` sets row and sequence; the `add…` methods check and
 * encode. Nothing is part of the database before `apply`, so any error leaves it unchanged.
 *
 * Several mutations can be applied together as a group: `beginGroup`, then for each mutation
 * `beginMember`, `add…` and `endMember` or `dropMember`. Each mutation has its own sequence.
 */
import { noSuchFamily } from '../../api/names.js'
import { isText, loneSurrogate } from '../../base/arguments.js'
import {
  checkSlop,
  checkValue,
  markerWithQualifier,
  readPut,
  type PutTarget,
} from '../../checks/puts.js'
import { assert } from '../../base/assert.js'
import { isFamilyMarker } from '../../storage/cell/cell-key.js'
import { CellType, type CellTypeCode } from '../../storage/cell/cell-type.js'
import { parseSingleColumn } from '../../storage/cell/column-name.js'
import { cellOverheadBytes, checkCellBytes } from '../../storage/cell/limits.js'
import {
  checkTimestamp,
  latestTimestamp,
  timestampHigh,
  timestampLow,
  type Timestamp,
} from '../../storage/cell/timestamp.js'
import type { FamilyState, TableState } from '../../storage/engine/catalog/catalog.js'
import { textBytes, type MutationBuffer } from '../../storage/engine/write/mutation-buffer.js'
import type { ServerClock } from '../../storage/engine/write/server-clock.js'
import type { WritePath } from '../../storage/engine/write/write-path.js'
import type { Durability } from '../../storage/wal/log-options.js'
import type { CollectedRow } from '../../storage/scan/collected-row.js'
import type { RowKey } from '../arguments/row-key.js'
import type { BytesLike, ColumnName, Put, RowOperation } from '../../api/index.js'

/** A column of a table. */
interface TableColumn {
  readonly family: FamilyState
  /** The qualifier as encoded in keys. */
  readonly escapedQualifier: Buffer
}

interface KnownColumn extends TableColumn {
  readonly name: string
}

/** Maximum number of remembered columns per put. */
const placesMax = 64

/**
 * Finds the columns that puts name, of one table at a time.
 *
 * The puts of a program name few columns, mostly the same in the same order. So each name is first
 * compared with the name at the same index of the previous put, at the cost of one comparison of
 * strings.
 */
class PutColumns {
  private table: TableState | undefined = undefined
  private known: KnownColumn[] = []

  /** Sets the table; forgets the columns of another one. */
  use(table: TableState): void {
    if (this.table === table) return
    this.table = table
    this.known = []
  }

  /**
   * The column with that name, at index `place` of its put; `ERR_INVALID_ARGUMENT`,
   * `ERR_NO_SUCH_COLUMN_FAMILY`. REQUIRES a table.
   */
  find(name: ColumnName, place: number): TableColumn {
    if (place < this.known.length) {
      const known = this.known[place]
      if (known.name === name) return known
    }
    const parsed = parseSingleColumn(name)
    const family = this.family(parsed.family)
    const { escapedQualifier } = parsed
    if (typeof name === 'string' && place <= this.known.length && place < placesMax) {
      this.known[place] = { name, family, escapedQualifier }
    }
    return { family, escapedQualifier }
  }

  /** Finds a family or throws `ERR_NO_SUCH_COLUMN_FAMILY`. REQUIRES a table. */
  family(name: string): FamilyState {
    const { familyByName, name: tableName, familyNames } = this.table!
    const family = familyByName.get(name)
    if (family === undefined) throw noSuchFamily(name, tableName, familyNames)
    return family
  }
}

export class MutationWriter implements PutTarget {
  readonly writes: WritePath
  private readonly mutation: MutationBuffer
  private readonly clock: ServerClock
  /** Whether the mutation is only checked and will not be applied. */
  isTrial = false
  private row!: RowKey
  private readonly columns = new PutColumns()
  /** Time of the group in milliseconds; 0 = the clock is read when a cell first needs it. */
  private groupTime = 0
  /** Server timestamp of this mutation; 0 = not assigned yet. */
  private serverTimestamp = 0
  private putTimestampMin: Timestamp = 0
  /** Whether the cells being added belong to a put, not to an increment or append. */
  private isPut = false
  /** Index of the family and index of the entry, for each cell of the result. */
  private resultCells: number[] = []
  /** Whether the mutation has an increment or an append, whether or not that returns its cells. */
  givesResult = false

  constructor(writes: WritePath) {
    this.writes = writes
    this.mutation = writes.mutation
    this.clock = writes.clock
  }

  /**
   * Starts a mutation of one row. Puts without timestamp get at least `putTimestampMin`. A trial
   * only checks the arguments and is not applied.
   */
  begin(table: TableState, row: RowKey, putTimestampMin: Timestamp = 0, isTrial = false): void {
    this.beginGroup(table, row, 0)
    this.beginMember(putTimestampMin, isTrial)
  }

  /**
   * Starts a group of mutations of the rows that `row` will hold. `now` is the time of all of them
   * in milliseconds; 0 = the clock is read when a cell first needs it.
   */
  beginGroup(table: TableState, row: RowKey, now: number): void {
    this.columns.use(table)
    this.row = this.mutation.row = row
    this.groupTime = now
    if (this.resultCells.length > 0) this.resultCells = []
    this.givesResult = false
    this.clock.release()
    this.mutation.begin()
  }

  /** Whether the group takes another mutation. */
  get hasRoom(): boolean {
    return this.mutation.hasRoom
  }

  /** Starts a mutation of the group. */
  beginMember(putTimestampMin: Timestamp = 0, isTrial = false): void {
    this.isTrial = isTrial
    this.isPut = false
    this.mutation.sequence = this.writes.readPoints.lastSequence + 1 + this.mutation.mutationCount
    this.serverTimestamp = 0
    this.putTimestampMin = putTimestampMin
    this.mutation.open()
  }

  /** Ends a mutation, which will be applied with the group. Records its timestamp. */
  endMember(): void {
    const { clock, mutation } = this
    mutation.finish()
    if (this.serverTimestamp !== 0) clock.accept()
    clock.keep()
  }

  /** Removes the unfinished mutation. */
  dropMember(): void {
    this.mutation.drop()
  }

  /**
   * Continues with another row under the same sequence, after the caller has changed the row passed
   * to `begin`. A mutation that is not applied uses up no timestamp of any row.
   */
  nextRow(): void {
    if (this.serverTimestamp !== 0) this.clock.reserve()
    this.serverTimestamp = 0
    this.putTimestampMin = 0
  }

  /**
   * Continues with a row of another table, under the sequence of the mutation that `other` has
   * begun. REQUIRES a writer of the same engine.
   */
  join(other: MutationWriter, table: TableState, row: RowKey): void {
    assert(other.writes === this.writes, 'the writers of a batch are of one engine')
    other.nextRow()
    this.columns.use(table)
    this.row = this.mutation.row = row
    this.groupTime = other.groupTime
    if (this.resultCells.length > 0) this.resultCells = []
    this.isTrial = false
    this.isPut = false
    this.serverTimestamp = 0
    this.putTimestampMin = 0
  }

  /** The family with that name. Throws `ERR_NO_SUCH_COLUMN_FAMILY`. */
  family(name: string): FamilyState {
    return this.columns.family(name)
  }

  /** The server's timestamp of the cells of this row so far; undefined if no cell has it. */
  get clockTimestamp(): number | undefined {
    return this.serverTimestamp === 0 ? undefined : this.serverTimestamp
  }

  /** Encodes the cells of a put. */
  addPut(put: RowOperation<Put>): void {
    this.isPut = true
    readPut(put, this)
    this.isPut = false
  }

  /** Encodes one cell, given the name of its column. */
  addCell(
    name: ColumnName,
    place: number,
    type: CellTypeCode,
    timestamp: Timestamp | undefined,
    ttl: number,
    value: BytesLike,
  ): void {
    const column = this.columns.find(name, place)
    checkValue(value)
    if (type !== CellType.put && isFamilyMarker(type) && column.escapedQualifier.length > 0) {
      throw markerWithQualifier()
    }
    this.encode(column.family, column.escapedQualifier, type, timestamp, ttl, value)
  }

  /** Encodes one cell. A missing timestamp, or 2^63-1, means the server's. */
  encode(
    family: FamilyState,
    qualifier: Buffer,
    type: CellTypeCode,
    timestamp: Timestamp | undefined,
    ttl: number,
    value: BytesLike,
  ): void {
    const { row, writes } = this
    const valueBytes = typeof value === 'string' ? textBytes(value) : value.length
    if (typeof value === 'string' && valueBytes !== value.length && !isText(value)) {
      throw loneSurrogate('value')
    }
    checkCellBytes(
      row.length + family.name.length + qualifier.length + valueBytes + cellOverheadBytes,
      writes.options.cellBytesMax,
    )
    const { mutation } = this
    if (timestamp === undefined || timestamp === latestTimestamp) {
      const assigned = this.assignTimestamp()
      const chosen = this.isPut && this.putTimestampMin > assigned ? this.putTimestampMin : assigned
      mutation.timestampHigh = timestampHigh(chosen)
      mutation.timestampLow = timestampLow(chosen)
    } else {
      checkTimestamp(timestamp, 'timestamp')
      if (this.isPut) this.checkSlop(timestamp)
      mutation.timestampHigh = timestampHigh(timestamp)
      mutation.timestampLow = timestampLow(timestamp)
    }
    mutation.add(family.store, qualifier, type, ttl, value, valueBytes)
  }

  /** The server's timestamp of this mutation, the same for all its cells. */
  assignTimestamp(): number {
    if (this.serverTimestamp === 0) {
      const { clock, row } = this
      if (this.groupTime === 0) this.groupTime = clock.now()
      this.serverTimestamp = this.isTrial
        ? 1
        : clock.propose(row.buffer, row.length, this.groupTime)
      this.mutation.raiseServerTimestamp(this.serverTimestamp)
    }
    return this.serverTimestamp
  }

  /** Applies the mutation, which is then part of the database. REQUIRES that it is no trial. */
  apply(durability: Durability): void {
    assert(!this.isTrial, 'a trial is not applied')
    this.endMember()
    this.writes.apply(durability)
  }

  /** Applies all ended mutations of the group. Returns false if there are none. */
  applyGroup(durability: Durability): boolean {
    if (this.mutation.mutationCount === 0) return false
    this.writes.apply(durability)
    return true
  }

  /** Adds the cell encoded last to the result; see {@link takeResult}. */
  includeInResult(family: FamilyState): void {
    this.resultCells.push(family.index, this.mutation.entryCount - 1)
  }

  /** Whether the result has cells. */
  get hasResult(): boolean {
    return this.resultCells.length > 0
  }

  /** Copies the cells of the result out of the mutation buffer. REQUIRES `apply`. */
  takeResult(): CollectedRow {
    const { buffer, length, keyStarts, keyEnds, valueEnds } = this.mutation
    const page = Buffer.from(buffer.subarray(0, this.hasResult ? length : 0))
    const cells: number[] = []
    for (let i = 0; i < this.resultCells.length; i += 2) {
      const entry = this.resultCells[i + 1]
      cells.push(this.resultCells[i], keyStarts[entry], keyEnds[entry], valueEnds[entry])
    }
    return { page, cells, partial: false }
  }

  /**
   * Throws `ERR_FAILED_SANITY_CHECK` for a timestamp of a put, an increment or an append that is
   * too far ahead. As in HBase deletes have no limit, so that cells written before the limit was
   * set can be deleted.
   */
  checkSlop(timestamp: Timestamp): void {
    const slop = this.writes.options.timestampSlopMilliseconds
    if (slop !== Infinity) checkSlop(timestamp, this.clock.now(), slop)
  }
}
