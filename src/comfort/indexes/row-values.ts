/**
 * The newest values of a row's columns, before and after a mutation.
 *
 * The rules are HBase's: a family marker masks all puts of its family up to its timestamp, a column
 * marker those of its column, and version markers those of exactly their timestamp. Of the others
 * the greatest timestamp counts, and at equal timestamps the later mutation.
 */
import { equalBytes } from '../../base/bytes.js'
import type { WrittenCell } from '../../api/observer.js'
import type { Cell, Result } from '../../api/results/result.js'

/** The name of a column within the values of a row. */
export function columnKey(family: string, qualifier: Buffer): string {
  return `${family}:${qualifier.toString('latin1')}`
}

/** The newest values of a row: of a result of newest values, or of {@link newestOf}. */
export interface RowValues {
  /** The value of a column by its name of `columnKey`; undefined: it has none. */
  value(column: string): Buffer | undefined
  /** All values, one cell of each column. */
  cells(): Iterable<Cell>
}

/** Newest values among versions, by the names of `columnKey`. */
class NewestValues implements RowValues {
  readonly byName = new Map<string, Cell>()

  value(column: string): Buffer | undefined {
    return this.byName.get(column)?.value
  }

  cells(): Iterable<Cell> {
    return this.byName.values()
  }
}

/**
 * The newest values after puts that no delete marker masks, from the newest values before;
 * undefined if the puts change none.
 */
export function afterPuts(before: Result, puts: readonly WrittenCell[]): RowValues | undefined {
  if (before.isEmpty && puts.length === 1) return new ChangedValues(before, puts)
  if (puts.every((put) => isStored(before, put))) return undefined
  const taken: WrittenCell[] = []
  let isChanged = false
  for (const put of puts) {
    const place = taken.findIndex((other) => areOfOneColumn(other, put))
    const known = place < 0 ? before.cell(put.column) : taken[place]
    if (known !== undefined && isNewer(known, put)) continue
    isChanged ||= known === undefined || !haveEqualBytes(known.value, put.value)
    taken[place < 0 ? taken.length : place] = put
  }
  return isChanged ? new ChangedValues(before, taken) : undefined
}

function isStored(before: Result, { column, value }: WrittenCell): boolean {
  const range = before.valueRange(column)
  if (range === undefined) return false
  return equalBytes(range.source, range.start, range.end, value, 0, value.length)
}

/** The values of a result, some of which puts have replaced. */
class ChangedValues implements RowValues {
  readonly #before: Result
  readonly #puts: readonly WrittenCell[]

  constructor(before: Result, puts: readonly WrittenCell[]) {
    this.#before = before
    this.#puts = puts
  }

  value(column: string): Buffer | undefined {
    for (const put of this.#puts) {
      const name =
        typeof put.column === 'string' ? put.column : columnKey(put.family, put.qualifier)
      if (name === column) return put.value
    }
    return this.#before.value(column)
  }

  cells(): Iterable<Cell> {
    const kept = this.#before.cells().filter((cell) => {
      return !this.#puts.some((put) => areOfOneColumn(cell, put))
    })
    return [...kept, ...this.#puts]
  }
}

function areOfOneColumn(some: Cell, other: Cell): boolean {
  return some.family === other.family && haveEqualBytes(some.qualifier, other.qualifier)
}

/** Whether a value comes before another one of its column. */
function isNewer(cell: Cell, other: Cell): boolean {
  if (cell.timestamp !== other.timestamp) return cell.timestamp > other.timestamp
  return cell.sequence > other.sequence
}

function haveEqualBytes(a: Buffer, b: Buffer): boolean {
  return equalBytes(a, 0, a.length, b, 0, b.length)
}

/**
 * The newest values among versions and delete markers: those of a raw read, and then the
 * cells of a mutation that is not applied.
 */
export function newestOf(cells: readonly Cell[]): NewestValues {
  const masks = masksOf(cells)
  const newest = new NewestValues()
  const { byName } = newest
  for (const cell of cells) {
    if (cell.type !== 'Put') continue
    const key = columnKey(cell.family, cell.qualifier)
    if (masks !== undefined && isMasked(masks, cell, key)) continue
    const known = byName.get(key)
    if (known !== undefined && isNewer(known, cell)) continue
    byName.set(key, cell)
  }
  return newest
}

/** Whether the same columns have the same values. */
export function haveEqualValues(some: NewestValues, others: NewestValues): boolean {
  if (some.byName.size !== others.byName.size) return false
  for (const [key, { value }] of some.byName) {
    const other = others.value(key)
    if (other === undefined || !haveEqualBytes(value, other)) return false
  }
  return true
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
