/** The observers' part in the middle of an operation, and at the end of every mutation. */
import type { CheckAction, Delete, Put, RowOperation } from '../../api/mutations.js'
import type { RowList } from '../../checks/operations.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { ChooseVersion } from './deletes.js'
import type { MutationWriter } from './mutation-writer.js'
import type { PlainOperations } from './plain-operations.js'

/** A put or delete that is added to the mutation of another row. */
export type RowAddition = { readonly put: Put } | { readonly delete: Delete }

/** The observers' part in the middle of an operation. */
export interface Intervention {
  /**
   * Called after the checks of an operation were evaluated. Returns true to end the operation
   * without its action.
   */
  endsAfterCheck(matched: boolean): boolean
  /** Puts and deletes of any rows that are added to the mutation. */
  readonly additions: readonly RowAddition[]
  /** Replaces the action of a checkAndMutate. Read after {@link endsAfterCheck}. */
  readonly action?: CheckAction | undefined
  /** Replaces the rows of a mutateRows. Read after {@link endsAfterCheck}. */
  readonly rows?: readonly RowList[] | undefined
  /** Returns a chooser for the timestamps of version deletes; undefined: no observer chooses. */
  chooserOf?(deletion: RowOperation<Delete>): ChooseVersion | undefined
}

/** Takes part in every mutation of a table, when its cells are encoded and none is applied. */
export interface WriteHook {
  /** Whether {@link complete} has to be called. */
  readonly isActive: boolean
  /**
   * Adds rows of other tables to the mutation that `writer` holds. Returns the writer that holds
   * the mutation then. May throw `BlockMissing`; nothing was applied.
   */
  complete(operations: PlainOperations, writer: MutationWriter, mode: ReadMode): MutationWriter
}
