/** Capabilities of a backend, which callers can ask for before a call. */
import { checkMethods } from '../base/arguments.js'
import { CellarError, ErrorCode } from '../base/errors.js'

/**
 * The capabilities of a backend. A call that needs a missing capability fails with
 * `ERR_UNSUPPORTED` before anything is sent or written. The message names the capability.
 */
export interface Capabilities {
  /** The tables have the synchronous methods of {@link SyncTable}. */
  readonly sync: boolean
  /** `Database.snapshot` returns consistent views of all tables. */
  readonly snapshots: boolean
  /** `Database.changes` yields the mutations in order. */
  readonly changes: boolean
  /** `Table.mutateRows` applies mutations of several rows of one table, all or none. */
  readonly atomicAcrossRows: boolean
  /** `Database.atomic` applies mutations of several tables, all or none. */
  readonly atomicAcrossTables: boolean
  /** Observers, cell hooks and endpoints run next to the data. */
  readonly coprocessors: boolean
  /** Reads and checks accept filters. */
  readonly filters: boolean
  /** Scans accept `raw`. */
  readonly rawScans: boolean
  /** `Admin.flush`, `compact` and `majorCompact` act immediately. */
  readonly upkeep: boolean
}

/** The capabilities of the embedded engine. */
export const allCapabilities: Capabilities = Object.freeze({
  sync: true,
  snapshots: true,
  changes: true,
  atomicAcrossRows: true,
  atomicAcrossTables: true,
  coprocessors: true,
  filters: true,
  rawScans: true,
  upkeep: true,
})

/** The name of a capability. */
export type Capability = keyof Capabilities

/** Checks that a value is a database, for systems that get one. `ERR_INVALID_ARGUMENT`. */
export function checkDatabase<T extends object>(database: T, what: string): T {
  const form = "await Database.open('./data')"
  return checkMethods(
    database,
    `the database of ${what}`,
    ['table', 'createTable'] as never[],
    form,
  )
}

/** Throws `ERR_UNSUPPORTED` if the backend lacks the capability that `what` needs. */
export function requireCapability(
  capabilities: Capabilities,
  capability: Capability,
  what: string,
): void {
  if (capabilities[capability]) return
  const message = `${what} needs the capability '${capability}', which this backend lacks`
  throw new CellarError(ErrorCode.unsupported, message)
}
