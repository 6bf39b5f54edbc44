/**
 * The positions of projections, in a table of the database.
 *
 * A position is stored in the atomic batch of the writes that led to it, so it names exactly the
 * changes whose writes are there.
 */
import { checkText } from '../../base/arguments.js'
import { checkDatabase, requireCapability } from '../../api/capabilities.js'
import type { Database } from '../../api/database.js'
import { defineTable } from '../typed/define-table.js'
import type { TypedTable } from '../typed/typed-table.js'

/** How far a projection is. */
export interface ProjectionPosition {
  /** All changes up to this sequence are applied. */
  readonly sequence: number
  /**
   * While the first rows are read: the last row that was read, empty before the first one. The
   * sequence is then that of the rows up to this one. Undefined afterwards.
   */
  readonly row: Buffer | undefined
}

/** @internal The table of the positions. */
export type PositionTable = TypedTable<
  { readonly name: 'utf8' },
  { readonly sequence: 'integer'; readonly row: 'bytes' }
>

/** @internal Checks that a database can have projections. `ERR_UNSUPPORTED`. */
export function checkProjectable(database: Database): void {
  const { capabilities } = checkDatabase(database, 'a projection')
  for (const capability of ['snapshots', 'changes', 'atomicAcrossTables'] as const) {
    requireCapability(capabilities, capability, 'a projection')
  }
}

/** @internal Opens the table of the positions. Errors of `Admin.ensureTable`. */
export function openPositions(database: Database): Promise<PositionTable> {
  checkProjectable(database)
  return defineTable({
    name: 'cellardb.projections',
    key: { name: 'utf8' },
    columns: { sequence: 'integer', row: 'bytes' },
  }).open(database)
}

/** @internal Reads a position. */
export async function readPosition(
  get: (name: string) => Promise<{ sequence?: number; row?: Uint8Array } | undefined>,
  name: string,
): Promise<ProjectionPosition | undefined> {
  const { sequence, row } = (await get(name)) ?? {}
  if (sequence === undefined) return undefined
  return { sequence, row: row === undefined ? undefined : Buffer.from(row) }
}

/** How far a projection is; undefined before its first run. Errors of `Table.get`. */
export async function projectionPosition(
  database: Database,
  name: string,
): Promise<ProjectionPosition | undefined> {
  checkText(name, 'the name of a projection')
  const positions = await openPositions(database)
  return readPosition((key) => positions.get(key), name)
}

/**
 * Forgets the position of a projection, so that the next run begins anew. Empty the tables that the
 * projection writes before. No run of it may be under way. Errors of `Table.delete`.
 */
export async function forgetProjection(database: Database, name: string): Promise<void> {
  checkText(name, 'the name of a projection')
  await (await openPositions(database)).delete(name)
}
