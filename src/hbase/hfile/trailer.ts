/**
 * The trailer: the last 4,096 bytes of a file. It has no checksum, so every field is compared with
 * what the file holds, and unknown fields and bytes after the message are refused.
 */
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import { hbaseNames, type CompressionName } from './compression.js'
import { BlockKind, comparatorName, comparatorNames, trailerBytes, versionWord } from './format.js'
import { delimited, encodeMessage, ProtoReader, type ProtoField } from './bytes/proto.js'

/** The content of a trailer. Sizes and offsets in bytes. */
export interface Trailer {
  readonly fileInfoOffset: number
  readonly loadOnOpenOffset: number
  /** Payloads of the blocks of the data index, uncompressed. */
  readonly dataIndexBytes: number
  /** The trailer, and uncompressed all blocks but those of the data index above its leaves. */
  readonly uncompressedBytes: number
  readonly rootEntries: number
  readonly metaEntries: number
  readonly cells: number
  readonly indexLevels: number
  readonly firstDataOffset: number
  readonly lastDataOffset: number
  readonly compression: CompressionName
}

const comparatorField = 11
const compressionField = 12
const encryptionField = 13

/** Fields of numbers by their number in the message, in order. */
const numberFields = [
  'fileInfoOffset',
  'loadOnOpenOffset',
  'dataIndexBytes',
  'uncompressedBytes',
  'rootEntries',
  'metaEntries',
  'cells',
  'indexLevels',
  'firstDataOffset',
  'lastDataOffset',
] as const satisfies readonly (keyof Trailer)[]

/** Encodes a trailer. */
export function encodeTrailer(trailer: Trailer): Buffer {
  const fields = numberFields.map((name, i): ProtoField => [i + 1, trailer[name]])
  const message = encodeMessage([
    ...fields,
    [comparatorField, Buffer.from(comparatorName)],
    [compressionField, hbaseNames.indexOf(trailer.compression)],
  ])
  const bytes = Buffer.alloc(trailerBytes)
  bytes.write(BlockKind.trailer, 0, 'latin1')
  delimited(message).copy(bytes, 8)
  bytes.writeInt32BE(versionWord, trailerBytes - 4)
  return bytes
}

/**
 * Decodes a trailer, which lies at `offset` of the file `path`. `ERR_CORRUPTION`;
 * `ERR_FORMAT_VERSION`; `ERR_UNSUPPORTED` for encryption, other compressions and other orders.
 */
export function decodeTrailer(bytes: Buffer, path: string, offset: number): Trailer {
  const damaged = (expected: string, found: string): CellarError => {
    return corruption('damaged HFile', { file: path, offset, expected, found })
  }
  if (bytes.toString('latin1', 0, 8) !== BlockKind.trailer) {
    throw damaged('the trailer of an HFile', 'something else')
  }
  const version = bytes.readInt32BE(trailerBytes - 4)
  if (version !== versionWord) {
    const text = `${version & 0xff_ffff}.${version >>> 24}`
    const message = `${path} is an HFile of version ${text}; version 3.3 is read`
    throw new CellarError(ErrorCode.formatVersion, message)
  }
  const fields = readFields(bytes, damaged)
  const number = (field: number): number => {
    const value = fields.get(field)
    if (typeof value === 'number') return value
    throw damaged(`a number in field ${field}`, value === undefined ? 'none' : 'bytes')
  }
  if (fields.has(encryptionField)) throw unsupported(path, 'is encrypted')
  const comparator = String(fields.get(comparatorField) ?? 'none')
  if (!comparatorNames.includes(comparator)) {
    throw unsupported(path, `has the order ${JSON.stringify(comparator)}`)
  }
  const ordinal = number(compressionField)
  const name: string | undefined = hbaseNames[ordinal]
  if (name === undefined) throw damaged('a compression', `number ${ordinal}`)
  if (name !== 'NONE' && name !== 'GZ' && name !== 'LZ4') {
    throw unsupported(path, `has the compression ${name}: compact it with NONE, GZ or LZ4`)
  }
  const numbers = numberFields.map((field, i) => [field, number(i + 1)])
  return { ...(Object.fromEntries(numbers) as unknown as Trailer), compression: name }
}

function readFields(
  bytes: Buffer,
  damaged: (expected: string, found: string) => CellarError,
): Map<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>()
  const end = trailerBytes - 4
  const reader = new ProtoReader(bytes, 8, end, (found) => damaged('a message', found))
  for (const [field, value] of reader.message()) {
    if (field < 1 || field > encryptionField || fields.has(field)) {
      throw damaged('each field of a trailer once', `field ${field}`)
    }
    fields.set(field, value)
  }
  if (bytes.subarray(reader.at, end).some((byte) => byte !== 0)) {
    throw damaged('zeros behind the fields', 'something else')
  }
  return fields
}

/** Makes an `ERR_UNSUPPORTED` about a file that is not damaged. */
export function unsupported(path: string, what: string): CellarError {
  return new CellarError(ErrorCode.unsupported, `${path} ${what}`)
}
