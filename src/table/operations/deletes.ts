/** Encodes deletes as markers (spec 1.1 and 2.5). */
import { checkArray, checkBytesLike, isBytes, OptionNames } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { emptyBytes, toBytes } from '../../base/bytes.js'
import { CellType, type CellTypeCode } from '../../cell/cell-type.js'
import { allTime, latestTimestamp, type Timestamp } from '../../cell/timestamp.js'
import type { FamilyState } from '../../engine/catalog.js'
import { parseSingleColumn, type ColumnParts } from '../../cell/column-name.js'
import type { FamilyPlan } from '../reads/read-plan.js'
import type { MutationWriter } from './mutation-writer.js'
import type { StoredCells } from '../reads/stored-cells.js'
import type {
  BytesLike,
  ColumnTarget,
  Delete,
  FamilyTarget,
  RowOperation,
} from '../../api/index.js'

/** Reads the newest versions of some columns of the mutated row. */
export type ReadVersions = (families: readonly FamilyPlan[], versions: number) => StoredCells

/**
 * The timestamp of a version delete without one, by its place in the list; undefined: that of the
 * stored version.
 */
export type ChooseVersion = (place: number, column: ColumnTarget) => Timestamp | undefined

const deleteNames = new OptionNames<Delete>('a delete', {
  row: true,
  timestamp: true,
  families: true,
  familyVersions: true,
  columns: true,
  columnVersions: true,
  durability: true,
})
const familyTargetNames = new OptionNames<{ family: BytesLike; timestamp?: Timestamp }>(
  'a family of a delete',
  { family: true, timestamp: true },
)
const columnTargetNames = new OptionNames<ColumnParts & { readonly timestamp?: Timestamp }>(
  'a column of a delete',
  { family: true, qualifier: true, timestamp: true },
)

/** Encodes a delete; `read` is asked only for version deletes without timestamp. */
export function addDelete(
  writer: MutationWriter,
  deletion: RowOperation<Delete>,
  families: readonly FamilyState[],
  read: ReadVersions,
  choose?: ChooseVersion,
): void {
  const before = writer.cellCount
  const { timestamp } = deleteNames.check(deletion)
  for (const target of list(deletion.families, 'families')) {
    const { name, own } = familyTarget(target)
    addMarker(
      writer,
      writer.family(name),
      CellType.deleteFamily,
      own === undefined ? timestamp : own,
    )
  }
  for (const target of list(deletion.familyVersions, 'familyVersions')) {
    const { name, own } = familyTarget(target)
    if (own === undefined) {
      throw invalidArgument('each of familyVersions needs a timestamp')
    }
    addMarker(writer, writer.family(name), CellType.deleteFamilyVersion, own)
  }
  for (const target of list(deletion.columns, 'columns')) {
    const { family, escapedQualifier } = parseSingleColumn(target, columnTargetNames)
    const at = targetTimestamp(target, timestamp)
    writer.encode(writer.family(family), escapedQualifier, CellType.deleteColumn, at, 0, '')
  }
  const versions = list(deletion.columnVersions, 'columnVersions')
  addVersionDeletes(writer, versions, timestamp, read, choose)
  if (writer.cellCount > before) return
  if (named(deletion))
    throw invalidArgument('delete names empty lists; leave them out to delete the row')
  for (const family of families) addMarker(writer, family, CellType.deleteFamily, timestamp)
}

function named(deletion: RowOperation<Delete>): boolean {
  const { families, familyVersions, columns, columnVersions } = deletion
  return [families, familyVersions, columns, columnVersions].some((part) => part !== undefined)
}

function list<T>(targets: readonly T[] | undefined, what: string): readonly T[] {
  return targets === undefined ? [] : checkArray(targets, `${what} of a delete`)
}

function addMarker(
  writer: MutationWriter,
  family: FamilyState,
  type: CellTypeCode,
  timestamp: Timestamp | undefined,
): void {
  writer.encode(family, emptyBytes, type, timestamp, 0, '')
}

function familyTarget(target: FamilyTarget): { name: string; own: Timestamp | undefined } {
  if (typeof target === 'string' || isBytes(target)) {
    checkBytesLike(target, 'column family')
    return { name: toBytes(target).toString('utf8'), own: undefined }
  }
  if (typeof target !== 'object' || target === null) {
    throw invalidArgument('a family of a delete must be a name or {family, timestamp}')
  }
  const { family, timestamp } = familyTargetNames.check(target)
  checkBytesLike(family, 'column family')
  return { name: toBytes(family).toString('utf8'), own: timestamp }
}

function targetTimestamp(
  target: ColumnTarget,
  fallback: Timestamp | undefined,
): Timestamp | undefined {
  if (typeof target === 'string' || isBytes(target)) return fallback
  return target.timestamp === undefined ? fallback : target.timestamp
}

/**
 * A version delete without timestamp hits the newest version; its n-th mention in one delete the
 * n-th newest; if there are not that many, the marker gets the server's time (spec 2.5).
 */
function addVersionDeletes(
  writer: MutationWriter,
  targets: readonly ColumnTarget[],
  timestamp: Timestamp | undefined,
  read: ReadVersions,
  choose: ChooseVersion | undefined,
): void {
  const parsed = targets.map((target, place) => {
    const { family, escapedQualifier } = parseSingleColumn(target, columnTargetNames)
    const at = targetTimestamp(target, timestamp)
    const own = at === latestTimestamp || at === undefined ? choose?.(place, target) : at
    return { family: writer.family(family), escapedQualifier, at: own }
  })
  const unresolved = parsed.filter(({ at }) => at === undefined)
  if (unresolved.length === 0) {
    for (const { family, escapedQualifier, at } of parsed) {
      writer.encode(family, escapedQualifier, CellType.delete, at, 0, '')
    }
    return
  }
  const stored = read(planColumns(unresolved), unresolved.length)
  const mentions = new Map<string, number>()
  for (const { family, escapedQualifier, at } of parsed) {
    if (at !== undefined) {
      writer.encode(family, escapedQualifier, CellType.delete, at, 0, '')
      continue
    }
    const name = `${family.index}:${escapedQualifier.toString('latin1')}`
    const n = mentions.get(name) ?? 0
    mentions.set(name, n + 1)
    const newest = stored.find(family.index, escapedQualifier, n)?.timestampExact
    writer.encode(family, escapedQualifier, CellType.delete, newest, 0, '')
  }
}

/** Queries for the given columns, families and qualifiers in store order. */
export function planColumns(
  columns: readonly { readonly family: FamilyState; readonly escapedQualifier: Buffer }[],
  timeRange = allTime,
  versions = 1,
): FamilyPlan[] {
  const byFamily = new Map<FamilyState, Buffer[]>()
  for (const { family, escapedQualifier } of columns) {
    const qualifiers = byFamily.get(family) ?? []
    if (!qualifiers.some((known) => known.equals(escapedQualifier))) {
      qualifiers.push(escapedQualifier)
    }
    byFamily.set(family, qualifiers)
  }
  const plans: FamilyPlan[] = []
  for (const [family, qualifiers] of byFamily) {
    qualifiers.sort((a, b) => Buffer.compare(a, b))
    plans.push(planFamily(family, qualifiers, timeRange, versions))
  }
  return plans.sort((a, b) => a.family.index - b.family.index)
}

/** Query for columns of one family; qualifiers escaped, distinct and in store order. */
export function planFamily(
  family: FamilyState,
  qualifiers: readonly Buffer[],
  timeRange = allTime,
  versions = 1,
): FamilyPlan {
  const query = {
    columns: qualifiers,
    versions,
    timeRange,
    raw: false,
    filter: undefined,
    cellsPerRowMax: -1,
    cellsPerRowOffset: 0,
  }
  return { family, query }
}
