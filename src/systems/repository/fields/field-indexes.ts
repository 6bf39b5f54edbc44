/**
 * The field indexes of all record tables of a database. Their rows are written in the batches that
 * write records, so an index never differs from its records, even after a crash.
 */
import { assert, type AtomicMutation, type Database } from '../../../api/index.js'
import { type RepositoryError, repositoryError } from '../errors.js'
import { newestCell } from '../records/record-state.js'
import type { TableContext } from '../records/table-context.js'
import type { PartWrites, TableChange } from '../records/writes/commit.js'
import {
  checkIndexName,
  decodeIndex,
  definitionPrefix,
  encodeIndex,
  type FieldIndex,
} from './field-index.js'
import { indexPrefix, indexRows } from './index-rows.js'

const family = 'i'
const column = 'i:r'
const rowsPerStep = 1000

/** Makes an `ERR_FIELD_INDEX_NOT_FOUND`. */
export function indexNotFound(message: string): RepositoryError {
  return repositoryError('fieldIndexNotFound', message)
}

/** The field indexes; all managers of a database share one object. */
export class FieldIndexes {
  /** Name of the table of the index rows. */
  readonly table: string
  /** Builds in progress. */
  readonly builds = new Map<FieldIndex, Promise<void>>()
  readonly #database: Database
  /** Indexes by repository `/` table. */
  readonly #indexes = new Map<string, FieldIndex[]>()
  readonly #loads = new Map<string, Promise<void>>()

  constructor(database: Database, table: string) {
    this.#database = database
    this.table = table
  }

  /** Reads the declarations of a record table, and completes drops that a crash interrupted. */
  load(context: TableContext): Promise<void> {
    const { keyText } = context
    const known = this.#loads.get(keyText)
    if (known !== undefined) return known
    const loading = this.#load(context)
    this.#loads.set(keyText, loading)
    // A failed load is repeated by the next call.
    loading.catch(() => this.#loads.delete(keyText))
    return loading
  }

  /** Forgets the indexes of a dropped record table: repository `/` table. */
  forget(keyText: string): void {
    this.#indexes.delete(keyText)
    this.#loads.delete(keyText)
  }

  /** The commit part that maintains the indexes. */
  prepare(changes: readonly TableChange[]): Promise<PartWrites | undefined> | undefined {
    const mutations: AtomicMutation[] = []
    for (const changed of changes) {
      for (const index of this.of(changed.context)) {
        if (index.state !== 'DROPPING') this.#addRows(index, changed, mutations)
      }
    }
    return mutations.length === 0 ? undefined : Promise.resolve({ checks: [], mutations })
  }

  /** The indexes of a record table. */
  of({ keyText }: TableContext): readonly FieldIndex[] {
    return this.#indexes.get(keyText) ?? []
  }

  /** The index of a name, ready for queries. `ERR_FIELD_INDEX_NOT_FOUND`. */
  find(context: TableContext, name: string): FieldIndex {
    checkIndexName(name)
    const found = this.of(context).find((index) => index.name === name)
    if (found?.state === 'ACTIVE') return found
    const problem = found === undefined ? `there is no index ${name}` : `${name} is ${found.state}`
    throw indexNotFound(problem)
  }

  /** Adds an index: every commit from now on maintains it. */
  add(context: TableContext, index: FieldIndex): void {
    const others = this.of(context)
    assert(
      others.every(({ ordinal }) => ordinal !== index.ordinal),
      'an index has a number of its own',
    )
    this.#indexes.set(context.keyText, [...others, index])
  }

  /** Writes the declaration of an index. */
  async declare({ key, durability }: TableContext, index: FieldIndex): Promise<void> {
    await this.#database.atomic({ mutations: [this.declaration(key, index)], durability })
  }

  /** The mutation that writes the declaration of an index. */
  declaration(key: Buffer, index: FieldIndex): AtomicMutation {
    const row = Buffer.concat([definitionPrefix(key), Buffer.from(index.name)])
    return this.placement(row, Buffer.from(encodeIndex(index)))
  }

  /** The mutation that writes a row. */
  placement(row: Buffer, value: Buffer): AtomicMutation {
    const put = { cells: { [column]: value }, timestamp: 1 }
    return { table: this.table, row, mutations: [{ put }] }
  }

  /** Removes the rows of an index that is being dropped, then its declaration. */
  async endDrop(context: TableContext, index: FieldIndex): Promise<void> {
    assert(index.state === 'DROPPING', 'only an index that is being dropped loses its rows')
    const { key, keyText, durability } = context
    const table = this.#database.table(this.table)
    const scan = { prefix: indexPrefix(key, index), limit: rowsPerStep }
    for (;;) {
      const rows = await table.scan(scan).all()
      if (rows.length === 0) break
      const mutations = rows.map(({ row }) => this.#removal(row!))
      await this.#database.atomic({ mutations, durability })
    }
    const row = Buffer.concat([definitionPrefix(key), Buffer.from(index.name)])
    await this.#database.atomic({ mutations: [this.#removal(row)], durability })
    const others = this.of(context).filter((known) => known !== index)
    this.#indexes.set(keyText, others)
  }

  async #load(context: TableContext): Promise<void> {
    const prefix = definitionPrefix(context.key)
    const indexes: FieldIndex[] = []
    for await (const row of this.#database.table(this.table).scan({ prefix })) {
      const own = row.row!.subarray(prefix.length).toString('utf8')
      indexes.push(decodeIndex(own, row.value(column, 'utf8')!))
    }
    this.#indexes.set(context.keyText, indexes)
    for (const index of indexes) {
      if (index.state === 'DROPPING') await this.endDrop(context, index)
    }
  }

  #addRows(index: FieldIndex, { context, change }: TableChange, mutations: AtomicMutation[]): void {
    const { id, before, after } = change
    const isBuilding = index.state === 'BUILDING'
    const isSame =
      before !== undefined &&
      before.isDeleted === after.isDeleted &&
      index.parts.every(({ ordinal }) => {
        const [a, b] = [newestCell(before, ordinal), newestCell(after, ordinal)]
        return a === b || (a !== undefined && b !== undefined && a.value.equals(b.value))
      })
    if (isSame && !isBuilding) return
    const { key, schema } = context
    const left = new Map<string, Buffer>()
    for (const row of indexRows(key, index, id, before, schema)) {
      left.set(row.toString('latin1'), row)
    }
    for (const row of indexRows(key, index, id, after, schema)) {
      const isThere = left.delete(row.toString('latin1'))
      if (!isThere || isBuilding) mutations.push(this.placement(row, id.bytes))
    }
    for (const row of left.values()) mutations.push(this.#removal(row))
  }

  #removal(row: Buffer): AtomicMutation {
    const families = [{ family, timestamp: 1 }]
    return { table: this.table, row, mutations: [{ delete: { families } }] }
  }
}
