/** The dry run of a move: what stands in its way, and what it does not bring over. */
import {
  CellarError,
  checkDatabase,
  type Capability,
  type Database,
  type FamilyOptions,
} from '../../api/index.js'
import { checkAborted } from '../../base/errors.js'
import { HBaseErrorCode } from '../thrift/wire/errors.js'
import { moveOptions, type MoveOptions } from './options.js'
import { sourceCells } from './source.js'

/** Bytes of a cell beside row, family, qualifier and value, as `cellBytesMax` counts them. */
const cellFrameBytes = 20

/** What a move would meet. */
export interface MoveInspection {
  /** Names of the tables that would be moved. */
  readonly tables: readonly string[]
  /** Why the move would be refused; empty = it can begin. */
  readonly obstacles: readonly string[]
  /** What the target will not have. */
  readonly notes: readonly string[]
}

/**
 * Says what a move of the tables would meet, and writes nothing. `ERR_INVALID_ARGUMENT`;
 * `ERR_TABLE_NOT_FOUND` of the source; `ERR_ABORTED`; errors of reads of either database.
 */
export async function inspectMove(
  source: Database,
  target: Database,
  options: MoveOptions = {},
): Promise<MoveInspection> {
  checkDatabase(source, 'inspectMove')
  checkDatabase(target, 'inspectMove')
  const { tables: given, stateTable, signal } = moveOptions.read(options)
  const names = given ?? (await source.admin.listTableNames()).filter((name) => name !== stateTable)
  const obstacles: string[] = []
  const notes: string[] = []
  if (names.length === 0) obstacles.push('the source has no table to move')
  for (const name of names) {
    const { families, coprocessors = [] } = await source.admin.getDescriptor(name)
    for (const [family, { newVersionBehavior, ttlMilliseconds }] of Object.entries(families)) {
      const what = `family '${family}' of table '${name}'`
      if (newVersionBehavior) {
        obstacles.push(`${what} has newVersionBehavior, by which the order of writing counts`)
      }
      if (!target.capabilities.sync && ttlMilliseconds % 1000 > 0) {
        obstacles.push(`${what} has a TTL that is not whole seconds`)
      }
    }
    if (await lacksNamespace(target, name)) {
      obstacles.push(`the target lacks the namespace of table '${name}'`)
    }
    obstacles.push(...(await largeCells(source, target, name, signal)))
    if (coprocessors.length > 0) notes.push(`the coprocessors of table '${name}' stay behind`)
    if (await hasRows(target, name)) obstacles.push(`table '${name}' of the target has rows`)
  }
  notes.push(...missingCapabilities(source, target))
  if (!source.capabilities.rawScans && !('exportTable' in source.admin)) {
    notes.push('delete markers and masked cells stay behind: the source has no raw scans')
  }
  if (!('exportTable' in source.admin)) {
    notes.push('TTLs of single cells stay behind: scans do not return them')
  }
  notes.push('options of storage, such as compression, are the defaults of the target')
  return { tables: names, obstacles, notes }
}

/** The names of the tables of a move. `ERR_MOVE_REFUSED` with all obstacles. */
export async function checkMove(
  source: Database,
  target: Database,
  options: MoveOptions,
): Promise<readonly string[]> {
  const { tables, obstacles } = await inspectMove(source, target, options)
  if (obstacles.length === 0) return tables
  const message = `the move cannot begin: ${obstacles.join('; ')}`
  throw new CellarError(HBaseErrorCode.moveRefused, message)
}

async function hasRows(database: Database, name: string): Promise<boolean> {
  if (!(await database.admin.tableExists(name))) return false
  for await (const _ of database
    .table(name)
    .scan({ limit: 1, raw: database.capabilities.rawScans }))
    return true
  return false
}

/** Whether the table of the target could not be made. A target without namespaces is not asked. */
async function lacksNamespace({ admin }: Database, name: string): Promise<boolean> {
  if (!name.includes(':') || !('listNamespaces' in admin)) return false
  const asked = admin as unknown as { listNamespaces(): string[] | Promise<string[]> }
  return !(await asked.listNamespaces()).includes(name.slice(0, name.indexOf(':')))
}

/** The number of cells that the target refuses, in words. Reads the table only if there can be. */
async function largeCells(
  source: Database,
  target: Database,
  name: string,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  if (source.cellBytesMax <= target.cellBytesMax) return []
  let count = 0
  for await (const { row, family, qualifier, value } of sourceCells(source, name, {})) {
    checkAborted('inspectMove', signal)
    const bytes = row.length + family.length + qualifier.length + value.length + cellFrameBytes
    if (bytes > target.cellBytesMax) count++
  }
  const limit = `more than ${target.cellBytesMax} bytes, which the target refuses`
  return count === 0 ? [] : [`cells of table '${name}' have ${limit}: ${count}`]
}

/** The features of the source on which code may depend, and which the target lacks. */
function missingCapabilities(source: Database, target: Database): string[] {
  const names = Object.keys(source.capabilities) as Capability[]
  const missing = names.filter((name) => source.capabilities[name] && !target.capabilities[name])
  if (missing.length === 0) return []
  const notes = [`capabilities that the target lacks: ${missing.join(', ')}`]
  if (missing.includes('atomicAcrossTables')) {
    notes.push('an owned database over the target has snapshots, changes and atomic batches')
  }
  return notes
}

/** Makes a table of the target with the options on which answers depend. */
export async function ensureTarget(
  source: Database,
  target: Database,
  name: string,
): Promise<void> {
  const { families, durability, metadata } = await source.admin.getDescriptor(name)
  const own = Object.entries(families).map(([family, options]): [string, FamilyOptions] => {
    const { versions, minVersions, ttlMilliseconds, keepDeletedCells } = options
    const kept = { versions, minVersions, ttlMilliseconds, keepDeletedCells }
    return [family, { ...kept, metadata: options.metadata }]
  })
  await target.admin.ensureTable(name, { families: Object.fromEntries(own), durability, metadata })
}
