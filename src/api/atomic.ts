/**
 * Atomic batches over rows and tables: any number of checks, then puts and deletes of any rows. All
 * mutations are applied or none, under one sequence and in one frame of the log.
 *
 * Readers, snapshots and the change feed see all of a batch or nothing, also after a crash. HBase
 * offers this for the rows of one region (MultiRowMutationEndpoint). Backends that declare
 * `atomicAcrossTables` offer it for all tables of a database.
 */
import {
  declareOptions,
  unchecked,
  required,
  type GivenOptions,
  type OptionsOf,
} from '../base/options.js'
import type { DurabilityOption } from './durability.js'
import { mutatedRowMembers, type Check, type MutatedRow } from './mutations.js'
import type { Table } from './table.js'

const tableMember = {
  /** Name of a table, or a table of the same database. */
  table: required(unchecked<string | Table>()),
}

/** A check of one row of one table. */
export type AtomicCheck = Check & GivenOptions<typeof tableMember>

/** The declaration of {@link AtomicMutation}. */
export const atomicMutationOptions = declareOptions('a mutation of an atomic batch', {
  ...tableMember,
  ...mutatedRowMembers,
})

/**
 * The mutation of one row of one table: `{ table, row, put }` or `{ table, row, delete }`; several
 * as `{ table, row, mutations }`. `TypedTable.putOf` and `deleteOf` make those of typed tables.
 */
export type AtomicMutation = GivenOptions<typeof tableMember> & MutatedRow

/** The declaration of {@link AtomicBatch}. */
export const atomicBatchOptions = declareOptions('an atomic batch', {
  /**
   * Checks of the state before the batch. If one does not hold, nothing is applied. Default none.
   */
  checks: unchecked<readonly AtomicCheck[]>(),
  /**
   * At least one. A row may be named several times. Of cells that are equal in row, column,
   * timestamp and type, the one named last stays.
   */
  mutations: required(unchecked<readonly AtomicMutation[]>()),
  /** Default: the strongest durability of the written tables. */
  durability: unchecked<DurabilityOption>(),
})

/** An atomic batch with checks or a durability. */
export interface AtomicBatch extends OptionsOf<typeof atomicBatchOptions> {}

/** What `Database.atomic` takes: a list of mutations, or a batch. */
export type AtomicBatchOption = AtomicBatch | readonly AtomicMutation[]

/** Outcome of an atomic batch. */
export interface AtomicResult {
  /** Whether all checks held, so all mutations were applied. */
  readonly success: boolean
  /** Index of the first check that did not hold; undefined if all held. */
  readonly failedCheck: number | undefined
  /** Sequence of the batch in the change feed; undefined if nothing was applied. */
  readonly sequence: number | undefined
}
