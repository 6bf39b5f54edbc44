/** Calls on the rows of tables, as they wait, and the groups in which they are carried out. */
import type { SyncTable, Table, TableOptions } from '../../../../api/index.js'
import type { RowGuard } from '../types.js'
import type { FieldChange } from '../value.js'
import { RowDecoder } from './row-format.js'
import type { Version } from './version.js'
import { Watchers } from './watchers.js'

/** Writes and bytes after which a group ends. */
const writesMax = 20_000
const bytesMax = 32 * 1024 * 1024
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

/** One call; the operations of a group are settled together, in the order of the calls. */
export class Operation {
  readonly rows: TableRows
  /** Undefined = all keys. */
  readonly key: string | undefined
  /** Of the row in the database; that of the table for all keys. */
  readonly id: string
  readonly work: RowWrite | Read
  readonly promise: Promise<unknown>
  outcome: unknown = undefined
  failure: unknown = undefined
  readonly #settled: ((error: unknown) => void) | undefined
  #resolve!: (value: unknown) => void
  #reject!: (error: unknown) => void

  constructor(
    rows: TableRows,
    key: string | undefined,
    work: RowWrite | Read,
    settled?: (error: unknown) => void,
  ) {
    this.rows = rows
    this.key = key
    this.id = key === undefined ? rows.name : idOf(rows, key)
    this.work = work
    this.#settled = settled
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Settles the promise; then arms or notifies watchers, before the reactions of the promise. */
  settle(): void {
    const { failure, work } = this
    if (failure === undefined) this.#resolve(this.outcome)
    else this.#reject(failure)
    this.#settled?.(failure)
    if (typeof work === 'function' || failure !== undefined) return
    this.rows.watchers.notify(this.key!, work.changes === undefined ? 'REMOVED' : 'CHANGED')
  }
}

/** Settles the operations of a group, in the order of the calls. */
export function settleAll(group: readonly Operation[]): void {
  for (const operation of group) operation.settle()
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
export function groupSize(waiting: readonly Operation[]): number {
  if (!isWrite(waiting[0])) {
    const firstWrite = waiting.findIndex(isWrite)
    return firstWrite < 0 ? waiting.length : firstWrite
  }
  let read: Set<string> | undefined
  let bytes = 0
  for (let count = 0; count < waiting.length; count++) {
    const { rows, id, work } = waiting[count]
    if (typeof work === 'function') {
      read = (read ?? new Set()).add(id)
      continue
    }
    const isFull = count >= writesMax || bytes > bytesMax
    if (isFull || read?.has(id) === true || read?.has(rows.name) === true) return count
    for (const { data } of work.changes ?? noChanges) bytes += data?.length ?? 0
  }
  return waiting.length
}

const noChanges: readonly FieldChange[] = []

/** The strongest durability of the tables of some writes. */
export function strongest(writes: readonly Operation[]): MetastoreDurability {
  let highest = 0
  for (const { rows } of writes) highest = Math.max(highest, durabilities.indexOf(rows.durability))
  return durabilities[highest]
}
