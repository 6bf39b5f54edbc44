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
} from '../../../src/api/index.js'
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
  | {
      /** The put. */
      readonly put: Put
    }
  | {
      /** The delete. */
      readonly delete: Delete
    }
  | {
      /** The numbers to add. */
      readonly increment: Increment
      /** The cells that the result must have; absent = not compared. */
      readonly cells?: readonly string[]
    }
  | {
      /** The bytes to append. */
      readonly append: Append
      /** The cells that the result must have; absent = not compared. */
      readonly cells?: readonly string[]
    }
  | {
      /** Mutations of one row, applied together. */
      readonly mutateRow: RowMutations
      /** The cells that the result must have; absent = not compared. */
      readonly cells?: readonly string[]
    }
  | {
      /** The condition. */
      readonly check: Check
      /** What is done if the check holds. */
      readonly action: CheckAction
      /** Whether the check must hold. */
      readonly success: boolean
      /** The cells that the result must have; absent = not compared. */
      readonly cells?: readonly string[]
    }
  | {
      /** Puts, in their order. */
      readonly putList: readonly Put[]
    }
  | {
      /** Deletes, in their order. */
      readonly deleteList: readonly Delete[]
    }

/** A mutation, a read with what it must show, or a change of state. */
export type Step =
  | Write
  | {
      /** The read. */
      readonly get: Get
      /** The cells that the result must have, in order. */
      readonly cells: readonly string[]
    }
  | {
      /** The row or columns that are asked for. */
      readonly exists: Get
      /** The answer that must come. */
      readonly is: boolean
    }
  /** One list of cells for each result. */
  | {
      /** The scan, which is read to its end. */
      readonly scan: Scan
      /** The cells of each row, in order. */
      readonly results: readonly (readonly string[])[]
    }
  /** Only the rows, for scans over many. */
  | {
      /** The scan, which is read to its end. */
      readonly scan: Scan
      /** The rows that must come, in order. */
      readonly rows: readonly string[]
    }
  /** How many cells a scan returns in all, and how many of them are markers. */
  | {
      /** The scan, which is read to its end. */
      readonly scan: Scan
      /** Cells of all results together; absent = not compared. */
      readonly cellCount?: number
      /** Delete markers among the cells; absent = not compared. */
      readonly markerCount?: number
    }
  | {
      /** The call that must fail. */
      readonly fails:
        | Write
        | {
            /** The read. */
            get: Get
          }
        | {
            /** The scan, which is read to its end. */
            scan: Scan
          }
      /** Code of the error that must come. */
      readonly code: string
      /** What the message of the error must match; absent = not compared. */
      readonly message?: RegExp
    }
  /** A list of which some elements fail, by position. */
  | {
      /** The list, some of whose elements must fail. */
      readonly failsPartly:
        | {
            /** Puts, in their order. */
            putList: readonly Put[]
          }
        | {
            /** Deletes, in their order. */
            deleteList: readonly Delete[]
          }
      /** Codes of the errors that must come, by position in the list; others must succeed. */
      readonly failures: Readonly<Record<number, string>>
    }
  /** A batch; each outcome is a list of cells, or the code of an error. */
  | {
      /** The operations, in their order. */
      readonly batch: readonly BatchOperation[]
      /** By position: the cells that the operation must return, or the code of its error. */
      readonly outcomes: readonly (readonly string[] | string)[]
    }
  | {
      /** New time of the clock, in milliseconds since the Unix epoch. */
      readonly clock: number
    }
  | {
      /** Milliseconds by which the clock goes on. */
      readonly advance: number
    }
  | {
      /** Writes memory into a file. */
      readonly flush: true
    }
  | {
      /** Closes the database and opens it again. */
      readonly reopen: true
    }
  | {
      /** Merges files: some, or all with what that drops. */
      readonly compact: 'minor' | 'major'
    }
  /** What cannot be said as data; `context` gives what is needed. */
  | {
      /** Does what the case needs; an error fails the case. */
      readonly run: (context: CaseContext) => Promise<void>
    }

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
  /** The open database; another one after {@link reopen}. */
  readonly database: Database<AnyTable>
  /**
   * Closes the database and opens it again on the same data, after which `database` is the new one.
   * Absent: the data do not outlive the database.
   */
  reopen?(): Promise<void>
  /** Why a case cannot run on the backend, beside missing capabilities; undefined if it can. */
  obstacle?(each: TableCase): string | undefined
  /** Closes the database and removes its data. */
  close(): Promise<void>
}

/** What a `run` step works with. */
export interface CaseContext {
  /** What the backend has opened. Cases of one backend only may look into it. */
  readonly space: TableSpace
  /** The table of the case, as it is now. */
  readonly table: AnyTable
  /** The calls of the table, in the form under test: promises or synchronous. */
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
  /** What the case shows, for the names of the tests. */
  readonly title: string
  /** Where HBase asserts it. */
  readonly source: string
  /** The states in which the case is run, each on a table of its own. */
  readonly states: readonly State[]
  /** Default: one family `f` with the default options. */
  readonly families?: Readonly<Record<string, FamilyOptions>> | undefined
  /** How far ahead of the clock timestamps may be. Default: as far as they like. */
  readonly timestampSlopMilliseconds?: number | undefined
  /** Milliseconds at the start. Default 1,000,000. */
  readonly startTime?: number | undefined
  /** What it needs beside what its steps show. */
  readonly needs?: readonly Capability[] | undefined
  /** What is done and expected, in order. */
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
