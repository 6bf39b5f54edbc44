/** Calls on the rows of tables, as they wait, and the groups in which they are carried out. */
import type { SyncTable, Table, TableOptions } from '../../../../api/index.js'
import { Call, groupLimits, groupSize } from '../../kernel/group-commit.js'
import type { RowGuard } from '../types.js'
import type { FieldChange } from '../value.js'
import { RowDecoder } from './row-format.js'
import type { Version } from './version.js'
import { Watchers } from './watchers.js'

const durabilities = ['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const

/** Durability of a write before its acknowledgement. */
export type MetastoreDurability = NonNullable<TableOptions['durability']>

/** A table, as used by the metastore. Not every backend has synchronous scans. */
export type ViewedTable = Table & Partial<Pick<SyncTable, 'scanSync'>>

/** The rows of one table, shared by all its handles. */
export class TableRows {
  readonly name: string
  readonly table: ViewedTable
  durability: MetastoreDurability
  readonly watchers = new Watchers()
  readonly decoder = new RowDecoder()

  constructor(name: string, table: ViewedTable) {
    this.name = name
    this.table = table
    this.durability = table.describe().durability
  }
}

/** A conditional write of a row. */
export interface RowWrite {
  /** The changes of a put; undefined for a remove. */
  readonly changes: readonly FieldChange[] | undefined
  readonly expected: Version
  readonly guard?: RowGuard | undefined
}

/** Reads the newest state of rows. */
export type Read = () => Promise<unknown>

/** A read or a write of a row; a read may be of all rows. */
export class Operation extends Call<unknown> {
  readonly rows: TableRows
  /** Undefined = all keys. */
  readonly key: string | undefined
  /** Of the row in the database; that of the table for all keys. */
  readonly id: string
  readonly work: RowWrite | Read
  readonly #settled: ((error: unknown) => void) | undefined

  constructor(
    rows: TableRows,
    key: string | undefined,
    work: RowWrite | Read,
    settled?: (error: unknown) => void,
  ) {
    super(bytesOf(work))
    this.rows = rows
    this.key = key
    this.id = key === undefined ? rows.name : idOf(rows, key)
    this.work = work
    this.#settled = settled
  }

  /** Settles the promise; then arms or notifies watchers, before the reactions of the promise. */
  override settle(): void {
    super.settle()
    const { failure, work } = this
    this.#settled?.(failure)
    if (typeof work === 'function' || failure !== undefined) return
    this.rows.watchers.notify(this.key!, work.changes === undefined ? 'REMOVED' : 'CHANGED')
  }
}

function bytesOf(work: RowWrite | Read): number {
  let bytes = 0
  if (typeof work === 'function' || work.changes === undefined) return bytes
  for (const { data } of work.changes) bytes += data?.length ?? 0
  return bytes
}

/** Whether an operation is a write. */
export function isWrite({ work }: Operation): boolean {
  return typeof work !== 'function'
}

/** A row of a table, as a name. */
export function idOf({ name }: TableRows, key: string): string {
  return `${name}\0${key}`
}

/** Number of the waiting operations that form the next group; see `row-commits.ts`. */
export function nextGroup(waiting: readonly Operation[]): number {
  const read = new Set<string>()
  return groupSize(waiting, groupLimits, (next, first) => {
    if (!isWrite(first)) return !isWrite(next)
    if (isWrite(next)) return !read.has(next.id) && !read.has(next.rows.name)
    read.add(next.id)
    return true
  })
}

/** The strongest durability of the tables of some writes. */
export function strongest(writes: readonly Operation[]): MetastoreDurability {
  let highest = 0
  for (const { rows } of writes) highest = Math.max(highest, durabilities.indexOf(rows.durability))
  return durabilities[highest]
}
