/**
 * Checks of arguments, and copies of arguments that a caller could modify during a call.
 *
 * The checks throw; stores reject with the errors. Each property is read once, because it may be a
 * getter.
 */
import { types } from 'node:util'
import { checkArray, checkMethods, OptionNames, shown, type BytesLike } from '../../../api/index.js'
import type { CacheSink, CachingStore } from './store/cache-sink.js'
import { asMetadataError, type MetadataStoreError, metadataError } from './errors.js'
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

/** The options of a put without options. */
export const noPutOptions: PutOptions = Object.freeze({})

/** Copies the bytes of a value: the caller may reuse its buffer. */
export function checkValue(value: BytesLike): Buffer {
  checkBytes(value)
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value)
}

/** Copies a value into a cell, after space for the header of the record. */
export function checkCell(value: BytesLike): Buffer {
  checkBytes(value)
  return cellOfValue(value)
}

function checkBytes(value: unknown): asserts value is BytesLike {
  if (typeof value === 'string') return
  if (types.isUint8Array(value)) return void readable(() => new Uint8Array(value.buffer), 'a value')
  throw metadataError('invalidArgument', 'a value is a string or a Uint8Array, and not null')
}

/** Copies an expectation; undefined = any state. */
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
  throw metadataError('invalidArgument', `an expected version is ${forms}`)
}

/** Checks that an object of the caller has methods. `ERR_METADATA_INVALID_ARGUMENT`. */
function checkObjectWith<T extends object>(
  value: T,
  what: string,
  methods: readonly (keyof T & string)[],
): T {
  try {
    return checkMethods(value, what, methods)
  } catch (error) {
    throw metadataError('invalidArgument', (error as Error).message, error)
  }
}

/** Checks that an object is a store. `ERR_METADATA_INVALID_ARGUMENT` otherwise. */
export function checkStore<T extends MetadataStore>(store: T): T {
  const methods = ['get', 'put', 'delete', 'registerListener', 'registerSessionListener'] as const
  return checkObjectWith<MetadataStore>(store, 'the store', methods) as T
}

/** As {@link checkStore}, for a store that also notifies caches. */
export function checkCachingStore<T extends CachingStore>(store: T): T {
  checkObjectWith<CachingStore>(store, 'the store', ['registerCache'])
  return checkStore(store)
}

/** Checks a cache that a store notifies. */
export function checkSink(sink: CacheSink): CacheSink {
  return checkObjectWith(sink, 'the cache', ['changed', 'reset'])
}

/** Copies records of another store and checks their versions and times. */
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
    throw metadataError('invalidArgument', `${stat.path} has no version or no times`)
  }
  return copies
}

/** Copies and checks an event of a cluster. */
export function checkEvent(event: MetadataEvent): MetadataEvent {
  const copy = readable(() => ({ ...event, options: { ...event.options } }), 'the event')
  checkPath(copy.path)
  if (copy.value !== undefined) checkBytes(copy.value)
  if (!Number.isSafeInteger(copy.lastUpdatedTimestamp)) {
    throw metadataError('invalidArgument', 'the time of an event is an integer')
  }
  if (copy.sourceCluster !== undefined && typeof copy.sourceCluster !== 'string') {
    throw metadataError('invalidArgument', 'the cluster of an event is a string')
  }
  return copy
}

/** Whether an argument is the consumer of a scan rather than its options. */
export function isConsumer(given: ScanConsumer | ReadOptions | undefined): given is ScanConsumer {
  if (typeof given !== 'object' || given === null) return false
  return readable(() => 'onNext' in given, 'the consumer or the options of a scan')
}

/** Checks the methods of the consumer of a scan. */
export function checkConsumer(consumer: ScanConsumer): ScanConsumer {
  return checkObjectWith(consumer, 'the consumer', ['onNext'])
}

/** Checks the methods of a synchronizer. */
export function checkSynchronizer(given: MetadataEventSynchronizer): MetadataEventSynchronizer {
  return checkObjectWith(given, 'the synchronizer', ['notify', 'registerSyncListener'])
}

/** Checks the methods of a serde. */
export function checkSerde<T>(serde: MetadataSerde<T>): MetadataSerde<T> {
  return checkObjectWith(serde, 'the serde', ['serialize', 'deserialize'])
}

/** Checks a function of a caller. `ERR_METADATA_INVALID_ARGUMENT`. */
export function checkFunction<T>(value: T, what: string): T {
  if (typeof value === 'function') return value
  throw metadataError('invalidArgument', `${what} is a function, not ${shown(value)}`)
}

/** Checks the options of a read. */
export function checkReadOptions(options: ReadOptions | undefined): void {
  if (options === undefined) return
  copyOfOptions(options, readNames, 'a read')
}

/** Copies the options of a put and checks them against its expectation. */
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
    throw metadataError('invalidArgument', 'a sequential put expects nothing or -1')
  }
  if (copy.sequential === true && sequenceKeysDeltas !== undefined) {
    throw metadataError('invalidArgument', 'a put has either sequential or sequenceKeysDeltas')
  }
  return {
    ...others,
    ...(secondaryIndexes !== undefined && { secondaryIndexes: copyOfIndexes(secondaryIndexes) }),
    ...(sequenceKeysDeltas !== undefined && {
      sequenceKeysDeltas: copyOfDeltas(sequenceKeysDeltas),
    }),
  }
}

/** Reads declared options. `ERR_METADATA_INVALID_ARGUMENT`. */
export function readOptions<T, R>(options: { read(given: T): R }, given: T): R {
  try {
    return options.read(given)
  } catch (error) {
    throw asMetadataError(error)
  }
}

/** Copies options; unknown names fail with `ERR_METADATA_INVALID_ARGUMENT`. */
export function copyOfOptions<T extends object>(
  options: T,
  names: Readonly<Record<keyof T, true>>,
  what: string,
): T {
  const isArray = readable(() => Array.isArray(options), `the options of ${what}`)
  if (typeof options !== 'object' || options === null || isArray) {
    throw metadataError('invalidArgument', `the options of ${what} are an object`)
  }
  const copy = readable(() => ({ ...options }), `the options of ${what}`)
  for (const name of Object.keys(copy)) {
    if (!Object.hasOwn(names, name)) throw unknownName(copy, names, what)
  }
  return copy
}

/** The error for the first unknown name, with a suggestion of a known one. */
function unknownName<T extends object>(
  options: T,
  names: Readonly<Record<keyof T, true>>,
  what: string,
): MetadataStoreError {
  try {
    new OptionNames<T>(what, names).check(options)
  } catch (error) {
    return metadataError('invalidArgument', (error as Error).message)
  }
  return metadataError('invalidArgument', `unknown option of ${what}`)
}

function checkFlag(value: unknown, name: string): void {
  if (value === undefined || typeof value === 'boolean') return
  throw metadataError('invalidArgument', `${name} is true or false`)
}

/** Most bytes of all names and keys of a record: they are stored in its header. */
const indexesBytesMax = 60_000
/** Most bytes of a name or key of an index. */
const indexTextBytesMax = 8_000

/** Checks the name or a key of an index. */
export function checkIndexText(value: unknown, what: string): asserts value is string {
  const isText =
    typeof value === 'string' && (value as string & { isWellFormed(): boolean }).isWellFormed()
  if (!isText || Buffer.byteLength(value) > indexTextBytesMax) {
    throw metadataError('invalidArgument', `${what} is a well-formed string of up to 8,000 bytes`)
  }
}

function copyOfIndexes(given: unknown): Readonly<Record<string, string>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw metadataError('invalidArgument', 'secondaryIndexes is an object of keys by name of index')
  }
  const indexes = readable(() => ({ ...given }), 'secondaryIndexes') as Record<string, string>
  let bytes = 0
  for (const [name, key] of Object.entries(indexes)) {
    checkIndexText(name, 'the name of an index')
    if (name === '') throw metadataError('invalidArgument', 'the name of an index is not empty')
    checkIndexText(key, 'the key of an index')
    bytes += Buffer.byteLength(name) + Buffer.byteLength(key) + 4
  }
  if (bytes > indexesBytesMax) {
    throw metadataError(
      'invalidArgument',
      'all indexes of a record together have up to 60,000 bytes',
    )
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
  throw metadataError(
    'invalidArgument',
    'sequenceKeysDeltas has at least one integer; the first is >= 1, the others >= 0',
  )
}

/** Copies an array; holes become undefined. */
function copyOfArray(given: readonly unknown[], what: string): unknown[] {
  return readable(() => Array.from(given), what)
}

/** Reads an object of the caller: its getters and proxies may throw any value. */
function readable<T>(read: () => T, what: string): T {
  try {
    return read()
  } catch (error) {
    throw metadataError('invalidArgument', `${what} cannot be read`, error)
  }
}

/** Throws `ERR_METADATA_INVALID_ARGUMENT` unless `listener` is a function. */
export function checkListener(listener: unknown): void {
  if (typeof listener !== 'function')
    throw metadataError('invalidArgument', 'a listener is a function')
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

/** Copies and checks the steps of a batch. */
export function checkBatch(operations: unknown): readonly BatchOperation[] {
  const isArray = readable(() => Array.isArray(operations), 'a batch')
  if (!isArray || (operations as readonly unknown[]).length === 0) {
    throw metadataError('invalidArgument', 'a batch is an array with at least one operation')
  }
  return copyOfArray(operations as readonly unknown[], 'a batch').map(checkOperation)
}

type OperationOf<K extends string> = Extract<BatchOperation, Readonly<Record<K, unknown>>>

function checkOperation(given: unknown): BatchOperation {
  if (typeof given !== 'object' || given === null) {
    throw metadataError('invalidArgument', 'an operation of a batch is an object')
  }
  if (has(given, 'check')) {
    const step = copyOfOptions(given as OperationOf<'check'>, checkNames, 'a check')
    checkPath(step.check)
    const expected = checkExpected(step.expected)
    if (expected === undefined) throw metadataError('invalidArgument', 'a check expects something')
    return { check: step.check, expected }
  }
  if (has(given, 'delete')) {
    const step = copyOfOptions(given as OperationOf<'delete'>, deleteNames, 'a delete')
    checkPath(step.delete)
    const expected = checkExpected(step.expected)
    return expected === undefined ? { delete: step.delete } : { delete: step.delete, expected }
  }
  if (!has(given, 'put')) {
    throw metadataError('invalidArgument', 'an operation of a batch has check, put or delete')
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

/** Copies and checks the options of a scan by index. */
export function checkIndexScan(scan: IndexScan): IndexScan {
  const copy = copyOfOptions(scan, scanNames, 'a scan by index')
  checkPath(copy.prefix)
  checkIndexText(copy.index, 'the name of an index')
  // As in Java, null means no bound.
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

/** Copies and checks the options of a feed. */
export function checkSubscribe(options: SubscribeOptions): SubscribeOptions {
  const copy = copyOfOptions(options, subscribeNames, 'a feed')
  const { prefix, fromSequence, signal } = copy
  if (prefix !== undefined) checkPath(prefix)
  if (fromSequence !== undefined && !(Number.isSafeInteger(fromSequence) && fromSequence >= 0)) {
    throw metadataError('invalidArgument', 'fromSequence is an integer >= 0')
  }
  // Not checked by `instanceof`: the signal may come from another realm.
  if (signal !== undefined && typeof (signal as Partial<AbortSignal>)?.aborted !== 'boolean') {
    throw metadataError('invalidArgument', 'signal is an AbortSignal')
  }
  return copy
}
