/**
 * The source of a Level's table and the options of a Level. The database is one that the caller has
 * opened, or one that an opener opens and the Level closes.
 */
import type { AbstractDatabaseOptions, AbstractOpenOptions } from 'abstract-level'
import {
  CellarError,
  checked,
  declareOptions,
  ErrorCode,
  hasCode,
  invalidArgument,
  readArguments,
  text,
  unchecked,
  type BytesLike,
  type Capabilities,
  type Database,
  type DurabilityOption,
  type FamilyOptions,
  type OptionsOf,
  type SettingsOf,
  type Table,
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

const tableMembers = {
  /** The table. Default 'level'. */
  table: text('level'),
  /**
   * The column that holds the values, `'family:qualifier'`; other columns of the table are not
   * touched. Default 'v:'.
   */
  column: checked(readColumn, 'v:'),
  /** Options of the column family, for a table that the open creates. */
  family: unchecked<FamilyOptions>(),
  /**
   * Durability of writes, for a table that the open creates. Default 'SYNC_WAL': acknowledged
   * writes survive the end of the process. The option `sync` of a write is stronger.
   */
  durability: unchecked<Exclude<DurabilityOption, 'USE_DEFAULT'>>(),
}

const tableOptions = declareOptions('a Level', tableMembers)

/** abstract-level passes unknown option names on to hooks, so only resembling names are refused. */
const levelOptions = declareOptions('a Level', {
  ...tableMembers,
  ...({
    keyEncoding: unchecked(),
    valueEncoding: unchecked(),
    createIfMissing: unchecked(),
    errorIfExists: unchecked(),
    passive: unchecked(),
  } satisfies Record<
    keyof (AbstractDatabaseOptions<unknown, unknown> & AbstractOpenOptions),
    unknown
  >),
})

/** Options of a Level, beside those of abstract-level. */
export interface TableLevelOptions<K, V>
  extends AbstractDatabaseOptions<K, V>, OptionsOf<typeof tableOptions> {}

type TableChoice = SettingsOf<typeof tableOptions>

/** Whether an open may create the table, and whether the table may exist. */
export interface OpenRequest {
  readonly createIfMissing: boolean
  readonly errorIfExists: boolean
}

/** The database and the table of a Level. */
export interface LevelSetup extends TableChoice {
  /** Known before the open, because abstract-level reads them in its constructor. */
  readonly capabilities: Capabilities
  readonly canCompact: boolean
  /** The directory, if the Level opens one. */
  readonly location: string | undefined
  /** Whether the Level closes the database; a database of the caller stays open. */
  readonly isOwn: boolean
  readonly open: (createIfMissing: boolean) => Promise<LevelDatabase>
}

/**
 * Checks the arguments of `new TableLevel`; `forward` has the options for abstract-level.
 * `ERR_INVALID_ARGUMENT`.
 */
export function readSetup<K, V>(
  where: LevelDatabase | DatabaseOpener,
  options: TableLevelOptions<K, V>,
): { readonly setup: LevelSetup; readonly forward: AbstractDatabaseOptions<K, V> } {
  return readArguments(() => {
    levelOptions.checkNear(options)
    const { table, column, family, durability, ...forward } = options
    const choice = tableOptions.read({ table, column, family, durability })
    return { setup: { ...choice, ...sourceOf(where) }, forward }
  })
}

function readColumn(column: string, what: string): string {
  if (typeof column === 'string' && column.indexOf(':') >= 1) return column
  throw invalidArgument(`${what} must be a string 'family:qualifier'`)
}

function sourceOf(where: LevelDatabase | DatabaseOpener): Omit<LevelSetup, keyof TableChoice> {
  if (typeof where === 'object' && where !== null) {
    const { capabilities } = where
    if ('table' in where && typeof where.table === 'function') {
      const canCompact = typeof where.compact === 'function'
      return {
        capabilities,
        canCompact,
        location: undefined,
        isOwn: false,
        open: async () => where,
      }
    }
    if ('open' in where && typeof where.open === 'function') {
      const { location } = where
      const open = (createIfMissing: boolean): Promise<LevelDatabase> =>
        where.open(createIfMissing).catch((error: unknown) => {
          // abstract-level has its own error code for a directory that is already open.
          if (!hasCode(error, ErrorCode.locked)) throw error
          throw levelError(LevelErrorCode.locked, (error as Error).message, error)
        })
      return { capabilities, canCompact: true, location, isOwn: true, open }
    }
  }
  throw invalidArgument('a Level needs a directory or an open database')
}

/** Opens the database and the table of a Level. */
export async function openLevel(
  setup: LevelSetup,
  request: OpenRequest,
): Promise<{ readonly database: LevelDatabase; readonly table: Table }> {
  const database = await setup.open(request.createIfMissing)
  try {
    return { database, table: await openTable(database, setup, request) }
  } catch (error) {
    if (setup.isOwn) await database.close()
    throw error
  }
}

async function openTable(
  database: LevelDatabase,
  choice: TableChoice,
  { createIfMissing, errorIfExists }: OpenRequest,
): Promise<Table> {
  const { table: name, column, family: familyOptions = {}, durability } = choice
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
      // Another Level over the same database may have created the table first.
      if (!hasCode(error, ErrorCode.tableExists) || errorIfExists) throw error
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
