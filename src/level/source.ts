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
import { levelError, LevelErrorCode } from './errors.js'

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
  readonly family: FamilyOptions
  readonly durability: Exclude<DurabilityOption, 'USE_DEFAULT'> | undefined
}

/** Whether an open may create the table, and whether the table may exist. */
export interface OpenRequest {
  readonly createIfMissing: boolean
  readonly errorIfExists: boolean
}

/** Opens and perhaps closes the database of a Level. */
export interface LevelSource {
  /** Known before the open, because abstract-level reads them in its constructor. */
  readonly capabilities: Capabilities
  readonly canCompact: boolean
  /** The directory, if the Level opens one. */
  readonly location: string | undefined
  /** Whether the Level closes the database; a database of the caller stays open. */
  readonly isOwn: boolean
  open(createIfMissing: boolean): Promise<LevelDatabase>
}

/** The source that the first argument of a Level names. `ERR_INVALID_ARGUMENT`. */
export function sourceOf(where: LevelDatabase | DatabaseOpener): LevelSource {
  if (typeof where === 'object' && where !== null) {
    const { capabilities } = where
    if ('table' in where && typeof where.table === 'function') {
      const canCompact = typeof where.compact === 'function'
      const open = (): Promise<LevelDatabase> => Promise.resolve(where)
      return { capabilities, canCompact, location: undefined, isOwn: false, open }
    }
    if ('open' in where && typeof where.open === 'function') {
      const open = (createIfMissing: boolean): Promise<LevelDatabase> =>
        where.open(createIfMissing).catch((error: unknown) => {
          throw asLevelError(error)
        })
      return { capabilities, canCompact: true, location: where.location, isOwn: true, open }
    }
  }
  const message = 'a Level needs a directory or an open database'
  throw new CellarError(ErrorCode.invalidArgument, message)
}

/** Opens the database and the table of a Level. */
export async function openLevel(
  source: LevelSource,
  choice: TableChoice,
  request: OpenRequest,
): Promise<{ readonly database: LevelDatabase; readonly table: Table }> {
  const database = await source.open(request.createIfMissing)
  try {
    return { database, table: await openTable(database, choice, request) }
  } catch (error) {
    if (source.isOwn) await database.close()
    throw error
  }
}

/** abstract-level has its own error code for a directory that is already open. */
function asLevelError(error: unknown): unknown {
  if (!(error instanceof CellarError) || error.code !== ErrorCode.locked) return error
  return levelError(LevelErrorCode.locked, error.message, error)
}

async function openTable(
  database: LevelDatabase,
  choice: TableChoice,
  { createIfMissing, errorIfExists }: OpenRequest,
): Promise<Table> {
  const { name, column, family: familyOptions, durability } = choice
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
