/** Checks deletes, and turns their lists into the markers that they name. */
import { checkArray, checkBytesLike, isBytes } from '../base/arguments.js'
import { emptyBytes, toBytes } from '../base/bytes.js'
import { invalidArgument } from '../base/errors.js'
import { CellType, type CellTypeCode } from '../storage/cell/cell-type.js'
import { parseSingleColumn } from '../storage/cell/column-name.js'
import type { Timestamp } from '../storage/cell/timestamp.js'
import {
  columnTargetOptions,
  deleteOptions,
  familyTargetOptions,
  type ColumnTarget,
  type Delete,
  type FamilyTarget,
  type RowOperation,
} from '../api/mutations.js'

/** A marker that a delete names. */
export interface NamedMarker {
  readonly type: CellTypeCode
  readonly family: string
  /** Empty for markers of families. */
  readonly escapedQualifier: Buffer
  /** Undefined: the time of the engine's clock. */
  readonly timestamp: Timestamp | undefined
}

/** A marker for one version of a column. */
export interface NamedVersion {
  readonly family: string
  readonly escapedQualifier: Buffer
  /**
   * Undefined: the newest stored version; for the n-th mention of a column, its n-th newest
   * version.
   */
  readonly timestamp: Timestamp | undefined
  readonly target: ColumnTarget
}

/** The markers that a delete names. */
export interface ParsedDelete {
  readonly markers: readonly NamedMarker[]
  readonly versions: readonly NamedVersion[]
  /** Whether the delete names nothing, which means all families of the row. */
  readonly isWholeRow: boolean
  /** Timestamp of the markers if the delete names the whole row. */
  readonly timestamp: Timestamp | undefined
}

/** Checks a delete. Throws `ERR_INVALID_ARGUMENT`. Does not check whether the families exist. */
export function parseDelete(deletion: RowOperation<Delete>): ParsedDelete {
  const { timestamp, families, familyVersions, columns, columnVersions } =
    deleteOptions.check(deletion)
  const markers: NamedMarker[] = []
  for (const target of list(families, 'families')) {
    const { family, own } = familyTarget(target)
    const at = own === undefined ? timestamp : own
    markers.push(marker(CellType.deleteFamily, family, emptyBytes, at))
  }
  for (const target of list(familyVersions, 'familyVersions')) {
    const { family, own } = familyTarget(target)
    if (own === undefined) throw invalidArgument('each of familyVersions needs a timestamp')
    markers.push(marker(CellType.deleteFamilyVersion, family, emptyBytes, own))
  }
  for (const target of list(columns, 'columns')) {
    const { family, escapedQualifier } = parseSingleColumn(target, columnTargetOptions)
    const at = targetTimestamp(target, timestamp)
    markers.push(marker(CellType.deleteColumn, family, escapedQualifier, at))
  }
  const versions = list(columnVersions, 'columnVersions').map((target): NamedVersion => {
    const { family, escapedQualifier } = parseSingleColumn(target, columnTargetOptions)
    return { family, escapedQualifier, timestamp: targetTimestamp(target, timestamp), target }
  })
  const isWholeRow = markers.length === 0 && versions.length === 0
  if (isWholeRow && [families, familyVersions, columns, columnVersions].some(isGiven))
    throw invalidArgument('delete names empty lists; leave them out to delete the row')
  return { markers, versions, isWholeRow, timestamp }
}

function marker(
  type: CellTypeCode,
  family: string,
  escapedQualifier: Buffer,
  timestamp: Timestamp | undefined,
): NamedMarker {
  return { type, family, escapedQualifier, timestamp }
}

function isGiven(part: unknown): boolean {
  return part !== undefined
}

function list<T>(targets: readonly T[] | undefined, what: string): readonly T[] {
  return targets === undefined ? [] : checkArray(targets, `${what} of a delete`)
}

function familyTarget(target: FamilyTarget): { family: string; own: Timestamp | undefined } {
  if (typeof target === 'string' || isBytes(target)) {
    checkBytesLike(target, 'column family')
    return { family: toBytes(target).toString('utf8'), own: undefined }
  }
  if (typeof target !== 'object' || target === null) {
    throw invalidArgument('a family of a delete must be a name or {family, timestamp}')
  }
  const { family, timestamp } = familyTargetOptions.check(target)
  checkBytesLike(family, 'column family')
  return { family: toBytes(family).toString('utf8'), own: timestamp }
}

function targetTimestamp(
  target: ColumnTarget,
  fallback: Timestamp | undefined,
): Timestamp | undefined {
  if (typeof target === 'string' || isBytes(target)) return fallback
  return target.timestamp === undefined ? fallback : target.timestamp
}
