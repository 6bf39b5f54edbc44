/**
 * Atomic batches over rows and tables: any number of checks, then puts and deletes of any rows. All
 * mutations are applied or none, under one sequence and in one frame of the log.
 *
 * Readers, snapshots and the change feed see all of a batch or nothing, also after a crash. HBase
 * offers this for the rows of one region (MultiRowMutationEndpoint). Backends that declare
 * `atomicAcrossTables` offer it for all tables of a database.
 */
import type { BytesLike } from '../storage/cell/column-name.js'
import type { DurabilityOption } from './durability.js'
import type { Check, Mutation } from './mutations.js'
import type { Table } from './table.js'

/** A check of one row of one table. */
export type AtomicCheck = Check & {
  /** Name of a table, or a table of the same database. */
  readonly table: string | Table
}

/** Puts and deletes of one row of one table. */
export interface AtomicMutation {
  /** Name of a table, or a table of the same database. */
  readonly table: string | Table
  /** 1 to 32,767 bytes. */
  readonly row: BytesLike
  /** At least one mutation, each `{ put }` or `{ delete }`. */
  readonly mutations: readonly Mutation[]
}

/** An atomic batch for `Database.atomic`. */
export interface AtomicBatch {
  /**
   * Checks of the state before the batch. If one does not hold, nothing is applied. Default none.
   */
  readonly checks?: readonly AtomicCheck[] | undefined
  /**
   * At least one. A row may be named several times. Of cells that are equal in row, column,
   * timestamp and type, the one named last stays.
   */
  readonly mutations: readonly AtomicMutation[]
  /** Default: the strongest durability of the written tables. */
  readonly durability?: DurabilityOption | undefined
}

/** Outcome of an atomic batch. */
export interface AtomicResult {
  /** Whether all checks held, so all mutations were applied. */
  readonly success: boolean
  /** Index of the first check that did not hold; undefined if all held. */
  readonly failedCheck: number | undefined
  /** Sequence of the batch in the change feed; undefined if nothing was applied. */
  readonly sequence: number | undefined
}
