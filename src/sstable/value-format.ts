/**
 * Numbers and footer of value files, which hold large values apart from the SSTables whose cells
 * refer to them. See FORMAT.md, "Value file".
 *
 * Everything here stands on disk: never change a value, add a format version instead.
 */
import { readUint64LE, writeUint64LE } from '../base/bytes.js'
import { CellarError, ErrorCode } from '../base/errors.js'
import { placeSeed, xxh64 } from '../codec/checksum.js'
import { checkDatabaseId } from './footer.js'
import { damaged, type SectionFile } from './section.js'

const valueFormatVersion = 2
const valueMagic = Buffer.from('CellarVL', 'latin1')
/** Bytes of the footer. Never change. */
export const valueFooterBytes = 64
/** Bytes under the footer's checksum. */
const coveredBytes = 40
/** Where the identity of the database stands. */
const databaseIdAt = 24

/** What the footer of a value file tells. */
export interface ValueFooter {
  /** Bytes of the values, trailers included; they come first. */
  readonly dataBytes: number
  readonly valueCount: number
  /** Stored bytes of the index, which follows. */
  readonly indexBytes: number
}

/** Makes the footer that will stand at `offset` of file `fileNumber`. */
export function encodeValueFooter(
  footer: ValueFooter,
  databaseId: Buffer,
  fileNumber: number,
  offset: number,
): Buffer {
  const target = Buffer.alloc(valueFooterBytes)
  writeUint64LE(target, 0, footer.dataBytes)
  target.writeUInt32LE(footer.valueCount, 8)
  target.writeUInt32LE(footer.indexBytes, 12)
  writeUint64LE(target, 16, fileNumber)
  target.set(databaseId, databaseIdAt)
  const checksum = xxh64(target.subarray(0, coveredBytes), placeSeed(fileNumber, offset))
  target.writeBigUInt64LE(checksum, coveredBytes)
  target.writeUInt32LE(valueFormatVersion, 48)
  target.writeUInt32LE(~valueFormatVersion >>> 0, 52)
  valueMagic.copy(target, 56)
  return target
}

/**
 * Reads the footer of a file of `fileBytes`. Throws `ERR_FORMAT_VERSION` for a file of another
 * version, else `ERR_CORRUPTION`, also if the file belongs to another database than `databaseId`.
 */
export function decodeValueFooter(
  source: Buffer,
  databaseId: Buffer,
  file: SectionFile,
  fileBytes: number,
): ValueFooter {
  const offset = fileBytes - valueFooterBytes
  if (!source.subarray(56).equals(valueMagic)) {
    throw damaged(file, offset + 56, 'the magic number', source.subarray(56).toString('hex'))
  }
  const version = source.readUInt32LE(48)
  if (version === 0 || source.readUInt32LE(52) !== ~version >>> 0) {
    throw damaged(file, offset + 48, 'a format version and its complement', `${version}`)
  }
  if (version !== valueFormatVersion) {
    const known = `this Cellar reads ${valueFormatVersion}`
    const message = `${file.path} has format version ${version}, ${known}`
    throw new CellarError(ErrorCode.formatVersion, message)
  }
  const checksum = xxh64(source.subarray(0, coveredBytes), placeSeed(file.fileNumber, offset))
  const stored = source.readBigUInt64LE(coveredBytes)
  if (checksum !== stored) {
    const found = `${stored.toString(16)} (file number ${readUint64LE(source, 16)})`
    throw damaged(file, offset, `footer checksum ${checksum.toString(16)}`, found)
  }
  checkDatabaseId(source, databaseIdAt, databaseId, file, offset)
  const footer = {
    dataBytes: readUint64LE(source, 0),
    valueCount: source.readUInt32LE(8),
    indexBytes: source.readUInt32LE(12),
  }
  const total = footer.dataBytes + footer.indexBytes + valueFooterBytes
  if (total !== fileBytes) throw damaged(file, offset, `parts of ${fileBytes} bytes`, `${total}`)
  return footer
}
