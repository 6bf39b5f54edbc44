/**
 * HBase's rules for reading and flushing one family of one row, in the simplest way: sort, filter,
 * loop. Shares only the names of cell types with the embedded engine.
 */
import type { CellTypeName } from '../../../src/storage/cell/cell-type.js'
import type { PlainCell } from './plain-cells.js'

/** A cell as the model stores it. */
export interface StoredCell extends PlainCell {
  readonly sequence: number
  /** Cell TTL in milliseconds; 0 = none. */
  readonly ttl: number
  /** Whether the clock assigned the timestamp, with the mutation of the cell. */
  readonly isServerTimed: boolean
  /** Number of the cell among the cells of its table, in the order of writing. */
  readonly order: number
  /** Whether the next flush includes the cell. */
  inMemtable: boolean
  /** Whether a newer version has replaced it in the memtable. Then only the log has the cell. */
  isReplaced: boolean
  /**
   * Number of the sorted run of its family that holds the cell, ascending in the order of creation.
   */
  run: number
}

/** The options of a family that decide which cells are kept. */
export interface FamilyRules {
  readonly versions: number
  readonly minVersions: number
  /** TTL in milliseconds; undefined = forever. */
  readonly ttl: bigint | undefined
  readonly keepDeletedCells: boolean | 'TTL'
  readonly newVersionBehavior: boolean
  /** How long a major compaction keeps markers after their timestamp, in milliseconds. */
  readonly timeToPurgeDeletes?: bigint
}

/** The options of a read for one family. */
export interface FamilyRead {
  readonly versions: number
  /** The time range `[min, max)`. */
  readonly min: bigint
  readonly max: bigint
  readonly raw: boolean
  /** Undefined = all columns. */
  readonly qualifiers: readonly string[] | undefined
  readonly offset: number
  readonly limit: number
  /** Decides about single cells; not together with `raw`. */
  readonly keeps?: ((cell: StoredCell) => boolean) | undefined
  /**
   * Whether a filter will decide about the cells. Then all versions that the family keeps are
   * returned, uncut.
   */
  readonly isFiltered?: boolean | undefined
}

const typeCodes: Readonly<Record<CellTypeName, number>> = {
  Put: 4,
  Delete: 8,
  DeleteFamilyVersion: 10,
  DeleteColumn: 12,
  DeleteFamily: 14,
}

/** HBase's order of cells within one row and family. */
export function compareCells(a: StoredCell, b: StoredCell): number {
  if (a.qualifier !== b.qualifier) return a.qualifier < b.qualifier ? -1 : 1
  if (a.timestamp !== b.timestamp) return a.timestamp > b.timestamp ? -1 : 1
  if (a.type !== b.type) return typeCodes[b.type] - typeCodes[a.type]
  return b.sequence - a.sequence
}

/** Whether a cell is a delete marker. */
export function isMarker(cell: StoredCell): boolean {
  return cell.type !== 'Put'
}

function masks(marker: StoredCell, cell: StoredCell): boolean {
  switch (marker.type) {
    case 'DeleteFamily':
      return cell.timestamp <= marker.timestamp
    case 'DeleteFamilyVersion':
      return cell.timestamp === marker.timestamp
    case 'DeleteColumn':
      return cell.qualifier === marker.qualifier && cell.timestamp <= marker.timestamp
    case 'Delete':
      return cell.qualifier === marker.qualifier && cell.timestamp === marker.timestamp
    case 'Put':
      return false
  }
}

/**
 * Whether a cell is older than the TTL of the family. A cell of exactly that age is not expired.
 */
function outlivedFamilyTtl(cell: StoredCell, rules: FamilyRules, now: bigint): boolean {
  return rules.ttl !== undefined && cell.timestamp < now - rules.ttl
}

function outlivedOwnTtl(cell: StoredCell, now: bigint): boolean {
  return cell.ttl > 0 && cell.timestamp + BigInt(cell.ttl) < now
}

function byColumn(cells: readonly StoredCell[]): StoredCell[][] {
  const columns = new Map<string, StoredCell[]>()
  for (const cell of [...cells].sort(compareCells)) {
    const column = columns.get(cell.qualifier)
    if (column === undefined) columns.set(cell.qualifier, [cell])
    else column.push(cell)
  }
  return [...columns.values()]
}

/**
 * The next older version of the column that a new put replaces, if the family keeps one version;
 * undefined if it replaces none. `memtable` are the cells of the row in the memtable,
 * `sequenceSeen` is the newest sequence that a snapshot sees. `markerTime` is the newest timestamp
 * that a marker of a single version may have.
 */
export function replacedBy(
  put: StoredCell,
  memtable: readonly StoredCell[],
  rules: FamilyRules,
  sequenceSeen: number,
  markerTime: bigint,
): StoredCell | undefined {
  if (rules.versions > 1 || rules.keepDeletedCells !== false || rules.newVersionBehavior) return
  if (isMarker(put) || !put.isServerTimed || put.timestamp <= markerTime) return
  const { family, qualifier } = put
  const behind = memtable.filter((cell) => {
    if (cell.family !== family || cell.qualifier !== qualifier || cell.isReplaced) return false
    return compareCells(put, cell) < 0
  })
  const next = behind.sort(compareCells).at(0)
  if (next === undefined || isMarker(next) || next.sequence <= sequenceSeen) return
  if (put.ttl === 0) return next
  const endsFirst = next.timestamp + BigInt(next.ttl) <= put.timestamp + BigInt(put.ttl)
  return next.ttl > 0 && endsFirst ? next : undefined
}

/**
 * The cells that a read returns of one family of one row. `cells` are those that its read point
 * sees.
 */
export function readFamily(
  cells: readonly StoredCell[],
  rules: FamilyRules,
  read: FamilyRead,
  now: bigint,
): StoredCell[] {
  const found: StoredCell[] = []
  const { keeps, isFiltered = false } = read
  // A filter sees all versions that the family keeps. The requested number of versions is taken
  // after it.
  const asked = keeps === undefined && !isFiltered ? read.versions : Infinity
  const columns = byColumn(cells.filter((cell) => !outlivedOwnTtl(cell, now)))
  const markers = read.raw ? [] : markersThatApply(cells, rules, read, now)
  for (const column of columns) {
    if (read.qualifiers !== undefined && !read.qualifiers.includes(column[0].qualifier)) continue
    const inRange = column.filter(({ timestamp }) => timestamp >= read.min && timestamp < read.max)
    if (read.raw) found.push(...rawVersions(inRange, asked))
    else if (rules.newVersionBehavior) {
      const alive = new Set(replayed(column, markers, rules.versions))
      const visible = inRange.filter((cell) => alive.has(cell))
      found.push(...passing(liveVersions(visible, [], rules, asked, now), read))
    } else found.push(...passing(liveVersions(inRange, markers, rules, asked, now), read))
  }
  return isFiltered ? found : found.slice(read.offset, read.offset + read.limit)
}

/** The newest versions of a column that pass `keeps`. */
function passing(column: readonly StoredCell[], { keeps, versions }: FamilyRead): StoredCell[] {
  if (keeps === undefined) return [...column]
  return column.filter(keeps).slice(0, versions)
}

/**
 * The markers that apply to a read. Markers after the time range apply too, unless deleted cells
 * are kept. Expired markers mask nothing, unless MIN_VERSIONS keeps expired cells.
 */
function markersThatApply(
  cells: readonly StoredCell[],
  rules: FamilyRules,
  read: FamilyRead,
  now: bigint,
): StoredCell[] {
  return cells.filter((cell) => {
    if (!isMarker(cell) || outlivedOwnTtl(cell, now)) return false
    if (rules.minVersions === 0 && outlivedFamilyTtl(cell, rules, now)) return false
    if (cell.timestamp < read.min) return false
    return rules.keepDeletedCells === false || cell.timestamp < read.max
  })
}

/**
 * NEW_VERSION_BEHAVIOR: the versions of a column that remain after its mutations were replayed in
 * the order of writing. Puts of a mutation come before its markers.
 */
function replayed(
  column: readonly StoredCell[],
  markers: readonly StoredCell[],
  versions: number,
): StoredCell[] {
  let alive: StoredCell[] = []
  const sequences = new Set([...column, ...markers].map(({ sequence }) => sequence))
  for (const sequence of [...sequences].sort((a, b) => a - b)) {
    for (const put of column) {
      if (put.sequence !== sequence || isMarker(put)) continue
      alive = alive.filter(({ timestamp }) => timestamp !== put.timestamp)
      alive.push(put)
    }
    alive = alive.sort(compareCells).slice(0, versions)
    const now = markers.filter((marker) => marker.sequence === sequence)
    alive = alive.filter((cell) => !now.some((marker) => masks(marker, cell)))
  }
  return alive
}

function liveVersions(
  column: readonly StoredCell[],
  markers: readonly StoredCell[],
  rules: FamilyRules,
  versionsAsked: number,
  now: bigint,
): StoredCell[] {
  const versions: StoredCell[] = []
  for (const cell of column) {
    if (isMarker(cell) || markers.some((marker) => masks(marker, cell))) continue
    // The newest write of a timestamp comes first. Other cells with that timestamp are the same
    // version.
    if (versions.at(-1)?.timestamp === cell.timestamp) continue
    if (versions.length >= Math.min(versionsAsked, rules.versions)) break
    if (versions.length >= rules.minVersions && outlivedFamilyTtl(cell, rules, now)) break
    versions.push(cell)
  }
  return versions
}

/** Includes markers and masked cells; only puts count as versions. */
function rawVersions(column: readonly StoredCell[], versionsAsked: number): StoredCell[] {
  const found: StoredCell[] = []
  let puts = 0
  for (const cell of column) {
    const last = found.at(-1)
    if (last?.timestamp === cell.timestamp && last.type === cell.type) continue
    if (!isMarker(cell)) puts++
    if (puts > versionsAsked) break
    found.push(cell)
  }
  return found
}

/**
 * The cells of one family of one row that a flush keeps. Markers are kept unless they have expired.
 * Puts are kept unless they have expired, are masked by a marker of the same memtable, or exceed
 * VERSIONS. Cells up to `sequenceKept`, which an open snapshot sees, are kept unconditionally.
 */
export function flushedCells(
  all: readonly StoredCell[],
  rules: FamilyRules,
  sequenceKept: number,
  now: bigint,
): StoredCell[] {
  if (rules.newVersionBehavior) return [...all]
  const kept = all.filter(({ sequence }) => sequence <= sequenceKept)
  const cells = all.filter(({ sequence }) => sequence > sequenceKept)
  const expired = (cell: StoredCell): boolean =>
    outlivedOwnTtl(cell, now) || (rules.minVersions === 0 && outlivedFamilyTtl(cell, rules, now))
  const masking = cells.filter((cell) => {
    if (!isMarker(cell) || expired(cell)) return false
    if (rules.keepDeletedCells === 'TTL') return outlivedFamilyTtl(cell, rules, now)
    return rules.keepDeletedCells === false
  })
  for (const column of byColumn(cells)) {
    let counted: StoredCell | undefined
    let count = 0
    for (const cell of column) {
      if (expired(cell)) continue
      if (isMarker(cell)) {
        kept.push(cell)
        continue
      }
      if (masking.some((marker) => masks(marker, cell))) continue
      if (counted?.timestamp === cell.timestamp) continue
      counted = cell
      count++
      if (count > rules.versions) continue
      if (count > rules.minVersions && outlivedFamilyTtl(cell, rules, now)) continue
      kept.push(cell)
    }
  }
  return kept
}

/**
 * The cells of one family of one row that a major compaction keeps. Like a flush, but it also drops
 * markers: all of them or, with KEEP_DELETED_CELLS, those over VERSIONS and those older than
 * `earliestPut`, the timestamp of the oldest put of the store.
 */
export function compactedCells(
  cells: readonly StoredCell[],
  rules: FamilyRules,
  now: bigint,
  earliestPut: bigint,
): StoredCell[] {
  const expired = (cell: StoredCell): boolean =>
    outlivedOwnTtl(cell, now) || (rules.minVersions === 0 && outlivedFamilyTtl(cell, rules, now))
  const live = cells.filter((cell) => !expired(cell))
  const keepsMarker = (marker: StoredCell): boolean =>
    rules.keepDeletedCells === 'TTL'
      ? !outlivedFamilyTtl(marker, rules, now)
      : rules.keepDeletedCells
  const purge = rules.timeToPurgeDeletes ?? 0n
  const isYoung = (marker: StoredCell): boolean => purge > 0n && now - marker.timestamp <= purge
  const masking = live.filter((cell) => isMarker(cell) && !keepsMarker(cell))
  const kept: StoredCell[] = []
  for (const column of byColumn(live)) {
    if (rules.newVersionBehavior) {
      const alive = new Set(replayed(column, masking, rules.versions))
      const visible = column.filter((cell) => alive.has(cell))
      const stays = new Set(liveVersions(visible, [], rules, rules.versions, now))
      let count = 0
      for (const cell of column) {
        if (stays.has(cell)) count++
        const isNeeded = cell.type.startsWith('DeleteFamily') || count < rules.versions
        if (stays.has(cell) || (isMarker(cell) && isYoung(cell) && isNeeded)) kept.push(cell)
      }
      continue
    }
    let last: StoredCell | undefined
    let count = 0
    for (const cell of column) {
      if (isMarker(cell) && !isYoung(cell)) {
        if (!keepsMarker(cell) || cell.timestamp < earliestPut) continue
      }
      if (!isMarker(cell) && masking.some((marker) => masks(marker, cell))) continue
      if (last?.timestamp === cell.timestamp && last.type === cell.type) continue
      if (!isMarker(cell)) count++
      if (count > rules.versions) continue
      if (count > rules.minVersions && outlivedFamilyTtl(cell, rules, now)) continue
      last = cell
      kept.push(cell)
    }
  }
  return kept
}
