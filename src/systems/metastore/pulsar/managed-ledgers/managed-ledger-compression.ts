/**
 * The compressed form of ManagedLedger's records (`managedLedgerInfoCompressionType` of a broker):
 *
 *     0   magic, 0x4778; no protobuf message begins with these bytes
 *     2   length of the header, 4 bytes
 *     6   the header, a protobuf message: compression type and uncompressed length
 *         followed by the compressed record
 *
 * Numbers are big endian. Node has no LZ4 and no Snappy, and has Zstandard from version 22.15.
 */
import zlib from 'node:zlib'
import { shown } from '../../../../api/index.js'
import { fromBinary, toBinary } from '../../records/binary-form.js'
import { messageType, required } from '../../records/message-type.js'
import { metadataError } from '../../metadata/errors.js'

/** The compression of records. */
export type ManagedLedgerCompression = 'NONE' | 'ZLIB' | 'ZSTD'

interface Header {
  compressionType: number
  uncompressedSize: number
}

const header = messageType<Header>('ManagedLedgerInfoMetadata', [
  required(1, 'compressionType', 'int32'),
  required(2, 'uncompressedSize', 'int32'),
])

const magic = 0x4778
const startBytes = 6
/** Compression types by number in Pulsar's enumeration. */
const types = ['NONE', 'LZ4', 'ZLIB', 'ZSTD', 'SNAPPY'] as const
/** Longest record that is decompressed: a broker's limit of a protocol message. */
const recordBytesMax = 256 * 1024 * 1024

interface Codec {
  compress(bytes: Buffer): Buffer
  decompress(bytes: Buffer, options: zlib.ZlibOptions): Buffer
}

const zlibCodec: Codec = {
  compress: (bytes) => zlib.deflateSync(bytes),
  decompress: (bytes, options) => zlib.inflateSync(bytes, options),
}

function codecOf(type: string): Codec {
  if (type === 'ZLIB') return zlibCodec
  const { zstdCompressSync: compress, zstdDecompressSync: decompress } = zlib as typeof zlib & {
    readonly zstdCompressSync?: Codec['compress']
    readonly zstdDecompressSync?: Codec['decompress']
  }
  const isThere = type === 'ZSTD' && compress !== undefined && decompress !== undefined
  if (!isThere)
    throw metadataError('unsupported', `metadata of managed ledgers compressed by ${type}`)
  return { compress, decompress }
}

/**
 * `ERR_METADATA_INVALID_ARGUMENT` for an unknown type, `ERR_METADATA_UNSUPPORTED` for LZ4 and
 * Snappy.
 */
export function checkCompression(type: ManagedLedgerCompression): void {
  if (type === 'NONE') return
  if (!types.includes(type))
    throw metadataError('invalidArgument', `there is no compression ${shown(type)}`)
  codecOf(type)
}

/** Encodes a record in its stored form. */
export function compressed(record: Buffer, type: ManagedLedgerCompression): Buffer {
  if (type === 'NONE') return record
  const head = toBinary(header, {
    compressionType: types.indexOf(type),
    uncompressedSize: record.length,
  })
  const start = Buffer.allocUnsafe(startBytes)
  start.writeUInt16BE(magic, 0)
  start.writeUInt32BE(head.length, 2)
  return Buffer.concat([start, head, codecOf(type).compress(record)])
}

/** Decodes the stored form of a record, compressed or not. Throws for damaged bytes. */
export function decompressed(bytes: Buffer): Buffer {
  if (bytes.length < startBytes || bytes.readUInt16BE(0) !== magic) return bytes
  const end = startBytes + bytes.readUInt32BE(2)
  if (end > bytes.length) throw new RangeError('the header of a compressed record is cut short')
  const { compressionType, uncompressedSize } = fromBinary(header, bytes.subarray(startBytes, end))
  const body = bytes.subarray(end)
  if (compressionType === 0) return body
  if (uncompressedSize < 0 || uncompressedSize > recordBytesMax) {
    throw new RangeError(`a compressed record of ${uncompressedSize} bytes`)
  }
  const codec = codecOf(types[compressionType] ?? String(compressionType))
  const record = codec.decompress(body, { maxOutputLength: Math.max(1, uncompressedSize) })
  if (record.length !== uncompressedSize) throw new RangeError('a compressed record is cut short')
  return record
}
