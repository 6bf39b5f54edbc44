/** Checks the options of a change feed. */
import { checkArray, checkSignal } from '../../base/arguments.js'
import { checked, choice, declareOptions, integer, type SettingsOf } from '../../base/options.js'
import type { ChangeOptions } from '../changes.js'
import { plainTableName } from './names.js'

/** The declaration of {@link ChangeOptions}. */
export const changeOptions = declareOptions('a change feed', {
  /**
   * First sequence of the feed, inclusive. Default: the first mutation after the call of `changes`.
   */
  fromSequence: integer({ min: 0, default: undefined }),
  /** Only cells of these tables; mutations without such cells are left out. Default all tables. */
  table: checked(readTables),
  /**
   * 'FSYNC_WAL': a change is yielded when it is on the disk, so that no reader knows a change that
   * is lost later; costs a sync per batch. 'SYNC_WAL': a change is yielded when it was written to
   * the operating system. Default 'FSYNC_WAL'.
   */
  durability: choice<'SYNC_WAL' | 'FSYNC_WAL'>(['SYNC_WAL', 'FSYNC_WAL'], 'FSYNC_WAL'),
  /** Aborting it ends the feed with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of a change feed, checked. */
export interface ParsedChangeOptions extends Omit<SettingsOf<typeof changeOptions>, 'table'> {
  /** Names of tables without `default:`; undefined = all tables. */
  readonly tables: readonly string[] | undefined
}

function readTables(table: string | readonly string[], what: string): readonly string[] {
  return (typeof table === 'string' ? [table] : checkArray(table, what)).map(plainTableName)
}

/** Checks the options of a feed. Throws `ERR_INVALID_ARGUMENT`. */
export function parseChangeOptions(options: ChangeOptions): ParsedChangeOptions {
  const { table: tables, ...rest } = changeOptions.read(options)
  return { ...rest, tables }
}
