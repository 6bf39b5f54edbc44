/**
 * Verification: every cell of the store against the source, in one scan that walks both in step,
 * and then every city once more by a get of its own.
 *
 * Compared are row, column, timestamp, type, value and the number of versions; cells too many and
 * cells missing are differences as well.
 */
import type { BackendDatabase, Cell, Result, Table } from '../../src/entries/index.js'
import { pause } from './pause.js'
import type { Reporter } from './report.js'
import type { Rounds } from './rounds.js'
import {
  citiesTable,
  encodeInteger,
  expectedCells,
  populationAt,
  populationColumn,
  rowOf,
  type ExpectedCell,
} from './schema.js'
import type { City } from './source.js'

/** A wrong store is wrong everywhere; so many lines are enough to see how. */
const differencesMax = 20
const rowsPerRead = 1000

/** Outcome of a verification. */
export interface Verification {
  readonly cityCount: number
  readonly cellCount: number
  /** What differs, in words; empty if nothing does. Ends after the first twenty. */
  readonly differences: readonly string[]
}

/** A city with its place in the source. */
interface Expected {
  readonly row: string
  readonly city: City
  readonly index: number
}

/** Verifies all cities of the store. */
export async function verifyCities(
  database: BackendDatabase,
  rounds: Rounds,
  loaded: readonly City[],
  reporter: Reporter,
  signal: AbortSignal,
): Promise<Verification> {
  const table = database.table(citiesTable)
  const expected = loaded.map((city, index): Expected => ({ row: rowOf(city), city, index }))
  // Row keys are ASCII, where the order of strings is the order of bytes.
  expected.sort((a, b) => (a.row < b.row ? -1 : 1))
  const verifier = new Verifier(rounds, expected)
  await scanAll(table, verifier, reporter, signal)
  const { cellCount, differences } = verifier
  if (differences.length === 0) await getAll(table, rounds, expected, differences, reporter, signal)
  return { cityCount: loaded.length, cellCount, differences }
}

async function scanAll(
  table: Table,
  verifier: Verifier,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const progress = reporter.progress('verifying by scan', 'cities', verifier.cityCount)
  const scanner = table.scan({ versions: 'all' })
  try {
    for (;;) {
      await pause(signal)
      const results = await scanner.nextBatch(rowsPerRead)
      if (results.length === 0) break
      for (const result of results) verifier.add(result)
      if (verifier.isHopeless) return
      progress.update(verifier.position)
    }
    verifier.finish()
  } finally {
    scanner.close()
    progress.stop()
  }
}

async function getAll(
  table: Table,
  rounds: Rounds,
  expected: readonly Expected[],
  differences: string[],
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const progress = reporter.progress('verifying by get', 'cities', expected.length)
  try {
    for (let from = 0; from < expected.length; from += rowsPerRead) {
      await pause(signal)
      const some = expected.slice(from, from + rowsPerRead)
      const columns = [populationColumn]
      const results = await table.getList(some.map(({ row }) => ({ row, columns })))
      some.forEach(({ row, city, index }, i) => {
        const [newest] = rounds.withCity(index)
        const value = encodeInteger(populationAt(city, newest.number))
        const [cell, ...others] = results[i].cells()
        const wanted = { column: populationColumn, timestamp: newest.timestamp, value }
        const same = cell !== undefined && others.length === 0 && isSame(cell, wanted)
        if (!same && differences.length < differencesMax) {
          differences.push(`get of ${row}: found ${show(cell)}, expected ${showExpected(wanted)}`)
        }
      })
      progress.update(from + some.length)
    }
  } finally {
    progress.stop()
  }
}

/** Takes the rows of a scan one after the other and compares them with the expected ones. */
class Verifier {
  /** How many expected rows have been passed. */
  position = 0
  cellCount = 0
  readonly differences: string[] = []
  private readonly rounds: Rounds
  private readonly expected: readonly Expected[]

  /** REQUIRES `expected` in the order of the rows. */
  constructor(rounds: Rounds, expected: readonly Expected[]) {
    this.rounds = rounds
    this.expected = expected
  }

  get cityCount(): number {
    return this.expected.length
  }

  /** So many differences that going on tells nothing new. */
  get isHopeless(): boolean {
    return this.differences.length >= differencesMax
  }

  add(result: Result): void {
    if (this.isHopeless) return
    const row = String(result.row)
    while (this.position < this.expected.length && this.expected[this.position].row < row) {
      this.differ(`row ${this.expected[this.position].row} is missing`)
      this.position++
    }
    const expected = this.expected[this.position] as Expected | undefined
    if (expected?.row !== row) {
      this.differ(`row ${row} is not expected (here or at all)`)
      return
    }
    this.position++
    this.compare(row, result.cells(), expected)
  }

  /** After the last row. */
  finish(): void {
    for (; this.position < this.expected.length && !this.isHopeless; this.position++) {
      this.differ(`row ${this.expected[this.position].row} is missing`)
    }
  }

  private compare(row: string, cells: readonly Cell[], { city, index }: Expected): void {
    const wanted = expectedCells(city, this.rounds.withCity(index))
    for (let i = 0; i < Math.max(cells.length, wanted.length); i++) {
      const [found, expected] = [cells.at(i), wanted.at(i)]
      if (found !== undefined && expected !== undefined && isSame(found, expected)) this.cellCount++
      else this.differ(`row ${row}: found ${show(found)}, expected ${showExpected(expected)}`)
    }
  }

  private differ(what: string): void {
    if (!this.isHopeless) this.differences.push(what)
  }
}

function columnOf(cell: Cell): string {
  return `${cell.family}:${cell.qualifier.toString()}`
}

function isSame(cell: Cell, expected: ExpectedCell): boolean {
  return (
    cell.type === 'Put' &&
    cell.timestamp === expected.timestamp &&
    columnOf(cell) === expected.column &&
    cell.value.equals(expected.value)
  )
}

function show(cell: Cell | undefined): string {
  if (cell === undefined) return 'nothing'
  return `${cell.type} ${columnOf(cell)} @${cell.timestamp} = ${cell.value.toString('hex')}`
}

function showExpected(cell: ExpectedCell | undefined): string {
  if (cell === undefined) return 'nothing'
  return `Put ${cell.column} @${cell.timestamp} = ${cell.value.toString('hex')}`
}
