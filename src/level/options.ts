/** Options of a Level, and their checks. */
import type { AbstractDatabaseOptions, AbstractOpenOptions } from 'abstract-level'
import {
  CellarError,
  checked,
  declareOptions,
  ErrorCode,
  unchecked,
  readArguments,
  text,
  type DurabilityOption,
  type FamilyOptions,
  type OptionsOf,
} from '../api/index.js'
import { sourceOf } from './source.js'
import type { DatabaseOpener, LevelDatabase, LevelSource, TableChoice } from './source.js'

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
  return readArguments(() => {
    levelOptions.checkNear(options)
    const { table, column, family, durability, ...forward } = options
    const own = tableOptions.read({ table, column, family, durability })
    const choice = { ...own, name: own.table, family: own.family ?? {} }
    return { source: sourceOf(where), choice, forward }
  })
}

function readColumn(column: string, what: string): string {
  if (typeof column === 'string' && column.indexOf(':') >= 1) return column
  const message = `${what} must be a string 'family:qualifier'`
  throw new CellarError(ErrorCode.invalidArgument, message)
}
