/**
 * The field indexes of one record table, for callers.
 *
 * An index over existing records is built while writes continue. Once it is declared, every write
 * puts all rows of its record. The build may therefore skip a record that changed since it was
 * read.
 */
import {
  assert,
  checked,
  checkSignal,
  declareOptions,
  readArguments,
  requireCapability,
  type AtomicMutation,
  type OptionsOf,
  type Result,
} from '../../../api/index.js'
import type { Entry } from '../../../comfort/indexes/entries.js'
import { compareEntries } from '../../../comfort/indexes/entry-check.js'
import { rowSteps } from '../../../comfort/tables.js'
import { repositoryError } from '../errors.js'
import { storedRecordId } from '../record-id.js'
import { indexColumn, indexRemoval, indexRow } from '../records/ordered-row.js'
import { decodeHead, headColumn } from '../records/record-state.js'
import type { TableContext } from '../records/table-context.js'
import {
  checkIndexName,
  decodeIndex,
  definitionPrefix,
  encodeIndex,
  indexNotFound,
  indexPrefix,
  indexRows,
  infoOf,
  readIndexInput,
  type FieldIndex,
  type FieldIndexInfo,
  type FieldIndexInput,
  type TableIndexes,
} from './field-index.js'

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

const buildOptions = declareOptions('the build of an index', {
  /** Interrupts the build; the next `create` continues it. */
  signal: checked(checkSignal),
})

/** Options of {@link RecordIndexes.create}. */
export interface IndexBuildOptions extends OptionsOf<typeof buildOptions> {}

/** The field indexes of a record table; see `RecordTable.indexes`. */
export class RecordIndexes {
  readonly #context: TableContext
  readonly #indexes: TableIndexes

  /** @internal */
  constructor(context: TableContext, indexes: TableIndexes) {
    this.#context = context
    this.#indexes = indexes
  }

  /** Reads the declarations, and completes drops that a crash interrupted. @internal */
  load(): Promise<void> {
    // A failed load is repeated by the next call.
    this.#indexes.loading ??= this.#load().catch((error: unknown) => {
      this.#indexes.loading = undefined
      throw error
    })
    return this.#indexes.loading
  }

  /**
   * Creates an index and adds the existing records while writes continue. Resolves when queries may
   * use the index. An existing index of the same fields stays. A build that was interrupted, by
   * `signal` or by a crash, continues at its position. `ERR_FIELD_INDEX_EXISTS` for a name with
   * other fields, or of an index that is being dropped, `ERR_INVALID_ARGUMENT`,
   * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_RECORD` if the values of a record are too long.
   */
  async create(input: FieldIndexInput, options: IndexBuildOptions = {}): Promise<FieldIndexInfo> {
    const { schema } = this.#open()
    const { signal } = buildOptions.read(options)
    const { name, fields } = readArguments(() => readIndexInput(input, schema))
    const known = this.#find(name)
    const isDropping = known?.state === 'DROPPING'
    const isSame = JSON.stringify(known?.fields) === JSON.stringify(fields)
    if (known !== undefined && (!isSame || isDropping)) {
      const problem = isDropping ? 'is being dropped' : 'has other fields'
      throw repositoryError('fieldIndexExists', `the index ${name} ${problem}`)
    }
    const index = known ?? this.#added(name, fields)
    if (index.state === 'BUILDING') {
      const { builds } = this.#indexes
      const running = builds.get(index) ?? this.#build(index, signal)
      builds.set(index, running)
      await running.finally(() => builds.delete(index))
    }
    return infoOf(index, schema)
  }

  /** Removes an index. `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  async drop(name: string): Promise<void> {
    this.#open()
    const index = this.#find(checkIndexName(name))
    if (index === undefined) throw indexNotFound(`there is no index ${name}`)
    const { drops } = this.#indexes
    const running = drops.get(index) ?? this.#drop(index)
    drops.set(index, running)
    await running.finally(() => drops.delete(index))
  }

  /** The indexes, sorted by name. */
  list(): FieldIndexInfo[] {
    const context = this.#open()
    const infos = this.#indexes.list.map((index) => infoOf(index, context.schema))
    return infos.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Compares an index with its records, in one snapshot of the database.
   * `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  async check(name: string): Promise<FieldIndexCheck> {
    const context = this.#open()
    const { database, table } = context
    requireCapability(database.capabilities, 'snapshots', 'a check of an index')
    const index = this.find(name)
    const checked = {
      data: table,
      columns: [headColumn],
      entries: database.table(context.indexTable),
      prefix: indexPrefix(context.key, index),
      column: indexColumn,
      entriesOf: (row: Result) => rowsOfHead(context, index, row),
      entryOf: (result: Result) => {
        const value = result.value(indexColumn)!
        return { key: result.row!, value, row: value }
      },
    }
    using snapshot = database.snapshot()
    const { count, missing, surplus } = await compareEntries(checked, snapshot)
    return { rows: count, missing: missing.length, surplus: surplus.length }
  }

  /** The indexes that queries may use. @internal */
  active(): readonly FieldIndex[] {
    return this.#indexes.list.filter(({ state }) => state === 'ACTIVE')
  }

  /** The index of a name, ready for queries. `ERR_FIELD_INDEX_NOT_FOUND`. @internal */
  find(name: string): FieldIndex {
    const found = this.#find(checkIndexName(name))
    if (found?.state === 'ACTIVE') return found
    const problem = found === undefined ? `there is no index ${name}` : `${name} is ${found.state}`
    throw indexNotFound(problem)
  }

  #open(): TableContext {
    this.#context.checkOpen()
    return this.#context
  }

  #find(name: string): FieldIndex | undefined {
    return this.#indexes.list.find((known) => known.name === name)
  }

  /** A new index, which commits maintain once it is declared. */
  #added(name: string, fields: FieldIndex['fields']): FieldIndex {
    const { list } = this.#indexes
    const ordinal = 1 + Math.max(0, ...list.map((other) => other.ordinal))
    const index: FieldIndex = {
      name,
      ordinal,
      fields,
      state: 'BUILDING',
      isMaintained: false,
      position: '',
      built: 0,
    }
    this.#indexes.list = [...list, index]
    return index
  }

  #declaration(index: FieldIndex): AtomicMutation {
    return indexRow(this.#context, this.#rowOf(index.name), encodeIndex(index))
  }

  #rowOf(name: string): Buffer {
    return Buffer.concat([definitionPrefix(this.#context.key), Buffer.from(name)])
  }

  async #declare(index: FieldIndex): Promise<void> {
    const { database, durability } = this.#context
    await database.atomic({ mutations: [this.#declaration(index)], durability })
  }

  async #load(): Promise<void> {
    const { database, indexTable, key } = this.#context
    const prefix = definitionPrefix(key)
    const rows = await database.table(indexTable).scan({ prefix }).all()
    this.#indexes.list = rows.map((row) => {
      const name = row.row!.subarray(prefix.length).toString('utf8')
      return decodeIndex(name, row.value(indexColumn, 'utf8')!)
    })
    for (const index of this.#indexes.list) {
      if (index.state === 'DROPPING') await this.#endDrop(index)
    }
  }

  /** Drops an index. If the drop cannot be stored, the index is as it was. */
  async #drop(index: FieldIndex): Promise<void> {
    const { state } = index
    index.state = 'DROPPING'
    try {
      await this.#indexes.builds.get(index)?.catch(() => undefined)
      await this.#declare(index)
    } catch (error) {
      index.state = state
      throw error
    }
    index.isMaintained = false
    await this.#context.gate.turn()
    await this.#endDrop(index)
  }

  /** Removes the rows of an index that is being dropped, then its declaration. */
  async #endDrop(index: FieldIndex): Promise<void> {
    assert(index.state === 'DROPPING', 'only an index that is being dropped loses its rows')
    const { database, indexTable, key, durability } = this.#context
    const scan = { prefix: indexPrefix(key, index), limit: rowsPerStep }
    for (;;) {
      const rows = await database.table(indexTable).scan(scan).all()
      const removed = rows.length === 0 ? [this.#rowOf(index.name)] : rows.map(({ row }) => row!)
      const mutations = removed.map((row) => indexRemoval(this.#context, row))
      await database.atomic({ mutations, durability })
      if (rows.length === 0) break
    }
    this.#indexes.list = this.#indexes.list.filter((known) => known !== index)
  }

  async #build(index: FieldIndex, signal: AbortSignal | undefined): Promise<void> {
    const { gate, table } = this.#context
    const checkWanted = (): void => {
      signal?.throwIfAborted()
      if (index.state === 'DROPPING') throw indexNotFound(`the index ${index.name} was dropped`)
    }
    await this.#declare(index)
    checkWanted()
    index.isMaintained = true
    // Commits that began earlier do not maintain the index.
    await gate.turn()
    const after = index.position === '' ? undefined : Buffer.from(index.position, 'hex')
    for await (const rows of rowSteps(table, { columns: [headColumn] }, recordsPerStep, after)) {
      checkWanted()
      await this.#addRecords(index, rows)
    }
    checkWanted()
    index.state = 'ACTIVE'
    await this.#declare(index)
  }

  /** Adds the records of one step, and advances the position past them. */
  async #addRecords(index: FieldIndex, rows: readonly Result[]): Promise<void> {
    const context = this.#context
    const { database, table, durability } = context
    const position = rows[rows.length - 1].row!.toString('hex')
    const built = index.built + rows.length
    const left = [...rows]
    for (;;) {
      const mutations = [this.#declaration({ ...index, position, built })]
      for (const { key, value } of left.flatMap((row) => rowsOfHead(context, index, row))) {
        mutations.push(indexRow(context, key, value))
      }
      const checks = left.map((row) => {
        return { table, row: row.row!, column: headColumn, equals: row.value(headColumn)! }
      })
      const { success, failedCheck } = await database.atomic({ checks, mutations, durability })
      if (success) break
      // The writer that changed the record has written all of its rows.
      left.splice(failedCheck!, 1)
    }
    assert(index.position < position, 'a build moves forward')
    index.position = position
    index.built = built
  }
}

function rowsOfHead(context: TableContext, index: FieldIndex, row: Result): Entry[] {
  const head = row.value(headColumn)
  if (head === undefined) return []
  const id = storedRecordId(row.row, `a row of ${context.keyText}`)
  return indexRows(context, index, id, decodeHead(head, id))
}
