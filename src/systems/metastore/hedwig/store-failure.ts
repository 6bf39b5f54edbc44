/** Conversion of the return codes of a MetaStore to Hedwig errors of a kind of record. */
import type { CellarError } from '../../../api/index.js'
import {
  MetastoreErrorCode,
  HedwigErrorCode,
  codeOf,
  failed,
  unexpectedCondition,
  isOneOf,
} from '../errors.js'
import type { MetastoreGuardedTable, MetastoreTable, RowGuard } from '../bookkeeper/types.js'
import type { FieldSelection, Value } from '../bookkeeper/value.js'
import type { Version, Versioned } from '../bookkeeper/tables/version.js'

/** One kind of record. */
export class RecordKind {
  /** Noun for messages, such as `owner of the topic`. */
  readonly name: string
  /** Status of a call that requires the record. */
  readonly absent: HedwigErrorCode
  /** Status of a call that creates the record. */
  readonly exists: HedwigErrorCode
  /** Throws the Hedwig error for a failed store call. */
  readonly fail: (error: unknown) => never

  constructor(name: string, absent: HedwigErrorCode, exists: HedwigErrorCode) {
    this.name = name
    this.absent = absent
    this.exists = exists
    this.fail = (error) => {
      throw failure(this, error)
    }
  }
}

/** Reads a row; undefined if it is absent. */
export async function readRow(
  table: MetastoreTable,
  kind: RecordKind,
  key: string,
  fields: FieldSelection,
): Promise<Versioned<Value> | undefined> {
  try {
    return await table.get(key, { fields })
  } catch (error) {
    if (codeOf(error) === MetastoreErrorCode.noKey) return undefined
    throw failure(kind, error)
  }
}

/** Puts a row and returns its new version. A hot path: not async, to save promises. */
export function putRow(
  table: MetastoreTable,
  kind: RecordKind,
  key: string,
  value: Value,
  version: Version,
  guard?: RowGuard,
): Promise<Version> {
  try {
    if (guard === undefined) return table.put(key, value, version).catch(kind.fail)
    return guarded(table).putGuarded(key, value, version, guard).catch(kind.fail)
  } catch (error) {
    return Promise.reject(failure(kind, error))
  }
}

/** Removes a row. */
export async function removeRow(
  table: MetastoreTable,
  kind: RecordKind,
  key: string,
  version: Version,
  guard?: RowGuard,
): Promise<void> {
  try {
    if (guard === undefined) await table.remove(key, version)
    else await guarded(table).removeGuarded(key, version, guard)
  } catch (error) {
    throw failure(kind, error)
  }
}

/** The table as one with guarded writes. `UNEXPECTED_CONDITION` if the store does not have them. */
export function guarded(table: MetastoreTable): MetastoreGuardedTable {
  if ('putGuarded' in table && 'removeGuarded' in table) return table as MetastoreGuardedTable
  throw unexpectedCondition('the store has no guarded writes')
}

/** Converts the error of a store call. */
export function failure(kind: RecordKind, error: unknown): CellarError {
  if (isOneOf(error, HedwigErrorCode)) return error
  if (codeOf(error) === MetastoreErrorCode.badVersion) {
    const message = `the ${kind.name} has another version`
    return failed(HedwigErrorCode.badVersion, message, error)
  }
  if (codeOf(error) === MetastoreErrorCode.guardFailed) {
    const message = `another hub owns the topic of the ${kind.name} by now`
    return failed(HedwigErrorCode.notResponsible, message, error)
  }
  if (codeOf(error) === MetastoreErrorCode.noKey) {
    return failed(kind.absent, `there is no ${kind.name}`, error)
  }
  if (codeOf(error) === MetastoreErrorCode.keyExists) {
    return failed(kind.exists, `there is a ${kind.name} already`, error)
  }
  if (codeOf(error) === MetastoreErrorCode.serviceDown) {
    const message = `the ${kind.name} cannot be had: the store is down`
    return failed(HedwigErrorCode.serviceDown, message, error)
  }
  return unexpectedCondition(`the ${kind.name} cannot be had`, error)
}
