/**
 * The encoding of the parts of a segment; `src/systems/search/FORMAT.md` describes the bytes.
 * Malformed bytes are `ERR_CORRUPTION`.
 */
import { ByteReader } from '../../../bytes/byte-reader.js'
import { ByteWriter } from '../../../bytes/byte-writer.js'
import { fieldKindNames, type FieldKind } from '../../field-kinds.js'
import type { SearchDocument } from '../../search-backend.js'

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
  /** First key of each term block: see {@link termKey}. */
  readonly termBlocks: readonly string[]
  /** First document of each block of stored documents. */
  readonly storedBlocks: readonly number[]
}

/** Maximum number of fields of an index: a {@link termKey} has two bytes for the number of one. */
export const fieldsMax = 65_536

/** The key of a term within a segment: the field number in two bytes, then the term. */
export function termKey(field: number, term: string): string {
  return String.fromCharCode(field >>> 8, field & 0xff) + term
}

/** The field number of a {@link termKey}. */
export function fieldOfKey(key: string): number {
  return (key.charCodeAt(0) << 8) | key.charCodeAt(1)
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

/** Decodes {@link encodeHeader}. */
export function decodeHeader(bytes: Buffer, segment: number): SegmentHeader {
  const reader = new ByteReader(bytes, `the header of the search segment ${segment}`)
  if (reader.byte() !== format) throw reader.failure('the format is not known')
  const docs = reader.varint()
  const fields: SegmentField[] = []
  for (let left = reader.count(); left > 0; left--) {
    const name = reader.text()
    const kind = fieldKindNames[reader.byte()]
    if (kind === undefined) throw reader.failure('there is no such kind of field')
    const last = fields.at(-1)
    if (last !== undefined && last.name >= name) throw reader.failure('fields have no order')
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

/** The documents of a term; numbers are ascending. */
export interface Postings<List extends ArrayLike<number> = ArrayLike<number>> {
  readonly docs: List
  /** Frequency of the term in each document; undefined: 1. */
  readonly counts: List | undefined
}

/** Reads documents and counts; `documents` is the number of documents in the segment. */
export function decodePostings(
  reader: ByteReader,
  docCount: number,
  hasPositions: boolean,
  documents: number,
): Postings<Int32Array> {
  const docs = new Int32Array(docCount)
  if (hasPositions) reader.varint()
  let counts: Int32Array | undefined
  let last = -1
  for (let i = 0; i < docCount; i++) {
    let distance = reader.varint()
    if (hasPositions) {
      const isOne = (distance & 1) === 1
      distance = Math.floor(distance / 2)
      if (!isOne) {
        counts ??= new Int32Array(docCount).fill(1)
        counts[i] = reader.varint()
      }
    }
    last += distance + 1
    if (last >= documents) throw reader.failure(`there is no document ${last}`)
    docs[i] = last
  }
  return { docs, counts }
}

/**
 * Writes the document numbers as distances. With positions, which only text has, the length of this
 * part precedes it, counts are included, and the positions follow, document by document.
 */
export function encodePostings(
  writer: ByteWriter,
  { docs, counts }: Postings,
  positions: ArrayLike<number> | undefined,
): void {
  const hasPositions = positions !== undefined
  const writeDocs = (): void => {
    let last = -1
    for (let i = 0; i < docs.length; i++) {
      const distance = docs[i] - last - 1
      last = docs[i]
      const count = counts?.[i] ?? 1
      if (!hasPositions) writer.varint(distance)
      else if (count === 1) writer.varint(distance * 2 + 1)
      else {
        writer.varint(distance * 2)
        writer.varint(count)
      }
    }
  }
  if (!hasPositions) {
    writeDocs()
    return
  }
  writer.nested(writeDocs)
  let at = 0
  for (let i = 0; i < docs.length; i++) {
    let last = 0
    for (let left = counts?.[i] ?? 1; left > 0; left--) {
      writer.varint(positions[at] - last)
      last = positions[at++]
    }
  }
}

/** Reads the positions that follow the documents read by {@link decodePostings}, to the end. */
export function decodePositions(reader: ByteReader, { docs, counts }: Postings): Int32Array {
  let total = docs.length
  if (counts !== undefined) {
    total = 0
    for (let i = 0; i < counts.length; i++) total += counts[i]
  }
  if (total > reader.left) throw reader.failure('there are too few positions')
  const positions = new Int32Array(total)
  let at = 0
  for (let i = 0; i < docs.length; i++) {
    let last = 0
    for (let left = counts === undefined ? 1 : counts[i]; left > 0; left--) {
      last += reader.varint()
      positions[at++] = last
    }
  }
  reader.finish()
  return positions
}

/** Encodes a document. */
export function encodeDocument(document: SearchDocument): Buffer {
  const writer = new ByteWriter()
  writer.text(document.key)
  const fields = Object.entries(document.fields)
  writer.varint(fields.length)
  for (const [name, values] of fields) {
    writer.text(name)
    writer.varint(values.length)
    for (const value of values) writer.text(value)
  }
  return writer.finish()
}

/** Decodes {@link encodeDocument}. */
export function decodeDocument(bytes: Buffer): SearchDocument {
  const reader = new ByteReader(bytes, 'a stored document')
  const key = reader.text()
  const fields: [string, string[]][] = []
  for (let left = reader.count(); left > 0; left--) {
    const name = reader.text()
    const values: string[] = []
    for (let more = reader.count(); more > 0; more--) values.push(reader.text())
    fields.push([name, values])
  }
  reader.finish()
  return { key, fields: Object.fromEntries(fields) }
}

/** Decodes only the key of a stored document. */
export function decodeDocumentKey(bytes: Buffer): string {
  return new ByteReader(bytes, 'a stored document').text()
}
