/** Runs what reads the arguments of operations. */
import { argumentError } from '../../base/arguments.js'
import { isBlockMissing } from './block-loading.js'

/**
 * Runs what reads the arguments of an operation and encodes them. It may also read stored cells, so
 * the request for a block passes.
 */
export function encode<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    throw isBlockMissing(error) ? error : argumentError(error)
  }
}
