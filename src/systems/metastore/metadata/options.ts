/** The options of the calls of a store and the steps of its batches, declared once. */
import {
  boolean,
  callback,
  checked,
  checkSignal,
  declareOptions,
  integer,
  required,
  text,
  type BytesLike,
  type OptionsOf,
} from '../../../api/index.js'
import {
  checkArguments,
  checkExpected,
  checkIndexText,
  checkValue,
  readOptions,
} from './arguments.js'
import { metadataError } from './errors.js'
import { checkPath } from './paths.js'
import type { Expected, GetResult } from './types.js'

/** An option that is a path. */
export const pathOption = checked((value: string): string => {
  checkPath(value)
  return value
})
const expected = checked<Expected, Expected | undefined>(checkExpected)
const readingOptions = {
  /** Backends with partitions store records with equal keys together. A hint; no effect here. */
  partitionKey: text(undefined),
}

const readDeclaration = declareOptions('a read', readingOptions)

/** Options of reads. */
export interface ReadOptions extends OptionsOf<typeof readDeclaration> {}

/** Checks the options of a read. */
export function checkReadOptions(options: ReadOptions | undefined): void {
  if (options !== undefined) readOptions(readDeclaration, options)
}

const batchPutOptions = {
  /** The record is removed when the session ends. Only read by a put that creates the record. */
  ephemeral: boolean(false),
  /**
   * Keys by name of index. Replaces all index entries of the record. Absent: the entries are kept.
   * An empty object removes all entries.
   */
  secondaryIndexes: checked(copyOfIndexes),
}

const putDeclaration = declareOptions('a put', {
  ...readingOptions,
  ...batchPutOptions,
  /** Appends an increasing number of ten digits to the path. */
  sequential: boolean(false),
  /**
   * The path is a prefix. The stored path is `prefix-` and one number of 20 digits for each
   * element; each number is incremented by its element. The first element is at least 1, the others
   * at least 0.
   */
  sequenceKeysDeltas: checked(copyOfDeltas),
})

/** Options of puts. */
export interface PutOptions extends OptionsOf<typeof putDeclaration> {}

/** The options of a put without options. */
export const noPutOptions: PutOptions = Object.freeze({})

/** Copies the options of a put and checks them against its expectation. */
export function checkPutOptions(
  options: PutOptions | undefined,
  wanted: Expected | undefined,
): PutOptions {
  if (options === undefined) return noPutOptions
  const copy = readOptions(putDeclaration, options)
  const { sequential, sequenceKeysDeltas } = copy
  const isNumbered = sequential || sequenceKeysDeltas !== undefined
  if (isNumbered && wanted !== undefined && wanted !== -1) {
    throw metadataError('invalidArgument', 'a sequential put expects nothing or -1')
  }
  if (sequential && sequenceKeysDeltas !== undefined) {
    throw metadataError('invalidArgument', 'a put has either sequential or sequenceKeysDeltas')
  }
  return copy
}

/** Most bytes of all names and keys of a record: they are stored in its header. */
const indexesBytesMax = 60_000

function copyOfIndexes(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw metadataError('invalidArgument', 'secondaryIndexes is an object of keys by name of index')
  }
  const indexes = { ...given }
  let bytes = 0
  for (const [name, key] of Object.entries(indexes)) {
    checkIndexText(name, 'the name of an index')
    if (name === '') throw metadataError('invalidArgument', 'the name of an index is not empty')
    checkIndexText(key, 'the key of an index')
    bytes += Buffer.byteLength(name) + Buffer.byteLength(key) + 4
  }
  if (bytes <= indexesBytesMax) return indexes
  const message = 'all indexes of a record together have up to 60,000 bytes'
  throw metadataError('invalidArgument', message)
}

function copyOfDeltas(given: readonly number[]): readonly number[] {
  const deltas = Array.isArray(given) ? Array.from(given as readonly number[]) : []
  const isDelta = (delta: number, i: number): boolean =>
    Number.isSafeInteger(delta) && delta >= (i === 0 ? 1 : 0)
  if (deltas.length > 0 && deltas.every(isDelta)) return deltas
  throw metadataError(
    'invalidArgument',
    'sequenceKeysDeltas has at least one integer; the first is >= 1, the others >= 0',
  )
}

const checkStep = declareOptions('a check', {
  /** Path of a record whose state is checked; nothing is written. */
  check: required(pathOption),
  /** The required state of the record. */
  expected: required(expected),
})
const deleteStep = declareOptions('a delete', {
  /** Path of the record to remove; the step fails if the record is missing or has children. */
  delete: required(pathOption),
  /** The required state of the record. Absent = any state. */
  expected,
})
const putStep = declareOptions('a put of a batch', {
  /** Path of the record to write. */
  put: required(pathOption),
  /** The new bytes of the record. */
  value: required(checked<BytesLike, Buffer>(checkValue)),
  /** The required state of the record. Absent = any state. */
  expected,
  ...batchPutOptions,
})

/** One step of `MetadataStore.batch`. */
export type BatchOperation =
  | OptionsOf<typeof checkStep>
  | OptionsOf<typeof putStep>
  | OptionsOf<typeof deleteStep>

/** Copies and checks the steps of a batch. */
export function checkBatch(operations: unknown): readonly BatchOperation[] {
  return checkArguments(() => {
    if (!Array.isArray(operations) || operations.length === 0) {
      throw metadataError('invalidArgument', 'a batch is an array with at least one operation')
    }
    return Array.from(operations as readonly BatchOperation[], (step) => {
      if (typeof step === 'object' && step !== null) {
        if ('check' in step) return checkStep.read(step)
        if ('delete' in step) return deleteStep.read(step)
        if ('put' in step) return putStep.read(step)
      }
      throw metadataError('invalidArgument', 'a step of a batch has check, put or delete')
    })
  })
}

/** A bound of a range of keys. As in Java, null means no bound. */
const bound = checked<string | undefined>((value, what) =>
  value === null ? undefined : checkIndexText(value, what),
)

const scanDeclaration = declareOptions('a scan by index', {
  ...readingOptions,
  /** Only direct children of this path. */
  prefix: required(pathOption),
  /** Name of the index, as in `PutOptions.secondaryIndexes`. */
  index: required(checked<string>(checkIndexText)),
  /** The lowest key, inclusive. Default: no bound. */
  from: bound,
  /** The highest key, inclusive. Default: no bound. */
  to: bound,
  /**
   * Selects the records of the range on a backend without indexes, which reads all children. A
   * backend with indexes does not call the function.
   */
  fallbackFilter: callback<(record: GetResult) => boolean>(),
})

/** The range of `MetadataStore.scanByIndex`. */
export interface IndexScan extends OptionsOf<typeof scanDeclaration> {}

/** Copies and checks the options of a scan by index. */
export function checkIndexScan(scan: IndexScan): IndexScan {
  return readOptions(scanDeclaration, scan)
}

const subscribeDeclaration = declareOptions('a feed', {
  /** Only events of this path and below it. Default `/`. */
  prefix: pathOption,
  /** The first sequence of interest, inclusive. Default: the next commit. */
  fromSequence: integer({ min: 0, default: undefined }),
  /** Ends the feed. */
  signal: checked<AbortSignal, AbortSignal | undefined>(checkSignal),
})

/** The commits that a feed delivers. */
export interface SubscribeOptions extends OptionsOf<typeof subscribeDeclaration> {}

/** Copies and checks the options of a feed. */
export function checkSubscribe(options: SubscribeOptions): SubscribeOptions {
  return readOptions(subscribeDeclaration, options)
}
