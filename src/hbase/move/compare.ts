/** The comparison of a table in source and target, row by row, with all visible versions. */
import type { Cell, Database, Result, Snapshot } from '../../api/index.js'

const rowsPerRead = 100

/** A row that is not the same in source and target. */
export interface Difference {
  readonly row: Buffer
  readonly missing: readonly Cell[]
  /** Cells that only the target has. */
  readonly surplus: readonly Cell[]
}

/** What is compared. */
export interface Comparison {
  readonly source: Database
  readonly target: Database
  readonly table: string
  /** The moment of the source; undefined = the time of the call. */
  readonly snapshot: Snapshot | undefined
  /** Called with the number of cells of each equal row. */
  readonly count: (cells: number) => void
}

/** The differences of a table, in the order of rows. */
export async function* differences(comparison: Comparison): AsyncGenerator<Difference, void> {
  const { source, target, table, snapshot, count } = comparison
  const wanted = source.table(table).scan({ versions: 'all', snapshot })
  const found = target.table(table).scan({ versions: 'all' })
  try {
    let left = await nextRow(wanted)
    let right = await nextRow(found)
    while (left !== undefined || right !== undefined) {
      const order =
        left === undefined ? 1 : right === undefined ? -1 : Buffer.compare(left.row!, right.row!)
      const a = order <= 0 ? left! : undefined
      const b = order >= 0 ? right! : undefined
      const difference = differenceOf((a ?? b)!.row!, a, b)
      if (difference !== undefined) yield difference
      else count(a!.size)
      if (a !== undefined) left = await nextRow(wanted)
      if (b !== undefined) right = await nextRow(found)
    }
  } finally {
    wanted.close()
    found.close()
  }
}

/** The differences of single rows, which are read many at a time. */
export async function* differencesOfRows(
  { source, target, table, snapshot, count }: Comparison,
  rows: readonly Buffer[],
): AsyncGenerator<Difference, void> {
  for (let from = 0; from < rows.length; from += rowsPerRead) {
    const some = rows.slice(from, from + rowsPerRead)
    const gets = some.map((row) => ({ row, versions: 'all' as const }))
    const [wanted, found] = await Promise.all([
      source.table(table).getList(gets.map((get) => ({ ...get, snapshot }))),
      target.table(table).getList(gets),
    ])
    for (const [i, row] of some.entries()) {
      const difference = differenceOf(row, wanted[i], found[i])
      if (difference !== undefined) yield difference
      else if (!wanted[i].isEmpty) count(wanted[i].size)
    }
  }
}

async function nextRow(scan: AsyncIterator<Result, unknown>): Promise<Result | undefined> {
  const next = await scan.next()
  return next.done === true ? undefined : next.value
}

function differenceOf(
  row: Buffer,
  a: Result | undefined,
  b: Result | undefined,
): Difference | undefined {
  const wanted = cellsByName(a)
  const found = cellsByName(b)
  const missing = [...wanted].filter(([name]) => !found.has(name)).map(([, cell]) => cell)
  const surplus = [...found].filter(([name]) => !wanted.has(name)).map(([, cell]) => cell)
  if (missing.length + surplus.length === 0) return undefined
  return { row, missing, surplus }
}

function cellsByName(result: Result | undefined): Map<string, Cell> {
  return new Map((result?.cells() ?? []).map((cell) => [nameOf(cell), cell]))
}

/** A text that is equal for equal cells. */
export function nameOf({ family, qualifier, timestampExact, value }: Cell): string {
  return `${family}\0${timestampExact}\0${qualifier.toString('hex')}\0${value.toString('latin1')}`
}
