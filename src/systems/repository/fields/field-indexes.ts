/**
 * The field indexes of all record tables of a database. Their rows are written in the batches that
 * write records, so an index never differs from its records, even after a crash.
 *
 * An index over existing records is built while writes continue. Once it is declared, every write
 * puts all rows of its record. The build may therefore skip a record that changed since it was
 * read.
 */
import {
  readArguments,
  requireCapability,
  type AtomicMutation,
  type Database,
} from '../../../api/index.js'
import { RepositoryError, RepositoryErrorCode } from '../errors.js'
import { RecordId } from '../record-id.js'
import type { CommitPart, PartWrites, TableChange } from '../records/writes/commit.js'
import { decodeHead, headColumn } from '../records/record-state.js'
import type { TableContext } from '../records/table-context.js'
import { CommitGate } from './commit-gate.js'
import {
  checkIndexName,
  copyInput,
  decodeIndex,
  definitionPrefix,
  encodeIndex,
  infoOf,
  partsOf,
  type FieldIndex,
  type FieldIndexInfo,
  type FieldIndexInput,
} from './field-index.js'
import { indexPrefix, indexRows, newestCell } from './index-rows.js'

const family = 'i'
const column = 'i:r'
const recordsPerStep = 200
const rowsPerStep = 1000

/** Counts of an index check; `missing` and `surplus` are 0 for a correct index. */
export interface FieldIndexCheck {
  /** Rows in the index. */
  readonly rows: number
  /** Rows that the records require and the index lacks. */
  readonly missing: number
  /** Rows that belong to no record. */
  readonly surplus: number
}

/** Makes an `ERR_FIELD_INDEX_NOT_FOUND`. */
export function indexNotFound(message: string): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.fieldIndexNotFound, message)
}

const shared = new WeakMap<Database, Map<string, FieldIndexes>>()

function removal(table: string, row: Buffer): AtomicMutation {
  return { table, row, mutations: [{ delete: { families: [{ family, timestamp: 1 }] } }] }
}

function placement(table: string, row: Buffer, id: Buffer): AtomicMutation {
  return { table, row, mutations: [{ put: { cells: { [column]: id }, timestamp: 1 } }] }
}

/** The field indexes; all managers of a database share one object. */
export class FieldIndexes implements CommitPart {
  readonly gate = new CommitGate()
  readonly #database: Database
  readonly #table: string
  /** Indexes by repository `/` table. */
  readonly #indexes = new Map<string, FieldIndex[]>()
  readonly #builds = new Map<FieldIndex, Promise<void>>()
  readonly #loads = new Map<string, Promise<void>>()

  private constructor(database: Database, table: string) {
    this.#database = database
    this.#table = table
  }

  /** The indexes with rows in this table of a database. */
  static of(database: Database, table: string): FieldIndexes {
    const byTable = shared.get(database) ?? new Map<string, FieldIndexes>()
    shared.set(database, byTable)
    const known = byTable.get(table) ?? new FieldIndexes(database, table)
    byTable.set(table, known)
    return known
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

  /** Forgets the indexes of a dropped record table. */
  forget(key: Buffer): void {
    this.#indexes.delete(key.toString('utf8'))
    this.#loads.delete(key.toString('utf8'))
  }

  prepare(changes: readonly TableChange[]): Promise<PartWrites | undefined> | undefined {
    const mutations: AtomicMutation[] = []
    for (const changed of changes) {
      for (const index of this.#of(changed.context)) {
        if (index.state !== 'DROPPING') this.#addRows(index, changed, mutations)
      }
    }
    return mutations.length === 0 ? undefined : Promise.resolve({ checks: [], mutations })
  }

  list(context: TableContext): FieldIndexInfo[] {
    const infos = this.#of(context).map((index) => infoOf(index, context.schema))
    return infos.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The indexes that queries may use. */
  active(context: TableContext): FieldIndex[] {
    return this.#of(context).filter(({ state }) => state === 'ACTIVE')
  }

  /** The index of a name, ready for queries. `ERR_FIELD_INDEX_NOT_FOUND`. */
  find(context: TableContext, name: string): FieldIndex {
    checkIndexName(name)
    const found = this.#of(context).find((index) => index.name === name)
    if (found?.state === 'ACTIVE') return found
    const problem = found === undefined ? `there is no index ${name}` : `${name} is ${found.state}`
    throw indexNotFound(problem)
  }

  async create(
    context: TableContext,
    given: FieldIndexInput,
    signal: AbortSignal | undefined,
  ): Promise<FieldIndexInfo> {
    const input = readArguments(() => copyInput(given))
    const parts = readArguments(() => partsOf(input, context.schema))
    const { name } = input
    const indexes = this.#of(context)
    let index = indexes.find((known) => known.name === name)
    const isSame = JSON.stringify(index?.parts) === JSON.stringify(parts)
    const isDropping = index?.state === 'DROPPING'
    if (index !== undefined && (!isSame || isDropping)) {
      const message = `the index ${name} ${isDropping ? 'is being dropped' : 'has other fields'}`
      throw new RepositoryError(RepositoryErrorCode.fieldIndexExists, message)
    }
    if (index === undefined) {
      const ordinal = 1 + indexes.reduce((most, known) => Math.max(most, known.ordinal), 0)
      index = { name, ordinal, parts, state: 'BUILDING', position: Buffer.alloc(0), built: 0 }
      // Every commit from now on maintains the index; the build waits for commits that began
      // earlier.
      this.#indexes.set(context.keyText, [...indexes, index])
    }
    if (index.state === 'BUILDING') {
      const running = this.#builds.get(index) ?? this.#build(context, index, signal)
      this.#builds.set(index, running)
      try {
        await running
      } finally {
        this.#builds.delete(index)
      }
    }
    return infoOf(index, context.schema)
  }

  async drop(context: TableContext, name: string): Promise<void> {
    checkIndexName(name)
    const index = this.#of(context).find((known) => known.name === name)
    if (index === undefined) throw indexNotFound(`there is no index ${name}`)
    index.state = 'DROPPING'
    await this.#builds.get(index)?.catch(() => undefined)
    await this.#declare(context, index)
    await this.gate.turn()
    await this.#endDrop(context, index)
  }

  /** Compares an index with its records in one snapshot of the database. */
  async check(context: TableContext, name: string): Promise<FieldIndexCheck> {
    requireCapability(this.#database.capabilities, 'snapshots', 'a check of an index')
    const index = this.find(context, name)
    const snapshot = this.#database.snapshot()
    try {
      const wanted = new Set<string>()
      for await (const row of context.table.scan({ columns: [headColumn], snapshot })) {
        const state = decodeHead(row.value(headColumn)!)
        const id = RecordId.fromBytes(row.row!)
        for (const own of indexRows(context.key, index, id, state, context.schema)) {
          wanted.add(own.toString('latin1'))
        }
      }
      let rows = 0
      let surplus = 0
      const prefix = indexPrefix(context.key, index)
      for await (const { row } of this.#database.table(this.#table).scan({ prefix, snapshot })) {
        rows++
        if (!wanted.delete(row!.toString('latin1'))) surplus++
      }
      return { rows, missing: wanted.size, surplus }
    } finally {
      snapshot.close()
    }
  }

  #of(context: TableContext): FieldIndex[] {
    return this.#indexes.get(context.keyText) ?? []
  }

  async #load(context: TableContext): Promise<void> {
    const prefix = definitionPrefix(context.key)
    const indexes: FieldIndex[] = []
    for await (const row of this.#database.table(this.#table).scan({ prefix })) {
      const own = row.row!.subarray(prefix.length).toString('utf8')
      indexes.push(decodeIndex(own, row.value(column, 'utf8')!))
    }
    this.#indexes.set(context.keyText, indexes)
    for (const index of indexes) {
      if (index.state === 'DROPPING') await this.#endDrop(context, index)
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
      if (!isThere || isBuilding) mutations.push(placement(this.#table, row, id.bytes))
    }
    for (const row of left.values()) mutations.push(removal(this.#table, row))
  }

  async #build(
    context: TableContext,
    index: FieldIndex,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await this.#declare(context, index)
    await this.gate.turn()
    for (;;) {
      signal?.throwIfAborted()
      if (index.state === 'DROPPING') throw indexNotFound(`the index ${index.name} was dropped`)
      const after = index.position
      const scan = { columns: [headColumn], limit: recordsPerStep }
      const heads = await context.table
        .scan(after.length === 0 ? scan : { ...scan, startRow: after, startInclusive: false })
        .all()
      if (heads.length === 0) break
      const rows = new Map(heads.map((row) => [row.row!, row.value(headColumn)!]))
      await this.#addRecords(context, index, rows)
    }
    if (index.state !== 'BUILDING') return
    index.state = 'ACTIVE'
    await this.#declare(context, index)
  }

  /** Adds the records of one step, and advances the position past them. */
  async #addRecords(
    context: TableContext,
    index: FieldIndex,
    heads: Map<Buffer, Buffer>,
  ): Promise<void> {
    const position = [...heads.keys()].at(-1)!
    const built = index.built + heads.size
    for (;;) {
      const entries = [...heads]
      const mutations = [this.#declaration(context.key, { ...index, position, built })]
      for (const [row, head] of entries) {
        const id = RecordId.fromBytes(row)
        for (const own of indexRows(context.key, index, id, decodeHead(head), context.schema)) {
          mutations.push(placement(this.#table, own, id.bytes))
        }
      }
      const { success, failedCheck } = await this.#database.atomic({
        checks: entries.map(([row, head]) => {
          return { table: context.table, row, column: headColumn, equals: head }
        }),
        mutations,
        durability: context.durability,
      })
      if (success) break
      // The writer that changed the record has written all of its rows.
      heads.delete(entries[failedCheck!][0])
    }
    index.position = position
    index.built = built
  }

  async #endDrop({ key, keyText, durability }: TableContext, index: FieldIndex): Promise<void> {
    const table = this.#database.table(this.#table)
    const scan = { prefix: indexPrefix(key, index), limit: rowsPerStep }
    for (;;) {
      const rows = await table.scan(scan).all()
      if (rows.length === 0) break
      const mutations = rows.map(({ row }) => removal(this.#table, row!))
      await this.#database.atomic({ mutations, durability })
    }
    const row = Buffer.concat([definitionPrefix(key), Buffer.from(index.name)])
    await this.#database.atomic({ mutations: [removal(this.#table, row)], durability })
    const others = (this.#indexes.get(keyText) ?? []).filter((known) => known !== index)
    this.#indexes.set(keyText, others)
  }

  async #declare({ key, durability }: TableContext, index: FieldIndex): Promise<void> {
    await this.#database.atomic({ mutations: [this.#declaration(key, index)], durability })
  }

  #declaration(key: Buffer, index: FieldIndex): AtomicMutation {
    const row = Buffer.concat([definitionPrefix(key), Buffer.from(index.name)])
    return placement(this.#table, row, Buffer.from(encodeIndex(index)))
  }
}
