/** Values that no caller should give, and how they get into the arguments of a call. */

/** A value that is made anew for each call. */
export interface HostileValue {
  readonly name: string
  readonly make: () => unknown
}

function throwing(): never {
  throw new Error('hands off')
}

/** Throws whatever is done with it. */
function throwingProxy(): object {
  const names = ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor'] as const
  return new Proxy({}, Object.fromEntries(names.map((name) => [name, throwing])))
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function detached(): Uint8Array {
  const bytes = new Uint8Array(8)
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  return bytes
}

function cyclic(): object {
  const value: Record<string, unknown> = {}
  value['self'] = value
  return value
}

function deep(): unknown {
  let value: unknown = {}
  for (let i = 0; i < 100; i++) value = { deeper: value }
  return value
}

export const hostileValues: readonly HostileValue[] = [
  { name: 'undefined', make: () => undefined },
  { name: 'null', make: () => null },
  { name: 'NaN', make: () => NaN },
  { name: '-0', make: () => -0 },
  { name: 'Infinity', make: () => Infinity },
  { name: '-1', make: () => -1 },
  { name: '1e308', make: () => 1e308 },
  { name: '2^53', make: () => 2 ** 53 },
  { name: '1n', make: () => 1n },
  { name: '-(10n^30n)', make: () => -(10n ** 30n) },
  { name: 'true', make: () => true },
  { name: 'an empty text', make: () => '' },
  { name: 'a text', make: () => 'nonsense' },
  { name: 'a lone surrogate', make: () => 'f:\ud800x' },
  { name: 'a symbol', make: () => Symbol('hostile') },
  { name: 'a function', make: () => throwing },
  { name: 'a class', make: () => class {} },
  { name: 'a proxy that throws', make: throwingProxy },
  { name: 'a revoked proxy', make: revokedProxy },
  { name: 'an object without prototype', make: () => Object.create(null) as unknown },
  { name: 'an object with a text that throws', make: () => ({ toString: throwing }) },
  { name: 'detached bytes', make: detached },
  {
    name: 'an object that pretends to be bytes',
    make: () => Object.create(Uint8Array.prototype) as unknown,
  },
  { name: 'a proxy of bytes', make: () => new Proxy(new Uint8Array(3), {}) },
  { name: 'an empty array', make: () => [] },
  {
    name: 'a sparse array',
    make: () => Array.from({ length: 1 }, () => 1).concat(new Array<number>(3)),
  },
  { name: 'an array of holes', make: () => new Array<unknown>(2) },
  { name: 'a cyclic object', make: cyclic },
  { name: 'a deep object', make: deep },
  { name: 'a date', make: () => new Date(NaN) },
  { name: 'a promise', make: () => Promise.resolve(1) },
  { name: 'a map', make: () => new Map([['a', 1]]) },
]

/** Where a value stands in the arguments of a call. */
export type Path = readonly (string | number)[]

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

/** The paths of all values within arguments. */
export function pathsOf(value: unknown, path: Path = []): Path[] {
  if (!isPlain(value)) return [path]
  const below = Object.keys(value).flatMap((name) => {
    const member = (value as Record<string, unknown>)[name]
    return pathsOf(member, [...path, Array.isArray(value) ? Number(name) : name])
  })
  return path.length === 0 ? below : [path, ...below]
}

/** The arguments with another value at a path. */
export function withValue(value: unknown, path: Path, hostile: unknown): unknown {
  if (path.length === 0) return hostile
  const [name, ...rest] = path
  const member = withValue((value as Record<string, unknown>)[name], rest, hostile)
  if (Array.isArray(value)) return value.map((old: unknown, i) => (i === name ? member : old))
  return { ...(value as object), [name]: member }
}

/** The value at a path. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((inner, name) => (inner as Record<string, unknown>)[name], value)
}

/** The paths of objects of options; `open` names the members whose own names are data. */
export function optionPathsOf(value: unknown, open: ReadonlySet<string>, path: Path = []): Path[] {
  if (!isPlain(value)) return []
  const isOptions = !Array.isArray(value) && !open.has(String(path.at(-1)))
  const below = Object.keys(value).flatMap((name) => {
    const member = (value as Record<string, unknown>)[name]
    return optionPathsOf(member, open, [...path, Array.isArray(value) ? Number(name) : name])
  })
  return isOptions ? [path, ...below] : below
}

/** A copy of options in which reading one name throws. */
export function withThrowingGetter(options: object, name: string): object {
  return Object.defineProperty({ ...options }, name, { enumerable: true, get: throwing })
}
