/** Checks the arguments of the iterator helpers of scanners. */
import { checkFunction, checkInteger } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'

/** Checks the callback of the helper `name`. Throws `ERR_INVALID_ARGUMENT`. */
export function checkCallback(callback: unknown, name: string): void {
  if (callback === undefined) throw invalidArgument(`${name} needs a callback`)
  checkFunction(callback, `the callback of ${name}`)
}

/** Checks a number of results, for `nextBatch`, `take` and `drop`; Infinity means all. */
export function checkResultCount(count: number): void {
  if (count !== Infinity && checkInteger(count, 'count', 0) === undefined) {
    throw invalidArgument('a count is needed: an integer, or Infinity')
  }
}
