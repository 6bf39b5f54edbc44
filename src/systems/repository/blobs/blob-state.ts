/**
 * The state of a blob outside records: a row of the table of blobs, written before its first byte
 * and removed after its last one. So no byte of a blob is ever without a row that leads to it.
 */
import { ByteReader } from '../byte-reader.js'
import { ByteWriter } from '../byte-writer.js'

/** `open`: its bytes are being written. `free`: no record has it. `used`. `dead`: to be removed. */
export type BlobStateKind = 'open' | 'free' | 'used' | 'dead'

const kinds: readonly BlobStateKind[] = ['open', 'free', 'used', 'dead']

/** The record table, record and field that have a blob. */
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
  /** Where in its life the blob is. */
  readonly kind: BlobStateKind
  /** When the state began, in milliseconds. */
  readonly time: number
  /** Bytes; 0 while it is open. */
  readonly size: number
  /** SHA-256 of the bytes; empty while it is open. */
  readonly checksum: Buffer
  /** How often the stored versions of the owner have it; 0 unless it is used. */
  readonly references: number
  /** Who has the blob; undefined unless it is used. */
  readonly owner: BlobOwner | undefined
}

/** The column of a state. */
export const stateColumn = 'b:s'
/** The family of the tables of blobs. */
export const blobFamily = 'b'

/** The bytes of a state. */
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

/** The state of its bytes. `ERR_CORRUPTION`. */
export function decodeState(bytes: Buffer): BlobState {
  const reader = new ByteReader(bytes, 'the state of a blob')
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
