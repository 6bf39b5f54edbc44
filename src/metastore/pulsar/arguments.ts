/** Checks of arguments. They throw; stores reject with the errors. */
import { OptionNames, type BytesLike } from '../../api/index.js'
import { InvalidArgumentError } from './errors.js'
import { checkPath } from './paths.js'
import { cellOfValue } from './record-format.js'
import type { BatchOperation, Expected, PutOptions, ReadOptions } from './types.js'

const putNames: Readonly<Record<keyof PutOptions, true>> = {
  partitionKey: true,
  ephemeral: true,
  sequential: true,
  secondaryIndexes: true,
  sequenceKeysDeltas: true,
}

const readNames: Readonly<Record<keyof ReadOptions, true>> = { partitionKey: true }

/** Options of a put that has none. */
export const noPutOptions: PutOptions = Object.freeze({})

/** The bytes of a value, in memory of the store's own. */
export function checkValue(value: BytesLike): Buffer {
  checkBytes(value)
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value)
}

/** A value behind room for the header of its record, in memory of the store's own. */
export function checkCell(value: BytesLike): Buffer {
  checkBytes(value)
  return cellOfValue(value)
}

function checkBytes(value: unknown): asserts value is BytesLike {
  if (typeof value === 'string' || value instanceof Uint8Array) return
  throw new InvalidArgumentError('a value is a string or a Uint8Array, and not null')
}

/** A checked expectation, in memory of the store's own; undefined = any state. */
export function checkExpected(expected: unknown): Expected | undefined {
  if (expected === undefined) return undefined
  if (typeof expected === 'object' && expected !== null) {
    const [name, ...others] = Object.keys(expected)
    const number = (expected as Readonly<Record<string, unknown>>)[name]
    const isValid = others.length === 0 && Number.isSafeInteger(number) && (number as number) >= 0
    if (isValid && name === 'sequence') return { sequence: number as number }
    if (isValid && name === 'creationSequence') return { creationSequence: number as number }
  } else if (Number.isSafeInteger(expected) && (expected as number) >= -1) {
    return expected as number
  }
  const forms = 'an integer >= -1, { sequence } or { creationSequence }'
  throw new InvalidArgumentError(`an expected version is ${forms}`)
}

/** Checks options that only hint. */
export function checkReadOptions(options: ReadOptions | undefined): void {
  if (options === undefined) return
  copyOfOptions(options, readNames, 'a read')
}

/** Checks the options of a put, with what it expects. */
export function checkPutOptions(
  options: PutOptions | undefined,
  expected: Expected | undefined,
): PutOptions {
  if (options === undefined) return noPutOptions
  const copy = copyOfOptions(options, putNames, 'a put')
  checkFlag(copy.ephemeral, 'ephemeral')
  checkFlag(copy.sequential, 'sequential')
  const secondaryIndexes = checkIndexes(copy.secondaryIndexes)
  const sequenceKeysDeltas = checkDeltas(copy.sequenceKeysDeltas)
  const isNumbered = copy.sequential === true || copy.sequenceKeysDeltas !== undefined
  if (isNumbered && expected !== undefined && expected !== -1) {
    throw new InvalidArgumentError('a sequential put expects nothing or -1')
  }
  if (copy.sequential === true && copy.sequenceKeysDeltas !== undefined) {
    throw new InvalidArgumentError('a put has either sequential or sequenceKeysDeltas')
  }
  return { ...copy, secondaryIndexes, sequenceKeysDeltas }
}

/** A copy of options that have only known names. `ERR_METADATA_INVALID_ARGUMENT`. */
export function copyOfOptions<T extends object>(
  options: T,
  names: Readonly<Record<keyof T, true>>,
  what: string,
): T {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidArgumentError(`the options of ${what} are an object`)
  }
  let copy: T
  try {
    copy = { ...options }
  } catch (error) {
    throw new InvalidArgumentError(`the options of ${what} cannot be read`, error)
  }
  for (const name of Object.keys(copy)) {
    if (!Object.hasOwn(names, name)) throw unknownName(copy, names, what)
  }
  return copy
}

/** The refusal of the first unknown name, which says what may have been meant. */
function unknownName<T extends object>(
  options: T,
  names: Readonly<Record<keyof T, true>>,
  what: string,
): InvalidArgumentError {
  try {
    new OptionNames<T>(what, names).check(options)
  } catch (error) {
    return new InvalidArgumentError((error as Error).message)
  }
  return new InvalidArgumentError(`unknown option of ${what}`)
}

function checkFlag(value: unknown, name: string): void {
  if (value === undefined || typeof value === 'boolean') return
  throw new InvalidArgumentError(`${name} is true or false`)
}

/** Bytes of all names and keys of a record, which lie in its header. */
const indexesBytesMax = 60_000
/** Bytes of the longest name or key of an index. */
const indexTextBytesMax = 8_000

/** Checks the name or a key of an index. */
export function checkIndexText(value: unknown, what: string): asserts value is string {
  const isText =
    typeof value === 'string' && (value as string & { isWellFormed(): boolean }).isWellFormed()
  if (!isText || Buffer.byteLength(value) > indexTextBytesMax) {
    throw new InvalidArgumentError(`${what} is a well-formed string of up to 8,000 bytes`)
  }
}

/** A checked copy of the index entries of a put. */
function checkIndexes(indexes: PutOptions['secondaryIndexes']): PutOptions['secondaryIndexes'] {
  if (indexes === undefined) return undefined
  if (typeof indexes !== 'object' || indexes === null || Array.isArray(indexes)) {
    throw new InvalidArgumentError('secondaryIndexes is an object of keys by name of index')
  }
  let bytes = 0
  const copy = { ...indexes }
  for (const [name, key] of Object.entries(copy)) {
    checkIndexText(name, 'the name of an index')
    if (name === '') throw new InvalidArgumentError('the name of an index is not empty')
    checkIndexText(key, 'the key of an index')
    bytes += Buffer.byteLength(name) + Buffer.byteLength(key) + 4
  }
  if (bytes > indexesBytesMax) {
    throw new InvalidArgumentError('all indexes of a record together have up to 60,000 bytes')
  }
  return copy
}

/** A checked copy of the steps of a sequence. */
function checkDeltas(deltas: PutOptions['sequenceKeysDeltas']): PutOptions['sequenceKeysDeltas'] {
  if (deltas === undefined) return undefined
  const copy: readonly unknown[] = Array.isArray(deltas) ? Array.from(deltas) : []
  const isStep = (delta: unknown, i: number): delta is number =>
    Number.isSafeInteger(delta) && (delta as number) >= (i === 0 ? 1 : 0)
  if (copy.length > 0 && copy.every(isStep)) return copy
  throw new InvalidArgumentError(
    'sequenceKeysDeltas has at least one integer; the first is >= 1, the others >= 0',
  )
}

/** Checks a function. */
export function checkListener(listener: unknown): void {
  if (typeof listener !== 'function') throw new InvalidArgumentError('a listener is a function')
}

/** The steps of a batch, checked. */
export function checkBatch(operations: unknown): readonly BatchOperation[] {
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new InvalidArgumentError('a batch is an array with at least one operation')
  }
  return operations.map((operation: BatchOperation) => {
    if (typeof operation !== 'object' || operation === null) {
      throw new InvalidArgumentError('an operation of a batch is an object')
    }
    if ('check' in operation) {
      checkPath(operation.check)
      const expected = checkExpected(operation.expected)
      if (expected === undefined) throw new InvalidArgumentError('a check expects something')
      return { check: operation.check, expected }
    }
    if ('delete' in operation) {
      checkPath(operation.delete)
      return { delete: operation.delete, expected: checkExpected(operation.expected) }
    }
    if (!('put' in operation)) {
      throw new InvalidArgumentError('an operation of a batch has check, put or delete')
    }
    const { put, value, ephemeral, secondaryIndexes } = operation
    checkPath(put)
    const expected = checkExpected(operation.expected)
    const options = checkPutOptions({ ephemeral, secondaryIndexes }, expected)
    return { put, value: checkValue(value), expected, ...options }
  })
}
