/** The rows of one kind of record in a table. The errors of the MetaStore become Hedwig's. */
import type { CellarError } from '../../../api/index.js'
import {
  HedwigErrorCode,
  codeOf,
  failed,
  unexpectedCondition,
  isOneOf,
  isAbsent,
} from '../errors.js'
import type { Version, Versioned } from '../bookkeeper/tables/version.js'
import type {
  KeyRange,
  MetastoreGuardedTable,
  MetastoreItem,
  MetastoreScannableTable,
  MetastoreTable,
  RowGuard,
} from '../bookkeeper/types.js'
import type { FieldSelection, Value } from '../bookkeeper/value.js'

/** One kind of record. */
export interface RecordKind {
  /** Noun for messages, such as `owner of the topic`. */
  readonly name: string
  /** Code of a call that requires the record. */
  readonly absent: HedwigErrorCode
  /** Code of a call that creates the record. */
  readonly exists: HedwigErrorCode
}

/** The code and the message of a failed store call, by the code of the MetaStore. */
const failures: Readonly<Record<string, (kind: RecordKind) => [HedwigErrorCode, string]>> = {
  ERR_METASTORE_BAD_VERSION: ({ name }) => {
    return [HedwigErrorCode.badVersion, `the ${name} has another version`]
  },
  ERR_METASTORE_GUARD_FAILED: ({ name }) => {
    return [HedwigErrorCode.notResponsible, `another hub owns the topic of the ${name} by now`]
  },
  ERR_METASTORE_NO_KEY: ({ absent, name }) => [absent, `there is no ${name}`],
  ERR_METASTORE_KEY_EXISTS: ({ exists, name }) => [exists, `there is a ${name} already`],
  ERR_METASTORE_SERVICE_DOWN: ({ name }) => {
    return [HedwigErrorCode.serviceDown, `the ${name} cannot be had: the store is down`]
  },
}

/** Converts the error of a store call. */
export function failure(kind: RecordKind, error: unknown): CellarError {
  if (isOneOf(error, HedwigErrorCode)) return error
  const known = failures[codeOf(error) ?? '']
  if (known === undefined) return unexpectedCondition(`the ${kind.name} cannot be had`, error)
  return failed(...known(kind), error)
}

/** See the file header. */
export class RecordTable {
  readonly #table: MetastoreTable
  readonly #kind: RecordKind
  readonly #fail: (error: unknown) => never

  constructor(table: MetastoreTable, kind: RecordKind) {
    this.#table = table
    this.#kind = kind
    this.#fail = (error) => {
      throw failure(kind, error)
    }
  }

  /** Reads a row; undefined if it is absent. */
  async read(key: string, fields: FieldSelection): Promise<Versioned<Value> | undefined> {
    try {
      return await this.#table.get(key, { fields })
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw failure(this.#kind, error)
    }
  }

  /** Puts a row and returns its new version. A hot path: not async, to save promises. */
  put(key: string, value: Value, version: Version, guard?: RowGuard): Promise<Version> {
    try {
      if (guard === undefined) return this.#table.put(key, value, version).catch(this.#fail)
      return this.guarded().putGuarded(key, value, version, guard).catch(this.#fail)
    } catch (error) {
      return Promise.reject(failure(this.#kind, error))
    }
  }

  /** Removes a row. */
  async remove(key: string, version: Version, guard?: RowGuard): Promise<void> {
    try {
      if (guard === undefined) await this.#table.remove(key, version)
      else await this.guarded().removeGuarded(key, version, guard)
    } catch (error) {
      throw failure(this.#kind, error)
    }
  }

  /** The rows of a range, or all of them, in pages. */
  async *pages(
    pageSize: number,
    fields: FieldSelection,
    range?: KeyRange,
  ): AsyncGenerator<MetastoreItem[], void, void> {
    const table = this.#table
    try {
      const cursor =
        range === undefined
          ? await table.openCursor(fields)
          : await (table as MetastoreScannableTable).openRange(range, fields)
      try {
        while (cursor.hasMoreEntries()) yield await cursor.asyncReadEntries(pageSize)
      } finally {
        cursor.close()
      }
    } catch (error) {
      throw failure(this.#kind, error)
    }
  }

  /** The table as one with guarded writes. `UNEXPECTED_CONDITION` if it does not have them. */
  guarded(): MetastoreGuardedTable {
    const table = this.#table
    if ('putGuarded' in table && 'removeGuarded' in table) return table as MetastoreGuardedTable
    throw unexpectedCondition('the store has no guarded writes')
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#table.close()
  }
}
