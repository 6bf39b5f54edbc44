/**
 * Checks of arguments, and copies of those that a caller could change while a call is under way.
 * They throw; stores reject with the errors. Each property is read once: it may be a getter.
 */
import { types } from 'node:util'
import { checkArray, checkMethods, OptionNames, shown, type BytesLike } from '../../../api/index.js'
import type { CacheSink, CachingStore } from './store/cache-sink.js'
import { InvalidArgumentError } from './errors.js'
import { checkPath } from './paths.js'
import { cellOfValue } from './store/record-format.js'
import type { MetadataSerde } from './serde.js'
import type { MetadataEvent, MetadataEventSynchronizer } from './clusters/synchronized-store.js'
import type {
  BatchOperation,
  Expected,
  GetResult,
  IndexScan,
  MetadataStore,
  PutOptions,
  ReadOptions,
  ScanConsumer,
  SubscribeOptions,
} from './types.js'

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
  if (typeof value === 'string') return
  if (types.isUint8Array(value)) return void readable(() => new Uint8Array(value.buffer), 'a value')
  throw new InvalidArgumentError('a value is a string or a Uint8Array, and not null')
}

/** A copy of an expectation; undefined = any state. */
export function checkExpected(expected: unknown): Expected | undefined {
  if (expected === undefined) return undefined
  if (typeof expected === 'object' && expected !== null) {
    const [[name, number] = [], ...others] = readable(() => Object.entries(expected), 'expected')
    const isValid = others.length === 0 && Number.isSafeInteger(number) && (number as number) >= 0
    if (isValid && name === 'sequence') return { sequence: number as number }
    if (isValid && name === 'creationSequence') return { creationSequence: number as number }
  } else if (Number.isSafeInteger(expected) && (expected as number) >= -1) {
    return expected as number
  }
  const forms = 'an integer >= -1, { sequence } or { creationSequence }'
  throw new InvalidArgumentError(`an expected version is ${forms}`)
}

/** Checks an object of a caller by its methods. `ERR_METADATA_INVALID_ARGUMENT`. */
function checkObjectWith<T extends object>(
  value: T,
  what: string,
  methods: readonly (keyof T & string)[],
): T {
  try {
    return checkMethods(value, what, methods)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message, error)
  }
}

/** Checks a store that somebody uses. `ERR_METADATA_INVALID_ARGUMENT` if the object is none. */
export function checkStore<T extends MetadataStore>(store: T): T {
  const methods = ['get', 'put', 'delete', 'registerListener', 'registerSessionListener'] as const
  return checkObjectWith<MetadataStore>(store, 'the store', methods) as T
}

/** Checks a store that also tells caches, as {@link checkStore} does. */
export function checkCachingStore<T extends CachingStore>(store: T): T {
  checkObjectWith<CachingStore>(store, 'the store', ['registerCache'])
  return checkStore(store)
}

/** Checks a cache that a store is to tell. */
export function checkSink(sink: CacheSink): CacheSink {
  return checkObjectWith(sink, 'the cache', ['changed', 'reset'])
}

/** Checks records of another store, with their versions and times. Returns copies. */
export function checkRecords(records: readonly GetResult[]): GetResult[] {
  const copies = readable(
    () =>
      checkArray(records, 'the records').map(({ value, stat }) => ({ value, stat: { ...stat } })),
    'the records',
  )
  for (const { stat } of copies) {
    checkPath(stat.path)
    const { version, creationTimestamp, modificationTimestamp } = stat
    if ([version, creationTimestamp, modificationTimestamp].every(Number.isSafeInteger)) continue
    throw new InvalidArgumentError(`${stat.path} has no version or no times`)
  }
  return copies
}

/** A copy of an event of a cluster, checked. */
export function checkEvent(event: MetadataEvent): MetadataEvent {
  const copy = readable(() => ({ ...event, options: { ...event.options } }), 'the event')
  checkPath(copy.path)
  if (copy.value !== undefined) checkBytes(copy.value)
  if (!Number.isSafeInteger(copy.lastUpdatedTimestamp)) {
    throw new InvalidArgumentError('the time of an event is an integer')
  }
  if (copy.sourceCluster !== undefined && typeof copy.sourceCluster !== 'string') {
    throw new InvalidArgumentError('the cluster of an event is a string')
  }
  return copy
}

/** Whether somebody gives the consumer of a scan in place of its options. */
export function isConsumer(given: ScanConsumer | ReadOptions | undefined): given is ScanConsumer {
  if (typeof given !== 'object' || given === null) return false
  return readable(() => 'onNext' in given, 'the consumer or the options of a scan')
}

/** Checks the consumer of a scan. */
export function checkConsumer(consumer: ScanConsumer): ScanConsumer {
  return checkObjectWith(consumer, 'the consumer', ['onNext'])
}

/** Checks what carries events between clusters. */
export function checkSynchronizer(given: MetadataEventSynchronizer): MetadataEventSynchronizer {
  return checkObjectWith(given, 'the synchronizer', ['notify', 'registerSyncListener'])
}

/** Checks what writes and reads values. */
export function checkSerde<T>(serde: MetadataSerde<T>): MetadataSerde<T> {
  return checkObjectWith(serde, 'the serde', ['serialize', 'deserialize'])
}

/** Checks a function of a caller. `ERR_METADATA_INVALID_ARGUMENT`. */
export function checkFunction<T>(value: T, what: string): T {
  if (typeof value === 'function') return value
  throw new InvalidArgumentError(`${what} is a function, not ${shown(value)}`)
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
  const { secondaryIndexes, sequenceKeysDeltas, ...others } = copy
  const isNumbered = copy.sequential === true || sequenceKeysDeltas !== undefined
  if (isNumbered && expected !== undefined && expected !== -1) {
    throw new InvalidArgumentError('a sequential put expects nothing or -1')
  }
  if (copy.sequential === true && sequenceKeysDeltas !== undefined) {
    throw new InvalidArgumentError('a put has either sequential or sequenceKeysDeltas')
  }
  return {
    ...others,
    ...(secondaryIndexes !== undefined && { secondaryIndexes: copyOfIndexes(secondaryIndexes) }),
    ...(sequenceKeysDeltas !== undefined && {
      sequenceKeysDeltas: copyOfDeltas(sequenceKeysDeltas),
    }),
  }
}

/** A copy of options that have only known names. `ERR_METADATA_INVALID_ARGUMENT`. */
export function copyOfOptions<T extends object>(
  options: T,
  names: Readonly<Record<keyof T, true>>,
  what: string,
): T {
  const isArray = readable(() => Array.isArray(options), `the options of ${what}`)
  if (typeof options !== 'object' || options === null || isArray) {
    throw new InvalidArgumentError(`the options of ${what} are an object`)
  }
  const copy = readable(() => ({ ...options }), `the options of ${what}`)
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

function copyOfIndexes(given: unknown): Readonly<Record<string, string>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new InvalidArgumentError('secondaryIndexes is an object of keys by name of index')
  }
  const indexes = readable(() => ({ ...given }), 'secondaryIndexes') as Record<string, string>
  let bytes = 0
  for (const [name, key] of Object.entries(indexes)) {
    checkIndexText(name, 'the name of an index')
    if (name === '') throw new InvalidArgumentError('the name of an index is not empty')
    checkIndexText(key, 'the key of an index')
    bytes += Buffer.byteLength(name) + Buffer.byteLength(key) + 4
  }
  if (bytes > indexesBytesMax) {
    throw new InvalidArgumentError('all indexes of a record together have up to 60,000 bytes')
  }
  return indexes
}

function copyOfDeltas(given: unknown): readonly number[] {
  const deltas = Array.isArray(given) ? copyOfArray(given, 'sequenceKeysDeltas') : []
  const isValid =
    deltas.length > 0 &&
    deltas.every(
      (delta, i) => Number.isSafeInteger(delta) && (delta as number) >= (i === 0 ? 1 : 0),
    )
  if (isValid) return deltas as number[]
  throw new InvalidArgumentError(
    'sequenceKeysDeltas has at least one integer; the first is >= 1, the others >= 0',
  )
}

/** A copy in which holes are undefined. */
function copyOfArray(given: readonly unknown[], what: string): unknown[] {
  return readable(() => Array.from(given), what)
}

/** Reads what a caller gave: getters and proxies may throw anything. */
function readable<T>(read: () => T, what: string): T {
  try {
    return read()
  } catch (error) {
    throw new InvalidArgumentError(`${what} cannot be read`, error)
  }
}

/** Checks a function. */
export function checkListener(listener: unknown): void {
  if (typeof listener !== 'function') throw new InvalidArgumentError('a listener is a function')
}

const checkNames = { check: true, expected: true } as const
const deleteNames = { delete: true, expected: true } as const
const putStepNames = {
  put: true,
  value: true,
  expected: true,
  ephemeral: true,
  secondaryIndexes: true,
} as const

/** Copies of the steps of a batch, checked. */
export function checkBatch(operations: unknown): readonly BatchOperation[] {
  const isArray = readable(() => Array.isArray(operations), 'a batch')
  if (!isArray || (operations as readonly unknown[]).length === 0) {
    throw new InvalidArgumentError('a batch is an array with at least one operation')
  }
  return copyOfArray(operations as readonly unknown[], 'a batch').map(checkOperation)
}

type OperationOf<K extends string> = Extract<BatchOperation, Readonly<Record<K, unknown>>>

function checkOperation(given: unknown): BatchOperation {
  if (typeof given !== 'object' || given === null) {
    throw new InvalidArgumentError('an operation of a batch is an object')
  }
  if (has(given, 'check')) {
    const step = copyOfOptions(given as OperationOf<'check'>, checkNames, 'a check')
    checkPath(step.check)
    const expected = checkExpected(step.expected)
    if (expected === undefined) throw new InvalidArgumentError('a check expects something')
    return { check: step.check, expected }
  }
  if (has(given, 'delete')) {
    const step = copyOfOptions(given as OperationOf<'delete'>, deleteNames, 'a delete')
    checkPath(step.delete)
    const expected = checkExpected(step.expected)
    return expected === undefined ? { delete: step.delete } : { delete: step.delete, expected }
  }
  if (!has(given, 'put')) {
    throw new InvalidArgumentError('an operation of a batch has check, put or delete')
  }
  const step = copyOfOptions(given as OperationOf<'put'>, putStepNames, 'a put of a batch')
  checkPath(step.put)
  const expected = checkExpected(step.expected)
  const { ephemeral, secondaryIndexes } = step
  const options = checkPutOptions({ ephemeral, secondaryIndexes }, expected)
  const { put } = step
  const value = checkValue(step.value)
  return expected === undefined ? { put, value, ...options } : { put, value, expected, ...options }
}

function has(given: object, name: string): boolean {
  return readable(() => name in given, 'an operation of a batch')
}

const scanNames: Readonly<Record<keyof IndexScan, true>> = {
  prefix: true,
  index: true,
  from: true,
  to: true,
  fallbackFilter: true,
  partitionKey: true,
}

/** A copy of what a scan by index asks for, checked. */
export function checkIndexScan(scan: IndexScan): IndexScan {
  const copy = copyOfOptions(scan, scanNames, 'a scan by index')
  checkPath(copy.prefix)
  checkIndexText(copy.index, 'the name of an index')
  // Null is no bound, as in Java.
  const from = copy.from ?? undefined
  const to = copy.to ?? undefined
  if (from !== undefined) checkIndexText(from, 'from')
  if (to !== undefined) checkIndexText(to, 'to')
  if (copy.fallbackFilter !== undefined) checkListener(copy.fallbackFilter)
  return { ...copy, from, to }
}

const subscribeNames: Readonly<Record<keyof SubscribeOptions, true>> = {
  prefix: true,
  fromSequence: true,
  signal: true,
}

/** A copy of what a feed is asked for, checked. */
export function checkSubscribe(options: SubscribeOptions): SubscribeOptions {
  const copy = copyOfOptions(options, subscribeNames, 'a feed')
  const { prefix, fromSequence, signal } = copy
  if (prefix !== undefined) checkPath(prefix)
  if (fromSequence !== undefined && !(Number.isSafeInteger(fromSequence) && fromSequence >= 0)) {
    throw new InvalidArgumentError('fromSequence is an integer >= 0')
  }
  // Not by its class: a signal may be of another realm.
  if (signal !== undefined && typeof (signal as Partial<AbortSignal>)?.aborted !== 'boolean') {
    throw new InvalidArgumentError('signal is an AbortSignal')
  }
  return copy
}
