/**
 * Keeps the indexes of a table: adds the changed entries to every mutation of the table.
 *
 * It runs between encoding and applying, in the turn of the mutation. So no other writer can come
 * between the read of the old values and the write of the new entries, and a crash keeps both the
 * row and its entries or neither.
 */
import { CellarError, ErrorCode } from '../../base/errors.js'
import { shownBytes } from '../../api/results/display.js'
import type { Observer, WrittenCell, WrittenMutation } from '../../api/observer.js'
import { indexesIn, kept, type KeptIndex } from './catalog.js'
import { columnKey, type IndexPlan } from './declaration.js'
import { entriesOf, entryColumn, entryFamily, readEntry, type Entry } from './entries.js'
import { newestOf, valuesOf, type RowValues } from './row-values.js'

/** A row of the mutation in one index. */
interface RowChange {
  readonly row: Buffer
  readonly removed: ReadonlyMap<string, Entry>
  /** All entries of the row after the mutation. */
  readonly after: ReadonlyMap<string, Entry>
  /** Those that are new, or have another value. */
  readonly written: readonly Entry[]
}

/** The observer of a table whose schema has indexes. */
export function createIndexObserver(
  table: string,
  options: Readonly<Record<string, unknown>>,
): Observer {
  const indexes = indexesIn(table, options)
    .map(kept)
    .filter(({ state }) => state !== 'failed')
  if (indexes.length === 0) return {}
  return {
    preWrite(_context, mutation) {
      const rows = rowsOf(mutation.cells)
      for (const index of indexes) keep(table, index, mutation, rows)
    },
    preBulkLoad() {
      throw new CellarError(
        ErrorCode.unsupported,
        `table '${table}' has indexes, which a bulk load does not keep; drop them, load, and create them`,
      )
    },
  }
}

function rowsOf(cells: readonly WrittenCell[]): readonly WrittenCell[][] {
  if (cells.length === 1) return [[cells[0]]]
  const rows = new Map<string, WrittenCell[]>()
  for (const cell of cells) {
    const key = cell.row.toString('latin1')
    const known = rows.get(key)
    if (known === undefined) rows.set(key, [cell])
    else known.push(cell)
  }
  return [...rows.values()]
}

function keep(
  table: string,
  index: KeptIndex,
  mutation: WrittenMutation,
  rows: readonly WrittenCell[][],
): void {
  const { plan } = index
  const changes: RowChange[] = []
  for (const cells of rows) {
    const own = cells.filter((cell) => concerns(plan, cell))
    if (own.length > 0) changes.push(changeOf(plan, mutation, own))
  }
  if (changes.length === 0) return
  if (plan.unique) checkUnique(table, index, mutation, changes)
  write(index, mutation, changes)
}

/** Whether the entries of a row may depend on a cell. */
function concerns(
  plan: IndexPlan,
  { type, family, qualifier, ttlMilliseconds }: WrittenCell,
): boolean {
  if (!plan.families.includes(family)) return false
  const isOfFamily = type === 'DeleteFamily' || type === 'DeleteFamilyVersion'
  const column = isOfFamily ? family : columnKey(family, qualifier)
  if (!isOfFamily && !plan.columns.includes(family) && !plan.columns.includes(column)) return false
  if (ttlMilliseconds === 0) return true
  throw new CellarError(
    ErrorCode.invalidArgument,
    `the column '${column}' is in the index '${plan.name}', so its cells take no TTL of their own; ` +
      'give the family a TTL',
  )
}

function changeOf(
  plan: IndexPlan,
  mutation: WrittenMutation,
  cells: readonly WrittenCell[],
): RowChange {
  const { row } = cells[0]
  const before = mutation.rawRow(row, plan.families).cells()
  const removed = byKey(before.length === 0 ? [] : entriesOf(plan, row, newestOf(before)))
  const after = byKey(entriesOf(plan, row, newestOf([...before, ...cells])))
  const written: Entry[] = []
  for (const [key, entry] of after) {
    if (removed.get(key)?.value.equals(entry.value) !== true) written.push(entry)
    removed.delete(key)
  }
  return { row, removed, after, written }
}

function byKey(entries: readonly Entry[]): Map<string, Entry> {
  return new Map(entries.map((entry) => [entry.key.toString('latin1'), entry]))
}

function checkUnique(
  table: string,
  { plan, entries }: KeptIndex,
  mutation: WrittenMutation,
  changes: readonly RowChange[],
): void {
  const owners = new Map<string, Buffer>()
  for (const { row, after } of changes) {
    for (const [key, entry] of after) {
      const other = owners.get(key)
      if (other !== undefined) throw uniqueViolation(table, plan, entry.key, other)
      owners.set(key, row)
      const stored = mutation.get(entries, { row: entry.key, columns: [entryFamily] })
      const value = stored.value(entryColumn)
      if (value === undefined) continue
      const holder = readEntry(plan, entry.key, value).row
      if (holder.equals(row)) continue
      const moved = changes.find((change) => change.row.equals(holder))
      const isHeld =
        moved === undefined
          ? holds(
              plan,
              entry.key,
              holder,
              valuesOf(mutation.get(table, { row: holder, columns: plan.columns })),
            )
          : moved.after.has(key)
      if (isHeld) throw uniqueViolation(table, plan, entry.key, holder)
    }
  }
}

/** Whether a row with these values has the entry. */
export function holds(plan: IndexPlan, key: Buffer, row: Buffer, values: RowValues): boolean {
  return entriesOf(plan, row, values).some((entry) => entry.key.equals(key))
}

/** The parts of a key by name. `row` is the row of its entry. */
export function partsOfKey(plan: IndexPlan, key: Buffer, row: Buffer): Record<string, unknown> {
  const whole = plan.unique ? Buffer.concat([key, row]) : key
  const decoded: Readonly<Record<string, unknown>> = plan.key.decode(whole)
  return Object.fromEntries(plan.parts.map(({ name }) => [name, decoded[name]]))
}

/** The error of two rows with one key in a unique index. */
export function uniqueViolation(
  table: string,
  plan: IndexPlan,
  key: Buffer,
  row: Buffer,
): CellarError {
  const values = partsOfKey(plan, key, row)
  const shown = Object.entries(values).map(([name, value]) => {
    const text = value instanceof Uint8Array ? shownBytes(Buffer.from(value)) : String(value)
    return `${name}: ${typeof value === 'string' ? JSON.stringify(value) : text}`
  })
  return new CellarError(
    ErrorCode.uniqueViolation,
    `table '${table}', unique index '${plan.name}': { ${shown.join(', ')} } ` +
      `belongs to the row ${shownBytes(row)}`,
    { details: { index: plan.name, key: values, row: Buffer.from(row) } },
  )
}

/** Adds the entries to the mutation; a key that one row leaves and another takes is only put. */
function write(index: KeptIndex, mutation: WrittenMutation, changes: readonly RowChange[]): void {
  const taken = new Set<string>()
  for (const { after } of changes) for (const key of after.keys()) taken.add(key)
  for (const { removed, written } of changes) {
    for (const { key, value } of written) {
      mutation.add(index.entries, { put: { row: key, cells: [{ column: entryColumn, value }] } })
    }
    for (const [name, { key }] of removed) {
      if (taken.has(name)) continue
      mutation.add(index.entries, { delete: { row: key, columns: [entryColumn] } })
    }
  }
}
