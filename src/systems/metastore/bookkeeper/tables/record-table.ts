/**
 * The rows of one kind of record in a table: reads, conditional writes with retries after lost
 * races, and walks in pages. Errors of the store become those of the records.
 */
import { checkMethods } from '../../../../api/index.js'
import { MetastoreErrorCode, failed, illegalOp, isAbsent, isLostRace } from '../../errors.js'
import { checkCount } from '../arguments.js'
import type {
  KeyRange,
  MetastoreGuardedTable,
  MetastoreItem,
  MetastoreScannableTable,
  MetastoreTable,
  RowGuard,
} from '../types.js'
import { NON_FIELDS, type FieldSelection, type Value } from '../value.js'
import { Version, type Versioned } from './version.js'

/** See the file header. */
export class RecordTable {
  readonly #table: MetastoreTable
  readonly #failure: (error: unknown) => Error
  readonly #fail: (error: unknown) => never

  /** `failure` converts the error of a store call; its result has the error as cause. */
  constructor(table: MetastoreTable, failure: (error: unknown) => Error) {
    this.#table = table
    this.#failure = failure
    this.#fail = (error) => {
      throw failure(error)
    }
  }

  /** Reads a row; undefined if it is absent. */
  async read(key: string, fields: FieldSelection): Promise<Versioned<Value> | undefined> {
    try {
      return await this.#table.get(key, { fields })
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw this.#failure(error)
    }
  }

  /** Puts a row and returns its new version. A hot path: not async, to save promises. */
  put(key: string, value: Value, version: Version, guard?: RowGuard): Promise<Version> {
    try {
      if (guard === undefined) return this.#table.put(key, value, version).catch(this.#fail)
      return this.guarded().putGuarded(key, value, version, guard).catch(this.#fail)
    } catch (error) {
      return Promise.reject(this.#failure(error))
    }
  }

  /**
   * Reads a row and puts the fields that `change` returns, again after every lost race. Returns the
   * new version; undefined if `change` has returned no fields. An error of `change` ends the call.
   */
  async change(
    key: string,
    fields: FieldSelection,
    change: (row: Versioned<Value> | undefined) => Value | undefined,
  ): Promise<Version | undefined> {
    for (;;) {
      const row = await this.read(key, fields)
      const value = change(row)
      if (value === undefined) return undefined
      try {
        return await this.#table.put(key, value, row?.version ?? Version.NEW)
      } catch (error) {
        if (!isLostRace(error) && !isAbsent(error)) throw this.#failure(error)
      }
    }
  }

  /** Removes a row. */
  async remove(key: string, version: Version, guard?: RowGuard): Promise<void> {
    try {
      if (guard === undefined) await this.#table.remove(key, version)
      else await this.guarded().removeGuarded(key, version, guard)
    } catch (error) {
      throw this.#failure(error)
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
        for (;;) {
          const hasMore = cursor.hasMoreEntries()
          // Also at the end: a read fails if the table was closed before the end.
          const items = await cursor.asyncReadEntries(pageSize)
          if (items.length > 0) yield items
          else if (hasMore) throw failed(MetastoreErrorCode.operationFailure, emptyPage)
          else return
        }
      } finally {
        cursor.close()
      }
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** The table as one with guarded writes. `IllegalOp` if it does not have them. */
  guarded(): MetastoreGuardedTable {
    const table = this.#table
    if ('putGuarded' in table && 'removeGuarded' in table) return table as MetastoreGuardedTable
    throw this.#failure(illegalOp('the store has no guarded writes'))
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#table.close()
  }
}

const emptyPage = 'the cursor says that it has more entries, but returns none'

/**
 * Removes all rows that exist at the time of the call, `entriesAtOnce` at a time (BookKeeper:
 * `MetastoreUtils.cleanTable`). The first failure ends the removal. A row that another client
 * removed first is not a failure.
 */
export async function cleanTable(table: MetastoreTable, entriesAtOnce = 1000): Promise<void> {
  checkMethods(table, 'the table', ['openCursor', 'remove'])
  checkCount(entriesAtOnce)
  if (entriesAtOnce === 0) throw illegalOp('the number of entries must be 1 or more')
  const records = new RecordTable(table, (error) => error as Error)
  for await (const page of records.pages(entriesAtOnce, NON_FIELDS)) {
    await Promise.all(page.map(({ key }) => removeIfPresent(table, key)))
  }
}

async function removeIfPresent(table: MetastoreTable, key: string): Promise<void> {
  try {
    await table.remove(key, Version.ANY)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
}
