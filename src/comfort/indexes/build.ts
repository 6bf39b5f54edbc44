/**
 * The build of an index beside running writes.
 *
 * Mutations keep the entries of the rows that they touch from the moment the index is declared. The
 * build adds those of all other rows, some rows at a time in the order of the table. Entries and
 * position are written together, so a build that was killed continues where it was.
 *
 * The rows of a step are read and their entries written without an `await` in between. If a
 * mutation was applied there all the same, by a writer that waited for memory which this step's
 * write has freed, the sequence shows that and the step is repeated.
 */
import { setImmediate } from 'node:timers/promises'
import type { Database } from '../../api/database.js'
import type { SyncTable, Table } from '../../api/table.js'
import type { MutatedRow } from '../../api/mutations.js'
import type { Result } from '../../api/results/result.js'
import type { KeptIndex } from './catalog.js'
import { entriesOf, hasEntry, type Entry } from './entries.js'
import { entryColumn, positionColumn } from './entry-values.js'
import { checkUnique } from './index-observer.js'

/** Rows of a step: the event loop waits for one. */
const stepRows = 64
const positionRow = 'position'

/** Adds the entries of all rows. Returns false if `isStopped` ended the build before. */
export async function buildIndex(
  database: Database<Table & SyncTable>,
  table: string,
  index: KeptIndex,
  isStopped: () => boolean,
): Promise<boolean> {
  const data = database.table(table)
  const entriesTable = database.table(index.entries)
  const position = await entriesTable.get({ row: positionRow, columns: [positionColumn] })
  let after = position.value(positionColumn)
  for (;;) {
    if (isStopped()) return false
    after = step(database, data, entriesTable, index, after)
    if (after === undefined) return true
    await setImmediate()
  }
}

/** Adds the entries of some rows after `after`. Returns the last one; undefined at the end. */
function step(
  database: Database,
  data: Table & SyncTable,
  entriesTable: Table & SyncTable,
  index: KeptIndex,
  after: Buffer | undefined,
): Buffer | undefined {
  const { plan } = index
  const start = after === undefined ? {} : { startRow: after, startInclusive: false }
  let written: readonly Entry[] = []
  for (;;) {
    const before = sequenceOf(database)
    const results = data.scanSync({ ...start, columns: plan.columns, limit: stepRows }).toArray()
    if (results.length === 0 && written.length === 0) return undefined
    const entries = results.flatMap((result) => entriesOf(plan, result.row!, result))
    if (plan.unique) {
      const find = (key: Buffer): Result =>
        entriesTable.getSync({ row: key, columns: [entryColumn] })
      checkUnique(data.name, plan, entries, find, (key, row) => {
        return hasEntry(plan, key, row, data.getSync({ row, columns: plan.columns }))
      })
    }
    const last = results.at(-1)?.row
    const rows: MutatedRow[] = entries.map(({ key, value }) => {
      return { row: key, mutations: [{ put: { cells: { [entryColumn]: value } } }] }
    })
    const keys = new Set(entries.map(({ key }) => key.toString('latin1')))
    for (const { key } of written) {
      if (keys.has(key.toString('latin1'))) continue
      rows.push({ row: key, mutations: [{ delete: { columns: [entryColumn] } }] })
    }
    if (last !== undefined) {
      rows.push({ row: positionRow, mutations: [{ put: { cells: { [positionColumn]: last } } }] })
    }
    if (rows.length > 0) entriesTable.mutateRowsSync({ rows, durability: 'ASYNC_WAL' })
    if (sequenceOf(database) === before + (rows.length > 0 ? 1 : 0)) return last
    written = entries
  }
}

function sequenceOf(database: Database): number {
  using snapshot = database.snapshot()
  return snapshot.sequence
}
