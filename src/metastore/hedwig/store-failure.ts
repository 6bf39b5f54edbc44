/** What the return codes of a MetaStore mean for the record of a topic or a subscription. */
import { MetastoreError, MetastoreErrorCode } from '../bookkeeper/errors.js'
import type { MetastoreTable } from '../bookkeeper/types.js'
import type { FieldSelection, Value } from '../bookkeeper/value.js'
import type { Version, Versioned } from '../bookkeeper/version.js'
import { HedwigError, unexpectedCondition, type StatusName } from './errors.js'

/** One kind of record. */
export interface RecordKind {
  /** For messages: `owner of a topic`. */
  readonly name: string
  readonly absent: StatusName
  readonly exists: StatusName
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
    if (hasCode(error, MetastoreErrorCode.noKey)) return undefined
    throw failure(kind, error)
  }
}

/** Puts a row and returns its new version. */
export async function putRow(
  table: MetastoreTable,
  kind: RecordKind,
  key: string,
  value: Value,
  version: Version,
): Promise<Version> {
  try {
    return await table.put(key, value, version)
  } catch (error) {
    throw failure(kind, error)
  }
}

/** Removes a row. */
export async function removeRow(
  table: MetastoreTable,
  kind: RecordKind,
  key: string,
  version: Version,
): Promise<void> {
  try {
    await table.remove(key, version)
  } catch (error) {
    throw failure(kind, error)
  }
}

/** The Hedwig error for a failed store call. */
export function failure(kind: RecordKind, error: unknown): HedwigError {
  if (error instanceof HedwigError) return error
  if (hasCode(error, MetastoreErrorCode.badVersion)) {
    const message = `the ${kind.name} has another version`
    return new HedwigError('BAD_VERSION', message, { cause: error })
  }
  if (hasCode(error, MetastoreErrorCode.noKey)) {
    return new HedwigError(kind.absent, `there is no ${kind.name}`, { cause: error })
  }
  if (hasCode(error, MetastoreErrorCode.keyExists)) {
    return new HedwigError(kind.exists, `there is a ${kind.name} already`, { cause: error })
  }
  if (hasCode(error, MetastoreErrorCode.serviceDown)) {
    const message = `the ${kind.name} cannot be had: the store is down`
    return new HedwigError('SERVICE_DOWN', message, { cause: error })
  }
  return unexpectedCondition(`the ${kind.name} cannot be had`, error)
}

function hasCode(error: unknown, code: MetastoreErrorCode): boolean {
  return error instanceof MetastoreError && error.code === code
}
