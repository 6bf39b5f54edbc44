/** Ranges of keys as rows of a scan. */
import { prefixSuccessor } from '../../base/bytes.js'
import { checkMethods, checkObject, readArguments } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { boolean, declareOptions, unchecked, type GivenOptions } from '../../base/options.js'
import type { RowSpan } from '../../api/reads.js'
import { rowBytesMax } from '../../storage/cell/limits.js'
import type { EncodedParts, KeyParts, LeadingValues, RowKey } from './row-key.js'

/** The members of {@link KeyRange} whose types depend on the key. */
const keyMembers = {
  prefix: unchecked<object>(),
  startsWith: unchecked<object>(),
  startKey: unchecked<object>(),
  stopKey: unchecked<object>(),
}

const inclusionMembers = {
  /** Whether the rows of `startKey` are in the range. Default true. */
  startInclusive: boolean(true),
  /** Whether the rows of `stopKey` are in the range. Default false. */
  stopInclusive: boolean(false),
}

/** The options of a range of keys, for declarations that have more. */
export const keyRangeMembers = { ...keyMembers, ...inclusionMembers }

const keyRangeOptions = declareOptions('a range of keys', keyRangeMembers)

/**
 * A range of keys by their leading parts; without members all rows. `startsWith`, `startKey` and
 * `stopKey` continue the `prefix`, whose parts they do not repeat. A key of some leading parts
 * stands for all rows that have these parts.
 */
export interface KeyRange<K extends KeyParts> extends GivenOptions<typeof inclusionMembers> {
  /** Parts that all rows of the range have. */
  readonly prefix?: LeadingValues<K> | undefined
  /** As `prefix`, but the last part is the beginning of a text or of bytes. */
  readonly startsWith?: LeadingValues<K> | undefined
  /** Where the scan begins; the greatest rows of the range for a reversed scan. */
  readonly startKey?: LeadingValues<K> | undefined
  /** Where the scan ends; the smallest rows of the range for a reversed scan. */
  readonly stopKey?: LeadingValues<K> | undefined
}

interface Bound {
  readonly row: Buffer
  readonly isInclusive: boolean
}

/** The parts of a key at one end of a range. */
interface RangeEnd extends Pick<EncodedParts, 'bytes' | 'isComplete'> {
  /** Of the member that gives them, for messages. */
  readonly name: string
  readonly isInclusive: boolean
}

/** A range in the order of rows; an absent bound is the end of the table. */
interface Bounds {
  readonly lower: Bound | undefined
  readonly upper: Bound | undefined
}

/**
 * The rows of a range of keys, in the direction of the scan. `ERR_INVALID_ARGUMENT` for unknown
 * members, parts that are not leading, and values that do not fit.
 */
export function rowsOfKeys<K extends KeyParts>(
  key: RowKey<K>,
  range: KeyRange<K>,
  reversed: boolean,
): RowSpan {
  checkMethods(key, 'the key of a range', ['encodeLeading'])
  const read = readArguments(() => keyRangeOptions.read(range))
  return rowsOfRange(key, read as KeyRange<K>, reversed)
}

/** As {@link rowsOfKeys}, for a range whose members were read with their defaults. */
export function rowsOfRange<K extends KeyParts>(
  key: RowKey<K>,
  range: KeyRange<K>,
  reversed: boolean,
): RowSpan {
  const { lower, upper } = boundsOf(key, range, reversed)
  const [first, last] = reversed ? [upper, lower] : [lower, upper]
  return {
    ...(first && { startRow: first.row, startInclusive: first.isInclusive }),
    ...(last && { stopRow: last.row, stopInclusive: last.isInclusive }),
  }
}

function boundsOf<K extends KeyParts>(
  key: RowKey<K>,
  range: KeyRange<K>,
  reversed: boolean,
): Bounds {
  const { prefix = {}, startsWith, startKey, stopKey, startInclusive, stopInclusive } = range
  if (startsWith !== undefined) {
    if (startKey !== undefined || stopKey !== undefined) {
      throw invalidArgument('a range of keys has startsWith, or startKey and stopKey, not both')
    }
    const beginning = beginningBytes(key, continued(key, prefix, startsWith, 'startsWith'))
    return { lower: { row: beginning, isInclusive: true }, upper: boundBehind(beginning) }
  }
  const ofPrefix = key.encodeLeading(checkObject(prefix, 'prefix', formOf(key)), 'prefix')
  const end = (more: LeadingValues<K> | undefined, name: string, isInclusive = false): RangeEnd => {
    // Without a key of its own a bound includes all rows of the prefix.
    if (more === undefined) return { ...ofPrefix, name: 'prefix', isInclusive: true }
    return { ...key.encodeLeading(continued(key, prefix, more, name), name), name, isInclusive }
  }
  const start = end(startKey, 'startKey', startInclusive)
  const stop = end(stopKey, 'stopKey', stopInclusive)
  const [low, high] = reversed ? [stop, start] : [start, stop]
  return { lower: lowerBound(low), upper: upperBound(high) }
}

function lowerBound({ bytes, isComplete, name, isInclusive }: RangeEnd): Bound | undefined {
  if (bytes.length === 0 && isInclusive) return undefined
  checkBound(bytes, name)
  if (isInclusive || isComplete) return { row: bytes, isInclusive }
  // If no row can follow these ones, the range ends before it begins.
  return boundBehind(bytes, true) ?? { row: Buffer.alloc(rowBytesMax, 0xff), isInclusive: false }
}

function upperBound({ bytes, isComplete, name, isInclusive }: RangeEnd): Bound | undefined {
  if (bytes.length === 0 && isInclusive) return undefined
  checkBound(bytes, name)
  if (!isInclusive || isComplete) return { row: bytes, isInclusive }
  return boundBehind(bytes)
}

function checkBound(bytes: Buffer, name: string): void {
  if (bytes.length === 0) throw invalidArgument(`${name} gives no part of the key; leave it out`)
}

/** The first row that does not begin with the bytes; undefined if there is none. */
function boundBehind(beginning: Buffer, isInclusive = false): Bound | undefined {
  const row = prefixSuccessor(beginning)
  return row === undefined ? undefined : { row, isInclusive }
}

/** The parts of the prefix and those that follow. */
function continued<K extends KeyParts>(
  key: RowKey<K>,
  prefix: LeadingValues<K>,
  more: LeadingValues<K>,
  what: string,
): LeadingValues<K> {
  const form = formOf(key)
  checkObject(prefix, 'prefix', form)
  checkObject(more, what, form)
  for (const name in more) {
    if (Object.hasOwn(prefix, name)) {
      throw invalidArgument(`${what} repeats '${name}' of the prefix; leave it out in ${what}`)
    }
  }
  return { ...prefix, ...more }
}

/** A key of a range, for messages. */
function formOf<K extends KeyParts>({ names }: RowKey<K>): string {
  return `{ ${names[0]}: … }`
}

/** The bytes with which the rows of a beginning of a text begin. */
function beginningBytes<K extends KeyParts>(key: RowKey<K>, values: LeadingValues<K>): Buffer {
  const { lastPart, beginning } = key.encodeLeading(values, 'startsWith')
  if (lastPart === undefined) throw invalidArgument('startsWith needs the beginning of a part')
  if (beginning !== undefined) return beginning
  throw invalidArgument(`startsWith ends with ${lastPart}; only text and bytes have beginnings`)
}
