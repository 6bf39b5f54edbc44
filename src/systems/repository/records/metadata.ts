/** Metadata of fields: typed values by key, beside the value of the field. */
import { isText, shown, type CellarError } from '../../../api/index.js'
import { ByteReader } from '../../bytes/byte-reader.js'
import { ByteWriter } from '../../bytes/byte-writer.js'
import { invalidRecord } from '../errors.js'
import { isBytes, isTime } from '../value-kinds.js'

/** A value of metadata. Whole numbers of 64 bits are bigints. */
export type MetadataValue = string | number | bigint | boolean | Uint8Array | Date

/** Metadata of one field, by key. */
export type Metadata = Readonly<Record<string, MetadataValue>>

const tags = { string: 1, number: 2, bigint: 3, boolean: 4, bytes: 5, date: 6 } as const
const keyBytesMax = 1024

/** Applies deletes and changes to stored metadata; undefined if nothing remains. */
export function mergeMetadata(
  stored: Buffer | undefined,
  changes: Metadata | undefined,
  deletes: readonly string[] | undefined,
): Buffer | undefined {
  if (changes === undefined && deletes === undefined) return stored
  const merged = new Map(Object.entries(stored === undefined ? {} : decodeMetadata(stored)))
  for (const key of deletes ?? []) merged.delete(key)
  for (const [key, value] of Object.entries(changes ?? {})) merged.set(key, value)
  return merged.size === 0 ? undefined : encodeMetadata(merged)
}

/** Encodes metadata, with sorted keys. `ERR_INVALID_RECORD`. */
export function encodeMetadata(metadata: ReadonlyMap<string, MetadataValue>): Buffer {
  const writer = new ByteWriter()
  writer.varint(metadata.size)
  for (const key of [...metadata.keys()].sort()) {
    if (key === '' || key.length > keyBytesMax || !isText(key)) {
      throw invalidRecord(`${shown(key)} is no key of metadata`)
    }
    writer.text(key)
    writeValue(writer, metadata.get(key)!, key)
  }
  return writer.finish()
}

function writeValue(writer: ByteWriter, value: MetadataValue, key: string): void {
  if (isText(value)) {
    writer.byte(tags.string)
    writer.text(value)
  } else if (typeof value === 'number') {
    writer.byte(tags.number)
    writer.double(value)
  } else if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) {
    writer.byte(tags.bigint)
    writer.int64(value)
  } else if (typeof value === 'boolean') {
    writer.byte(tags.boolean)
    writer.byte(value ? 1 : 0)
  } else if (isBytes(value)) {
    writer.byte(tags.bytes)
    writer.bytes(value)
  } else if (isTime(value)) {
    writer.byte(tags.date)
    writer.int64(BigInt(value.getTime()))
  } else {
    throw unfitMetadata(key)
  }
}

/** Makes the error for a value that metadata cannot hold. */
export function unfitMetadata(key: string): CellarError {
  return invalidRecord(`metadata '${key}' is text, number, bigint, boolean, bytes or a Date`)
}

/** Decodes metadata. `ERR_CORRUPTION`. */
export function decodeMetadata(bytes: Buffer): Metadata {
  const reader = new ByteReader(bytes, 'metadata')
  const metadata: Record<string, MetadataValue> = {}
  for (let left = reader.count(); left > 0; left--) {
    const key = reader.text()
    // Defined as an own property, also for inherited names such as `__proto__`.
    Object.defineProperty(metadata, key, {
      value: readValue(reader),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  reader.finish()
  return metadata
}

function readValue(reader: ByteReader): MetadataValue {
  const tag = reader.byte()
  if (tag === tags.string) return reader.text()
  if (tag === tags.number) return reader.double()
  if (tag === tags.bigint) return reader.int64()
  if (tag === tags.boolean) return reader.byte() === 1
  if (tag === tags.bytes) return Buffer.from(reader.bytes())
  if (tag === tags.date) return new Date(Number(reader.int64()))
  throw reader.failure(`there is no kind ${tag}`)
}
