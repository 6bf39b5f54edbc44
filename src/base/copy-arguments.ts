/**
 * Copies the arguments of calls that have to wait, so that the call works with the values that it
 * was given. Callers may reuse their buffers and change their objects as soon as the call has
 * returned.
 *
 * Data is copied: bytes, arrays and objects, including the values of accessors of classes.
 * Instances of classes under `filter`, `snapshot`, `signal` and `table` are kept as they are.
 * Values of wrong types pass unchanged; the checks of the call refuse them.
 */
import { types } from 'node:util'
import { readArguments } from './arguments.js'

/** The copied arguments, and the memory that the copies take. */
export interface CopiedArguments<T> {
  /** The copy. */
  readonly value: T
  /** Bytes of memory, estimated. */
  readonly bytes: number
}

/** Options whose instances of classes the call uses as they are, instead of copying their data. */
const liveOptions: ReadonlySet<string> = new Set(['filter', 'snapshot', 'signal', 'table'])
/**
 * Deepest level of nesting that is copied. No argument is nested deeper; the limit also ends
 * cycles.
 */
const depthMax = 16
/** Bytes of memory counted for an object, a view of bytes or an array, besides its content. */
const objectBytes = 64

/** Copies one argument; see the file header. `ERR_INVALID_ARGUMENT` if reading throws. */
export function copyArguments<T>(value: T): CopiedArguments<T> {
  const copier = new Copier()
  return { value: readArguments(() => copier.copy(value, 0) as T), bytes: copier.bytes }
}

class Copier {
  bytes = 0

  copy(value: unknown, depth: number): unknown {
    if (typeof value === 'string') this.bytes += value.length
    if (typeof value !== 'object' || value === null || depth > depthMax) return value
    // Neither has data that a copy would have; the checks refuse them by their kind.
    if (types.isDate(value) || types.isPromise(value)) return value
    this.bytes += objectBytes
    if (value instanceof Uint8Array) return this.copyBytes(value)
    return Array.isArray(value) ? this.copyArray(value, depth) : this.copyObject(value, depth)
  }

  private copyBytes(value: Uint8Array): Uint8Array {
    // An empty array has no content to copy. A detached one stays detached, so that checks
    // refuse it.
    if (value.length === 0) return value
    this.bytes += value.length
    const copy = Buffer.allocUnsafe(value.length)
    copy.set(value)
    return copy
  }

  private copyArray(value: readonly unknown[], depth: number): unknown[] {
    // `map` keeps missing elements missing, so that checks refuse them.
    return value.map((each) => this.copy(each, depth + 1))
  }

  private copyObject(value: object, depth: number): object {
    const source = value as Readonly<Record<string, unknown>>
    const copy: object = {}
    for (const name in source) this.define(copy, name, source[name], true, depth)
    for (const name of accessorsOf(value)) {
      if (!Object.hasOwn(copy, name)) this.define(copy, name, source[name], false, depth)
    }
    return copy
  }

  private define(
    target: object,
    name: string,
    value: unknown,
    enumerable: boolean,
    depth: number,
  ): void {
    const own = liveOptions.has(name) && isInstance(value) ? value : this.copy(value, depth + 1)
    // An assignment to `__proto__` would not make a property.
    if (enumerable && name !== '__proto__') (target as Record<string, unknown>)[name] = own
    else Object.defineProperty(target, name, { value: own, enumerable, configurable: true })
  }
}

/** Names of the getters on the prototypes of an object. */
function accessorsOf(value: object): string[] {
  const names: string[] = []
  let prototype = Object.getPrototypeOf(value) as object | null
  while (prototype !== null && prototype !== Object.prototype) {
    for (const name of Object.getOwnPropertyNames(prototype)) {
      if (Object.getOwnPropertyDescriptor(prototype, name)?.get !== undefined) names.push(name)
    }
    prototype = Object.getPrototypeOf(prototype) as object | null
  }
  return names
}

function isInstance(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  if (value instanceof Uint8Array) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== Object.prototype && prototype !== null
}
