/** Runs code that reads the arguments of operations. */
import { argumentError } from '../../base/arguments.js'
import { isBlockMissing } from './block-loading.js'

/**
 * Runs code that reads and encodes the arguments of an operation. The code may also read stored
 * cells, so `BlockMissing` passes through.
 */
export function encode<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    throw isBlockMissing(error) ? error : argumentError(error)
  }
}
