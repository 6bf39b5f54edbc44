/**
 * What users register: an observer, a cell hook and endpoints under one name.
 *
 * Two ways: live objects, by `Database.open({ coprocessors })` or `Database.registerCoprocessor`,
 * which end with the database; and modules named in the schema of a table (`coprocessors` of
 * `TableOptions`), which are loaded whenever the table is opened.
 */
import type { CellHookReference, CreateCellHook } from '../coprocessor/cell-hook.js'
import type { Observer } from './observer.js'
import type { Scan } from './reads.js'
import type { SyncTable, Table } from './index.js'

/**
 * The endpoints that every table has, with the types of their request and their answer.
 */
export interface Endpoints {
  /** Number of rows of a scan. */
  rowCount: { request: Scan | undefined; answer: number }
  /** Sum of the counters of a scan that names columns of one family; undefined without any. */
  sum: { request: Scan; answer: bigint | undefined }
  /** Their smallest. */
  min: { request: Scan; answer: bigint | undefined }
  /** Their largest. */
  max: { request: Scan; answer: bigint | undefined }
}

/** A function that runs next to the data of a table (HBase: coprocessor endpoint). */
export type Endpoint = (table: Table & SyncTable, request: unknown) => unknown

/** A coprocessor of one or several tables. */
export interface Coprocessor {
  /** For errors and counters; unique among the coprocessors of a table. */
  readonly name: string
  /** The tables that it belongs to; absent = all, those created later included. */
  readonly tables?: readonly string[] | undefined
  /** 0 to 2^31-1, lower ones are called first. Default `CoprocessorPriority.user`. */
  readonly priority?: number | undefined
  readonly observer?: Observer | undefined
  readonly cellHook?: CellHookReference | undefined
  /** By name; see `EmbeddedTable.callEndpoint`. */
  readonly endpoints?: Readonly<Record<string, Endpoint>> | undefined
}

/** A coprocessor of a table's schema. */
export interface TableCoprocessor {
  /** As in {@link CellHookReference}; the module exports what {@link CoprocessorModule} lists. */
  readonly module: string
  /** JSON; handed to the functions of the module. */
  readonly options?: Readonly<Record<string, unknown>> | undefined
  readonly priority?: number | undefined
}

/** What the module of a table's schema exports: at least one of these. */
export interface CoprocessorModule {
  readonly createCellHook?: CreateCellHook | undefined
  readonly createObserver?: (setup: {
    readonly table: string
    readonly options: Readonly<Record<string, unknown>>
  }) => Observer
  readonly endpoints?: Readonly<Record<string, Endpoint>> | undefined
}

/** A live registration. */
export interface CoprocessorRegistration {
  /** Takes the coprocessor away; jobs that run already keep its hook. */
  remove(): void
}
