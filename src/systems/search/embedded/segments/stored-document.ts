/** The encoding of a document in a block of stored documents. */
import { ByteReader } from '../../../bytes/byte-reader.js'
import { ByteWriter } from '../../../bytes/byte-writer.js'
import type { SearchDocument } from '../../search-backend.js'

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

/** Decodes {@link encodeDocument}. `ERR_CORRUPTION`. */
export function decodeDocument(bytes: Buffer): SearchDocument {
  const reader = new ByteReader(bytes, 'a stored document')
  const key = reader.text()
  const fields: Record<string, string[]> = {}
  for (let left = reader.count(); left > 0; left--) {
    const name = reader.text()
    const values: string[] = []
    for (let more = reader.count(); more > 0; more--) values.push(reader.text())
    // Defines the property, because a field may have the name __proto__.
    Object.defineProperty(fields, name, {
      value: values,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  reader.finish()
  return { key, fields }
}

/** Decodes only the key of a stored document. `ERR_CORRUPTION`. */
export function decodeDocumentKey(bytes: Buffer): string {
  return new ByteReader(bytes, 'a stored document').text()
}
