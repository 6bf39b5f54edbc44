/** Checks the options of a change feed. */
import { checkArray, checkChoice, checkSignal, OptionNames, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import type { ChangeOptions } from '../changes.js'
import { plainTableName } from './names.js'

const changeNames = new OptionNames<ChangeOptions>('a change feed', {
  fromSequence: true,
  table: true,
  durability: true,
  signal: true,
})

/** Options of a change feed, checked. */
export interface ParsedChangeOptions {
  readonly fromSequence: number | undefined
  readonly durability: 'SYNC_WAL' | 'FSYNC_WAL'
  readonly signal: AbortSignal | undefined
  /** Names of tables without `default:`; undefined = all tables. */
  readonly tables: readonly string[] | undefined
}

/** Checks the options of a feed. Throws `ERR_INVALID_ARGUMENT`. */
export function parseChangeOptions(options: ChangeOptions): ParsedChangeOptions {
  const { fromSequence, durability = 'FSYNC_WAL', signal, table } = changeNames.copy(options)
  if (fromSequence !== undefined && !(Number.isSafeInteger(fromSequence) && fromSequence >= 0)) {
    throw invalidArgument(`fromSequence must be a whole number, got ${shown(fromSequence)}`)
  }
  checkChoice(durability, 'durability', ['SYNC_WAL', 'FSYNC_WAL'])
  checkSignal(signal)
  if (table === undefined) return { fromSequence, durability, signal, tables: undefined }
  const tables = typeof table === 'string' ? [table] : checkArray(table, 'table')
  return { fromSequence, durability, signal, tables: tables.map(plainTableName) }
}
