/**
 * Copies the arguments of calls that have to wait, so that they count as of the call: callers may
 * reuse their buffers and change their objects as soon as the call has returned.
 *
 * Data is copied: bytes, arrays, objects, also the accessors of classes. Live objects are kept:
 * values of `filter`, `snapshot`, `signal` and `table` that are instances of a class. What is no
 * proper argument is left for the checks of the call to refuse.
 */
import { readArguments } from './arguments.js'

/** Arguments that belong to the engine, and the memory that they take. */
export interface CopiedArguments<T> {
  readonly value: T
  /** Bytes of memory, estimated. */
  readonly bytes: number
}

/** Options whose values are used, not read. */
const liveOptions: ReadonlySet<string> = new Set(['filter', 'snapshot', 'signal', 'table'])
/** Nothing that a call takes is nested deeper; a cycle ends here. */
const depthMax = 16
/** What an object, a view of bytes or an array takes besides its content. */
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
    this.bytes += objectBytes
    if (value instanceof Uint8Array) return this.copyBytes(value)
    return Array.isArray(value) ? this.copyArray(value, depth) : this.copyObject(value, depth)
  }

  private copyBytes(value: Uint8Array): Uint8Array {
    // Nothing can change in it. Detached memory stays what it is.
    if (value.length === 0) return value
    this.bytes += value.length
    const copy = Buffer.allocUnsafe(value.length)
    copy.set(value)
    return copy
  }

  private copyArray(value: readonly unknown[], depth: number): unknown[] {
    // Holes stay holes.
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

/** Names of the accessors that a class gives to its objects. */
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
