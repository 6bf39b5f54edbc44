/**
 * Checks of arguments, and copies of arguments that a caller could modify during a call.
 *
 * The checks throw `ERR_METADATA_INVALID_ARGUMENT`, or `ERR_METADATA_INVALID_PATH` for a path;
 * stores reject with the errors. Each property is read once, because it may be a getter.
 */
import { isBytes, isDetached, isText, readArguments, shown } from '../../../api/index.js'
import { checkArray, checkMethods, type BytesLike } from '../../../api/index.js'
import { asMetadataError, metadataError } from './errors.js'
import { checkPath } from './paths.js'
import type { MetadataSerde } from './serde.js'
import type { CachingStore, Expected, GetResult, MetadataStore } from './types.js'

/** Reads arguments. Anything thrown becomes an error of `MetadataErrorCode`. */
export function checkArguments<T>(read: () => T): T {
  try {
    return readArguments(read)
  } catch (error) {
    throw asMetadataError(error)
  }
}

/** Reads declared options. */
export function readOptions<T, R>(options: { read(given: T): R }, given: T): R {
  return checkArguments(() => options.read(given))
}

/** Checks that a value is a string or bytes. */
export function checkBytes(value: unknown): asserts value is BytesLike {
  if (typeof value === 'string' || (isBytes(value) && !isDetached(value))) return
  throw metadataError('invalidArgument', 'a value is a string or a Uint8Array, and not null')
}

/** Copies the bytes of a value: the caller may reuse its buffer. */
export function checkValue(value: BytesLike): Buffer {
  checkBytes(value)
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value)
}

/** Copies an expectation; undefined = any state. */
export function checkExpected(expected: unknown): Expected | undefined {
  if (expected === undefined) return undefined
  if (typeof expected === 'object' && expected !== null) {
    const [[name, number] = [], ...others] = checkArguments(() => Object.entries(expected))
    const isValid = others.length === 0 && Number.isSafeInteger(number) && (number as number) >= 0
    if (isValid && name === 'sequence') return { sequence: number as number }
    if (isValid && name === 'creationSequence') return { creationSequence: number as number }
  } else if (Number.isSafeInteger(expected) && (expected as number) >= -1) {
    return expected as number
  }
  const forms = 'an integer >= -1, { sequence } or { creationSequence }'
  throw metadataError('invalidArgument', `an expected version is ${forms}`)
}

/** Checks that an object of the caller has methods. */
export function checkObjectWith<T extends object>(
  value: T,
  what: string,
  methods: readonly (keyof T & string)[],
): T {
  return checkArguments(() => checkMethods(value, what, methods))
}

/** Checks that an object is a store. */
export function checkStore<T extends MetadataStore>(store: T): T {
  const methods = ['get', 'put', 'delete', 'registerListener', 'registerSessionListener'] as const
  return checkObjectWith<MetadataStore>(store, 'the store', methods) as T
}

/** As {@link checkStore}, for a store that also notifies caches. */
export function checkCachingStore<T extends CachingStore>(store: T): T {
  checkObjectWith<CachingStore>(store, 'the store', ['registerCache'])
  return checkStore(store)
}

/** Checks the methods of a serde. */
export function checkSerde<T>(serde: MetadataSerde<T>): MetadataSerde<T> {
  return checkObjectWith(serde, 'the serde', ['serialize', 'deserialize'])
}

/** Checks a function of a caller. */
export function checkFunction<T>(value: T, what: string): T {
  if (typeof value === 'function') return value
  throw metadataError('invalidArgument', `${what} is a function, not ${shown(value)}`)
}

/** Copies records of another store and checks their versions and times. */
export function checkRecords(records: readonly GetResult[]): GetResult[] {
  const copies = checkArguments(() =>
    checkArray(records, 'the records').map(({ value, stat }) => ({ value, stat: { ...stat } })),
  )
  for (const { stat } of copies) {
    checkPath(stat.path)
    const { version, creationTimestamp, modificationTimestamp } = stat
    if ([version, creationTimestamp, modificationTimestamp].every(Number.isSafeInteger)) continue
    throw metadataError('invalidArgument', `${stat.path} has no version or no times`)
  }
  return copies
}

/** Most bytes of a name or key of an index. */
const indexTextBytesMax = 8_000

/** Checks the name or a key of an index. */
export function checkIndexText(value: unknown, what: string): string {
  if (isText(value) && Buffer.byteLength(value) <= indexTextBytesMax) return value
  throw metadataError('invalidArgument', `${what} is a well-formed string of up to 8,000 bytes`)
}
