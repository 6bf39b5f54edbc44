/**
 * The common part of the footers of SSTables and value files. They end with file number, identity
 * of the database, checksum, version, complement of the version, magic number. See FORMAT.md,
 * "Footer" and "Value file".
 *
 * The last sixteen bytes are the same in every format version. The complement prevents that a
 * flipped bit looks like a newer version. The checksum is seeded with file number and offset.
 */
import { readUint64LE, writeUint64LE } from '../../base/bytes.js'
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import { placeSeed, xxh64 } from '../codec/checksum.js'
import { databaseIdBytes, footerTailBytes, noDatabaseId } from './format.js'
import { damaged, type SectionFile } from './blocks/section.js'

/** The constants that distinguish the footers of the two kinds of files. */
export interface FooterKind {
  readonly footerBytes: number
  readonly version: number
  readonly magic: Buffer
}

/** Bytes not covered by the checksum: checksum, version, complement, magic number. */
const uncoveredBytes = 8 + footerTailBytes

/**
 * Completes a footer for `offset` of file `fileNumber`. REQUIRES `target` of `kind.footerBytes`
 * with the kind's own fields.
 */
export function sealFooter(
  target: Buffer,
  kind: FooterKind,
  databaseId: Buffer,
  fileNumber: number,
  offset: number,
): void {
  const { footerBytes, version, magic } = kind
  const covered = footerBytes - uncoveredBytes
  const databaseIdAt = covered - databaseIdBytes
  writeUint64LE(target, databaseIdAt - 8, fileNumber)
  target.set(databaseId, databaseIdAt)
  const checksum = xxh64(target.subarray(0, covered), placeSeed(fileNumber, offset))
  target.writeBigUInt64LE(checksum, covered)
  const tailAt = footerBytes - footerTailBytes
  target.writeUInt32LE(version, tailAt)
  target.writeUInt32LE(~version >>> 0, tailAt + 4)
  magic.copy(target, tailAt + 8)
}

/**
 * Checks the part of the footer that is common to all versions. `tail` holds the last
 * `footerTailBytes` of a file of `fileBytes`. Throws `ERR_FORMAT_VERSION` for a file of another
 * version, else `ERR_CORRUPTION`.
 */
export function checkFooterTail(
  tail: Buffer,
  kind: FooterKind,
  file: SectionFile,
  fileBytes: number,
): void {
  const offset = fileBytes - footerTailBytes
  if (!tail.subarray(8).equals(kind.magic)) {
    throw damaged(file, offset + 8, 'the magic number', tail.subarray(8).toString('hex'))
  }
  const version = tail.readUInt32LE(0)
  const complement = tail.readUInt32LE(4)
  if (complement !== ~version >>> 0 || version === 0) {
    throw damaged(file, offset, 'a format version and its complement', `${version}, ${complement}`)
  }
  if (version !== kind.version) {
    const message = `${file.path} has format version ${version}, this Cellar reads ${kind.version}`
    throw new CellarError(ErrorCode.formatVersion, message)
  }
}

/**
 * Checks checksum, file number and identity of a footer. REQUIRES a checked tail. Throws
 * `ERR_CORRUPTION`, also if the file belongs to another database than `databaseId`.
 */
export function checkFooter(
  source: Buffer,
  kind: FooterKind,
  databaseId: Buffer,
  file: SectionFile,
  fileBytes: number,
): void {
  const offset = fileBytes - kind.footerBytes
  const covered = kind.footerBytes - uncoveredBytes
  const databaseIdAt = covered - databaseIdBytes
  const fileNumber = readUint64LE(source, databaseIdAt - 8)
  const checksum = xxh64(source.subarray(0, covered), placeSeed(file.writtenAs, offset))
  const stored = source.readBigUInt64LE(covered)
  if (checksum !== stored || fileNumber !== file.writtenAs) {
    const found = `${stored.toString(16)} (file number ${fileNumber})`
    const expected = `footer checksum ${checksum.toString(16)} (file number ${file.writtenAs})`
    throw damaged(file, offset, expected, found)
  }
  const id = source.subarray(databaseIdAt, covered)
  if (id.equals(databaseId)) return
  throw corruption(`${file.fileKind ?? 'SSTable'} of another database`, {
    file: file.path,
    offset: offset + databaseIdAt,
    expected: nameOf(databaseId),
    found: nameOf(id),
  })
}

function nameOf(databaseId: Buffer): string {
  if (databaseId.equals(noDatabaseId)) return 'a file of BulkWriter, of no database'
  return `database ${databaseId.toString('hex')}`
}
