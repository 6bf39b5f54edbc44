/**
 * The repositories and record tables of one manager: created, found and dropped. A drop that was
 * interrupted is completed by the next open, or by `finishDrops`.
 */
import {
  assert,
  CellarError,
  shown,
  type Database,
  type SyncTable,
  type Table,
} from '../../../api/index.js'
import { blobLedger } from '../blobs/blob-references.js'
import { Blobs } from '../blobs/blobs.js'
import { TableBlobStore } from '../blobs/blob-store.js'
import { invalidArgument, isRepositoryError, repositoryError } from '../errors.js'
import { noteDrop } from './dropped-tables.js'
import { LinkIndex } from '../links/link-index.js'
import { lastTag } from '../qualified-name.js'
import { RecordId } from '../record-id.js'
import { linkTargetsPart } from '../records/link-targets.js'
import { terminated } from '../../../comfort/keys/key-parts.js'
import { rowKinds } from '../records/ordered-row.js'
import { recordFamily } from '../records/record-state.js'
import type { TableContext } from '../records/table-context.js'
import { uniqueValuesPart } from '../records/unique/unique-values.js'
import { SchemaRows } from '../schema/schema-rows.js'
import { TypeManager } from '../schema/type-manager.js'
import { RecordTable } from '../tables/record-table.js'
import { Scanners } from '../tables/scanners.js'
import type { RepositorySettings } from './options.js'
import {
  checkRepositoryName,
  checkTableName,
  defaultRepository,
  defaultTable,
  RepositoryRows,
  reservedRepositoryNames,
} from './repository-rows.js'
import { Repository } from './repository.js'
import { SharedState, type DropObserver } from './shared-state.js'

/** The members of a {@link TableContext} that all tables of a manager share. */
type SharedContext = Omit<
  TableContext,
  'table' | 'syncTable' | 'repository' | 'name' | 'key' | 'keyText' | 'tableOf' | 'checkOpen'
>

/** The repositories of one database, and the parts that all of them share. */
export abstract class RepositoryCatalog {
  /** Field types and record types, which all repositories share. */
  readonly types: TypeManager
  /** Blobs, which all repositories share. */
  readonly blobs: Blobs
  /** Index of the links between records; maintained while `followLinks` runs. */
  readonly links: LinkIndex
  /** Scans that continue call by call, also after a restart. */
  readonly scanners: Scanners
  /** @internal */
  readonly database: Database
  /** @internal */
  readonly settings: RepositorySettings
  readonly #rows: RepositoryRows
  readonly #shared: SharedState
  readonly #context: SharedContext
  /** The open record tables by repository and name. */
  readonly #tables = new Map<string, Map<string, RecordTable>>()
  readonly #dropObservers = new Set<DropObserver>()
  #unfollow = (): void => undefined
  #isClosed = false

  /** @internal */
  constructor(database: Database, settings: RepositorySettings) {
    this.database = database
    this.settings = settings
    const { tablePrefix, valueTypes, clock, randomBytes, durability, hooks } = settings
    this.#rows = new RepositoryRows(database, `${tablePrefix}.tables`)
    this.#shared = SharedState.of(database, tablePrefix)
    const { gate, turns, claims, fieldIndexes, schemaListeners } = this.#shared
    this.types = new TypeManager({
      rows: new SchemaRows(database, `${tablePrefix}.schema`, valueTypes),
      valueTypes,
      newUuid: () => RecordId.random(randomBytes).text.slice('UUID.'.length),
      changeUnique: (ordinal, fields, change) => {
        const contexts = this.recordTables().map(({ context }) => context)
        return claims.change(ordinal, fields, contexts, change)
      },
      listeners: schemaListeners,
    })
    const { schema } = this.types
    const common = { database, clock, durability, randomBytes, schema }
    const blobStates = database.table(`${tablePrefix}.blobs`)
    const inTable = new TableBlobStore(database.table(`${tablePrefix}.blobdata`), durability)
    const routes = [...settings.blobStores]
    if (routes.length === 0) routes.push({ store: inTable, bytesMax: Infinity })
    const inlineBytesMax = settings.inlineBlobBytesMax
    this.blobs = new Blobs({ ...common, table: blobStates, routes, inlineBytesMax })
    this.links = new LinkIndex({
      database,
      table: `${tablePrefix}.links`,
      schema,
      findTable: (repository, name) => this.#tables.get(repository)?.get(name),
      allTables: () => this.recordTables(),
    })
    this.scanners = new Scanners({
      ...common,
      table: database.table(`${tablePrefix}.scanners`),
      leaseMilliseconds: settings.scannerLeaseMilliseconds,
      scannersMax: settings.scannersMax,
      findTable: (repository, name) => this.repository(repository).table(name),
    })
    this.#context = {
      ...common,
      indexTable: `${tablePrefix}.index`,
      undeleteMilliseconds: settings.undeleteMilliseconds,
      hooks,
      gate,
      turns,
      uniqueClaims: claims,
      parts: [
        uniqueValuesPart,
        linkTargetsPart,
        blobLedger(blobStates, clock, (key) => this.blobs.remove(key)),
        fieldIndexes.part,
      ],
    }
  }

  /** Reads the schema and opens all record tables. @internal */
  async load(): Promise<void> {
    await this.types.refresh()
    await this.types.createOrUpdateFieldType({ name: lastTag, valueType: 'LONG' })
    this.#unfollow = this.#shared.follow({
      tableMade: (repository, table) => this.#openTable(repository, table),
      tableDropped: async (repository, table) => {
        this.#tables.get(repository)?.delete(table)
        for (const observer of this.#dropObservers) await observer.tableDropped(repository, table)
      },
      repositoryDeleted: async (repository) => {
        for (const observer of this.#dropObservers) await observer.repositoryDeleted(repository)
        this.#tables.delete(repository)
      },
    })
    await this.#rows.add(defaultRepository, undefined)
    // An unavailable blob store must not prevent the open; `finishDrops` tries again.
    await this.finishDrops().catch((error: unknown) => {
      if (error instanceof CellarError && !isRepositoryError(error)) throw error
    })
    const rows = await this.#rows.list()
    const isDropped = rows.filter(({ table, state }) => table === undefined && state !== 'ACTIVE')
    const dropped = new Set(isDropped.map(({ repository }) => repository))
    for (const { repository, table, state } of rows) {
      if (table === undefined || state !== 'ACTIVE' || dropped.has(repository)) continue
      await this.#openTable(repository, table)
    }
  }

  /** Ends all calls, and follows other managers no longer. @internal */
  async stop(): Promise<void> {
    this.#isClosed = true
    this.#unfollow()
    this.types.close()
    await this.types.settled()
  }

  /** `ERR_REPOSITORY_CLOSED` once the manager is closed. @internal */
  checkOpen(): void {
    if (this.#isClosed) throw repositoryError('closed', 'the repository is closed')
  }

  /** A repository; default 'default'. `ERR_REPOSITORY_NOT_FOUND`. */
  repository(name: string = defaultRepository): Repository {
    this.checkOpen()
    checkRepositoryName(name)
    if (this.#tables.has(name)) return new Repository(this, name)
    throw repositoryNotFound(name)
  }

  /** Names of the repositories, sorted. */
  listRepositories(): string[] {
    this.checkOpen()
    return [...this.#tables.keys()].sort()
  }

  /**
   * Creates a repository with the table 'record'. `ERR_REPOSITORY_EXISTS`; `ERR_INVALID_ARGUMENT`
   * for a name that starts addresses of the server, such as 'record' and 'table'.
   */
  async createRepository(name: string): Promise<Repository> {
    this.checkOpen()
    if (reservedRepositoryNames.includes(checkRepositoryName(name))) {
      throw invalidArgument(`no repository can have the name ${name}, with which addresses begin`)
    }
    if (!(await this.#rows.add(name, undefined))) {
      throw repositoryError('repositoryExists', `there is a repository ${name} already`)
    }
    await this.#made(name, defaultTable)
    return new Repository(this, name)
  }

  /** Deletes a repository with all its tables; 'default' stays. `ERR_REPOSITORY_NOT_FOUND`. */
  async deleteRepository(name: string): Promise<void> {
    this.checkOpen()
    checkRepositoryName(name)
    if (name === defaultRepository) throw invalidArgument(`the repository ${name} stays`)
    if (!this.#tables.has(name)) throw repositoryNotFound(name)
    const tables = this.tablesOf(name)
    // A deletion must not start if its blobs cannot be removed.
    await this.blobs.checkStoresOf(tables.map((table) => `${name}/${table}`))
    await this.#rows.requestDelete(name, undefined)
    await this.#end(name, undefined)
  }

  /**
   * Completes drops of tables and repositories that were interrupted, or whose blob store did not
   * answer. Returns the number completed. A failed drop does not stop the others; the first error
   * is thrown at the end.
   */
  async finishDrops(): Promise<number> {
    this.checkOpen()
    let count = 0
    const failures: unknown[] = []
    for (const { repository, table, state } of await this.#rows.list()) {
      if (state !== 'DELETE_REQUESTED') continue
      try {
        await this.#end(repository, table)
        count++
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return count
  }

  /** Registers an observer of drops; the returned function removes the observer. @internal */
  observeDrops(observer: DropObserver): () => void {
    this.checkOpen()
    this.#dropObservers.add(observer)
    return () => void this.#dropObservers.delete(observer)
  }

  /** Names of the record tables of a repository, sorted. @internal */
  tablesOf(repository: string): string[] {
    this.checkOpen()
    return [...(this.#tables.get(repository)?.keys() ?? [])].sort()
  }

  /** All record tables. @internal */
  recordTables(): RecordTable[] {
    return [...this.#tables.values()].flatMap((tables) => [...tables.values()])
  }

  /** The record table of a name; undefined if there is none. @internal */
  findTable(repository: string, name: string): RecordTable | undefined {
    this.checkOpen()
    return this.#tables.get(repository)?.get(name)
  }

  /** The table of a name. `ERR_RECORD_TABLE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. @internal */
  getTable(repository: string, name: string): RecordTable {
    const table = this.findTable(repository, checkTableName(name))
    if (table !== undefined) return table
    throw recordTableNotFound(repository, name)
  }

  /** @internal */
  async createTable(repository: string, name: string): Promise<RecordTable> {
    this.checkOpen()
    checkTableName(name)
    if (!this.#tables.has(repository)) throw repositoryNotFound(repository)
    if (!(await this.#rows.add(repository, name))) {
      throw repositoryError('recordTableExists', `${repository} has a table ${name} already`)
    }
    await this.#made(repository, name)
    return this.getTable(repository, name)
  }

  /** @internal */
  async dropTable(repository: string, name: string): Promise<void> {
    this.checkOpen()
    if (name === defaultTable) throw invalidArgument(`the table ${name} stays`)
    this.getTable(repository, name)
    await this.blobs.checkStoresOf([`${repository}/${name}`])
    await this.#rows.requestDelete(repository, name)
    await this.#end(repository, name)
  }

  #made(repository: string, table: string): Promise<void> {
    return this.#shared.notify((follower) => follower.tableMade(repository, table))
  }

  /**
   * Completes the requested deletion of a repository, or of one table. Another manager may have
   * completed it already. The row with the request goes last, so a crash before that repeats the
   * drop.
   */
  #end(repository: string, table: string | undefined): Promise<void> {
    return this.#shared.drops.run(async () => {
      const rows = await this.#rows.list()
      const own = rows.find((row) => row.repository === repository && row.table === table)
      if (own?.state !== 'DELETE_REQUESTED') return
      const isWhole = table === undefined
      if (isWhole) await this.#shared.notify((each) => each.repositoryDeleted(repository))
      for (const row of rows) {
        if (row.repository !== repository || row.table === undefined) continue
        if (isWhole || row.table === table) await this.#removeTable(repository, row.table)
      }
      if (isWhole) await this.#rows.remove(repository, undefined)
    })
  }

  async #removeTable(repository: string, name: string): Promise<void> {
    assert(name !== defaultTable || !this.#tables.has(repository), 'a default table stays')
    await noteDrop(this.database, this.settings.tablePrefix, name)
    await this.#shared.notify((follower) => follower.tableDropped(repository, name))
    const keyText = `${repository}/${name}`
    // Later writes and builds are refused; earlier ones write no row behind its removal.
    await this.#shared.gate.turn()
    await this.#shared.fieldIndexes.forget(keyText)
    const index = this.database.table(this.#context.indexTable)
    for (const kind of Object.values(rowKinds)) {
      const prefix = Buffer.concat([Buffer.of(kind), terminated(Buffer.from(keyText))])
      for await (const { row } of index.scan({ prefix })) {
        await index.delete({ row: row!, families: [{ family: 'i', timestamp: 1 }] })
      }
    }
    await this.blobs.removeOf(keyText)
    await this.links.removeTable(keyText)
    const { admin } = this.database
    const physical = this.#physicalName(repository, name)
    if (await admin.tableExists(physical)) await admin.deleteTable(physical)
    await this.#rows.remove(repository, name)
  }

  /** Opens a record table, and creates it in the database if it is missing. */
  async #openTable(repository: string, name: string): Promise<void> {
    const { database } = this
    const physical = this.#physicalName(repository, name)
    await database.admin.ensureTable(physical, { families: { [recordFamily]: {} } })
    const table = database.table(physical)
    const keyText = `${repository}/${name}`
    const context: TableContext = {
      ...this.#context,
      table,
      syncTable: database.capabilities.sync ? (table as Table & SyncTable) : undefined,
      repository,
      name,
      key: Buffer.from(keyText),
      keyText,
      checkOpen: () => {
        if (this.findTable(repository, name) === undefined) {
          throw recordTableNotFound(repository, name)
        }
      },
      tableOf: (other) => this.getTable(repository, other).context.table,
    }
    const opened = new RecordTable(context, this.#shared.fieldIndexes.of(keyText), this.blobs)
    await opened.indexes.load()
    const tables = this.#tables.get(repository) ?? new Map<string, RecordTable>()
    if (!tables.has(name)) tables.set(name, opened)
    this.#tables.set(repository, tables)
  }

  #physicalName(repository: string, name: string): string {
    // Names of tables have no dots, so no two pairs share a name.
    return `${this.settings.tablePrefix}.r.${repository}..${name}`
  }
}

function recordTableNotFound(repository: string, name: string): CellarError {
  return repositoryError('recordTableNotFound', `${repository} has no table ${name}`)
}

function repositoryNotFound(name: string): CellarError {
  return repositoryError('repositoryNotFound', `there is no repository ${shown(name)}`)
}
