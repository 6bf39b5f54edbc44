/** The header of a segment: its fields, and the first key of each block. */
import { ByteReader } from '../../../bytes/byte-reader.js'
import { ByteWriter } from '../../../bytes/byte-writer.js'
import { fieldKindNames, type FieldKind } from '../../field-kinds.js'

const format = 1

/** A field of a segment. Its index in the header is its number. */
export interface SegmentField {
  readonly name: string
  readonly kind: FieldKind
  /** Number of documents that have the field. */
  readonly docs: number
  /** Number of words over all documents; 0 for kinds other than `text`. */
  readonly words: number
}

/** The metadata of a segment: fields and block boundaries. */
export interface SegmentHeader {
  readonly docs: number
  /** Sorted by name. */
  readonly fields: readonly SegmentField[]
  /** First key of each term block: the field number in two bytes, then the term. */
  readonly termBlocks: readonly string[]
  /** First document of each block of stored documents. */
  readonly storedBlocks: readonly number[]
}

/** The key of a term within a segment: the field number in two bytes, then the term. */
export function termKey(field: number, term: string): string {
  return String.fromCharCode(field >>> 8, field & 0xff) + term
}

/** The bytes of a header. */
export function encodeHeader(header: SegmentHeader): Buffer {
  const writer = new ByteWriter()
  writer.byte(format)
  writer.varint(header.docs)
  writer.varint(header.fields.length)
  for (const { name, kind, docs, words } of header.fields) {
    writer.text(name)
    writer.byte(fieldKindNames.indexOf(kind))
    writer.varint(docs)
    writer.varint(words)
  }
  writer.varint(header.termBlocks.length)
  for (const key of header.termBlocks) writer.bytes(Buffer.from(key, 'latin1'))
  writer.varint(header.storedBlocks.length)
  let last = 0
  for (const first of header.storedBlocks) {
    writer.varint(first - last)
    last = first
  }
  return writer.finish()
}

/** Decodes {@link encodeHeader}. `ERR_CORRUPTION`. */
export function decodeHeader(bytes: Buffer, segment: number): SegmentHeader {
  const reader = new ByteReader(bytes, `the header of the search segment ${segment}`)
  if (reader.byte() !== format) throw reader.failure('the format is not known')
  const docs = reader.varint()
  const fields: SegmentField[] = []
  for (let left = reader.count(); left > 0; left--) {
    const name = reader.text()
    const kind = fieldKindNames[reader.byte()]
    if (kind === undefined) throw reader.failure('there is no such kind of field')
    fields.push({ name, kind, docs: reader.varint(), words: reader.varint() })
  }
  const termBlocks: string[] = []
  for (let left = reader.count(); left > 0; left--) {
    termBlocks.push(reader.bytes().toString('latin1'))
  }
  const storedBlocks: number[] = []
  let last = 0
  for (let left = reader.count(); left > 0; left--) {
    last += reader.varint()
    storedBlocks.push(last)
  }
  reader.finish()
  return { docs, fields, termBlocks, storedBlocks }
}
