/** Reads the stored forms of one record: its head, and its versions. */
import { shown, type Get, type Result } from '../../../../api/index.js'
import { ByteReader } from '../../../bytes/byte-reader.js'
import { corrupt, invalidArgument, recordNotFound } from '../../errors.js'
import type { RecordId } from '../../record-id.js'
import {
  decodeHead,
  decodeVersion,
  headColumn,
  isDeletedHead,
  readHeadHeader,
  versionColumn,
  versionOfColumn,
  type HeadHeader,
  type RecordState,
  type VersionState,
} from '../record-state.js'
import type { TableContext } from '../table-context.js'

const headColumns = [headColumn]

/** A get of the newest version, or of one version. */
export function getOf(id: RecordId, version?: number): Get {
  const columns = version === undefined ? headColumns : [headColumn, versionColumn(version)]
  return { row: id.bytes, columns }
}

/** A stored head, as bytes and decoded; undefined without a row. */
export interface StoredHead {
  readonly id: RecordId
  readonly bytes: Buffer | undefined
  readonly state: RecordState | undefined
}

/** The head of a record that exists. */
export interface LiveHead extends StoredHead {
  readonly bytes: Buffer
  readonly state: RecordState
}

/** The head of a record, possibly of a deleted one. */
export async function readHead(context: TableContext, id: RecordId): Promise<StoredHead> {
  context.checkOpen()
  const row = await context.table.get(getOf(id))
  const bytes = row.value(headColumn)
  return { id, bytes, state: bytes === undefined ? undefined : decodeHead(bytes, id) }
}

/** The head of a record that exists. `ERR_RECORD_NOT_FOUND`. */
export async function readLive(context: TableContext, id: RecordId): Promise<LiveHead> {
  context.checkOpen()
  const row = await context.table.get(getOf(id))
  const bytes = row.value(headColumn)
  if (bytes === undefined || isDeletedHead(bytes, id)) throw recordNotFound(id)
  return { id, bytes, state: decodeHead(bytes, id) }
}

/** Whether a record exists and is not deleted. */
export async function exists(context: TableContext, id: RecordId): Promise<boolean> {
  const { state } = await readHead(context, id)
  return state !== undefined && !state.isDeleted
}

/** Number of versions in one read. */
export const versionsAtOnce = 1000

/** The versions from `first` to `last`, ascending, in parts for one read each. */
export function* versionParts(first: number, last: number): Generator<number[], void> {
  for (let start = first; start <= last; start += versionsAtOnce) {
    const length = Math.min(versionsAtOnce, last - start + 1)
    yield Array.from({ length }, (_, index) => start + index)
  }
}

/** The states of versions that are not the newest; versions that do not exist are left out. */
export async function versionStates(
  { table }: TableContext,
  id: RecordId,
  versions: readonly number[],
): Promise<Map<number, VersionState>> {
  if (versions.length === 0) return new Map()
  const row = await table.get({ row: id.bytes, columns: versions.map(versionColumn) })
  const cells = row.cells()
  return new Map(
    cells.map(({ qualifier, value }) => [versionOfColumn(qualifier)!, decodeVersion(value, id)]),
  )
}

/**
 * The state of one version of a record; undefined if there is no such version. `ERR_CORRUPTION` if
 * its cell is missing.
 */
export async function versionState(
  context: TableContext,
  { id, state }: LiveHead,
  version: number,
): Promise<VersionState | undefined> {
  if (version === state.version) return state.latest
  if (version <= 0 || version < state.first || version > state.version) return undefined
  const found = (await versionStates(context, id, [version])).get(version)
  if (found === undefined) throw lacksVersion(id, version)
  return found
}

/** Makes an `ERR_CORRUPTION`: the head of a record has a version whose cell is missing. */
export function lacksVersion({ text }: RecordId, version: number): Error {
  return corrupt(`the record ${text} lacks its version ${version}`)
}

/** The header in the head of a record. `ERR_CORRUPTION`. */
export function headerIn(id: RecordId, head: Buffer): HeadHeader {
  return readHeadHeader(new ByteReader(head, id))
}

/** The header of a record that exists. `ERR_RECORD_NOT_FOUND`. */
export function headerOf(id: RecordId, row: Result): HeadHeader {
  const head = row.value(headColumn)
  const header = head === undefined ? undefined : headerIn(id, head)
  if (header === undefined || header.isDeleted) throw recordNotFound(id)
  return header
}

/** The version that was the newest at a time; undefined if the record had no version then. */
export async function versionAt(
  context: TableContext,
  id: RecordId,
  time: number,
): Promise<number | undefined> {
  context.checkOpen()
  if (typeof time !== 'number' || Number.isNaN(time)) {
    throw invalidArgument(`a time in milliseconds is wanted, got ${shown(time)}`)
  }
  const header = headerOf(id, await context.table.get(getOf(id)))
  let low = header.first
  let high = header.version
  let found: number | undefined
  while (low <= high && low > 0) {
    const middle = Math.floor((low + high) / 2)
    const row = await context.table.get(getOf(id, middle))
    const { first, version } = headerOf(id, row)
    if (middle < first || middle > version) {
      // Versions were dropped meanwhile, or the record was deleted and created again.
      ;[low, high, found] = [first, version, undefined]
      continue
    }
    const bytes = row.value(middle === version ? headColumn : versionColumn(middle))
    if (bytes === undefined) throw lacksVersion(id, middle)
    const state = middle === version ? decodeHead(bytes, id).latest! : decodeVersion(bytes, id)
    if (state.created > time) high = middle - 1
    else {
      found = middle
      low = middle + 1
    }
  }
  return found
}
