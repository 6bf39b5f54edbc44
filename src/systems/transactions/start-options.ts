/** Options for the start of a context's transactions. */
import { OptionNames, shown } from '../../api/index.js'
import { invalidArgument } from './errors.js'
import type { StartOptions } from './manager/manager-calls.js'
import { visibilityLevels, type TransactionType, type VisibilityLevel } from './transaction.js'

/** Options of `TransactionContext.start`. */
export interface ContextStartOptions extends StartOptions {
  /**
   * 'SHORT' (default) detects conflicts and times out. 'LONG' never conflicts, takes no
   * `timeoutMilliseconds`, and becomes invalid when aborted.
   */
  readonly type?: TransactionType | undefined
  /** Visibility of own writes; a read may override it. Default 'SNAPSHOT'. */
  readonly visibilityLevel?: VisibilityLevel | undefined
}

/** Names of the options of a start in a context. */
export const contextStartNames = new OptionNames<ContextStartOptions>('a start', {
  timeoutMilliseconds: true,
  client: true,
  type: true,
  visibilityLevel: true,
})

/** `ERR_INVALID_ARGUMENT` for an unknown type or level. */
export function checkType(
  type: TransactionType | undefined,
  visibilityLevel: VisibilityLevel | undefined,
): void {
  if (type !== undefined && type !== 'SHORT' && type !== 'LONG') {
    throw invalidArgument(`type must be SHORT or LONG, got ${shown(type)}`)
  }
  if (visibilityLevel === undefined || visibilityLevels.includes(visibilityLevel)) return
  throw invalidArgument(`visibilityLevel must be one of ${visibilityLevels.join(', ')}`)
}
