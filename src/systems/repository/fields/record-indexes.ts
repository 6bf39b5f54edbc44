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
  type OptionsOf,
} from '../../../api/index.js'
import { repositoryError } from '../errors.js'
import { RecordId } from '../record-id.js'
import { decodeHead, headColumn } from '../records/record-state.js'
import type { TableContext } from '../records/table-context.js'
import {
  checkIndexName,
  infoOf,
  partsOf,
  type FieldIndex,
  type FieldIndexInfo,
  type FieldIndexInput,
} from './field-index.js'
import { indexNotFound, type FieldIndexes } from './field-indexes.js'
import { indexPrefix, indexRows } from './index-rows.js'

const recordsPerStep = 200

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
  readonly #indexes: FieldIndexes

  /** @internal */
  constructor(context: TableContext, indexes: FieldIndexes) {
    this.#context = context
    this.#indexes = indexes
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
    const { name, parts } = readArguments(() => partsOf(input, schema))
    const known = this.#find(name)
    const isDropping = known?.state === 'DROPPING'
    const isSame = JSON.stringify(known?.parts) === JSON.stringify(parts)
    if (known !== undefined && (!isSame || isDropping)) {
      const problem = isDropping ? 'is being dropped' : 'has other fields'
      throw repositoryError('fieldIndexExists', `the index ${name} ${problem}`)
    }
    const index = known ?? this.#declared({ name, parts })
    if (index.state === 'BUILDING') {
      const { builds } = this.#indexes
      const running = builds.get(index) ?? this.#build(index, signal)
      builds.set(index, running)
      try {
        await running
      } finally {
        builds.delete(index)
      }
    }
    return infoOf(index, schema)
  }

  /** Removes an index. `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  async drop(name: string): Promise<void> {
    const context = this.#open()
    const index = this.#find(checkIndexName(name))
    if (index === undefined) throw indexNotFound(`there is no index ${name}`)
    index.state = 'DROPPING'
    await this.#indexes.builds.get(index)?.catch(() => undefined)
    await this.#indexes.declare(context, index)
    await context.gate.turn()
    await this.#indexes.endDrop(context, index)
  }

  /** The indexes, sorted by name. */
  list(): FieldIndexInfo[] {
    const context = this.#open()
    const infos = this.#indexes.of(context).map((index) => infoOf(index, context.schema))
    return infos.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Compares an index with its records, in one snapshot of the database.
   * `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  async check(name: string): Promise<FieldIndexCheck> {
    const { database, table, key, schema } = this.#open()
    requireCapability(database.capabilities, 'snapshots', 'a check of an index')
    const index = this.#indexes.find(this.#context, name)
    const snapshot = database.snapshot()
    try {
      const wanted = new Set<string>()
      for await (const row of table.scan({ columns: [headColumn], snapshot })) {
        const state = decodeHead(row.value(headColumn)!)
        for (const own of indexRows(key, index, RecordId.fromBytes(row.row!), state, schema)) {
          wanted.add(own.toString('latin1'))
        }
      }
      let rows = 0
      let surplus = 0
      const prefix = indexPrefix(key, index)
      for await (const { row } of database.table(this.#indexes.table).scan({ prefix, snapshot })) {
        rows++
        if (!wanted.delete(row!.toString('latin1'))) surplus++
      }
      return { rows, missing: wanted.size, surplus }
    } finally {
      snapshot.close()
    }
  }

  #open(): TableContext {
    this.#context.checkOpen()
    return this.#context
  }

  #find(name: string): FieldIndex | undefined {
    return this.#indexes.of(this.#context).find((known) => known.name === name)
  }

  /** A new index, which every commit from now on maintains. */
  #declared(parts: Pick<FieldIndex, 'name' | 'parts'>): FieldIndex {
    const ordinals = this.#indexes.of(this.#context).map(({ ordinal }) => ordinal)
    const index: FieldIndex = {
      ...parts,
      ordinal: 1 + Math.max(0, ...ordinals),
      state: 'BUILDING',
      position: Buffer.alloc(0),
      built: 0,
    }
    this.#indexes.add(this.#context, index)
    return index
  }

  async #build(index: FieldIndex, signal: AbortSignal | undefined): Promise<void> {
    const context = this.#context
    await this.#indexes.declare(context, index)
    // Commits that began earlier do not maintain the index.
    await context.gate.turn()
    for (;;) {
      signal?.throwIfAborted()
      if (index.state === 'DROPPING') throw indexNotFound(`the index ${index.name} was dropped`)
      const after = index.position
      const span = after.length === 0 ? {} : { startRow: after, startInclusive: false }
      const scan = { columns: [headColumn], limit: recordsPerStep, ...span }
      const heads = await context.table.scan(scan).all()
      if (heads.length === 0) break
      await this.#addRecords(
        index,
        heads.map((row) => [row.row!, row.value(headColumn)!]),
      )
    }
    if (index.state !== 'BUILDING') return
    index.state = 'ACTIVE'
    await this.#indexes.declare(context, index)
  }

  /** Adds the records of one step, by row and head, and advances the position past them. */
  async #addRecords(index: FieldIndex, heads: [Buffer, Buffer][]): Promise<void> {
    const { database, table, key, schema, durability } = this.#context
    const position = heads[heads.length - 1][0]
    const built = index.built + heads.length
    const left = [...heads]
    for (;;) {
      const mutations = [this.#indexes.declaration(key, { ...index, position, built })]
      for (const [row, head] of left) {
        const id = RecordId.fromBytes(row)
        for (const own of indexRows(key, index, id, decodeHead(head), schema)) {
          mutations.push(this.#indexes.placement(own, id.bytes))
        }
      }
      const checks = left.map(([row, equals]) => ({ table, row, column: headColumn, equals }))
      const { success, failedCheck } = await database.atomic({ checks, mutations, durability })
      if (success) break
      // The writer that changed the record has written all of its rows.
      left.splice(failedCheck!, 1)
    }
    assert(Buffer.compare(index.position, position) < 0, 'a build moves forward')
    index.position = position
    index.built = built
  }
}
