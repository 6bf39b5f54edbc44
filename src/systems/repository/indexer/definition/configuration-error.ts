/** Errors of a configuration, with their location in it. */
import type { CellarError } from '../../../../api/index.js'
import { hasCode, repositoryError } from '../../errors.js'
import { errorOf } from '../../thrown.js'

/** Makes an `ERR_INDEX_CONFIGURATION`. */
export function configurationError(place: string, problem: string, cause?: unknown): CellarError {
  return repositoryError('indexConfiguration', `${problem}, at ${place}`, cause)
}

/** Runs `work`; turns its errors into errors of this location. */
export function atPlace<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (hasCode(error, 'indexConfiguration')) throw error
    throw configurationError(place, errorOf(error).message, error)
  }
}

/** The location of a part of a configuration: `line 3, column 5`, or its path. */
export type Places = (node: object, path: string) => string

/** Locations in configurations given in code. */
export const placesByPath: Places = (_, path) => path
