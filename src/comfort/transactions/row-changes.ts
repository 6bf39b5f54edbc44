/** One row in a transaction: its values at the read, and the writes to come. */
import type { AtomicCheck, AtomicMutation } from '../../api/atomic.js'
import type { Mutation } from '../../api/mutations.js'
import type { Snapshot } from '../../api/reads.js'
import type { Result } from '../../api/results/result.js'
import type { KeyParts } from '../keys/row-key.js'
import type { ColumnsOption, TypedColumn } from '../typed/columns.js'
import { putOf, type ColumnWrite, type TypedHandle } from '../typed/row-form.js'
import type { TypedPutOptions } from '../typed/row-form.js'

type PutOptions = Pick<TypedPutOptions, 'timestamp' | 'ttlMilliseconds'>

interface PlannedWrite extends ColumnWrite {
  readonly options: PutOptions
}

/** The state of one row in one attempt of a transaction. */
export class RowChanges {
  readonly handle: TypedHandle<KeyParts, ColumnsOption>
  readonly #row: Buffer
  #reading: Promise<Result> | undefined
  #found: Result | undefined
  /** The last write of each column. A column has one, so no marker hides a put of its batch. */
  readonly #writes = new Map<string, PlannedWrite>()
  #writeCount = 0

  constructor(handle: TypedHandle<KeyParts, ColumnsOption>, row: Buffer) {
    this.handle = handle
    this.#row = row
  }

  /** Reads the stored columns, once. */
  async read(snapshot: Snapshot | undefined): Promise<void> {
    const columns = this.handle.rows.columnNames
    this.#reading ??= this.handle.table.get({ row: this.#row, columns, snapshot })
    this.#found = await this.#reading
  }

  /** Grows with each planned write. */
  get writeCount(): number {
    return this.#writeCount
  }

  /** Plans writes, in place of earlier ones of the same columns. Takes over their values. */
  write(writes: readonly ColumnWrite[], options: PutOptions): void {
    for (const write of writes) {
      this.#writeCount++
      this.#writes.set(write.column.name, { ...write, options })
    }
  }

  /** Plans that the row has these values and no others. REQUIRES that the row was read. */
  replace(writes: readonly ColumnWrite[]): void {
    const given = new Map(writes.map((write) => [write.column.name, write]))
    for (const column of this.handle.rows.columns) {
      const stored = given.get(column.name)?.stored
      const before = this.#storedOf(column)
      const isSame =
        stored === undefined || before === undefined
          ? stored === before
          : Buffer.compare(stored, before) === 0
      if (!isSame) this.write([{ column, stored }], {})
    }
  }

  /** The row as this transaction sees it. REQUIRES that the row was read. */
  current(): object | undefined {
    const row = this.handle.rows.key.decode(Buffer.from(this.#row)) as Record<string, unknown>
    let isThere = false
    for (const column of this.handle.rows.columns) {
      const value = this.valueOf(column)
      if (value === undefined) continue
      row[column.name] = value
      isThere = true
    }
    return isThere ? this.handle.rows.shown(row as never) : undefined
  }

  /** The value of a column as this transaction sees it. REQUIRES that the row was read. */
  valueOf(column: TypedColumn): unknown {
    const stored = this.#storedOf(column)
    return stored === undefined ? undefined : column.decode(stored)
  }

  /** The checks that the values of the read are still there. */
  checks(): AtomicCheck[] {
    if (this.#found === undefined) return []
    const { table, rows } = this.handle
    return rows.checks(this.#row, this.#found).map((check) => ({ ...check, table }))
  }

  /** The writes; none if nothing is to be written. */
  mutations(): AtomicMutation[] {
    const mutations: Mutation[] = []
    const removed: string[] = []
    for (const write of this.#writes.values()) {
      if (write.stored === undefined) removed.push(write.column.column)
      else mutations.push({ put: putOf(write.column, write.stored, write.options) })
    }
    if (removed.length > 0) mutations.push({ delete: { columns: removed } })
    if (mutations.length === 0) return []
    return [{ table: this.handle.table, row: this.#row, mutations }]
  }

  /** A copy of the stored value, since callers may change the bytes that they get. */
  #storedOf(column: TypedColumn): Buffer | undefined {
    const write = this.#writes.get(column.name)
    const found = this.#found?.isEmpty === false ? this.#found : undefined
    const stored = write === undefined ? found?.value(column.column) : write.stored
    return stored && Buffer.from(stored)
  }
}
