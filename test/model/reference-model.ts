/**
 * A table as HBase means it: every cell ever written in one array, and each operation as the
 * specification words it. Slow, complete and without cleverness; the engine is compared with it.
 */
import type { ManualClock } from '../../src/base/clock.js'
import { ErrorCode } from '../../src/base/errors.js'
import type { CellTypeName } from '../../src/cell/cell-type.js'
import type { Timestamp } from '../../src/cell/timestamp.js'
import type {
  Append,
  BytesLike,
  Check,
  CheckAction,
  ColumnName,
  Delete,
  FamilyOptions,
  Get,
  Increment,
  MultiRowMutations,
  Mutation,
  Put,
  PutCell,
  PutValue,
  RowMutations,
  RowOperation,
  Scan,
} from '../../src/api/index.js'
import { binary, type PlainCell, type PlainResult } from '../helpers/plain-cells.js'
import {
  compactedCells,
  compareCells,
  flushedCells,
  readFamily,
  type FamilyRead,
  type FamilyRules,
  type StoredCell,
} from './reading-rules.js'
import { inBounds, rangeOf } from './read-options.js'

/** A refusal by the model, with the code that the engine must raise. */
export class ModelError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode) {
    super(code)
    this.code = code
  }
}

/** A cell about to be written. */
type NewCell = Omit<StoredCell, 'row' | 'sequence' | 'inMemtable' | 'run'>
/** Gives the timestamp of the mutation under way; asked at most once per row mutation. */
type ServerTime = () => bigint

/** What a snapshot shows, for good. */
export interface ModelSnapshot {
  /** Sequence of the newest mutation that it sees. */
  readonly sequence: number
  readonly cells: readonly StoredCell[]
  /** Milliseconds; cells expire as of then. */
  readonly now: bigint
}

const latest = 2n ** 63n - 1n

interface Column {
  readonly family: string
  readonly qualifier: string | undefined
}

function parse(column: ColumnName): Column {
  if (typeof column === 'object' && 'family' in column) {
    const { family, qualifier } = column
    return {
      family: binary(family),
      qualifier: qualifier === undefined ? undefined : binary(qualifier),
    }
  }
  const text = binary(column)
  const colon = text.indexOf(':')
  if (colon < 0) return { family: text, qualifier: undefined }
  return { family: text.slice(0, colon), qualifier: text.slice(colon + 1) }
}

function explicit(timestamp: Timestamp | undefined): bigint | undefined {
  if (timestamp === undefined || BigInt(timestamp) === latest) return undefined
  return BigInt(timestamp)
}

function entriesOf<T>(
  columns: Readonly<Record<string, T>> | readonly { readonly column: ColumnName }[],
): [Column, unknown][] {
  if (Array.isArray(columns)) {
    const list = columns as readonly { column: ColumnName; amount?: unknown; value?: unknown }[]
    return list.map((entry) => [parse(entry.column), entry.amount ?? entry.value])
  }
  return Object.entries(columns).map(([name, value]) => [parse(name), value])
}

function counterBytes(value: bigint): string {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt.asIntN(64, value))
  return bytes.toString('latin1')
}

/** `expected operator stored`, bytes unsigned. */
function compares(operator: string, expected: string, stored: string): boolean {
  switch (operator) {
    case 'LESS':
      return expected < stored
    case 'LESS_OR_EQUAL':
      return expected <= stored
    case 'EQUAL':
      return expected === stored
    case 'NOT_EQUAL':
      return expected !== stored
    case 'GREATER_OR_EQUAL':
      return expected >= stored
    default:
      return expected > stored
  }
}

export class ReferenceModel {
  readonly families = new Map<string, FamilyRules>()
  cells: StoredCell[] = []
  /** Sequence of the newest mutation. */
  sequence = 0
  private readonly clock: ManualClock
  private lastRun = 0
  private readonly openSnapshots: ModelSnapshot[] = []
  /** The last timestamp that the engine gave to a mutation of a row. */
  private readonly serverTimes = new Map<string, bigint>()
  /** The one given to the mutation under way; 0 = none yet. */
  private serverTimeGiven = 0n
  /** The highest of those that were written; after reopening all rows go on above it. */
  private serverTimeWritten = 0n
  private serverTimeFloor = 0n

  constructor(families: Readonly<Record<string, FamilyOptions>>, clock: ManualClock) {
    this.clock = clock
    for (const [name, options] of Object.entries(families)) {
      const seconds = options.ttl ?? Infinity
      this.families.set(name, {
        versions: options.versions ?? 1,
        minVersions: options.minVersions ?? 0,
        ttl: seconds === Infinity ? undefined : BigInt(seconds) * 1000n,
        keepDeletedCells: options.keepDeletedCells ?? false,
        newVersionBehavior: options.newVersionBehavior ?? false,
      })
    }
  }

  // Writing

  put(put: Put): void {
    const now = this.serverTime(put.row)
    this.write(put.row, this.putCells(put, now))
  }

  delete(deletion: Delete): void {
    const now = this.serverTime(deletion.row)
    this.write(deletion.row, this.deleteCells(deletion.row, deletion, now))
  }

  increment(increment: Increment): PlainResult {
    const now = this.serverTime(increment.row)
    const cells = this.incrementCells(increment.row, increment, now)
    this.write(increment.row, cells)
    return this.written(increment.row, increment.returnResults === false ? [] : inOrder(cells))
  }

  append(append: Append): PlainResult {
    const now = this.serverTime(append.row)
    const cells = this.appendCells(append.row, append, now)
    this.write(append.row, cells)
    return this.written(append.row, append.returnResults === false ? [] : inOrder(cells))
  }

  mutateRow({ row, mutations }: RowMutations): PlainResult {
    const { cells, results } = this.mutationCells(row, mutations, 0n)
    this.write(row, cells)
    return this.written(row, results)
  }

  /** All or nothing, with one sequence for all rows, which must differ. */
  mutateRows({ rows }: MultiRowMutations): void {
    const parts = rows.map(({ row, mutations }) => {
      const { cells } = this.mutationCells(row, mutations, 0n)
      return { row, cells, given: this.serverTimeGiven }
    })
    for (const [position, { row, cells, given }] of parts.entries()) {
      if (position > 0) this.sequence--
      this.serverTimeGiven = given
      this.write(row, cells)
    }
  }

  checkAndMutate(
    check: Check,
    action: CheckAction,
  ): { readonly success: boolean; readonly result: PlainResult | undefined } {
    const column = parse(check.column!)
    const stored = this.newest(check.row, column, 1, check.timeRange)[0]
    const mutations = 'mutations' in action ? action.mutations : [action]
    const holds = this.holds(check, stored)
    if (!holds) return { success: false, result: undefined }
    const putTimeMin = stored?.timestamp ?? 0n
    const { cells, results } = this.mutationCells(check.row, mutations, putTimeMin)
    this.write(check.row, cells)
    const updates = mutations.some((each) => 'increment' in each || 'append' in each)
    const result = updates ? this.written(check.row, results) : undefined
    return { success: true, result }
  }

  /** All or nothing: every cell is computed from the state before, then all are written. */
  private mutationCells(
    row: BytesLike,
    mutations: readonly Mutation[],
    putTimeMin: bigint,
  ): { readonly cells: NewCell[]; readonly results: NewCell[] } {
    const now = this.serverTime(row)
    const putNow: ServerTime = () => (now() > putTimeMin ? now() : putTimeMin)
    const cells: NewCell[] = []
    const results: NewCell[] = []
    for (const mutation of mutations) {
      if ('put' in mutation) cells.push(...this.putCells(mutation.put, putNow))
      else if ('delete' in mutation) cells.push(...this.deleteCells(row, mutation.delete, now))
      else {
        const operation = 'increment' in mutation ? mutation.increment : mutation.append
        const made =
          'increment' in mutation
            ? this.incrementCells(row, mutation.increment, now)
            : this.appendCells(row, mutation.append, now)
        cells.push(...made)
        if (operation.returnResults !== false) results.push(...inOrder(made))
      }
    }
    return { cells, results }
  }

  private putCells(put: RowOperation<Put>, now: ServerTime): NewCell[] {
    const entries: readonly PutCell[] = Array.isArray(put.cells)
      ? (put.cells as readonly PutCell[])
      : Object.entries(put.cells as Readonly<Record<string, PutValue>>).map(([column, value]) => {
          return typeof value === 'object' && 'value' in value
            ? { column, ...value }
            : { column, value }
        })
    return entries.map((cell) => {
      return this.newCell(
        parse(cell.column),
        explicit(cell.timestamp ?? put.timestamp) ?? now(),
        cell.type ?? 'Put',
        binary(cell.value ?? ''),
        put.ttl ?? 0,
      )
    })
  }

  private deleteCells(row: BytesLike, deletion: RowOperation<Delete>, now: ServerTime): NewCell[] {
    const cells: NewCell[] = []
    const add = (
      column: Column,
      timestamp: Timestamp | undefined,
      type: CellTypeName,
      fallback: () => bigint = now,
    ): void => {
      const at = explicit(timestamp ?? deletion.timestamp) ?? fallback()
      cells.push(this.newCell(column, at, type, '', 0))
    }
    const { families, familyVersions, columns, columnVersions } = deletion
    for (const target of families ?? []) {
      const parts = typeof target === 'object' && 'family' in target ? target : { family: target }
      const timestamp = 'timestamp' in parts ? parts.timestamp : undefined
      add({ family: binary(parts.family), qualifier: '' }, timestamp, 'DeleteFamily')
    }
    for (const { family, timestamp } of familyVersions ?? []) {
      add({ family: binary(family), qualifier: '' }, timestamp, 'DeleteFamilyVersion')
    }
    for (const target of columns ?? []) {
      add(parse(target), timestampOf(target), 'DeleteColumn')
    }
    const mentions = new Map<string, number>()
    for (const target of columnVersions ?? []) {
      const column = parse(target)
      add(column, timestampOf(target), 'Delete', () => {
        const name = `${column.family}:${column.qualifier}`
        const n = (mentions.get(name) ?? 0) + 1
        mentions.set(name, n)
        return this.newest(row, column, n)[n - 1]?.timestamp ?? now()
      })
    }
    if (!families && !familyVersions && !columns && !columnVersions) {
      for (const family of [...this.families.keys()].sort()) {
        add({ family, qualifier: '' }, undefined, 'DeleteFamily')
      }
    }
    return cells
  }

  private incrementCells(
    row: BytesLike,
    increment: RowOperation<Increment>,
    now: ServerTime,
  ): NewCell[] {
    return entriesOf(increment.columns).map(([column, amount]) => {
      const old = this.newest(row, column, 1, increment.timeRange)[0]
      if (old !== undefined && old.value.length !== 8) throw new ModelError(ErrorCode.notACounter)
      const base = old === undefined ? 0n : Buffer.from(old.value, 'latin1').readBigInt64BE()
      const value = counterBytes(base + BigInt((amount as number | bigint | undefined) ?? 1))
      return this.updatedCell(column, old, value, increment, now)
    })
  }

  private appendCells(row: BytesLike, append: RowOperation<Append>, now: ServerTime): NewCell[] {
    return entriesOf(append.columns).map(([column, suffix]) => {
      const old = this.newest(row, column, 1, append.timeRange)[0]
      const value = (old?.value ?? '') + binary(suffix as BytesLike)
      return this.updatedCell(column, old, value, append, now)
    })
  }

  /** The successor of a counter or an appended value: always newer than the old cell. */
  private updatedCell(
    column: Column,
    old: StoredCell | undefined,
    value: string,
    options: { readonly timestamp?: Timestamp; readonly ttl?: number },
    now: ServerTime,
  ): NewCell {
    const ttl = options.ttl ?? old?.ttl ?? 0
    if (old === undefined) {
      return this.newCell(column, explicit(options.timestamp) ?? now(), 'Put', value, ttl)
    }
    const at = now() > old.timestamp ? now() : old.timestamp + 1n
    return this.newCell(column, at, 'Put', value, ttl)
  }

  private newCell(
    column: Column,
    timestamp: bigint,
    type: CellTypeName,
    value: string,
    ttl: number,
  ): NewCell {
    const { family, qualifier } = column
    if (!this.families.has(family)) throw new ModelError(ErrorCode.noSuchColumnFamily)
    return { family, qualifier: qualifier ?? '', timestamp, type, value, ttl }
  }

  /** One sequence for all; of cells equal in everything the later one stays. */
  private write(row: BytesLike, cells: readonly NewCell[]): void {
    this.sequence++
    if (this.serverTimeGiven > 0n) this.serverTimes.set(binary(row), this.serverTimeGiven)
    if (this.serverTimeGiven > this.serverTimeWritten) this.serverTimeWritten = this.serverTimeGiven
    for (const cell of cells) {
      const stored = {
        ...cell,
        row: binary(row),
        sequence: this.sequence,
        inMemtable: true,
        run: 0,
      }
      this.cells = this.cells.filter(
        (other) =>
          other.sequence !== stored.sequence ||
          other.row !== stored.row ||
          other.family !== stored.family ||
          compareCells(other, stored) !== 0,
      )
      this.cells.push(stored)
    }
  }

  private written(row: BytesLike, cells: readonly NewCell[]): PlainResult {
    const stored = cells.map((cell) => {
      return { ...cell, row: binary(row), sequence: 0, inMemtable: true, run: 0 }
    })
    return { cells: stored, partial: false }
  }

  /**
   * Strictly increasing for each row, also if the clock steps back. Only a mutation that is written
   * uses up its timestamp.
   */
  private serverTime(row: BytesLike): ServerTime {
    const name = binary(row)
    let time: bigint | undefined
    this.serverTimeGiven = 0n
    return () => {
      if (time === undefined) {
        const now = BigInt(this.clock.now())
        const known = this.serverTimes.get(name) ?? 0n
        const last = known > this.serverTimeFloor ? known : this.serverTimeFloor
        time = now > last ? now : last + 1n
        this.serverTimeGiven = time
      }
      return time
    }
  }

  /** Spec 2.8. */
  private holds(check: Check, stored: StoredCell | undefined): boolean {
    const operator = check.operator ?? 'EQUAL'
    const given = check.operator === undefined ? check.equals : check.value
    const expected = binary(given ?? '')
    if (expected === '') {
      if (stored === undefined) return operator !== 'NOT_EQUAL'
      return operator === 'NOT_EQUAL' ? stored.value !== '' : stored.value === ''
    }
    return stored !== undefined && compares(operator, expected, stored.value)
  }

  // Reading

  /** Everything as it is now. */
  private get present(): ModelSnapshot {
    return { sequence: this.sequence, cells: this.cells, now: BigInt(this.clock.now()) }
  }

  get(get: Get, view = this.present, keeps?: FamilyRead['keeps']): PlainResult {
    return { cells: this.rowCells(binary(get.row), get, view, keeps), partial: false }
  }

  scan(scan: Scan, view = this.present, keeps?: FamilyRead['keeps']): PlainResult[] {
    const rows = [...new Set(view.cells.map(({ row }) => row))].sort(compareStrings)
    if (scan.reversed) rows.reverse()
    const results: PlainResult[] = []
    let rowCount = 0
    for (const row of rows) {
      if (rowCount === (scan.limit ?? Infinity)) break
      if (!inBounds(row, scan)) continue
      const cells = this.rowCells(row, scan, view, keeps)
      if (cells.length === 0) continue
      rowCount++
      const batch = scan.batch ?? cells.length
      for (let start = 0; start < cells.length; start += batch) {
        const partial = start + batch < cells.length
        results.push({ cells: cells.slice(start, start + batch), partial })
      }
    }
    return results
  }

  private rowCells(
    row: string,
    options: Omit<Scan, 'row'>,
    view: ModelSnapshot,
    keeps?: FamilyRead['keeps'],
  ): PlainCell[] {
    const asked = (options.columns ?? []).map(parse)
    const found: PlainCell[] = []
    for (const family of [...this.families.keys()].sort(compareStrings)) {
      const columns = asked.filter((column) => column.family === family)
      if (asked.length > 0 && columns.length === 0) continue
      const whole = columns.length === 0 || columns.some((each) => each.qualifier === undefined)
      const range = rangeOf(options, family)
      const versions = options.versions ?? 1
      const read: FamilyRead = {
        versions: versions === 'all' ? Infinity : versions,
        min: range[0],
        max: range[1],
        raw: options.raw ?? false,
        qualifiers: whole ? undefined : columns.map((column) => column.qualifier!),
        offset: options.cellsPerFamilyOffset ?? 0,
        limit: options.cellsPerFamilyMax ?? Infinity,
        keeps,
      }
      const cells = view.cells.filter((cell) => cell.row === row && cell.family === family)
      found.push(...readFamily(cells, this.families.get(family)!, read, view.now))
    }
    return found
  }

  /** The newest versions of a column. */
  private newest(
    row: BytesLike,
    column: Column,
    versions: number,
    timeRange?: readonly [Timestamp, Timestamp],
  ): StoredCell[] {
    const { family, qualifier } = column
    if (!this.families.has(family)) throw new ModelError(ErrorCode.noSuchColumnFamily)
    const name = { family, qualifier: Buffer.from(qualifier ?? '', 'latin1') }
    const options = { columns: [name], versions, timeRange }
    return this.rowCells(binary(row), options, this.present) as StoredCell[]
  }

  // Snapshots and flushes

  /** Opens a snapshot: a copy of all cells. What happens to the others changes nothing of it. */
  openSnapshot(): ModelSnapshot {
    const snapshot = { ...this.present, cells: [...this.cells] }
    this.openSnapshots.push(snapshot)
    return snapshot
  }

  closeSnapshot(snapshot: ModelSnapshot): void {
    this.openSnapshots.splice(this.openSnapshots.indexOf(snapshot), 1)
  }

  /** What a close and an open leave: everything, in the same memtables, without snapshots. */
  reopen(): void {
    this.openSnapshots.length = 0
    this.serverTimes.clear()
    this.serverTimeFloor = this.serverTimeWritten
  }

  /** Drops what a flush of every family drops. */
  flush(): void {
    const now = BigInt(this.clock.now())
    const sequenceKept = Math.max(0, ...this.openSnapshots.map(({ sequence }) => sequence))
    const kept = this.cells.filter((cell) => !cell.inMemtable)
    const run = ++this.lastRun
    const memtable = this.cells.filter((cell) => cell.inMemtable)
    for (const [family, rules] of this.families) {
      for (const row of new Set(memtable.map((cell) => cell.row))) {
        const cells = memtable.filter((cell) => cell.row === row && cell.family === family)
        for (const cell of flushedCells(cells, rules, sequenceKept, now)) {
          cell.inMemtable = false
          cell.run = run
          kept.push(cell)
        }
      }
    }
    this.cells = kept
  }

  /** A file of the engine was removed unread. */
  dropRun(family: string, run: number): void {
    this.cells = this.cells.filter((cell) => cell.family !== family || cell.run !== run)
  }

  /** The runs of a family that hold anything, ascending. */
  runsOf(family: string): number[] {
    const stored = this.cells.filter((cell) => cell.family === family && !cell.inMemtable)
    return [...new Set(stored.map((cell) => cell.run))].sort((a, b) => a - b)
  }

  /** Drops what a compaction of some runs of a family drops, and makes them one. */
  merge(family: string, runs: readonly number[], major: boolean): void {
    const now = BigInt(this.clock.now())
    const rules = this.families.get(family)!
    const taken = (cell: StoredCell): boolean =>
      cell.family === family && !cell.inMemtable && runs.includes(cell.run)
    const inputs = this.cells.filter(taken)
    const kept = this.cells.filter((cell) => !taken(cell))
    let earliestPut = latest
    for (const { type, timestamp } of inputs) {
      if (type === 'Put' && timestamp < earliestPut) earliestPut = timestamp
    }
    const run = ++this.lastRun
    for (const row of new Set(inputs.map((cell) => cell.row))) {
      const cells = inputs.filter((cell) => cell.row === row)
      const left = major
        ? compactedCells(cells, rules, now, earliestPut)
        : flushedCells(cells, rules, 0, now)
      for (const cell of left) {
        cell.run = run
        kept.push(cell)
      }
    }
    this.cells = kept
  }
}

function timestampOf(target: unknown): Timestamp | undefined {
  return typeof target === 'object' && target !== null && 'timestamp' in target
    ? (target.timestamp as Timestamp | undefined)
    : undefined
}

function compareStrings(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Cells of one increment or append by their columns, mentions of one column as they are. */
function inOrder(cells: readonly NewCell[]): NewCell[] {
  return [...cells].sort((a, b) => {
    return compareStrings(a.family, b.family) || compareStrings(a.qualifier, b.qualifier)
  })
}
