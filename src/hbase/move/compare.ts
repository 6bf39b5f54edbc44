/** The comparison of a table in source and target, row by row, with all visible versions. */
import type { Cell, Database, Result, Scan, Snapshot } from '../../api/index.js'

/** A row that is not the same in source and target. */
export interface Difference {
  readonly row: Buffer
  /** Cells that the target lacks. */
  readonly missing: readonly Cell[]
  /** Cells that only the target has. */
  readonly surplus: readonly Cell[]
}

/**
 * The differences of a table, in the order of rows; `count` is called with the number of
 * cells of each equal row.
 */
export async function* differences(
  source: Database,
  target: Database,
  table: string,
  {
    snapshot,
    row,
  }: { readonly snapshot?: Snapshot | undefined; readonly row?: Buffer | undefined },
  count: (cells: number) => void,
): AsyncGenerator<Difference, void> {
  const span: Scan = row === undefined ? {} : { startRow: row, stopRow: row, stopInclusive: true }
  const wanted = source.table(table).scan({ ...span, versions: 'all', snapshot })
  const found = target.table(table).scan({ ...span, versions: 'all' })
  try {
    let left = await nextRow(wanted)
    let right = await nextRow(found)
    while (left !== undefined || right !== undefined) {
      const order =
        left === undefined ? 1 : right === undefined ? -1 : Buffer.compare(left.row!, right.row!)
      const a = order <= 0 ? left! : undefined
      const b = order >= 0 ? right! : undefined
      const difference = differenceOf(a, b)
      if (difference !== undefined) yield difference
      else count(a!.cells().length)
      if (a !== undefined) left = await nextRow(wanted)
      if (b !== undefined) right = await nextRow(found)
    }
  } finally {
    wanted.close()
    found.close()
  }
}

async function nextRow(scan: AsyncIterator<Result, unknown>): Promise<Result | undefined> {
  const next = await scan.next()
  return next.done === true ? undefined : next.value
}

function differenceOf(a: Result | undefined, b: Result | undefined): Difference | undefined {
  const wanted = cellsByName(a)
  const found = cellsByName(b)
  const missing = [...wanted].filter(([name]) => !found.has(name)).map(([, cell]) => cell)
  const surplus = [...found].filter(([name]) => !wanted.has(name)).map(([, cell]) => cell)
  if (missing.length + surplus.length === 0) return undefined
  return { row: (a ?? b)!.row!, missing, surplus }
}

function cellsByName(result: Result | undefined): Map<string, Cell> {
  return new Map((result?.cells() ?? []).map((cell) => [nameOf(cell), cell]))
}

/** A text that is equal for equal cells. */
export function nameOf({ family, qualifier, timestampExact, value }: Cell): string {
  return `${family}\0${timestampExact}\0${qualifier.toString('hex')}\0${value.toString('latin1')}`
}
