/** Options of a Level, and their checks. */
import type { AbstractDatabaseOptions, AbstractOpenOptions } from 'abstract-level'
import { CellarError, ErrorCode, OptionNames, readArguments } from '../api/index.js'
import type { DurabilityOption, FamilyOptions } from '../api/index.js'
import { GivenDatabase, OpenedDatabase } from './source.js'
import type { DatabaseOpener, LevelDatabase, LevelSource, TableChoice } from './source.js'

/** Options of a Level, beside those of abstract-level. */
export interface TableLevelOptions<K, V> extends AbstractDatabaseOptions<K, V> {
  /** The table. Default 'level'. */
  readonly table?: string | undefined
  /**
   * The column that holds the values, `'family:qualifier'`; other columns of the table are not
   * touched. Default 'v:'.
   */
  readonly column?: string | undefined
  /** Options of the column family, for a table that the open creates. */
  readonly family?: FamilyOptions | undefined
  /**
   * Durability of writes, for a table that the open creates. Default 'SYNC_WAL': acknowledged
   * writes survive the end of the process. The option `sync` of a write is stronger.
   */
  readonly durability?: Exclude<DurabilityOption, 'USE_DEFAULT'> | undefined
}

const levelNames = new OptionNames<TableLevelOptions<unknown, unknown> & AbstractOpenOptions>(
  'a Level',
  {
    keyEncoding: true,
    valueEncoding: true,
    createIfMissing: true,
    errorIfExists: true,
    passive: true,
    table: true,
    column: true,
    family: true,
    durability: true,
  },
)

/** The source of a Level's table, and the options for abstract-level. */
export interface LevelSetup<K, V> {
  readonly source: LevelSource
  readonly choice: TableChoice
  readonly forward: AbstractDatabaseOptions<K, V>
}

/** Checks the arguments of `new TableLevel`; `ERR_INVALID_ARGUMENT`. */
export function readSetup<K, V>(
  where: LevelDatabase | DatabaseOpener,
  options: TableLevelOptions<K, V>,
): LevelSetup<K, V> {
  // abstract-level passes unknown option names on to hooks.
  const {
    table = 'level',
    column = 'v:',
    family = {},
    durability,
    ...forward
  } = readArguments(() => {
    levelNames.checkNear(options)
    return { ...options }
  })
  if (typeof table !== 'string') throw invalidArgument('option table must be a string')
  if (typeof column !== 'string' || column.indexOf(':') < 1) {
    throw invalidArgument("option column must be a string 'family:qualifier'")
  }
  const choice = { name: table, column, familyOptions: family, durability }
  return { source: readArguments(() => sourceOf(where)), choice, forward }
}

function sourceOf(where: LevelDatabase | DatabaseOpener): LevelSource {
  if (typeof where === 'object' && where !== null) {
    if ('table' in where && typeof where.table === 'function') return new GivenDatabase(where)
    if ('open' in where && typeof where.open === 'function') return new OpenedDatabase(where)
  }
  throw invalidArgument('a Level needs a directory or an open database')
}

function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}
