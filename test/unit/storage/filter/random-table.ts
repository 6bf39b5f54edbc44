/** A small random table with delete markers, and what a reader must see of it. */
import type { Scan } from '../../../../src/api/index.js'
import type { Filter } from '../../../../src/storage/filter/filter.js'
import { plainResult } from '../../../helpers/cells/plain-cells.js'
import { callsOf } from '../../../helpers/table-calls.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import {
  bytes,
  families,
  orderOf,
  qualifiers,
  values,
  type Choice,
  type NaiveCell,
} from './naive.js'

export type TableState = 'memtable' | 'flushed' | 'both' | 'reopened'
export const tableStates: readonly TableState[] = ['memtable', 'flushed', 'both', 'reopened']

export interface RandomTable {
  readonly test: TestDatabase
  /** What is visible, in the order of a forward scan. */
  readonly cells: readonly NaiveCell[]
}

interface Marker {
  readonly row: string
  readonly family: string
  readonly qualifier: string | undefined
  readonly timestamp: number
  readonly exact: boolean
}

/** Opens a database with a table `t` of random cells and markers, timestamps 0 to 7. */
export async function makeTable(
  choice: Choice,
  state: TableState,
  withEmptyQualifier = true,
): Promise<RandomTable> {
  const test = await TestDatabase.open()
  const options = { versions: 100, blockBytes: 1024 } as const
  await test.database.createTable('t', { families: { f: options, g: options } })
  const table = test.database.table('t')
  const rows = Array.from({ length: 8 }, () => choice.row())
  const puts = new Map<string, NaiveCell>()
  const markers: Marker[] = []
  for (let step = 0; step < 120; step++) {
    const row = choice.of(rows)
    const family = choice.of(families)
    const qualifier = choice.of(withEmptyQualifier ? qualifiers : qualifiers.slice(1))
    const timestamp = choice.below(8)
    if (choice.below(8) === 0) {
      const column = { family, qualifier: bytes(qualifier), timestamp }
      const kind = choice.below(4)
      if (kind === 0) table.deleteSync({ row: bytes(row), families: [{ family, timestamp }] })
      if (kind === 1) table.deleteSync({ row: bytes(row), familyVersions: [{ family, timestamp }] })
      if (kind === 2) table.deleteSync({ row: bytes(row), columns: [column] })
      if (kind === 3) table.deleteSync({ row: bytes(row), columnVersions: [column] })
      const exact = kind === 1 || kind === 3
      markers.push({ row, family, qualifier: kind < 2 ? undefined : qualifier, timestamp, exact })
    } else {
      const value = choice.of(values)
      const cell = {
        column: { family, qualifier: bytes(qualifier) },
        timestamp,
        value: bytes(value),
      }
      table.putSync({ row: bytes(row), cells: [cell] })
      const place = JSON.stringify([row, family, qualifier, timestamp])
      puts.set(place, { row, family, qualifier, timestamp, value })
    }
    if (state === 'both' && step === 60) await test.flush()
  }
  if (state === 'flushed' || state === 'reopened') await test.flush()
  if (state === 'reopened') await test.reopen()
  const cells = [...puts.values()].filter((cell) => !markers.some((each) => masks(each, cell)))
  return { test, cells: cells.sort(inScanOrder) }
}

function masks(marker: Marker, cell: NaiveCell): boolean {
  if (marker.row !== cell.row || marker.family !== cell.family) return false
  if (marker.qualifier !== undefined && marker.qualifier !== cell.qualifier) return false
  return marker.exact ? cell.timestamp === marker.timestamp : cell.timestamp <= marker.timestamp
}

function inScanOrder(a: NaiveCell, b: NaiveCell): number {
  return (
    orderOf(a.row, b.row) ||
    orderOf(a.family, b.family) ||
    orderOf(a.qualifier, b.qualifier) ||
    b.timestamp - a.timestamp
  )
}

/** Cells by row, in the order in which a scan returns them. */
export function rowsOf(cells: readonly NaiveCell[], reversed: boolean): NaiveCell[][] {
  const rows: NaiveCell[][] = []
  for (const cell of cells) {
    if (rows.at(-1)?.[0].row === cell.row) rows.at(-1)!.push(cell)
    else rows.push([cell])
  }
  return reversed ? rows.reverse() : rows
}

/** Only the newest so many cells of each column. */
export function newest(cells: readonly NaiveCell[], versions: number): NaiveCell[] {
  const counts = new Map<string, number>()
  return cells.filter(({ row, family, qualifier }) => {
    const column = JSON.stringify([row, family, qualifier])
    const count = (counts.get(column) ?? 0) + 1
    counts.set(column, count)
    return count <= versions
  })
}

export function show(rows: readonly (readonly NaiveCell[])[]): string[] {
  return rows
    .filter((cells) => cells.length > 0)
    .map((cells) => {
      const texts = cells.map(({ family, qualifier, timestamp, value }) => {
        return `${family}:${JSON.stringify(qualifier)}@${timestamp}=${JSON.stringify(value)}`
      })
      return `${JSON.stringify(cells[0].row)} ${texts.join(' ')}`
    })
}

/** What the engine returns, in the same form. */
export async function scanTable(
  { test }: RandomTable,
  filter: Filter,
  scan: Scan,
  form: 'sync' | 'async' = 'sync',
): Promise<string[]> {
  const results = await callsOf(test.database.table('t'), form).scan({ ...scan, filter })
  return show(
    results.map((result) => {
      return plainResult(result).cells.map((cell) => ({
        ...cell,
        timestamp: Number(cell.timestamp),
      }))
    }),
  )
}
