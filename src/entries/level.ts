/**
 * abstract-level over Cellar. The public entry `cellardb/level`.
 *
 * The engine is loaded by the first Level that opens a directory, so a Level over another backend
 * does not load it.
 */
import {
  allCapabilities,
  declareOptions,
  invalidArgument,
  readArguments,
  unchecked,
} from '../api/index.js'
import { TableLevel } from '../level/index.js'
import type { DatabaseOpener, LevelDatabase, TableLevelOptions } from '../level/index.js'
import type { OpenOptions } from '../table/open-database.js'

export { LevelErrorCode, TableLevel } from '../level/index.js'
export type {
  CellarIterator,
  CellarKeyIterator,
  CellarSnapshot,
  CellarValueIterator,
  DatabaseOpener,
  LevelDatabase,
  LevelWriteOptions,
  TableLevelOptions,
} from '../level/index.js'

/** Options of a {@link CellarLevel}. */
export interface CellarLevelOptions<K, V> extends TableLevelOptions<K, V> {
  /** Options of the database, for a Level that opens a directory. */
  readonly database?: Omit<OpenOptions, 'createIfMissing'> | undefined
}

const ownOptions = declareOptions('a Level', { database: unchecked<object>() })

/**
 * An abstract-level database in a directory, or over one table of an open database.
 *
 * Keys are at most 32,767 bytes, values at most `cellBytesMax`. Bytes that a read returns may share
 * memory with other reads: they never change, and the caller must not change them.
 */
export class CellarLevel<K = string, V = string> extends TableLevel<K, V> {
  /**
   * A Level in a directory, whose database opens and closes with the Level, or over an open
   * database, which the caller closes. Errors: as {@link TableLevel}.
   */
  constructor(where: string | LevelDatabase, options: CellarLevelOptions<K, V> = {}) {
    const { database, ...rest } = readArguments(() => {
      ownOptions.checkNear(options)
      return { ...options }
    })
    super(sourceOf(where, database), rest)
  }
}

function sourceOf(
  where: string | LevelDatabase,
  options: CellarLevelOptions<unknown, unknown>['database'],
): LevelDatabase | DatabaseOpener {
  if (typeof where === 'string' && where !== '') {
    const open = async (createIfMissing: boolean): Promise<LevelDatabase> => {
      const { Database } = await import('./index.js')
      return Database.open(where, { ...options, createIfMissing })
    }
    return { location: where, capabilities: allCapabilities, open }
  }
  if (options === undefined) return where as LevelDatabase
  throw invalidArgument('option database goes with a directory, not with an open database')
}
