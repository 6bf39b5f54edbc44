/**
 * Keeps the indexes of a table: adds the changed entries to every mutation of the table.
 *
 * It runs between encoding and applying, in the turn of the mutation. So no other writer can come
 * between the read of the old values and the write of the new entries, and a crash keeps both the
 * row and its entries or neither.
 */
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { shownBytes } from '../../api/results/display.js'
import type { Result } from '../../api/results/result.js'
import type { Observer, WrittenCell, WrittenMutation, WrittenRow } from '../../api/observer.js'
import { indexesIn, kept, type KeptIndex } from './catalog.js'
import type { IndexPlan } from './declaration.js'
import { byKey, entryChanges, hasEntry, type Entry, type EntryChanges } from './entries.js'
import { entryColumn, entryFamily, partsOfKey, readEntry } from './entry-values.js'
import { afterPuts, columnKey, haveEqualValues, newestOf, type RowValues } from './row-values.js'

/** A row of the mutation in one index. */
interface RowChange extends EntryChanges {
  readonly row: Buffer
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
      for (const index of indexes) keep(table, index, mutation)
    },
    preBulkLoad() {
      throw new CellarError(
        ErrorCode.unsupported,
        `table '${table}' has indexes, which a bulk load does not keep; drop them, load, and create them`,
      )
    },
  }
}

function keep(table: string, index: KeptIndex, mutation: WrittenMutation): void {
  const { plan } = index
  const changes: RowChange[] = []
  for (const row of mutation.rowsOf(plan.columns)) {
    for (const cell of row.cells) if (cell.ttlMilliseconds > 0) throw ownLifetime(plan, cell)
    const change = changeOf(plan, mutation, row)
    if (change !== undefined) changes.push(change)
  }
  if (changes.length === 0) return
  if (plan.unique) {
    const find = (key: Buffer): Result =>
      mutation.get(index.entries, { row: key, columns: [entryFamily] })
    const entries = changes.flatMap((change) => change.entries)
    checkUnique(table, plan, entries, find, (key, row) => {
      return holds(table, plan, mutation, changes, key, row)
    })
  }
  write(index, mutation, changes)
}

function ownLifetime(plan: IndexPlan, { family, qualifier }: WrittenCell): CellarError {
  return invalidArgument(
    `the column '${columnKey(family, qualifier)}' is in the index '${plan.name}', so its cells take ` +
      'no TTL of their own; give the family a TTL',
  )
}

/** The change of a row; undefined if its values stay the same. */
function changeOf(
  plan: IndexPlan,
  mutation: WrittenMutation,
  concerned: WrittenRow,
): RowChange | undefined {
  const { row, cells, isPlain } = concerned
  if (isPlain) {
    const before = concerned.before()
    const values = afterPuts(before, cells)
    if (values === undefined) return undefined
    return { row, ...entryChanges(plan, row, before.isEmpty ? undefined : before, values) }
  }
  const stored = mutation.rawRow(row, plan.families).cells()
  const before = newestOf(stored)
  const values = newestOf([...stored, ...cells])
  if (haveEqualValues(before, values)) return undefined
  return { row, ...entryChanges<RowValues>(plan, row, before, values) }
}

/** Whether a row has a key after the mutation. */
function holds(
  table: string,
  plan: IndexPlan,
  mutation: WrittenMutation,
  changes: readonly RowChange[],
  key: Buffer,
  row: Buffer,
): boolean {
  const changed = changes.find((change) => change.row.equals(row))
  if (changed !== undefined) return changed.entries.some((each) => each.key.equals(key))
  return hasEntry(plan, key, row, mutation.get(table, { row, columns: plan.columns }))
}

/**
 * Throws `ERR_UNIQUE_VIOLATION` if two of the entries of a unique index have one key, or another
 * row has it: `find` returns the stored entry of a key, and `holds` whether a row has the key.
 */
export function checkUnique(
  table: string,
  plan: IndexPlan,
  entries: readonly Entry[],
  find: (key: Buffer) => Result,
  holds: (key: Buffer, row: Buffer) => boolean,
): void {
  const owners = new Map<string, Buffer>()
  for (const { key, row } of entries) {
    const name = key.toString('latin1')
    const other = owners.get(name)
    if (other !== undefined) throw uniqueViolation(table, plan, key, other)
    owners.set(name, row)
    const value = find(key).value(entryColumn)
    if (value === undefined) continue
    const holder = readEntry(plan, key, value).row
    if (holder.equals(row) || !holds(key, holder)) continue
    throw uniqueViolation(table, plan, key, holder)
  }
}

function uniqueViolation(table: string, plan: IndexPlan, key: Buffer, row: Buffer): CellarError {
  const values = partsOfKey(plan.parts, key)
  const shown = Object.entries(values).map(([name, value]) => {
    const text = value instanceof Uint8Array ? shownBytes(Buffer.from(value)) : String(value)
    return `${name}: ${typeof value === 'string' ? JSON.stringify(value) : text}`
  })
  return new CellarError(
    ErrorCode.uniqueViolation,
    `table '${table}', unique index '${plan.name}': { ${shown.join(', ')} } ` +
      `belongs to the row ${shownBytes(row)}; write another value, or change that row before`,
    { details: { index: plan.name, key: values, row: Buffer.from(row) } },
  )
}

/** Adds the entries to the mutation; a key that one row leaves and another takes is only put. */
function write(index: KeptIndex, mutation: WrittenMutation, changes: readonly RowChange[]): void {
  for (const { written } of changes) {
    for (const { key, value } of written) {
      mutation.add(index.entries, { put: { row: key, cells: { [entryColumn]: value } } })
    }
  }
  // What one row leaves it does not take.
  let taken: Map<string, Entry> | undefined
  for (const { removed } of changes) {
    for (const key of removed) {
      if (changes.length > 1) {
        taken ??= byKey(changes.flatMap(({ entries }) => entries))
        if (taken.has(key.toString('latin1'))) continue
      }
      mutation.add(index.entries, { delete: { row: key, columns: [entryColumn] } })
    }
  }
}
