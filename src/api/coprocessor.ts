/**
 * The coprocessors that users register: an observer, a cell hook and endpoints under one name.
 *
 * Live objects are registered by `Database.open({ coprocessors })` or
 * `Database.registerCoprocessor`, and end with the database. Modules are named in the schema of a
 * table (`coprocessors` of `TableOptions`), and loaded whenever the table is opened.
 */
import type { CellHookReference, CreateCellHook } from '../coprocessor/cell-hook.js'
import type { Observer } from './observer.js'
import type { Scan } from './reads.js'
import type { SyncTable, Table } from './index.js'

/** The endpoints that every table has, with the types of request and answer. */
export interface Endpoints {
  /** Number of rows of a scan. */
  rowCount: { request: Scan | undefined; answer: number }
  /**
   * Sum of the counters in a scan that names columns of one family; undefined if there are none.
   */
  sum: { request: Scan; answer: bigint | undefined }
  /** The smallest of these counters. */
  min: { request: Scan; answer: bigint | undefined }
  /** The largest of these counters. */
  max: { request: Scan; answer: bigint | undefined }
}

/** A function that runs next to the data of a table (HBase: coprocessor endpoint). */
export type Endpoint = (table: Table & SyncTable, request: unknown) => unknown

/** A coprocessor of one or several tables. */
export interface Coprocessor {
  /** Name for errors and counters; unique among the coprocessors of a table. */
  readonly name: string
  /**
   * Names of the tables to which the coprocessor belongs; absent = all, including tables created
   * later.
   */
  readonly tables?: readonly string[] | undefined
  /** 0 to 2^31-1; lower priorities are called first. Default `CoprocessorPriority.user`. */
  readonly priority?: number | undefined
  readonly observer?: Observer | undefined
  readonly cellHook?: CellHookReference | undefined
  /** Endpoints by name; see `EmbeddedTable.callEndpoint`. */
  readonly endpoints?: Readonly<Record<string, Endpoint>> | undefined
}

/** A coprocessor in the schema of a table. */
export interface TableCoprocessor {
  /** As in {@link CellHookReference}. The module exports members of {@link CoprocessorModule}. */
  readonly module: string
  /** JSON; passed to the functions of the module. */
  readonly options?: Readonly<Record<string, unknown>> | undefined
  readonly priority?: number | undefined
}

/** The exports of a coprocessor module: at least one of these. */
export interface CoprocessorModule {
  readonly createCellHook?: CreateCellHook | undefined
  readonly createObserver?: (setup: {
    readonly table: string
    readonly options: Readonly<Record<string, unknown>>
  }) => Observer
  readonly endpoints?: Readonly<Record<string, Endpoint>> | undefined
}

/** A registered coprocessor. */
export interface CoprocessorRegistration {
  /** Removes the coprocessor. Jobs that are already running keep its hook. */
  remove(): void
}
