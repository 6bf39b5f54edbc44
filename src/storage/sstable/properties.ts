/** The properties of an SSTable: counts by the writer and statistics by its caller. */
import { assert } from '../../base/assert.js'
import { readUint64LE, writeUint64LE } from '../../base/bytes.js'

/** Statistics of the cells in an SSTable, opaque to this room. Numbers are safe integers >= 0. */
export interface CellStatistics {
  /** Number of delete markers of all kinds. */
  readonly deleteCount: number
  /** Number of delete markers of a whole family. */
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
  /** Kind of the filter's keys; a number that is opaque to this room. */
  readonly filterKind: number
}

/** All properties of an SSTable, known without reading its blocks. */
export interface SsTableProperties extends CellStatistics {
  readonly entryCount: number
  /** Total length of the keys. */
  readonly keyBytes: number
  /** Total length of the values. */
  readonly valueBytes: number
  /** Stored size of the data blocks, trailers included. */
  readonly dataBytes: number
  readonly blockCount: number
  /** Codec given to the writer; single blocks may be stored raw nevertheless. */
  readonly codecName: string
  /** Empty without entries. */
  readonly firstKey: Buffer
  /** Empty without entries. */
  readonly lastKey: Buffer
}

/** {@link SsTableProperties} as stored, with the codec's id. */
export interface StoredProperties extends Omit<SsTableProperties, 'codecName'> {
  readonly codecId: number
}

/** Disk order of the fields that are safe integers. Never change. */
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

/** Disk order of the timestamps, after the numbers. Never change. */
const timestampFields = ['minTimestamp', 'maxTimestamp', 'earliestPutTimestamp'] as const

const fixedBytes = (numberFields.length + timestampFields.length) * 8 + 8

/** Encodes the payload of the properties section. */
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
 * Decodes a payload of {@link encodeProperties}; returns the fault as a string if it is malformed.
 * Keys refer to the payload's memory.
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
