/** The cells that mutations of one row write, by HBase's rules. */
import { noSuchFamily } from '../../../src/api/names.js'
import { notACounter } from '../../../src/checks/updates.js'
import type {
  Append,
  Delete,
  Increment,
  Mutation,
  Put,
  PutCell,
  PutValue,
  RowOperation,
} from '../../../src/api/mutations.js'
import type { TimeRangeOption } from '../../../src/api/reads.js'
import type { CellTypeName } from '../../../src/storage/cell/cell-type.js'
import type { BytesLike, ColumnName } from '../../../src/storage/cell/column-name.js'
import type { Timestamp } from '../../../src/storage/cell/timestamp.js'
import { columnOf, explicit, familyOf, timestampOf, type Column } from './column-parts.js'
import { binary, compareStrings } from './plain-cells.js'
import type { FamilyRules, StoredCell } from './reading-rules.js'
import type { ServerTime } from './server-times.js'

/** A cell about to be written. */
export type NewCell = Omit<
  StoredCell,
  'row' | 'sequence' | 'isServerTimed' | 'order' | 'inMemtable' | 'isReplaced' | 'run'
>

/** The newest state of a row, as mutations need it. */
export interface RowState {
  readonly table: string
  readonly families: ReadonlyMap<string, FamilyRules>
  /** The newest versions of a column, newest first. */
  newest(column: Column, versions: number, timeRange?: TimeRangeOption): readonly StoredCell[]
}

/** The cells that mutations write, and the cells that they return. */
export interface MutationOutcome {
  readonly cells: readonly NewCell[]
  /** Cells of increments and appends, in the order of the mutations. */
  readonly results: readonly NewCell[]
}

/** The greatest usable timestamp: 2^63-1 means "the server's time". Later cells repeat it. */
const lastTimestamp = 2n ** 63n - 2n

/**
 * Computes all cells from the state before the mutations. Puts without timestamp get at least
 * `putTimeMin`.
 */
export function cellsOf(
  state: RowState,
  mutations: readonly Mutation[],
  now: ServerTime,
  putTimeMin = 0n,
): MutationOutcome {
  const putNow: ServerTime = () => (now() > putTimeMin ? now() : putTimeMin)
  const cells: NewCell[] = []
  const results: NewCell[] = []
  for (const mutation of mutations) {
    if (mutation.put !== undefined) cells.push(...putCells(state, mutation.put, putNow))
    else if (mutation.delete !== undefined) cells.push(...deleteCells(state, mutation.delete, now))
    else {
      const operation = mutation.increment !== undefined ? mutation.increment : mutation.append
      const made =
        mutation.increment !== undefined
          ? incrementCells(state, mutation.increment, now)
          : appendCells(state, mutation.append, now)
      cells.push(...made)
      if (operation.returnResults !== false) results.push(...inOrder(made))
    }
  }
  return { cells, results }
}

function putCells(state: RowState, put: RowOperation<Put>, now: ServerTime): NewCell[] {
  const entries: readonly PutCell[] = Array.isArray(put.cells)
    ? (put.cells as readonly PutCell[])
    : Object.entries(put.cells as Readonly<Record<string, PutValue>>).map(([column, value]) => {
        return typeof value === 'object' && 'value' in value
          ? { column, ...value }
          : { column, value }
      })
  return entries.map((cell) => {
    return newCell(
      state,
      columnOf(cell.column),
      explicit(cell.timestamp ?? put.timestamp) ?? now(),
      cell.type ?? 'Put',
      binary(cell.value ?? ''),
      cell.ttlMilliseconds ?? put.ttlMilliseconds ?? 0,
    )
  })
}

function deleteCells(state: RowState, deletion: RowOperation<Delete>, now: ServerTime): NewCell[] {
  const cells: NewCell[] = []
  const add = (
    column: Column,
    timestamp: Timestamp | undefined,
    type: CellTypeName,
    fallback: () => bigint = now,
  ): void => {
    const at = explicit(timestamp ?? deletion.timestamp) ?? fallback()
    cells.push(newCell(state, column, at, type, '', 0))
  }
  const { families, familyVersions, columns, columnVersions } = deletion
  for (const target of families ?? []) {
    const parts = typeof target === 'object' && 'family' in target ? target : { family: target }
    const timestamp = 'timestamp' in parts ? parts.timestamp : undefined
    add({ family: familyOf(binary(parts.family)), qualifier: '' }, timestamp, 'DeleteFamily')
  }
  for (const { family, timestamp } of familyVersions ?? []) {
    add({ family: familyOf(binary(family)), qualifier: '' }, timestamp, 'DeleteFamilyVersion')
  }
  for (const target of columns ?? []) {
    add(columnOf(target), timestampOf(target), 'DeleteColumn')
  }
  const mentions = new Map<string, number>()
  for (const target of columnVersions ?? []) {
    const column = columnOf(target)
    add(column, timestampOf(target), 'Delete', () => {
      const name = `${column.family}:${column.qualifier}`
      const n = (mentions.get(name) ?? 0) + 1
      mentions.set(name, n)
      return state.newest(column, n)[n - 1]?.timestamp ?? now()
    })
  }
  if (!families && !familyVersions && !columns && !columnVersions) {
    for (const family of [...state.families.keys()].sort()) {
      add({ family, qualifier: '' }, undefined, 'DeleteFamily')
    }
  }
  return cells
}

function incrementCells(
  state: RowState,
  increment: RowOperation<Increment>,
  now: ServerTime,
): NewCell[] {
  return entriesOf(increment.columns).map(([column, amount]) => {
    const old = state.newest(column, 1, increment.timeRange)[0]
    if (old !== undefined && old.value.length !== 8) {
      throw notACounter(column.family, old.value.length)
    }
    const base = old === undefined ? 0n : Buffer.from(old.value, 'latin1').readBigInt64BE()
    const value = counterBytes(base + BigInt((amount as number | bigint | undefined) ?? 1))
    return updatedCell(state, column, old, value, increment, now)
  })
}

function appendCells(state: RowState, append: RowOperation<Append>, now: ServerTime): NewCell[] {
  return entriesOf(append.columns).map(([column, suffix]) => {
    const old = state.newest(column, 1, append.timeRange)[0]
    const value = (old?.value ?? '') + binary(suffix as BytesLike)
    return updatedCell(state, column, old, value, append, now)
  })
}

/** The new cell of an increment or append, which is always newer than the old cell. */
function updatedCell(
  state: RowState,
  column: Column,
  old: StoredCell | undefined,
  value: string,
  options: { readonly timestamp?: Timestamp; readonly ttlMilliseconds?: number },
  now: ServerTime,
): NewCell {
  const ttl = options.ttlMilliseconds ?? old?.ttl ?? 0
  if (old === undefined) {
    const at = explicit(options.timestamp) ?? now()
    return newCell(state, column, at, 'Put', value, ttl)
  }
  const newer = now() > old.timestamp ? now() : old.timestamp + 1n
  const at = newer > lastTimestamp ? lastTimestamp : newer
  return newCell(state, column, at, 'Put', value, ttl)
}

function newCell(
  state: RowState,
  column: Column,
  timestamp: bigint,
  type: CellTypeName,
  value: string,
  ttl: number,
): NewCell {
  const { family, qualifier } = column
  if (!state.families.has(family)) throw noSuchFamily(family, state.table, state.families.keys())
  return { family, qualifier: qualifier ?? '', timestamp, type, value, ttl }
}

function entriesOf<T>(
  columns: Readonly<Record<string, T>> | readonly { readonly column: ColumnName }[],
): [Column, unknown][] {
  if (Array.isArray(columns)) {
    const list = columns as readonly { column: ColumnName; amount?: unknown; value?: unknown }[]
    return list.map((entry) => [columnOf(entry.column), entry.amount ?? entry.value])
  }
  return Object.entries(columns).map(([name, value]) => [columnOf(name), value])
}

function counterBytes(value: bigint): string {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt.asIntN(64, value))
  return bytes.toString('latin1')
}

/**
 * Cells of one increment or append, sorted by column. Several mentions of a column keep their
 * order.
 */
function inOrder(cells: readonly NewCell[]): NewCell[] {
  return [...cells].sort((a, b) => {
    return compareStrings(a.family, b.family) || compareStrings(a.qualifier, b.qualifier)
  })
}
