/**
 * The stored form of a record: a header and the payload in one cell.
 *
 *     0   format, 1
 *     1   flags: 1 = ephemeral
 *     2   length of the header, 2 bytes; readers skip unknown fields at its end
 *     4   version, sequence, creation sequence, created, modified: 8 bytes each
 *     44  session, 8 bytes; 0 if the record is persistent
 *     52  number of index entries, 2 bytes; each: name, then key, as length (2 bytes) and UTF-8
 *
 * All numbers are big endian. Sequences and times are safe integers.
 */
import type { CellarError } from '../../../../api/index.js'
import { readUint64, writeUint64 } from '../../kernel/numbers.js'
import { metadataError } from '../../metadata/errors.js'
import type { Stat } from '../../metadata/types.js'

const format = 1
const fixedBytes = 54
const ephemeralFlag = 1

/** No index entries. */
export const noIndexes: readonly string[] = Object.freeze([])

/** The metadata of a record. */
export interface RecordHeader {
  readonly version: number
  readonly sequence: number
  readonly creationSequence: number
  readonly created: number
  readonly modified: number
  /** The session that owns an ephemeral record; 0 = persistent. */
  readonly session: number
  /** Alternating names and keys of index entries. */
  readonly indexes: readonly string[]
}

/**
 * A record in its stored form, with the fields that writes need decoded. Immutable. Each waiting
 * write keeps one such object until its commit is durable, so other fields are decoded on access.
 */
export class StoredRecord implements RecordHeader {
  /** The stored form. */
  readonly cell: Buffer
  readonly version: number
  readonly sequence: number
  readonly creationSequence: number
  readonly session: number
  readonly indexes: readonly string[]

  constructor(
    cell: Buffer,
    version: number,
    sequence: number,
    creationSequence: number,
    session: number,
    indexes: readonly string[],
  ) {
    this.cell = cell
    this.version = version
    this.sequence = sequence
    this.creationSequence = creationSequence
    this.session = session
    this.indexes = indexes
  }

  get created(): number {
    return readUint64(this.cell, 28)
  }

  get modified(): number {
    return readUint64(this.cell, 36)
  }

  /** The value, as a view of the cell. */
  get value(): Buffer {
    return this.cell.subarray(this.cell.readUInt16BE(2))
  }
}

/** Copies a value into a cell, after space for a header without index entries. */
export function cellOfValue(value: string | Uint8Array): Buffer {
  if (typeof value === 'string') {
    const cell = Buffer.allocUnsafe(fixedBytes + Buffer.byteLength(value))
    cell.write(value, fixedBytes)
    return cell
  }
  const cell = Buffer.allocUnsafe(fixedBytes + value.length)
  cell.set(value, fixedBytes)
  return cell
}

/**
 * Encodes a header before a value. `cell` comes from {@link cellOfValue}. It becomes the cell of
 * the record unless there are index entries, which need a longer header.
 */
export function recordWith(header: RecordHeader, cell: Buffer): StoredRecord {
  const { version, sequence, creationSequence, session, indexes } = header
  let bytes = cell
  let headerBytes = fixedBytes
  if (indexes.length > 0) {
    for (const text of indexes) headerBytes += 2 + Buffer.byteLength(text)
    bytes = Buffer.allocUnsafe(headerBytes + cell.length - fixedBytes)
    cell.copy(bytes, headerBytes, fixedBytes)
  }
  bytes[0] = format
  bytes[1] = session === 0 ? 0 : ephemeralFlag
  bytes.writeUInt16BE(headerBytes, 2)
  writeUint64(bytes, version, 4)
  writeUint64(bytes, sequence, 12)
  writeUint64(bytes, creationSequence, 20)
  writeUint64(bytes, header.created, 28)
  writeUint64(bytes, header.modified, 36)
  writeUint64(bytes, session, 44)
  bytes.writeUInt16BE(indexes.length / 2, 52)
  let at = fixedBytes
  for (const text of indexes) {
    const length = bytes.write(text, at + 2)
    bytes.writeUInt16BE(length, at)
    at += 2 + length
  }
  return new StoredRecord(bytes, version, sequence, creationSequence, session, indexes)
}

/** Decodes a cell. `ERR_METADATA_STORE_FAILURE` for damaged bytes. */
export function decodeRecord(cell: Buffer): StoredRecord {
  if (cell.length < fixedBytes || cell[0] !== format) throw unreadable()
  const headerBytes = cell.readUInt16BE(2)
  if (headerBytes < fixedBytes || headerBytes > cell.length) throw unreadable()
  const texts = cell.readUInt16BE(52) * 2
  const indexes = texts === 0 ? noIndexes : readTexts(cell, texts, headerBytes)
  const session = readUint64(cell, 44)
  const [version, sequence] = [readUint64(cell, 4), readUint64(cell, 12)]
  return new StoredRecord(cell, version, sequence, readUint64(cell, 20), session, indexes)
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

function unreadable(): CellarError {
  return metadataError('storeFailure', 'a stored record is damaged')
}

/** A record with its path. */
export interface PlacedRecord {
  readonly path: string
  readonly record: StoredRecord
}

/** The stat of a record for the handle with a given session. */
export function statOf({ path, record }: PlacedRecord, session: number): Stat {
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
