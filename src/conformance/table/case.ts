/**
 * The form in which HBase's conformance cases are written down: operations and expectations as
 * data.
 *
 * An expected cell is a text `[row|][family:]qualifier[@timestamp][!type][=value]`; what is left
 * out is not compared, except that a missing family means `f` and a missing type `Put`.
 */
import type {
  Append,
  BatchOperation,
  Capability,
  Check,
  CheckAction,
  Clock,
  Database,
  Delete,
  FamilyOptions,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  SyncTable,
  Table,
} from '../../api/index.js'
import type { TableCalls } from './calls.js'

/**
 * What is done before each read: nothing, a flush, closing and opening, or a flush with a minor or
 * a major compaction.
 */
export type State = 'memtable' | 'flushed' | 'reopened' | 'minor' | 'major'

/** For cases whose outcome no compaction changes. */
export const everywhere: readonly State[] = ['memtable', 'flushed', 'reopened', 'minor', 'major']
/** For cases that need markers or versions which a compaction of all files drops. */
export const uncompacted: readonly State[] = ['memtable', 'flushed', 'reopened']
/** The case steers flushes and compactions itself. */
export const steered: readonly State[] = ['memtable']

/** A mutation. */
export type Write =
  | { readonly put: Put }
  | { readonly delete: Delete }
  | { readonly increment: Increment; readonly cells?: readonly string[] }
  | { readonly append: Append; readonly cells?: readonly string[] }
  | { readonly mutateRow: RowMutations; readonly cells?: readonly string[] }
  | {
      readonly check: Check
      readonly action: CheckAction
      readonly success: boolean
      readonly cells?: readonly string[]
    }
  | { readonly putList: readonly Put[] }
  | { readonly deleteList: readonly Delete[] }

/** A mutation, a read with what it must show, or a change of state. */
export type Step =
  | Write
  | { readonly get: Get; readonly cells: readonly string[] }
  | { readonly exists: Get; readonly is: boolean }
  /** One list of cells for each result. */
  | { readonly scan: Scan; readonly results: readonly (readonly string[])[] }
  /** Only the rows, for scans over many. */
  | { readonly scan: Scan; readonly rows: readonly string[] }
  /** How many cells a scan returns in all, and how many of them are markers. */
  | { readonly scan: Scan; readonly cellCount?: number; readonly markerCount?: number }
  | {
      readonly fails: Write | { get: Get } | { scan: Scan }
      readonly code: string
      readonly message?: RegExp
    }
  /** A list of which some elements fail, by position. */
  | {
      readonly failsPartly: { putList: readonly Put[] } | { deleteList: readonly Delete[] }
      readonly failures: Readonly<Record<number, string>>
    }
  /** A batch; each outcome is a list of cells, or the code of an error. */
  | {
      readonly batch: readonly BatchOperation[]
      readonly outcomes: readonly (readonly string[] | string)[]
    }
  | { readonly clock: number }
  | { readonly advance: number }
  | { readonly flush: true }
  | { readonly reopen: true }
  | { readonly compact: 'minor' | 'major' }
  /** What cannot be said as data; `context` gives what is needed. */
  | { readonly run: (context: CaseContext) => Promise<void> }

/** A table of a backend; the synchronous forms are there with the capability `sync`. */
export type AnyTable = Table & Partial<SyncTable>

/** What a case may ask of the database that a backend opens for it. */
export interface TableSettings {
  /** The backend's clock: mutations without timestamp and expiry go by it. */
  readonly clock: Clock
  /** How far ahead of the clock timestamps may be; undefined: as far as they like. */
  readonly timestampSlopMilliseconds: number | undefined
}

/** An open database of a backend under test, and how it is closed. */
export interface TableSpace {
  readonly database: Database<AnyTable>
  /**
   * Closes the database and opens it again on the same data, after which `database` is the new one.
   * Absent: the data do not outlive the database.
   */
  reopen?(): Promise<void>
  /** Closes the database and removes its data. */
  close(): Promise<void>
}

/** What a `run` step works with. */
export interface CaseContext {
  /** What the backend has opened. Cases of one backend only may look into it. */
  readonly space: TableSpace
  /** The table of the case, as it is now. */
  readonly table: AnyTable
  readonly calls: TableCalls
  /** Flushes all tables. */
  readonly flush: () => Promise<void>
  /** Compacts all tables. */
  readonly compact: (major: boolean) => Promise<void>
  /** Fails the case unless both are deeply equal. */
  readonly same: (found: unknown, expected: unknown, what: string) => void
}

/** One case. */
export interface TableCase {
  /** Number in the list of cases. */
  readonly number: number
  readonly title: string
  /** Where HBase asserts it. */
  readonly source: string
  readonly states: readonly State[]
  /** Default: one family `f` with the default options. */
  readonly families?: Readonly<Record<string, FamilyOptions>> | undefined
  readonly timestampSlopMilliseconds?: number | undefined
  /** Milliseconds at the start. Default 1,000,000. */
  readonly startTime?: number | undefined
  /** What it needs beside what its steps show. */
  readonly needs?: readonly Capability[] | undefined
  readonly steps: readonly Step[]
}

/** As many versions as there are. */
export const allVersions = 2_147_483_647

/** Family `f` with so many versions. */
export function versions(count: number): Readonly<Record<string, FamilyOptions>> {
  return { f: { versions: count } }
}

/** A put of one cell of row `r`, family `f`. */
export function putCell(
  qualifier: string,
  timestamp: number | bigint | undefined,
  value: string,
  row = 'r',
  family = 'f',
): { readonly put: Put } {
  return { put: { row, cells: [{ column: { family, qualifier }, timestamp, value }] } }
}

/** A put of several versions of one column in one mutation, each with a value `v<timestamp>`. */
export function putVersions(
  qualifier: string,
  timestamps: readonly number[],
  row = 'r',
  family = 'f',
): { readonly put: Put } {
  const column = { family, qualifier }
  const cells = timestamps.map((timestamp) => ({ column, timestamp, value: `v${timestamp}` }))
  return { put: { row, cells } }
}

/** Expected texts for versions of one column with the values of {@link putVersions}. */
export function cellsOf(qualifier: string, timestamps: readonly number[], family = 'f'): string[] {
  return timestamps.map((timestamp) => `${family}:${qualifier}@${timestamp}=v${timestamp}`)
}

/** All versions of row `r`. */
export function getAll(options: Partial<Get> = {}): Get {
  return { row: 'r', versions: 'all', ...options }
}
