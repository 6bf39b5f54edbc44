/** The source of the object that a system serves. */
import { checkMethods } from '../api/index.js'
import { withStatus } from './errors.js'

/** An object, or a function that returns the object; undefined while another process leads. */
export type Source<T extends object> = T | (() => T | undefined)

/**
 * The function that finds the object of a source. `ERR_INVALID_ARGUMENT` for an object without
 * these methods; if a function returns such an object, requests are answered with the status 500.
 */
export function finderOf<T extends object>(
  source: Source<T>,
  what: string,
  methods: readonly (keyof T & string)[],
): () => T | undefined {
  if (typeof source !== 'function') {
    const found = checkMethods(source, what, methods)
    return () => found
  }
  return () => {
    const found = source()
    if (found === undefined) return undefined
    try {
      return checkMethods(found, what, methods)
    } catch (error) {
      throw withStatus(500, error)
    }
  }
}
