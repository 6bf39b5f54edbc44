/** How the observers of a table take part in the middle of an operation. */
import type {
  CheckAction,
  Delete,
  MultiRowMutations,
  Put,
  RowOperation,
} from '../../api/mutations.js'
import type { ChooseVersion } from './deletes.js'

/** A put or delete that joins the mutation of another row. */
export type RowAddition = { readonly put: Put } | { readonly delete: Delete }

/** What observers do in the middle of an operation. */
export interface Intervention {
  /**
   * Called when the checks of an operation have been evaluated. True: the operation ends here,
   * without its action.
   */
  endsBehindCheck(matched: boolean): boolean
  /** Puts and deletes, each of a row of its own, that join the mutation. */
  readonly additions: readonly RowAddition[]
  /** Replaces the action of a checkAndMutate. Read after {@link endsBehindCheck}. */
  readonly action?: CheckAction | undefined
  /** Replaces the rows of a mutateRows. Read after {@link endsBehindCheck}. */
  readonly rows?: MultiRowMutations['rows'] | undefined
  /** Chooses the timestamps of version deletes; undefined: no observer wants to. */
  chooserOf?(deletion: RowOperation<Delete>): ChooseVersion | undefined
}
