/**
 * The stored form of a record: a header and the payload in one cell.
 *
 *     0   format, 1
 *     1   flags: 1 = ephemeral
 *     2   bytes of the header, 2 bytes; readers skip what they do not know at its end
 *     4   version, sequence, creation sequence, created, modified: 8 bytes each
 *     44  session, 8 bytes; 0 if the record is persistent
 *     52  number of index entries, 2 bytes; each: length and UTF-8 of the name, then of the key
 *
 * All numbers are big endian. Sequences and times are safe integers.
 */
import { MetadataErrorCode, MetadataStoreError } from './errors.js'
import type { Stat } from './types.js'

/** A record as the store keeps it. Immutable. */
export interface StoredRecord {
  readonly version: number
  readonly sequence: number
  readonly creationSequence: number
  readonly created: number
  readonly modified: number
  /** The session that the record ends with; 0 = persistent. */
  readonly session: number
  /** Names and keys in turn. */
  readonly indexes: readonly string[]
  readonly value: Buffer
}

const format = 1
const fixedBytes = 54
const ephemeralFlag = 1

/** No index entries. */
export const noIndexes: readonly string[] = Object.freeze([])

/** Writes an unsigned safe integer as 8 bytes. */
export function writeUint64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at)
  bytes.writeUInt32BE(value >>> 0, at + 4)
}

/** Reads an unsigned safe integer of 8 bytes. */
export function readUint64(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4)
}

/** An unsigned safe integer as 8 bytes. */
export function uint64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  writeUint64(bytes, value, 0)
  return bytes
}

/** The cell of a record. */
export function encodeRecord(record: StoredRecord): Buffer {
  let headerBytes = fixedBytes
  for (const text of record.indexes) headerBytes += 2 + Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(headerBytes + record.value.length)
  bytes[0] = format
  bytes[1] = record.session === 0 ? 0 : ephemeralFlag
  bytes.writeUInt16BE(headerBytes, 2)
  writeUint64(bytes, record.version, 4)
  writeUint64(bytes, record.sequence, 12)
  writeUint64(bytes, record.creationSequence, 20)
  writeUint64(bytes, record.created, 28)
  writeUint64(bytes, record.modified, 36)
  writeUint64(bytes, record.session, 44)
  bytes.writeUInt16BE(record.indexes.length / 2, 52)
  let at = fixedBytes
  for (const text of record.indexes) {
    const length = bytes.write(text, at + 2)
    bytes.writeUInt16BE(length, at)
    at += 2 + length
  }
  record.value.copy(bytes, headerBytes)
  return bytes
}

/** The record of a cell. `ERR_METADATA_STORE_FAILURE` for bytes that are none. */
export function decodeRecord(bytes: Buffer): StoredRecord {
  if (bytes.length < fixedBytes || bytes[0] !== format) throw unreadable()
  const headerBytes = bytes.readUInt16BE(2)
  if (headerBytes < fixedBytes || headerBytes > bytes.length) throw unreadable()
  const texts = bytes.readUInt16BE(52) * 2
  const indexes = texts === 0 ? noIndexes : readTexts(bytes, texts, headerBytes)
  return {
    version: readUint64(bytes, 4),
    sequence: readUint64(bytes, 12),
    creationSequence: readUint64(bytes, 20),
    created: readUint64(bytes, 28),
    modified: readUint64(bytes, 36),
    session: readUint64(bytes, 44),
    indexes,
    value: bytes.subarray(headerBytes),
  }
}

function readTexts(bytes: Buffer, count: number, end: number): string[] {
  const texts: string[] = []
  let at = fixedBytes
  for (let i = 0; i < count; i++) {
    if (at + 2 > end) throw unreadable()
    const length = bytes.readUInt16BE(at)
    at += 2
    if (at + length > end) throw unreadable()
    texts.push(bytes.toString('utf8', at, at + length))
    at += length
  }
  return texts
}

function unreadable(): MetadataStoreError {
  return new MetadataStoreError(MetadataErrorCode.storeFailure, 'a stored record is damaged')
}

/** What a handle with a session sees of a record. */
export function statOf(path: string, record: StoredRecord, session: number): Stat {
  return {
    path,
    version: record.version,
    creationTimestamp: record.created,
    modificationTimestamp: record.modified,
    ephemeral: record.session !== 0,
    createdBySelf: record.session !== 0 && record.session === session,
    firstVersion: record.version === 0,
    sequence: record.sequence,
    creationSequence: record.creationSequence,
  }
}
