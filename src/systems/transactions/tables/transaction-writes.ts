/**
 * The writes of one transaction to one table: a buffer that becomes part of the commit frame, the
 * writes already moved to the table, and the keys for conflict detection.
 *
 * All writes have the write pointer of the transaction as their timestamp, so the last write to a
 * column wins. The deletion of a family is in the family's empty column and covers smaller pointers
 * only. It is therefore combined with deletions of the columns that the transaction wrote earlier,
 * and a later write of the same transaction is visible.
 *
 * Failure behaviour: writes that could not be moved to the table stay in the buffer. A commit
 * therefore includes all of them, or fails.
 */
import {
  assert,
  stronger,
  type AtomicMutation,
  type Database,
  type Durability,
} from '../../../api/index.js'
import type { Column, WrittenCell } from './table-writes.js'

/** The unit of conflict detection: a row, a column, or none. */
export type ConflictLevel = 'ROW' | 'COLUMN' | 'NONE'

/** Approximate bytes of a cell beside its row and value. */
const cellBytes = 32
const empty = Buffer.alloc(0)

interface Write {
  readonly row: Buffer
  readonly cells: readonly WrittenCell[]
  readonly pointer: bigint
}

export class TransactionWrites {
  readonly changes = new Set<string>()
  readonly #database: Database
  readonly #table: string
  readonly #level: ConflictLevel
  /**
   * That of the table, but at least in the log: writes that were moved to the table are in the log,
   * so their end must be there too.
   */
  readonly #durability: Durability
  /** Not yet in the table, in the order of the calls. */
  #buffer: Write[] = []
  #bufferBytes = 0
  /** In the table, or possibly so after an error. */
  #flushed: Write[] = []
  /** Columns by row, both as latin1 text, written since the newest checkpoint. */
  #columns = new Map<string, Map<string, Column>>()
  #columnsPointer = 0n
  #moving: Promise<unknown> = Promise.resolve()

  constructor(database: Database, table: string, level: ConflictLevel) {
    this.#database = database
    this.#table = table
    this.#level = level
    this.#durability = stronger(database.table(table).describe().durability, 'SYNC_WAL')
  }

  get bufferBytes(): number {
    return this.#bufferBytes
  }

  /** Writes cells. REQUIRES bytes that never change. */
  add(row: Buffer, cells: readonly WrittenCell[], pointer: bigint): void {
    this.#buffer.push({ row, cells, pointer })
    this.#bufferBytes += row.length
    const columns = this.#columnsOf(row, pointer)
    if (this.#level === 'ROW') this.changes.add(conflictKey(this.#table, row))
    for (const cell of cells) {
      this.#bufferBytes += cell.value.length + cellBytes
      columns.set(textOf(cell), cell)
      if (this.#level === 'COLUMN') this.changes.add(conflictKey(this.#table, row, cell))
    }
  }

  addDeletions(row: Buffer, columns: readonly Column[], pointer: bigint): void {
    const cells = columns.map(({ family, qualifier }) => ({ family, qualifier, value: empty }))
    if (cells.length > 0) this.add(row, cells, pointer)
  }

  addFamilyDeletions(row: Buffer, families: readonly string[], pointer: bigint): void {
    const own = this.columns(row, families, pointer).filter(({ qualifier }) => qualifier.length > 0)
    const whole = families.map((family) => ({ family, qualifier: empty }))
    this.addDeletions(row, [...own, ...whole], pointer)
  }

  /** The columns of a row that were written with this write pointer. */
  columns(row: Buffer, families: readonly string[], pointer: bigint): Column[] {
    const columns = [...this.#columnsOf(row, pointer).values()]
    return columns.filter(({ family }) => families.includes(family))
  }

  mutations(): AtomicMutation[] {
    return this.#buffer.map((write) => this.#mutationOf(write))
  }

  /** Moves the buffer to the table. The commit frame follows in the log. */
  async flush(): Promise<void> {
    const moved = this.#moving.then(() => this.#move('ASYNC_WAL'))
    this.#moving = moved.catch(() => undefined)
    await moved
  }

  /** Moves the buffer to the table, and waits until all moved writes are durable. */
  async persist(): Promise<void> {
    await this.#moving
    // Moved writes precede later ones in the log, so one durable write suffices.
    if (this.#buffer.length === 0) this.#buffer = this.#flushed.splice(-1)
    await this.#move(this.#durability)
  }

  /** Resolves when no move is in progress. */
  async settled(): Promise<void> {
    await this.#moving
  }

  /** Deletes the moved writes from the table. */
  async undo(): Promise<void> {
    await this.#moving
    const mutations = this.#flushed.map(({ row, cells, pointer: timestamp }) => {
      const columnVersions = cells.map(({ family, qualifier }) => ({
        family,
        qualifier,
        timestamp,
      }))
      return { table: this.#table, row, mutations: [{ delete: { columnVersions } }] }
    })
    if (mutations.length === 0) return
    await this.#database.atomic({ mutations, durability: this.#durability })
  }

  /** One move at a time, so that writes reach the table in the order of the calls. */
  async #move(durability: Durability): Promise<void> {
    const writes = this.#buffer
    const bytes = this.#bufferBytes
    if (writes.length === 0) return
    const mutations = this.mutations()
    assert(bytes >= 0, 'the bytes of a buffer are never negative')
    for (const write of writes) this.#flushed.push(write)
    this.#buffer = []
    this.#bufferBytes = 0
    try {
      await this.#database.atomic({ mutations, durability })
    } catch (error) {
      this.#buffer = [...writes, ...this.#buffer]
      this.#bufferBytes += bytes
      throw error
    }
  }

  #mutationOf({ row, cells, pointer }: Write): AtomicMutation {
    const written = cells.map(({ family, qualifier, value }) => {
      return { column: { family, qualifier }, value }
    })
    const mutations = [{ put: { cells: written, timestamp: pointer } }]
    return { table: this.#table, row, mutations }
  }

  #columnsOf(row: Buffer, pointer: bigint): Map<string, Column> {
    if (pointer !== this.#columnsPointer) {
      this.#columns = new Map()
      this.#columnsPointer = pointer
    }
    const text = row.toString('latin1')
    let columns = this.#columns.get(text)
    if (columns === undefined) this.#columns.set(text, (columns = new Map<string, Column>()))
    return columns
  }
}

function textOf({ family, qualifier }: Column): string {
  return `${family}:${qualifier.toString('latin1')}`
}

/** A key as latin1 text: table and row, and the column for conflict detection by column. */
function conflictKey(table: string, row: Buffer, column?: Column): string {
  const tableText = Buffer.from(table, 'utf8').toString('latin1')
  const text = `${tableText}\0${row.length}\0${row.toString('latin1')}`
  if (column === undefined) return text
  const family = Buffer.from(column.family, 'utf8').toString('latin1')
  return `${text}${family}:${column.qualifier.toString('latin1')}`
}
