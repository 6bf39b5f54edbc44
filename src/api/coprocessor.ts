/**
 * The coprocessors that users register: an observer, a cell hook and endpoints under one name.
 *
 * Live objects are registered by `Database.open({ coprocessors })` or
 * `Database.registerCoprocessor`, and end with the database. Modules are named in the schema of a
 * table (`coprocessors` of `TableOptions`), and loaded whenever the table is opened.
 */
import { declareOptions, unchecked, required, type OptionsOf } from '../base/options.js'
import type { CellHookReference, CreateCellHook } from '../storage/coprocessor/cell-hook.js'
import type { Observer } from './observer.js'
import type { Scan } from './reads.js'
import type { SyncTable, Table } from './table.js'

/** The endpoints that every table has, with the types of request and answer. */
export interface Endpoints {
  /** Number of rows of a scan. */
  rowCount: {
    /** Which rows count. */
    request: Scan | undefined
    /** Number of rows. */
    answer: number
  }
  /**
   * Sum of the counters in a scan that names columns of one family; undefined if there are none.
   */
  sum: {
    /** Which cells count. */
    request: Scan
    /** The sum of the values. */
    answer: bigint | undefined
  }
  /** The smallest of these counters. */
  min: {
    /** Which cells count. */
    request: Scan
    /** The smallest value; undefined if there is none. */
    answer: bigint | undefined
  }
  /** The largest of these counters. */
  max: {
    /** Which cells count. */
    request: Scan
    /** The greatest value; undefined if there is none. */
    answer: bigint | undefined
  }
}

/** A function that runs next to the data of a table (HBase: coprocessor endpoint). */
export type Endpoint = (table: Table & SyncTable, request: unknown) => unknown

/** The declaration of {@link Coprocessor}. */
export const coprocessorOptions = declareOptions('a coprocessor', {
  /** Name for errors and counters; unique among the coprocessors of a table. */
  name: required(unchecked<string>()),
  /**
   * Names of the tables to which the coprocessor belongs; absent = all, including tables created
   * later.
   */
  tables: unchecked<readonly string[]>(),
  /** 0 to 2^31-1; lower priorities are called first. Default `CoprocessorPriority.user`. */
  priority: unchecked<number>(),
  /** Is called around the operations of the table. */
  observer: unchecked<Observer>(),
  /** Looks at cells in flushes and compactions. */
  cellHook: unchecked<CellHookReference>(),
  /** Endpoints by name; see `EmbeddedTable.callEndpoint`. */
  endpoints: unchecked<Readonly<Record<string, Endpoint>>>(),
})

/** A coprocessor of one or several tables. */
export interface Coprocessor extends OptionsOf<typeof coprocessorOptions> {}

/** The declaration of {@link TableCoprocessor}. */
export const tableCoprocessorOptions = declareOptions('a coprocessor of a table', {
  /** As in {@link CellHookReference}. The module exports members of {@link CoprocessorModule}. */
  module: required(unchecked<string>()),
  /** JSON; passed to the functions of the module. */
  options: unchecked<Readonly<Record<string, unknown>>>(),
  /** Coprocessors with smaller numbers are called first. */
  priority: unchecked<number>(),
})

/** A coprocessor in the schema of a table. */
export interface TableCoprocessor extends OptionsOf<typeof tableCoprocessorOptions> {}

/** The exports of a coprocessor module: at least one of these. */
export interface CoprocessorModule {
  /** Makes the cell hook of a job, in the thread that runs the job. */
  readonly createCellHook?: CreateCellHook | undefined
  /** Makes the observer of a table. */
  readonly createObserver?: (setup: {
    readonly table: string
    readonly options: Readonly<Record<string, unknown>>
  }) => Observer
  /** Functions that `callEndpoint` finds by name. */
  readonly endpoints?: Readonly<Record<string, Endpoint>> | undefined
}

/** A registered coprocessor. */
export interface CoprocessorRegistration {
  /** Removes the coprocessor. Jobs that are already running keep its hook. */
  remove(): void
}
