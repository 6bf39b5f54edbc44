/**
 * The stored form of every part of an SSTable except the footer: payload (compressed, or raw if
 * that is not smaller), codec id, uncompressed length, checksum. See FORMAT.md, "Stored section".
 *
 * The checksum covers payload, codec id and length, and is seeded with file number and offset. So a
 * section is valid at one place only: a swapped or stale section is detected like a flipped bit.
 */
import { corruption, CellarError, ErrorCode, hasCode } from '../../../base/errors.js'
import { placeSeed, storedChecksumMatches, xxh64 } from '../../codec/checksum.js'
import { CodecId, type Codecs } from '../../codec/codec.js'
import { payloadBytesMax, trailerBytes } from '../format.js'

/** The file of a section. */
export interface SectionFile {
  readonly path: string
  /** The file number that its checksums are bound to. The name of a link has another number. */
  readonly writtenAs: number
  /** The kind of file in errors. Default 'SSTable'. */
  readonly fileKind?: string
}

/**
 * Writes the trailer after `target[start, payloadEnd)`, for a section at `offset` of the file.
 * Returns the offset in `target` after the trailer. REQUIRES space for `trailerBytes`.
 */
export function writeTrailer(
  target: Buffer,
  start: number,
  payloadEnd: number,
  codecId: number,
  uncompressedLength: number,
  fileNumber: number,
  offset: number,
): number {
  target[payloadEnd] = codecId
  const covered = target.writeUInt32LE(uncompressedLength, payloadEnd + 1)
  const checksum = xxh64(target.subarray(start, covered), placeSeed(fileNumber, offset))
  return target.writeBigUInt64LE(checksum, covered)
}

/**
 * Checks the section `stored[start, end)` read from `offset` of the file; returns its uncompressed
 * length. Throws `ERR_CORRUPTION`.
 */
export function checkSection(
  stored: Buffer,
  start: number,
  end: number,
  file: SectionFile,
  offset: number,
): number {
  const covered = end - 8
  const payloadBytes = end - start - trailerBytes
  if (payloadBytes < 0) {
    throw damaged(file, offset, `at least ${trailerBytes} bytes`, `${end - start}`)
  }
  if (!storedChecksumMatches(stored, start, end, file.writtenAs, offset)) {
    const checksum = xxh64(stored.subarray(start, covered), placeSeed(file.writtenAs, offset))
    throw damaged(file, offset, `checksum ${hex(checksum)}`, hex(stored.readBigUInt64LE(covered)))
  }
  const length = stored.readUInt32LE(covered - 4)
  if (stored[covered - 5] === CodecId.none) {
    if (length !== payloadBytes) throw damaged(file, offset, `${payloadBytes} bytes`, `${length}`)
  } else if (length > payloadBytesMax) {
    throw damaged(file, offset, `at most ${payloadBytesMax} uncompressed bytes`, `${length}`)
  }
  return length
}

/**
 * Decompresses a section accepted by {@link checkSection} into `target[0, length)`. Throws
 * `ERR_CORRUPTION`, or `ERR_MISSING_PACKAGE` for a codec that this Node lacks.
 */
export function decompressSection(
  stored: Buffer,
  start: number,
  end: number,
  target: Buffer,
  length: number,
  file: SectionFile,
  offset: number,
  codecs: Codecs,
): void {
  const id = stored[end - trailerBytes]
  const codec = codecs.byId(id)
  if (codec === undefined) throw missingCodec(id, file, offset)
  try {
    codec.decompress(stored, start, end - trailerBytes, target, length)
  } catch (cause) {
    // A broken assertion, or a lack of memory, is no damage.
    if (!hasCode(cause, ErrorCode.corruption)) throw cause
    const detail = {
      file: file.path,
      offset,
      expected: `${length} bytes of ${codec.name}`,
      found: cause.message,
    }
    throw corruption(`damaged ${file.fileKind ?? 'SSTable'} section`, detail, cause)
  }
}

/** Makes an `ERR_CORRUPTION` of a file of sections. */
export function damaged(
  file: SectionFile,
  offset: number,
  expected: string,
  found: string,
): CellarError {
  return corruption(`damaged ${file.fileKind ?? 'SSTable'}`, {
    file: file.path,
    offset,
    expected,
    found,
  })
}

/** Makes the error for a codec id that {@link Codecs.byId} does not know. */
export function missingCodec(id: number, file: SectionFile, offset: number): CellarError {
  const name = Object.entries(CodecId).find(([, known]) => known === id)?.[0]
  if (name === undefined) return damaged(file, offset, 'a codec id', `${id}`)
  const message = `${file.path} is compressed with ${name}, which this Node cannot read`
  return new CellarError(ErrorCode.missingPackage, message)
}

function hex(checksum: bigint): string {
  return checksum.toString(16).padStart(16, '0')
}
