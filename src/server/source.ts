/** Where the systems of a server find what they serve. */
import { checkMethods } from '../api/index.js'
import { withStatus } from './http/http-errors.js'

/** An object, or what finds the object; undefined while another process leads. */
export type Source<T extends object> = T | (() => T | undefined)

/**
 * What finds the object of a source. `ERR_INVALID_ARGUMENT` for an object without these methods;
 * requests answer with the status 500 while a function finds such an object.
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
