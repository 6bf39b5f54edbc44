/** Encodes deletes as markers. */
import { emptyBytes } from '../../base/bytes.js'
import { parseDelete, type NamedVersion } from '../../checks/deletes.js'
import { CellType } from '../../storage/cell/cell-type.js'
import { allTime, latestTimestamp, type Timestamp } from '../../storage/cell/timestamp.js'
import type { FamilyState } from '../../storage/engine/catalog/catalog.js'
import type { FamilyPlan } from '../reads/read-plan.js'
import type { MutationWriter } from './mutation-writer.js'
import type { StoredCells } from '../reads/stored-cells.js'
import type { ColumnTarget, Delete, RowOperation } from '../../api/index.js'

/** Reads the newest versions of some columns of the mutated row. */
export type ReadVersions = (families: readonly FamilyPlan[], versions?: number) => StoredCells

/**
 * Chooses the timestamp of a version delete without one, by its index in the list; undefined: that
 * of the stored version.
 */
export type ChooseVersion = (place: number, column: ColumnTarget) => Timestamp | undefined

/** Encodes a delete. `read` is called only for version deletes without timestamp. */
export function addDelete(
  writer: MutationWriter,
  deletion: RowOperation<Delete>,
  families: readonly FamilyState[],
  read: ReadVersions,
  choose?: ChooseVersion,
): void {
  const { markers, versions, isWholeRow, timestamp } = parseDelete(deletion)
  for (const { family, escapedQualifier, type, timestamp: at } of markers) {
    writer.encode(writer.family(family), escapedQualifier, type, at, 0, '')
  }
  if (versions.length > 0) addVersionDeletes(writer, versions, read, choose)
  if (!isWholeRow) return
  for (const family of families) {
    writer.encode(family, emptyBytes, CellType.deleteFamily, timestamp, 0, '')
  }
}

/**
 * Encodes version deletes. One without timestamp masks the newest version; the n-th mention of a
 * column in one delete masks its n-th newest. If there are fewer versions, the marker gets the
 * server's time.
 */
function addVersionDeletes(
  writer: MutationWriter,
  versions: readonly NamedVersion[],
  read: ReadVersions,
  choose: ChooseVersion | undefined,
): void {
  const parsed = versions.map(({ family, escapedQualifier, timestamp: at, target }, place) => {
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

/** Plans to read the given columns; families and qualifiers are in the order of the store. */
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

/**
 * Plans to read columns of one family. REQUIRES escaped, distinct qualifiers in the order of the
 * store.
 */
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
