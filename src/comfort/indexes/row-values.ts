/**
 * The newest values of a row's columns, before and after a mutation.
 *
 * The rules are HBase's: a family marker masks all puts of its family up to its timestamp, a column
 * marker those of its column, and version markers those of exactly their timestamp. Of the others
 * the greatest timestamp counts, and at equal timestamps the later mutation.
 */
import type { Cell, Result } from '../../api/results/result.js'
import { columnKey } from './declaration.js'

/** A newest value, by the names of `columnKey`. */
export type RowValues = ReadonlyMap<string, Cell>

/** The values in the result of a read. */
export function valuesOf(result: Result): RowValues {
  return newestOf(result.cells())
}

/**
 * The newest values among versions and delete markers: those of a raw read, and then the
 * cells of a mutation that is not applied.
 */
export function newestOf(cells: readonly Cell[]): RowValues {
  const masks = masksOf(cells)
  const newest = new Map<string, Cell>()
  for (const cell of cells) {
    if (cell.type !== 'Put') continue
    const key = columnKey(cell.family, cell.qualifier)
    if (masks !== undefined && isMasked(masks, cell, key)) continue
    const known = newest.get(key)
    if (known !== undefined) {
      if (cell.timestamp < known.timestamp) continue
      if (cell.timestamp === known.timestamp && cell.sequence < known.sequence) continue
    }
    newest.set(key, cell)
  }
  return newest
}

/** Greatest masked timestamp by family or column, and exactly masked timestamps. */
interface Masks {
  readonly upTo: Map<string, number>
  readonly exactly: Set<string>
}

function masksOf(cells: readonly Cell[]): Masks | undefined {
  let masks: Masks | undefined
  for (const { type, family, qualifier, timestamp } of cells) {
    if (type === 'Put') continue
    const { upTo, exactly } = (masks ??= {
      upTo: new Map<string, number>(),
      exactly: new Set<string>(),
    })
    const isOfFamily = type === 'DeleteFamily' || type === 'DeleteFamilyVersion'
    const key = isOfFamily ? family : columnKey(family, qualifier)
    if (type === 'Delete' || type === 'DeleteFamilyVersion') exactly.add(`${timestamp} ${key}`)
    else upTo.set(key, Math.max(timestamp, upTo.get(key) ?? 0))
  }
  return masks
}

function isMasked({ upTo, exactly }: Masks, { family, timestamp }: Cell, key: string): boolean {
  for (const name of [family, key]) {
    if (timestamp <= (upTo.get(name) ?? -1) || exactly.has(`${timestamp} ${name}`)) return true
  }
  return false
}
