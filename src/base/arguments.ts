/**
 * Checks of the arguments that callers give, one function for each kind of value. Every public
 * method checks its arguments with these functions, so bad input always fails with
 * `ERR_INVALID_ARGUMENT`.
 *
 * All checks throw `ERR_INVALID_ARGUMENT`; `what` names the argument in the message. An object of a
 * caller may be a proxy or have getters, so reading a property may throw any value. Code that reads
 * such objects therefore runs inside {@link readArguments}, or passes caught errors to {@link
 * argumentError}.
 */
import { types } from 'node:util'
import { InvariantError } from './assert.js'
import { CellarError, ErrorCode, invalidArgument } from './errors.js'
import { meantName } from './near-names.js'

/**
 * The text that error messages show for a value; long strings are cut at 80 characters. Never
 * throws.
 */
export function shown(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') {
    return value.length > 80 ? `${JSON.stringify(value.slice(0, 80))}…` : JSON.stringify(value)
  }
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value === 'bigint') return shownBigint(value)
  if (typeof value === 'boolean') return String(value)
  return shownObject(value)
}

/** The digits of a number beyond 256 bits are not computed: that takes more than linear time. */
function shownBigint(value: bigint): string {
  return BigInt.asIntN(256, value) === value ? `${value}n` : 'a bigint of more than 256 bits'
}

/** The kind of a function, symbol or object, in words. */
function shownObject(value: unknown): string {
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`
  if (types.isProxy(value)) return 'a proxy'
  if (Array.isArray(value)) return 'an array'
  if (types.isUint8Array(value)) return 'bytes'
  if (types.isDate(value)) return 'a Date'
  if (types.isPromise(value)) return 'a Promise; is an await missing'
  if (types.isMap(value)) return 'a Map'
  if (types.isSet(value)) return 'a Set'
  return 'an object'
}

/** Whether a value is a `Uint8Array` (or `Buffer`). Never throws; false for a proxy of one. */
export function isBytes(value: unknown): value is Uint8Array {
  return types.isUint8Array(value)
}

/** Whether the memory of a byte array was transferred away, for example to another thread. */
export function isDetached(value: Uint8Array): boolean {
  if (value.byteLength > 0) return false
  try {
    new Uint8Array(value.buffer)
    return false
  } catch {
    return true
  }
}

/** Whether a value is a string that UTF-8 can encode: every surrogate has its other half. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && (value as string & { isWellFormed(): boolean }).isWellFormed()
}

/** Checks a string that will be stored as UTF-8. */
export function checkText(value: unknown, what: string): string {
  if (typeof value !== 'string') {
    throw invalidArgument(`${what} must be a string, got ${shown(value)}`)
  }
  if (!isText(value)) throw loneSurrogate(what)
  return value
}

/** The error for a string with a lone surrogate, which UTF-8 cannot encode. */
export function loneSurrogate(what: string): CellarError {
  return invalidArgument(`${what} holds a lone surrogate, which UTF-8 cannot hold; give bytes`)
}

/** Checks a string or bytes: a string must be well-formed, bytes must still have their memory. */
export function checkBytesLike(value: unknown, what: string): asserts value is string | Uint8Array {
  if (typeof value === 'string') {
    if (!isText(value)) throw loneSurrogate(what)
    return
  }
  if (!isBytes(value)) {
    throw invalidArgument(`${what} must be a string or a Uint8Array, got ${shown(value)}`)
  }
  if (value.byteLength === 0 && isDetached(value)) {
    throw invalidArgument(`${what} lies in memory that was detached`)
  }
}

/** Checks bytes for which no string can stand; they must still have their memory. */
export function checkBytes<T extends Uint8Array>(value: T, what: string): T {
  if (!isBytes(value)) throw invalidArgument(`${what} must be a Uint8Array, got ${shown(value)}`)
  checkBytesLike(value, what)
  return value
}

/** Checks that a value is an object but not an array; `form` shows what to write. */
export function checkObject<T>(value: T, what: string, form?: string): T {
  if (typeof value !== 'object' || value === null || isArray(value, what)) {
    const example = form === undefined ? '' : ` such as ${form}`
    throw invalidArgument(`${what} must be an object${example}, got ${shown(value)}`)
  }
  return value
}

/**
 * `Array.isArray` that throws `ERR_INVALID_ARGUMENT` for a revoked proxy, where the original
 * throws.
 */
function isArray(value: unknown, what: string): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch (error) {
    throw invalidArgument(`${what} cannot be read: ${messageOf(error)}`)
  }
}

/**
 * Checks that a value is an array without missing elements. Returns a copy, which the caller of the
 * public method cannot change. `form` shows what to write.
 */
export function checkArray<T>(value: readonly T[], what: string, form?: string): T[] {
  if (!isArray(value, what)) {
    const example = form === undefined ? '' : ` such as ${form}`
    throw invalidArgument(`${what} must be an array${example}, got ${shown(value)}`)
  }
  const copy = value.slice()
  for (let i = 0; i < copy.length; i++) {
    if (copy[i] === undefined) throw invalidArgument(`${what} lacks its element ${i}`)
  }
  return copy
}

/** Checks an optional boolean; `missing` is the result for undefined. */
export function checkBoolean(value: unknown, what: string, missing: boolean): boolean {
  if (value === undefined) return missing
  if (typeof value === 'boolean') return value
  throw invalidArgument(`${what} must be true or false, got ${shown(value)}`)
}

/** Checks an optional integer of at least `min` (inclusive); returns undefined for undefined. */
export function checkInteger(value: unknown, what: string, min: number): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= min) return value
  throw invalidArgument(`${what} must be an integer >= ${min}, got ${shown(value)}`)
}

/** Checks an optional function; returns undefined for undefined. */
export function checkFunction<T>(value: T, what: string): T {
  if (value === undefined || typeof value === 'function') return value
  throw invalidArgument(`${what} must be a function, got ${shown(value)}`)
}

/** Checks that a value is an object with some methods, as all implementations of `what` have. */
export function checkMethods<T extends object>(
  value: T,
  what: string,
  methods: readonly (keyof T & string)[],
  form?: string,
): T {
  readArguments(() => {
    checkObject(value, what, form)
    for (const name of methods) {
      if (typeof value[name] === 'function') continue
      throw invalidArgument(`${what} lacks the method ${name}`)
    }
  })
  return value
}

/** Checks an optional `AbortSignal`, also one of another implementation than Node's. */
export function checkSignal(value: AbortSignal | undefined): AbortSignal | undefined {
  if (value === undefined) return undefined
  const isSignal =
    typeof value === 'object' &&
    value !== null &&
    typeof value.aborted === 'boolean' &&
    typeof value.addEventListener === 'function' &&
    typeof value.removeEventListener === 'function'
  if (isSignal) return value
  throw invalidArgument(`signal must be an AbortSignal, got ${shown(value)}`)
}

/** Checks that a value is one of `choices`; the message suggests the nearest choice. */
export function checkChoice<T extends string>(
  value: unknown,
  what: string,
  choices: readonly T[],
): T {
  if (choices.includes(value as T)) return value as T
  const near = typeof value === 'string' ? meantName(value, choices) : undefined
  const hint = near === undefined ? '' : `; did you mean '${near}'?`
  throw invalidArgument(`${what} must be one of ${choices.join(', ')}, got ${shown(value)}${hint}`)
}

/** Runs code that reads a caller's objects. Anything thrown becomes an argument error. */
export function readArguments<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw argumentError(error)
  }
}

/**
 * The error to report for a value thrown while arguments were read. Errors of Cellar stay as they
 * are; any other value becomes the cause of an `ERR_INVALID_ARGUMENT`.
 */
export function argumentError(error: unknown): unknown {
  try {
    if (error instanceof CellarError || error instanceof InvariantError) return error
  } catch {
    // `instanceof` itself can throw for a proxy. Such a value is no error of Cellar.
  }
  const message = `an argument cannot be read: ${messageOf(error)}`
  return new CellarError(ErrorCode.invalidArgument, message, { cause: error })
}

/** The message of an error, or of a value that a user's code threw in its place. Never throws. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : shown(error)
  } catch {
    return 'it throws something unreadable'
  }
}
