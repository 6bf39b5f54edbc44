/** What a table says about itself: counts of the writer and statistics of its caller. */
import { assert } from '../../base/assert.js'
import { readUint64LE, writeUint64LE } from '../../base/bytes.js'

/**
 * Facts about the cells in a table that this layer stores without understanding them. Numbers are
 * safe integers >= 0.
 */
export interface CellStatistics {
  /** Delete markers of all kinds. */
  readonly deleteCount: number
  /** Delete markers of a whole family among them. */
  readonly familyDeleteCount: number
  /** Signed 64-bit, inclusive. */
  readonly minTimestamp: bigint
  /** Signed 64-bit, inclusive. */
  readonly maxTimestamp: bigint
  /** Signed 64-bit: smallest timestamp of a put. */
  readonly earliestPutTimestamp: bigint
  /** Inclusive. */
  readonly minSequence: number
  /** Inclusive. */
  readonly maxSequence: number
  /** What the keys of the filter stand for; a number that means nothing at this layer. */
  readonly filterKind: number
}

/** All that is known of a table without reading its blocks. */
export interface SsTableProperties extends CellStatistics {
  readonly entryCount: number
  /** Sum of the key lengths. */
  readonly keyBytes: number
  /** Sum of the value lengths. */
  readonly valueBytes: number
  /** Stored bytes of the data blocks, trailers included. */
  readonly dataBytes: number
  readonly blockCount: number
  /** Codec that the writer was given; single blocks may be stored raw all the same. */
  readonly codecName: string
  /** Empty if there is no entry. */
  readonly firstKey: Buffer
  /** Empty if there is no entry. */
  readonly lastKey: Buffer
}

/** {@link SsTableProperties} as stored: the codec by its id. */
export interface StoredProperties extends Omit<SsTableProperties, 'codecName'> {
  readonly codecId: number
}

/** Order on disk of the fields that are safe integers. Never change. */
const numberFields = [
  'entryCount',
  'keyBytes',
  'valueBytes',
  'dataBytes',
  'blockCount',
  'codecId',
  'deleteCount',
  'familyDeleteCount',
  'minSequence',
  'maxSequence',
  'filterKind',
] as const

/** Order on disk of the timestamps, after the numbers. Never change. */
const timestampFields = ['minTimestamp', 'maxTimestamp', 'earliestPutTimestamp'] as const

const fixedBytes = (numberFields.length + timestampFields.length) * 8 + 8

/** The payload of the properties section. */
export function encodeProperties(properties: StoredProperties): Buffer {
  const { firstKey, lastKey } = properties
  const payload = Buffer.alloc(fixedBytes + firstKey.length + lastKey.length)
  let at = 0
  for (const field of numberFields) {
    const value = properties[field]
    assert(Number.isSafeInteger(value) && value >= 0, 'properties: not a safe integer')
    writeUint64LE(payload, at, value)
    at += 8
  }
  for (const field of timestampFields) at = payload.writeBigInt64LE(properties[field], at)
  at = payload.writeUInt32LE(firstKey.length, at)
  at = payload.writeUInt32LE(lastKey.length, at)
  at += firstKey.copy(payload, at)
  lastKey.copy(payload, at)
  return payload
}

/**
 * Reads a payload made by {@link encodeProperties}; returns what is wrong as a string. Keys refer
 * to its memory.
 */
export function decodeProperties(payload: Buffer): StoredProperties | string {
  if (payload.length < fixedBytes) return `${payload.length} bytes`
  const numbers: number[] = []
  let at = 0
  for (const field of numberFields) {
    const value = readUint64LE(payload, at)
    if (!Number.isSafeInteger(value)) return `${field} ${value}`
    numbers.push(value)
    at += 8
  }
  const timestamps = timestampFields.map((_, i) => payload.readBigInt64LE(at + i * 8))
  const firstLength = payload.readUInt32LE(fixedBytes - 8)
  const lastLength = payload.readUInt32LE(fixedBytes - 4)
  const firstEnd = fixedBytes + firstLength
  if (firstEnd + lastLength !== payload.length)
    return `keys of ${firstLength} and ${lastLength} bytes`
  return {
    entryCount: numbers[0],
    keyBytes: numbers[1],
    valueBytes: numbers[2],
    dataBytes: numbers[3],
    blockCount: numbers[4],
    codecId: numbers[5],
    deleteCount: numbers[6],
    familyDeleteCount: numbers[7],
    minSequence: numbers[8],
    maxSequence: numbers[9],
    filterKind: numbers[10],
    minTimestamp: timestamps[0],
    maxTimestamp: timestamps[1],
    earliestPutTimestamp: timestamps[2],
    firstKey: payload.subarray(fixedBytes, firstEnd),
    lastKey: payload.subarray(firstEnd),
  }
}
