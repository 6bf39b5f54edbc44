/** What a backend can do, declared so that callers ask before they call. */
import { CellarError, ErrorCode } from '../base/errors.js'

/**
 * The capabilities of a backend. A call that a missing capability excludes fails with
 * `ERR_UNSUPPORTED`, which names the capability, before anything is sent or written.
 */
export interface Capabilities {
  /** The tables have the synchronous forms of {@link SyncTable}. */
  readonly sync: boolean
  /** `Database.snapshot` gives consistent views over all tables. */
  readonly snapshots: boolean
  /** `Database.changes` gives the mutations in order. */
  readonly changes: boolean
  /** `Table.mutateRows` applies mutations of several rows of one table, all or none. */
  readonly atomicAcrossRows: boolean
  /** `Database.atomic` applies mutations of several tables, all or none. */
  readonly atomicAcrossTables: boolean
  /** Observers, cell hooks and endpoints run next to the data. */
  readonly coprocessors: boolean
  /** Reads and checks take filters. */
  readonly filters: boolean
  /** Scans take `raw`. */
  readonly rawScans: boolean
  /** `Admin.flush`, `compact` and `majorCompact` act at once. */
  readonly upkeep: boolean
}

/** The name of a capability. */
export type Capability = keyof Capabilities

/** Fails with `ERR_UNSUPPORTED` if the backend lacks the capability that `what` needs. */
export function requireCapability(
  capabilities: Capabilities,
  capability: Capability,
  what: string,
): void {
  if (capabilities[capability]) return
  const message = `${what} needs the capability '${capability}', which this backend lacks`
  throw new CellarError(ErrorCode.unsupported, message)
}
