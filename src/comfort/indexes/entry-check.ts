/** Compares the rows of a table with the entries of an index, in one view of both. */
import type { Snapshot } from '../../api/reads.js'
import type { Result } from '../../api/results/result.js'
import type { Table } from '../../api/table.js'
import type { Entry } from './entries.js'

/** An index and its table. */
export interface CheckedIndex {
  readonly data: Table
  /** What the entries depend on. */
  readonly columns: readonly string[]
  readonly entries: Table
  /** The beginning of the keys in the table of the index. */
  readonly prefix: Buffer
  /** The column of an entry's value. */
  readonly column: string
  /** The entries that a row gives; none if it is empty. */
  entriesOf(row: Result): readonly Entry[]
  entryOf(result: Result): Entry
}

/** Entries that differ from the rows, and the number of all. */
export interface EntryFindings {
  /** What rows give, and the index has not, or with another value. */
  readonly missing: readonly Entry[]
  /** What the index has, and the row does not give. */
  readonly surplus: readonly Entry[]
  readonly count: number
}

/** Reads all rows and all entries of a view. */
export async function compareEntries(
  index: CheckedIndex,
  snapshot: Snapshot,
): Promise<EntryFindings> {
  const { data, columns, entries, prefix, column } = index
  const missing: Entry[] = []
  const surplus: Entry[] = []
  let count = 0
  for await (const result of data.scan({ columns, snapshot })) {
    const wanted = index.entriesOf(result)
    const gets = wanted.map(({ key: row }) => ({ row, columns: [column], snapshot }))
    const stored = await entries.getList(gets)
    missing.push(
      ...wanted.filter(({ value }, i) => stored[i].value(column)?.equals(value) !== true),
    )
  }
  for await (const result of entries.scan({ prefix, columns: [column], snapshot })) {
    count++
    const entry = index.entryOf(result)
    const given = index.entriesOf(await data.get({ row: entry.row, columns, snapshot }))
    if (!given.some(({ key }) => key.equals(entry.key))) surplus.push(entry)
  }
  return { missing, surplus, count }
}
