/**
 * The state of a blob outside its record: one row of the blob table. It is written before the first
 * byte of the blob and removed after the last one. So every stored byte has a row that leads to it.
 */
import { ByteReader } from '../../bytes/byte-reader.js'
import { ByteWriter } from '../../bytes/byte-writer.js'

/**
 * `open`: bytes are being written; `free`: in no record; `used`: in a record; `dead`: to be
 * removed.
 */
export type BlobStateKind = 'open' | 'free' | 'used' | 'dead'

const kinds: readonly BlobStateKind[] = ['open', 'free', 'used', 'dead']

/** The field of a record that holds a blob. */
export interface BlobOwner {
  /** Repository `/` table. */
  readonly table: string
  /** Bytes of the id. */
  readonly record: Buffer
  /** Number of the field type. */
  readonly field: number
}

/** State of a blob. */
export interface BlobState {
  /** Phase in the life of the blob. */
  readonly kind: BlobStateKind
  /** Start of the state in milliseconds. */
  readonly time: number
  /** Size in bytes; 0 while it is open. */
  readonly size: number
  /** SHA-256 of the bytes; empty while it is open. */
  readonly checksum: Buffer
  /** Occurrences of the blob in the stored versions of the owner; 0 unless it is used. */
  readonly references: number
  /** The field that holds the blob; undefined unless it is used. */
  readonly owner: BlobOwner | undefined
}

/** The column of a state. */
export const stateColumn = 'b:s'
/** The family of the tables of blobs. */
export const blobFamily = 'b'

/** Encodes a state. */
export function encodeState(state: BlobState): Buffer {
  const writer = new ByteWriter(128)
  writer.byte(kinds.indexOf(state.kind))
  writer.varint(state.time)
  writer.varint(state.size)
  writer.bytes(state.checksum)
  writer.varint(state.references)
  if (state.owner !== undefined) {
    writer.text(state.owner.table)
    writer.bytes(state.owner.record)
    writer.varint(state.owner.field)
  }
  return writer.finish()
}

/** Decodes the state of a blob. `ERR_CORRUPTION` names the key of the blob. */
export function decodeState(bytes: Buffer, key: Buffer): BlobState {
  const reader = new ByteReader(bytes, `the state of the blob ${key.toString('hex')}`)
  const kind = kinds.at(reader.byte())
  if (kind === undefined) throw reader.failure('there is no such kind')
  const [time, size, checksum, references] = [
    reader.varint(),
    reader.varint(),
    reader.bytes(),
    reader.varint(),
  ]
  const owner = reader.isAtEnd
    ? undefined
    : { table: reader.text(), record: reader.bytes(), field: reader.varint() }
  reader.finish()
  return { kind, time, size, checksum, references, owner }
}
