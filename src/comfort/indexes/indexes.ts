/** The indexes of the tables of a database: create, build, find, rebuild and drop. */
import { checkText } from '../../base/arguments.js'
import { CellarError, ErrorCode, hasCode } from '../../base/errors.js'
import { checkDatabase, requireCapability } from '../../api/capabilities.js'
import type { Awaitable, Database } from '../../api/database.js'
import { plainTableName } from '../../api/names.js'
import type { TableCoprocessor } from '../../api/coprocessor.js'
import type { TableDescription } from '../../api/schema.js'
import type { SyncTable, Table } from '../../api/table.js'
import { buildIndex } from './build.js'
import {
  checkFamilies,
  indexesOf,
  kept,
  withIndexes,
  type IndexState,
  type KeptIndex,
  type StoredIndex,
} from './catalog.js'
import { planIndex, type IndexDeclaration } from './declaration.js'
import { buildFamily, entryFamily } from './entry-values.js'
import { TableIndex, type IndexTables } from './table-index.js'

/** An index in a list. */
export interface IndexDescription {
  /** Name of the table. */
  readonly table: string
  /** As it was given to `create`. */
  readonly declaration: IndexDeclaration
  /** Whether the index is built, answers queries, or could not be built. */
  readonly state: IndexState
  /** Name of the table with the entries. */
  readonly entries: string
}

/** Changes of schemas, one after the other for each database. */
const schemaChanges = new WeakMap<Database, Promise<unknown>>()

/**
 * The indexes of one database; made by {@link openIndexes}. Indexes are part of the schemas of
 * their tables: they are kept in every open database, with or without an object of this class.
 */
export class Indexes {
  /** @internal */
  readonly database: Database<Table & SyncTable>
  readonly #builds = new Map<string, Promise<void>>()
  readonly #plans = new WeakMap<object, KeptIndex[]>()
  /** The tables whose indexes were asked for, by their names: making a table costs more. */
  readonly #tables = new Map<string, Table & SyncTable>()
  readonly #tablesOf = new WeakMap<KeptIndex, IndexTables>()
  #isClosed = false

  /** @internal As {@link openIndexes}, without continuing builds. */
  constructor(database: Database<Table & SyncTable>) {
    this.database = database
  }

  /**
   * Declares an index and begins to build it; `await index.ready()` waits for the end. From then on
   * every mutation of the table keeps it, in the same log entry. `ERR_INDEX_EXISTS`,
   * `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_COLUMN_FAMILY`, `ERR_INVALID_ARGUMENT`.
   */
  async create(table: string, declaration: IndexDeclaration): Promise<TableIndex> {
    this.#checkOpen()
    const plan = planIndex(declaration)
    const copy = JSON.parse(JSON.stringify(declaration)) as IndexDeclaration
    const name = plainTableName(table)
    await this.#change(async () => {
      const description = await this.database.admin.getDescriptor(name)
      checkFamilies(name, description.families, plan)
      const indexes = indexesOf(description)
      if (indexes.some(({ declaration: other }) => other.name === plan.name)) {
        const found = `table '${name}' has an index '${plan.name}' already`
        const message = `${found}; Indexes.drop removes it`
        throw new CellarError(ErrorCode.indexExists, message)
      }
      const entries = await this.#newEntries(name, plan.name)
      await this.#store(description, [
        ...indexes,
        { declaration: copy, entries, state: 'building' },
      ])
    })
    this.#build(name, plan.name)
    return new TableIndex(this, name, plan.name)
  }

  /** An index of a table. `ERR_INDEX_NOT_FOUND`, `ERR_TABLE_NOT_FOUND`. */
  index(table: string, name: string): TableIndex {
    const plain = plainTableName(table)
    this.find(plain, name)
    return new TableIndex(this, plain, name)
  }

  /** The indexes of a table, or of all tables, in the order of their creation. */
  async list(table?: string): Promise<IndexDescription[]> {
    this.#checkOpen()
    const described =
      table === undefined
        ? await this.#describedTables()
        : [await this.database.admin.getDescriptor(plainTableName(table))]
    return described.flatMap((description) =>
      indexesOf(description).map(({ declaration, state, entries }) => {
        return { table: description.name, declaration, state, entries }
      }),
    )
  }

  /** Removes an index with its entries. `ERR_INDEX_NOT_FOUND`, `ERR_TABLE_NOT_FOUND`. */
  async drop(table: string, name: string): Promise<void> {
    this.#checkOpen()
    const plain = plainTableName(table)
    const { entries } = await this.#replace(plain, name, () => undefined)
    await this.#settled(plain, name).catch(() => undefined)
    await this.#deleteEntries(entries)
  }

  /**
   * Builds an index again from the rows. It answers no queries before the end of the build.
   * `ERR_INDEX_NOT_FOUND`, `ERR_TABLE_NOT_FOUND`.
   */
  async rebuild(table: string, name: string): Promise<void> {
    this.#checkOpen()
    const plain = plainTableName(table)
    const old = await this.#replace(plain, name, async ({ declaration, entries }) => {
      return {
        declaration,
        entries: await this.#newEntries(plain, name, entries),
        state: 'building',
      }
    })
    await this.#settled(plain, name).catch(() => undefined)
    await this.#deleteEntries(old.entries)
    this.#build(plain, name)
  }

  /**
   * Stops builds that run; the next {@link openIndexes} continues them. Call it before the
   * database is closed. Indexes stay up to date.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#builds.values())
  }

  /** As {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @internal Continues the builds of an earlier process, and removes their leftovers. */
  async resume(): Promise<void> {
    const all = await this.#change(async () => {
      const known = await this.list()
      const used = new Set(known.map(({ entries }) => entries))
      for (const { name, metadata } of await this.#describedTables()) {
        if (Object.hasOwn(metadata, entriesMark) && !used.has(name)) await this.#deleteEntries(name)
      }
      return known
    })
    for (const { table, declaration, state } of all) {
      if (state === 'building') this.#build(table, declaration.name)
    }
  }

  #checkOpen(): void {
    if (!this.#isClosed) return
    throw new CellarError(ErrorCode.closed, 'the indexes are closed; openIndexes opens them again')
  }

  /** @internal An index as the schema has it now. `ERR_INDEX_NOT_FOUND`. */
  find(table: string, name: string): KeptIndex {
    this.#checkOpen()
    return this.#find(table, name)
  }

  #find(table: string, name: string): KeptIndex {
    checkText(name, 'the name of an index')
    const coprocessors = this.#coprocessorsOf(table)
    let plans = this.#plans.get(coprocessors)
    if (plans === undefined) {
      plans = indexesOf({ name: table, coprocessors }).map(kept)
      this.#plans.set(coprocessors, plans)
    }
    const found = plans.find(({ plan }) => plan.name === name)
    if (found !== undefined) return found
    throw noSuchIndex(table, name, plans)
  }

  #coprocessorsOf(table: string): readonly TableCoprocessor[] {
    try {
      const known = this.#tables.get(table)
      if (known !== undefined) return known.coprocessors
    } catch (error) {
      // The table was dropped. There may be another one of its name.
      if (!(error instanceof CellarError) || error.code !== ErrorCode.tableNotFound) throw error
    }
    this.#tables.delete(table)
    const found = this.database.table(table)
    this.#tables.set(table, found)
    return found.coprocessors
  }

  /** @internal The tables of an index that `find` returned: each change makes another object. */
  tablesOf(table: string, index: KeptIndex): IndexTables {
    let found = this.#tablesOf.get(index)
    if (found === undefined) {
      found = { data: this.database.table(table), entries: this.database.table(index.entries) }
      this.#tablesOf.set(index, found)
    }
    return found
  }

  /** @internal Resolves when no build of the index runs. */
  async settled(table: string, name: string): Promise<void> {
    // A build that another object of this class began may end with that one.
    const { state } = this.find(table, name)
    if (state === 'building' && !this.#builds.has(`${table} ${name}`)) this.#build(table, name)
    await this.#settled(table, name)
  }

  #settled(table: string, name: string): Promise<void> {
    return this.#builds.get(`${table} ${name}`) ?? Promise.resolve()
  }

  #build(table: string, name: string): void {
    const key = `${table} ${name}`
    const done = this.#runBuild(table, name).finally(() => {
      if (this.#builds.get(key) === done) this.#builds.delete(key)
    })
    this.#builds.set(key, done)
    // The error is that of `ready`, and the schema has its message.
    done.catch(() => undefined)
  }

  async #runBuild(table: string, name: string): Promise<void> {
    const index = this.#find(table, name)
    const isOutdated = (): boolean => {
      if (this.#isClosed) return true
      const found = indexesOf(this.database.table(table).describe())
      return !found.some(({ entries, state }) => {
        return entries === index.entries && state === 'building'
      })
    }
    const end = (state: 'ready' | 'failed', reason?: string): Promise<unknown> =>
      this.#replace(table, name, (stored) => {
        if (stored.entries !== index.entries || stored.state !== 'building') return stored
        return { ...stored, state, ...(reason !== undefined && { reason }) }
      })
    try {
      if (await buildIndex(this.database, table, index, isOutdated)) await end('ready')
    } catch (error) {
      if (error instanceof CellarError && lastingFailures.has(error.code) && !isOutdated()) {
        await end('failed', error.message)
      }
      throw error
    }
  }

  /** Changes or removes one index in the schema. Returns the index before. */
  #replace(
    table: string,
    name: string,
    change: (stored: StoredIndex) => Awaitable<StoredIndex | undefined>,
  ): Promise<StoredIndex> {
    return this.#change(async () => {
      const description = await this.database.admin.getDescriptor(table)
      const indexes = indexesOf(description)
      const place = indexes.findIndex(({ declaration }) => declaration.name === name)
      if (place < 0) throw noSuchIndex(table, name, indexes)
      const before = indexes[place]
      const after = await change(before)
      if (after === before) return before
      indexes.splice(place, 1, ...(after === undefined ? [] : [after]))
      await this.#store(description, indexes)
      return before
    })
  }

  async #store(description: TableDescription, indexes: readonly StoredIndex[]): Promise<void> {
    const coprocessors = withIndexes(description, indexes)
    await this.database.admin.modifyTable(description.name, { coprocessors })
  }

  /** Makes an empty table for entries, of another name than the one before. */
  async #newEntries(table: string, name: string, before?: string): Promise<string> {
    for (let number = 1; ; number++) {
      const entries = `${table}.index.${name}.${number}`
      if (entries === before || (await this.database.admin.tableExists(entries))) continue
      await this.database.createTable(entries, {
        families: { [entryFamily]: {}, [buildFamily]: {} },
        metadata: { [entriesMark]: name },
      })
      return entries
    }
  }

  /** All tables; those that are dropped meanwhile are left out. */
  async #describedTables(): Promise<TableDescription[]> {
    const { admin } = this.database
    const found: TableDescription[] = []
    for (const name of await admin.listTableNames()) {
      try {
        found.push(await admin.getDescriptor(name))
      } catch (error) {
        if (!hasCode(error, ErrorCode.tableNotFound)) throw error
      }
    }
    return found
  }

  /** Removes a table of entries, which may be gone already. */
  async #deleteEntries(entries: string): Promise<void> {
    const { admin } = this.database
    if (await admin.tableExists(entries)) await admin.deleteTable(entries)
  }

  #change<T>(step: () => Promise<T>): Promise<T> {
    const before = schemaChanges.get(this.database) ?? Promise.resolve()
    const done = before.then(step, step)
    schemaChanges.set(this.database, done)
    return done
  }
}

/** Metadata of the tables of entries. */
const entriesMark = 'cellardb.index'

/** Errors that the next build would meet again. */
const lastingFailures: ReadonlySet<string> = new Set([
  ErrorCode.uniqueViolation,
  ErrorCode.invalidArgument,
  ErrorCode.tooLarge,
])

function noSuchIndex(table: string, name: string, indexes: readonly StoredIndex[]): CellarError {
  const known = indexes.map(({ declaration }) => `'${declaration.name}'`).join(', ')
  const hint = known === '' ? 'it has none' : `it has ${known}`
  return new CellarError(
    ErrorCode.indexNotFound,
    `table '${table}' has no index '${name}'; ${hint}`,
  )
}

/**
 * Opens the indexes of a database, and continues builds that an earlier process began.
 * `ERR_UNSUPPORTED` if the backend is not the embedded engine.
 */
export async function openIndexes(database: Database<Table & SyncTable>): Promise<Indexes> {
  checkDatabase(database, 'indexes')
  for (const capability of ['sync', 'coprocessors', 'atomicAcrossTables', 'snapshots'] as const) {
    requireCapability(database.capabilities, capability, 'an index')
  }
  const indexes = new Indexes(database)
  await indexes.resume()
  return indexes
}
