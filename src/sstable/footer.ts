/**
 * The footer: fixed size, at the end of the file. It tells the lengths of the sections before it;
 * they lie without gaps, so lengths are places. See FORMAT.md, "Footer".
 *
 * The last sixteen bytes are the same in every format version: version, its complement, magic. The
 * complement keeps a flipped bit from looking like a newer version.
 */
import { readUint64LE, writeUint64LE } from '../base/bytes.js'
import { CellarError, corruption, ErrorCode } from '../base/errors.js'
import { placeSeed, xxh64 } from '../codec/checksum.js'
import {
  databaseIdBytes,
  fileMagic,
  footerBytes,
  footerTailBytes,
  formatVersion,
  noDatabaseId,
  sectionBytesMax,
} from './format.js'
import { damaged } from './section.js'
import type { SectionFile } from './section.js'

/** Lengths of the sections in file order, trailers included. */
export interface Footer {
  readonly dataBytes: number
  /** 0 if the table has no filter. */
  readonly filterBytes: number
  readonly indexBytes: number
  readonly propertiesBytes: number
}

/** Bytes under the footer's checksum. */
const coveredBytes = 48
/** Where the identity of the database stands. */
const databaseIdAt = 32

/** Makes the footer that will stand at `offset` of file `fileNumber`. */
export function encodeFooter(
  footer: Footer,
  databaseId: Buffer,
  fileNumber: number,
  offset: number,
): Buffer {
  const target = Buffer.alloc(footerBytes)
  writeUint64LE(target, 0, footer.dataBytes)
  target.writeUInt32LE(footer.filterBytes, 8)
  target.writeUInt32LE(footer.indexBytes, 12)
  target.writeUInt32LE(footer.propertiesBytes, 16)
  writeUint64LE(target, 24, fileNumber)
  target.set(databaseId, databaseIdAt)
  const checksum = xxh64(target.subarray(0, coveredBytes), placeSeed(fileNumber, offset))
  target.writeBigUInt64LE(checksum, coveredBytes)
  target.writeUInt32LE(formatVersion, 56)
  target.writeUInt32LE(~formatVersion >>> 0, 60)
  fileMagic.copy(target, 64)
  return target
}

/**
 * Checks the part of the footer that all versions share. `tail` holds the last `footerTailBytes` of
 * a file of `fileBytes`. Throws `ERR_FORMAT_VERSION` for a file of another version, else
 * `ERR_CORRUPTION`.
 */
export function checkFooterTail(tail: Buffer, file: SectionFile, fileBytes: number): void {
  const offset = fileBytes - footerTailBytes
  if (!tail.subarray(8).equals(fileMagic)) {
    throw damaged(file, offset + 8, 'the magic number', tail.subarray(8).toString('hex'))
  }
  const version = tail.readUInt32LE(0)
  const complement = tail.readUInt32LE(4)
  if (complement !== ~version >>> 0 || version === 0) {
    throw damaged(file, offset, 'a format version and its complement', `${version}, ${complement}`)
  }
  if (version !== formatVersion) {
    const message = `${file.path} has format version ${version}, this Cellar reads ${formatVersion}`
    throw new CellarError(ErrorCode.formatVersion, message)
  }
}

/**
 * Reads the footer of a file of `fileBytes`, whose tail was checked. Throws `ERR_CORRUPTION`, also
 * if the file belongs to another database than `databaseId`.
 */
export function decodeFooter(
  source: Buffer,
  databaseId: Buffer,
  file: SectionFile,
  fileBytes: number,
): Footer {
  const offset = fileBytes - footerBytes
  const checksum = xxh64(source.subarray(0, coveredBytes), placeSeed(file.fileNumber, offset))
  const stored = source.readBigUInt64LE(coveredBytes)
  if (checksum !== stored) {
    const fileNumber = readUint64LE(source, 24)
    const found = `${stored.toString(16)} (file number ${fileNumber})`
    const expected = `footer checksum ${checksum.toString(16)} (file number ${file.fileNumber})`
    throw damaged(file, offset, expected, found)
  }
  const fileNumber = readUint64LE(source, 24)
  const reserved = source.readUInt32LE(20)
  if (fileNumber !== file.fileNumber || reserved !== 0) {
    const expected = `file number ${file.fileNumber}, reserved 0`
    throw damaged(file, offset, expected, `${fileNumber}, ${reserved}`)
  }
  checkDatabaseId(source, databaseIdAt, databaseId, file, offset)
  const footer = {
    dataBytes: readUint64LE(source, 0),
    filterBytes: source.readUInt32LE(8),
    indexBytes: source.readUInt32LE(12),
    propertiesBytes: source.readUInt32LE(16),
  }
  const { dataBytes, filterBytes, indexBytes, propertiesBytes } = footer
  const total = dataBytes + filterBytes + indexBytes + propertiesBytes + footerBytes
  if (total !== fileBytes) throw damaged(file, offset, `sections of ${fileBytes} bytes`, `${total}`)
  const longest = Math.max(filterBytes, indexBytes, propertiesBytes)
  if (longest > sectionBytesMax) {
    throw damaged(file, offset, `at most ${sectionBytesMax} bytes a section`, `${longest}`)
  }
  return footer
}

/** Throws `ERR_CORRUPTION` unless the footer at `offset` of a file has the identity at `at`. */
export function checkDatabaseId(
  footer: Buffer,
  at: number,
  databaseId: Buffer,
  file: SectionFile,
  offset: number,
): void {
  const found = footer.subarray(at, at + databaseIdBytes)
  if (found.equals(databaseId)) return
  throw corruption(`${file.fileKind ?? 'SSTable'} of another database`, {
    file: file.path,
    offset: offset + at,
    expected: nameOf(databaseId),
    found: nameOf(found),
  })
}

function nameOf(databaseId: Buffer): string {
  if (databaseId.equals(noDatabaseId)) return 'a file of BulkWriter, of no database'
  return `database ${databaseId.toString('hex')}`
}
