/** Options for the start of a context's transactions. */
import { choice, declareOptions, type OptionsOf } from '../../api/index.js'
import { startDeclarations } from './manager/manager-calls.js'
import { visibilityLevels, type TransactionType, type VisibilityLevel } from './transaction.js'

/** The declarations of the options of a start in a context. */
export const contextStartDeclarations = {
  ...startDeclarations,
  /**
   * 'SHORT' (default) detects conflicts and times out. 'LONG' never conflicts, takes no
   * `timeoutMilliseconds`, and becomes invalid when aborted.
   */
  type: choice<TransactionType, undefined>(['SHORT', 'LONG'], undefined),
  /** Visibility of own writes; a read may override it. Default 'SNAPSHOT'. */
  visibilityLevel: choice<VisibilityLevel, undefined>(visibilityLevels, undefined),
}

/** The declared options of a start in a context. */
export const contextStartOptions = declareOptions('a start', contextStartDeclarations)

/** Options of `TransactionContext.start`. */
export interface ContextStartOptions extends OptionsOf<typeof contextStartOptions> {}
