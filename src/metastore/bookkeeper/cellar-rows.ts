/**
 * One table of the metastore over a table of Cellar: the same object for all handles on it.
 *
 * A put or remove is one `checkAndMutate` on the column that holds the version: the condition, the
 * fields and the new version are one atomic, durable mutation. Only if the condition fails is the
 * row read, to tell which of the errors it is.
 */
import type { Snapshot } from '../../index.js'
import type { FieldChanges } from './arguments.js'
import { asMetastoreError } from './cellar-errors.js'
import { CellarView, type OpenViews, type ViewedTable } from './cellar-view.js'
import { MetastoreError, MetastoreErrorCode } from './errors.js'
import { rowOfKey } from './keys.js'
import { OperationOrder } from './operation-order.js'
import {
  columnsOf,
  conditionOf,
  putAction,
  versionBytes,
  versionColumn,
  versionedOf,
  versionOf,
} from './row-format.js'
import type { RowStore } from './row-store.js'
import { TableCursor, type CursorOwner } from './table-cursor.js'
import type { KeyRange, MetastoreCursor } from './types.js'
import type { FieldSelection, Value } from './value.js'
import { LongVersion, Version, type Versioned } from './version.js'
import type { VersionSource } from './version-source.js'
import { Watchers } from './watchers.js'

const versionColumns = [versionColumn]

/** What the tables of one database share. */
export interface SharedParts {
  readonly versions: VersionSource
  readonly openViews: OpenViews
  snapshot(): Snapshot
}

export class CellarRows implements RowStore {
  readonly watchers = new Watchers()
  readonly #table: ViewedTable
  readonly #shared: SharedParts
  readonly #order = new OperationOrder()

  constructor(table: ViewedTable, shared: SharedParts) {
    this.#table = table
    this.#shared = shared
  }

  get(
    key: string,
    fields: FieldSelection,
    settled?: (error: unknown) => void,
  ): Promise<Versioned<Value>> {
    return this.#order.onKey(key, () => this.#get(rowOfKey(key), fields), settled)
  }

  put(key: string, changes: FieldChanges, version: Version): Promise<Version> {
    const step = (): Promise<Version> => this.#put(rowOfKey(key), changes, version)
    return this.#order.onKey(key, step, (error) => {
      if (error === undefined) this.watchers.notify(key, 'CHANGED')
    })
  }

  remove(key: string, version: Version): Promise<void> {
    const step = (): Promise<void> => this.#remove(rowOfKey(key), version)
    return this.#order.onKey(key, step, (error) => {
      if (error === undefined) this.watchers.notify(key, 'REMOVED')
    })
  }

  openRange(range: KeyRange, fields: FieldSelection, owner: CursorOwner): Promise<MetastoreCursor> {
    return this.#order.onAll(() => this.#openRange(range, fields, owner))
  }

  fail<T>(error: unknown): Promise<T> {
    return this.#order.fail(error)
  }

  /** Resolves when all operations that were called have ended. */
  drain(): Promise<void> {
    return this.#order.onAll(async () => undefined)
  }

  async #get(row: Buffer, fields: FieldSelection): Promise<Versioned<Value>> {
    try {
      const found = versionedOf(await this.#table.get({ row, columns: columnsOf(fields) }))
      if (found !== undefined) return found
    } catch (error) {
      throw asMetastoreError(error)
    }
    throw noKey()
  }

  async #put(row: Buffer, changes: FieldChanges, expected: Version): Promise<Version> {
    const { versions } = this.#shared
    try {
      // A version that was never given out here may have been by another process, or by nobody.
      if (expected instanceof LongVersion && expected.value >= versions.next) {
        await versions.leave(await this.#checkStored(row, expected))
      }
      for (;;) {
        const next = versions.take() ?? (await versions.takeReserved())
        const bytes = versionBytes(next)
        const condition = conditionOf(row, expected, bytes)
        const outcome = await this.#table.checkAndMutate(condition, putAction(changes, bytes))
        if (outcome.success) return new LongVersion(next)
        await versions.leave(await this.#checkStored(row, expected))
      }
    } catch (error) {
      throw asMetastoreError(error)
    }
  }

  async #remove(row: Buffer, expected: Version): Promise<void> {
    try {
      for (;;) {
        if (expected !== Version.NEW) {
          const condition = conditionOf(row, expected, undefined)
          const outcome = await this.#table.checkAndMutate(condition, { delete: {} })
          if (outcome.success) return
        }
        const stored = await this.#storedVersion(row)
        if (stored === undefined) throw noKey()
        if (!matches(stored, expected)) throw badVersion(stored, expected)
      }
    } catch (error) {
      throw asMetastoreError(error)
    }
  }

  /** The version that a put found: it must match, or the error says why it does not. */
  async #checkStored(row: Buffer, expected: Version): Promise<bigint> {
    if (expected === Version.NEW) {
      throw new MetastoreError(MetastoreErrorCode.keyExists, 'the row exists already')
    }
    const stored = await this.#storedVersion(row)
    if (stored === undefined) throw noKey()
    if (!matches(stored, expected)) throw badVersion(stored, expected)
    return stored
  }

  async #storedVersion(row: Buffer): Promise<bigint | undefined> {
    return versionOf(await this.#table.get({ row, columns: versionColumns }))
  }

  async #openRange(
    range: KeyRange,
    fields: FieldSelection,
    owner: CursorOwner,
  ): Promise<MetastoreCursor> {
    try {
      const { openViews } = this.#shared
      const snapshot = this.#shared.snapshot()
      const idle = owner.cursorIdleMilliseconds
      const view = new CellarView(this.#table, snapshot, range, fields, openViews, idle)
      return await TableCursor.open(view, owner)
    } catch (error) {
      throw asMetastoreError(error)
    }
  }
}

function matches(stored: bigint, expected: Version): boolean {
  return new LongVersion(stored).compare(expected) === 'CONCURRENTLY'
}

function noKey(): MetastoreError {
  return new MetastoreError(MetastoreErrorCode.noKey, 'the row does not exist')
}

function badVersion(stored: bigint, expected: Version): MetastoreError {
  const message = `the row has version ${stored}, not ${expected.toString()}`
  return new MetastoreError(MetastoreErrorCode.badVersion, message)
}
