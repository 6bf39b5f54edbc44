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
   * The condition of a checkAndMutate was judged: true = the operation ends here without its
   * action.
   */
  judged(matched: boolean): boolean
  /** Puts and deletes, each of a row of its own, that join the mutation. */
  readonly additions: readonly RowAddition[]
  /** In place of the action of a checkAndMutate, or of the rows of a mutateRows; once judged. */
  readonly action?: CheckAction | undefined
  readonly rows?: MultiRowMutations['rows'] | undefined
  /** Chooses for a delete; undefined: nobody is to be asked. */
  chooserOf?(deletion: RowOperation<Delete>): ChooseVersion | undefined
}
