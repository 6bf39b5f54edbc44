/**
 * Atomic batches over rows and tables: any number of checks, then puts and deletes of any rows, all
 * of them or none, under one sequence and in one frame of the log.
 *
 * Readers, snapshots and the change feed see all of a batch or nothing, also across a crash. HBase
 * has this for the rows of one region (MultiRowMutationEndpoint); the backends that declare
 * `atomicAcrossTables` have it for all tables of a database.
 */
import type { BytesLike } from '../cell/column-name.js'
import type { Check, DurabilityOption, Mutation } from './mutations.js'
import type { Table } from './table.js'

/** A check of one row of one table. */
export type AtomicCheck = Check & {
  /** The name of a table, or a table of the same database. */
  readonly table: string | Table
}

/** Puts and deletes of one row of one table. */
export interface AtomicMutation {
  /** The name of a table, or a table of the same database. */
  readonly table: string | Table
  readonly row: BytesLike
  /** At least one, each `{ put }` or `{ delete }`. */
  readonly mutations: readonly Mutation[]
}

/** What `Database.atomic` applies. */
export interface AtomicBatch {
  /** All must hold in the state before the batch, or nothing is applied. Default none. */
  readonly checks?: readonly AtomicCheck[] | undefined
  /**
   * At least one. A row may be named more than once; of cells that are equal in row, column,
   * timestamp and type the one that is named last stays.
   */
  readonly mutations: readonly AtomicMutation[]
  /** Default: the strongest durability of the tables that are written. */
  readonly durability?: DurabilityOption | undefined
}

/** Outcome of an atomic batch. */
export interface AtomicResult {
  /** Whether all checks held, so that all mutations were applied. */
  readonly success: boolean
  /** Position of the first check that did not hold; undefined if all held. */
  readonly failedCheck: number | undefined
  /** Sequence of the batch in the change feed; undefined if nothing was applied. */
  readonly sequence: number | undefined
}
