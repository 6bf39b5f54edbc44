/**
 * The source of a Level's table: a database that the caller has opened, or one that an opener opens
 * and the Level closes.
 */
import { CellarError, ErrorCode } from '../api/index.js'
import type {
  BytesLike,
  Capabilities,
  Database,
  DurabilityOption,
  FamilyOptions,
  Table,
} from '../api/index.js'
import { LevelError, LevelErrorCode } from './errors.js'

/**
 * The database of a Level: any backend of `cellardb`. `compactRange` also needs the method
 * `compact`, which the embedded engine has.
 */
export interface LevelDatabase extends Database {
  /** Merges the files that hold rows of a range. */
  compact?(
    tableName: string,
    range: { readonly startRow?: BytesLike; readonly stopRow?: BytesLike },
  ): Promise<void>
}

/** Opens the database of a Level when the Level is opened. */
export interface DatabaseOpener {
  /** The value of the Level's property `location`. */
  readonly location: string
  /** Capabilities of the database: abstract-level reads them before the open. */
  readonly capabilities: Capabilities
  /** Fails if the database does not exist and may not be created. */
  open(createIfMissing: boolean): Promise<LevelDatabase>
}

/** The table of a Level, and the options of its creation. */
export interface TableChoice {
  readonly name: string
  readonly column: string
  readonly familyOptions: FamilyOptions
  readonly durability: Exclude<DurabilityOption, 'USE_DEFAULT'> | undefined
}

/** Whether an open may create the table, and whether the table may exist. */
export interface OpenRequest {
  readonly createIfMissing: boolean
  readonly errorIfExists: boolean
}

/** An open table with its database. */
export interface OpenSource {
  readonly database: LevelDatabase
  readonly table: Table
  /** Closes the resources of the open; a database of the caller stays open. */
  close(): Promise<void>
}

/** Opens the table of a Level. */
export interface LevelSource {
  /** Known before the open, because abstract-level reads them in its constructor. */
  readonly capabilities: Capabilities
  readonly canCompact: boolean
  /** The directory, if the Level opens one. */
  readonly location: string | undefined
  open(choice: TableChoice, request: OpenRequest): Promise<OpenSource>
}

/** A database that the caller has opened and closes. */
export class GivenDatabase implements LevelSource {
  readonly location = undefined
  readonly #database: LevelDatabase

  constructor(database: LevelDatabase) {
    this.#database = database
  }

  get capabilities(): Capabilities {
    return this.#database.capabilities
  }

  get canCompact(): boolean {
    return typeof this.#database.compact === 'function'
  }

  async open(choice: TableChoice, request: OpenRequest): Promise<OpenSource> {
    const database = this.#database
    const table = await openTable(database, choice, request)
    return { database, table, close: () => Promise.resolve() }
  }
}

/** A database that is opened and closed with the Level. */
export class OpenedDatabase implements LevelSource {
  readonly canCompact = true
  readonly #opener: DatabaseOpener

  constructor(opener: DatabaseOpener) {
    this.#opener = opener
  }

  get capabilities(): Capabilities {
    return this.#opener.capabilities
  }

  get location(): string {
    return this.#opener.location
  }

  async open(choice: TableChoice, request: OpenRequest): Promise<OpenSource> {
    const database = await this.#opener.open(request.createIfMissing).catch((error: unknown) => {
      throw asLevelError(error)
    })
    try {
      const table = await openTable(database, choice, request)
      return { database, table, close: () => database.close() }
    } catch (error) {
      await database.close()
      throw error
    }
  }
}

/** abstract-level has its own error code for a directory that is already open. */
function asLevelError(error: unknown): unknown {
  if (!(error instanceof CellarError) || error.code !== ErrorCode.locked) return error
  return new LevelError(LevelErrorCode.locked, error.message, { cause: error })
}

async function openTable(
  database: LevelDatabase,
  choice: TableChoice,
  { createIfMissing, errorIfExists }: OpenRequest,
): Promise<Table> {
  const { name, column, familyOptions, durability } = choice
  const exists = await database.admin.tableExists(name)
  if (exists && errorIfExists) {
    const message = `table '${name}' exists, and errorIfExists is true`
    throw new CellarError(ErrorCode.tableExists, message)
  }
  if (!exists && !createIfMissing) {
    const message = `table '${name}' does not exist, and createIfMissing is false`
    throw new CellarError(ErrorCode.tableNotFound, message)
  }
  const family = column.slice(0, column.indexOf(':'))
  if (!exists) {
    const families = { [family]: familyOptions }
    try {
      return await database.createTable(name, { families, durability })
    } catch (error) {
      const isThere = error instanceof CellarError && error.code === ErrorCode.tableExists
      // Another Level over the same database created the table first.
      if (!isThere || errorIfExists) throw error
    }
  }
  const { families } = await database.admin.getDescriptor(name)
  if (families[family] === undefined) {
    const known = Object.keys(families).join(', ')
    const message = `table '${name}' has no column family '${family}'; it has: ${known}`
    throw new CellarError(ErrorCode.noSuchColumnFamily, message)
  }
  return database.table(name)
}
