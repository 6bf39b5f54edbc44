/** Checks of pointers and functions from callers. All throw `ERR_INVALID_ARGUMENT`. */
import { invalidArgument, checkFunction, readArguments, shown } from '../../api/index.js'

/** Checks a write pointer or the id of a transaction: a 64-bit bigint. */
export function checkPointer(value: bigint, what: string): bigint {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value
  throw invalidArgument(`${what} must be a bigint of 64 bits, got ${shown(value)}`)
}

/** Checks pointers in any order, and copies them without duplicates. */
export function checkPointers(values: Iterable<bigint>, what: string): Set<bigint> {
  if (typeof values === 'string') throw noPointers(values, what)
  return readArguments(() => {
    if (typeof values?.[Symbol.iterator] !== 'function') throw noPointers(values, what)
    const pointers = new Set(values)
    for (const pointer of pointers) checkPointer(pointer, `each of ${what}`)
    return pointers
  })
}

/** Checks a required function. */
export function requireFunction<T>(value: T, what: string): T {
  if (value === undefined) throw invalidArgument(`${what} must be a function, got undefined`)
  return checkFunction(value, what)
}

function noPointers(value: unknown, what: string): Error {
  return invalidArgument(`${what} must be bigints that can be iterated, got ${shown(value)}`)
}
