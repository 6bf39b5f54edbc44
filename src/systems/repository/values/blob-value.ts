/** The value of a `BLOB` field: the key of a blob and its description. */
import { isText } from '../../../api/index.js'
import { uint32 } from '../../bytes/byte-writer.js'
import { invalidRecord } from '../errors.js'
import { isBytes } from '../value-kinds.js'
import { valueType, type ValueTypeFactory } from './value-type.js'

/** A blob; made by an upload, then put into a field. */
export interface Blob {
  /** Locates the bytes; opaque to callers. */
  readonly key: Buffer
  /** Media type, such as `text/plain; charset=utf-8`. */
  readonly mediaType: string
  /** Size in bytes. */
  readonly size: number
  /** Name of the file, if any. */
  readonly name?: string | undefined
}

/** Name of the store whose keys are the content itself. */
export const inlineStore = 'INLINE'

/**
 * Makes the key of a blob: the key in the store, the name of the store, the length of that name.
 */
export function blobKey(store: string, key: Buffer): Buffer {
  const name = Buffer.from(store)
  return Buffer.concat([key, name, uint32(name.length)])
}

/** The suffix of the keys of inline blobs; the bytes of the blob precede it. */
const inlineEnd = blobKey(inlineStore, Buffer.alloc(0))

const keyBytesMax = 1 << 20

/** A media type is sent in a header, so line breaks must not occur in it. */
const mediaTypeForm = /^[\w.+-]+\/[\w.+-]+(;[\x20-\x7e]*)?$/

/** Whether a text is a media type. */
export function isMediaType(text: unknown): text is string {
  return typeof text === 'string' && mediaTypeForm.test(text)
}

/**
 * Reads each member of a blob once; undefined for other values. The size of a blob outside the
 * record is compared with its state at the commit.
 */
export function readBlob(value: unknown): Blob | undefined {
  const { key, mediaType, size, name } = (value ?? {}) as Partial<Record<keyof Blob, unknown>>
  const fits =
    isBytes(key) &&
    key.length <= keyBytesMax &&
    isMediaType(mediaType) &&
    Number.isSafeInteger(size) &&
    (size as number) >= 0 &&
    (name === undefined || isText(name)) &&
    // An inline blob has the declared size.
    (!inlineEnd.equals(key.subarray(-inlineEnd.length)) || key.length - inlineEnd.length === size)
  if (!fits) return undefined
  const described = { mediaType, size: size as number, ...(name === undefined ? {} : { name }) }
  return { key: Buffer.from(key.buffer, key.byteOffset, key.byteLength), ...described }
}

const blobType = valueType<Blob>('BLOB', {
  wanted: 'an object with key, mediaType, size and perhaps name',
  accept: readBlob,
  write: (writer, { key, mediaType, size, name }) => {
    writer.bytes(key)
    writer.text(mediaType)
    writer.varint(size)
    writer.byte(name === undefined ? 0 : 1)
    if (name !== undefined) writer.text(name)
  },
  read: (reader) => {
    const key = Buffer.from(reader.bytes())
    const mediaType = reader.text()
    const size = reader.varint()
    const hasName = reader.byte()
    if (hasName > 1) throw reader.failure(`${hasName} is no boolean`)
    const name = hasName === 1 ? reader.text() : undefined
    const blob = readBlob({ key, mediaType, size, name })
    if (blob === undefined) throw reader.failure('a blob has no such key, media type or size')
    return blob
  },
  toJson: ({ key, ...described }) => ({ value: key.toString('base64url'), ...described }),
  fromJson: (json) => {
    const { value, name, ...described } = (json ?? {}) as Record<string, unknown>
    if (typeof value !== 'string' || !/^[\w-]*$/.test(value)) {
      throw invalidRecord('the value of a blob in JSON is base64url')
    }
    const key = Buffer.from(value, 'base64url')
    return readBlob({ key, ...described, name: name ?? undefined })
  },
})

/** The value type `BLOB`. */
export const blobTypes: ValueTypeFactory = () => blobType
