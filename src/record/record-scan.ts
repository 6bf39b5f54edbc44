/**
 * Reads a record file from its start to its first damage, and looks behind the damage for proof
 * that the file had been durable there.
 *
 * The scanner judges nothing: it reports where the valid prefix ends and which length some valid
 * frame claims to be durable. The owner decides: damage at or behind that length may be the torn
 * tail of a crash, damage before it is corruption.
 *
 * Work and memory: the file is read once into one buffer of its size. Behind the damage every byte
 * offset is tried with checks of a few nanoseconds; a checksum is computed only where header check,
 * kind and length fit, and at most {@link hashedBytesPerFileByte} times the file's size in all.
 */

import { readUint64LE } from '../base/bytes.js'
import { CellarError, corruption, ErrorCode } from '../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import {
  decodeFileHeader,
  fileHeaderBytes,
  frameHeaderBytes,
  frameIsPlausible,
  frameKind,
  frameKindData,
  frameLength,
  framePredecessorsSynced,
  frameSequence,
  frameSyncedLength,
  frameVerifies,
  recordFileBytesMax,
  type ExpectedFile,
  type RecordFileHeader,
} from './format.js'

/** Bytes that the search behind damage may hash, as a multiple of the file's size. */
const hashedBytesPerFileByte = 4
const readBytesMax = 64 * 1024 * 1024

/** Where a record file stops being readable. */
export interface RecordDamage {
  /** Offset in bytes of the header or frame that is damaged; the valid prefix ends here. */
  readonly offset: number
  readonly expected: string
  readonly found: string
}

/** What {@link scanRecordsSync} saw. */
export interface RecordScan {
  /** Undefined if there is not even a whole valid header of the expected kind and number. */
  readonly header: RecordFileHeader | undefined
  /** Bytes up to the end of the last frame of the valid prefix; zero without a header. */
  readonly validLength: number
  readonly fileLength: number
  /** Sequence of the last valid frame, else of the predecessor in the header, else zero. */
  readonly lastSequence: number
  /**
   * The highest `syncedLength` that any valid frame claims, those behind the damage included. If
   * the search behind the damage had to stop early it is `fileLength`, so that nothing is dropped.
   */
  readonly syncedLengthKnown: number
  /**
   * Whether the header or any valid frame, those behind the damage included, says that all older
   * files of the chain were durable in whole. True as well if the search had to stop early.
   */
  readonly predecessorsSyncedKnown: boolean
  /** Undefined if the file ends cleanly behind its last frame. */
  readonly damage: RecordDamage | undefined
  /**
   * The damage is nothing but zeros up to the end of the file: room that the writer made ahead, or
   * bytes that never reached the disk.
   */
  readonly endsInZeros: boolean
}

/**
 * Takes one frame's payload: `payload[start, end)`, borrowed until the scan returns, the frame's
 * sequence, and the offset of the frame in the file.
 */
export type OnFrame = (
  payload: Buffer,
  start: number,
  end: number,
  sequence: number,
  offset: number,
) => void

/**
 * Reads a record file and calls `onFrame` for each payload of its valid prefix, in order.
 *
 * @throws CellarError `ERR_FORMAT_VERSION` if another version wrote the file, `ERR_CORRUPTION` if
 * it belongs to another database or is longer than a record file can be, and what the file system
 * throws. Damage is returned.
 */
export function scanRecordsSync(
  fileSystem: FileSystem,
  path: string,
  expected: ExpectedFile,
  onFrame: OnFrame,
): RecordScan {
  const source = readWholeSync(fileSystem, path)
  const fileLength = source.length
  const header = decodeFileHeader(source, fileLength, path, expected)
  const claims = new Claims()
  if (typeof header === 'string') {
    const damage = { offset: 0, expected: `a ${expected.kind} file header`, found: header }
    searchBehind(source, 0, expected.fileNumber, claims)
    return result(source, undefined, 0, 0, claims, damage)
  }
  claims.predecessorsSynced = header.predecessorsSynced === true
  let offset = fileHeaderBytes
  let lastSequence = header.predecessor?.lastSequence ?? 0
  while (offset < fileLength && frameIsValid(source, offset, lastSequence, header.fileNumber)) {
    const start = offset + frameHeaderBytes
    const end = start + frameLength(source, offset)
    lastSequence = frameSequence(source, offset)
    claims.add(source, offset)
    if (frameKind(source, offset) === frameKindData) {
      onFrame(source, start, end, lastSequence, offset)
    }
    offset = end
  }
  if (offset === fileLength) {
    return result(source, header, offset, lastSequence, claims, undefined)
  }
  const found = describe(source, offset, header)
  if (!isZero(source, offset)) searchBehind(source, offset, header.fileNumber, claims)
  const damage = { offset, expected: 'a valid frame', found }
  return result(source, header, offset, lastSequence, claims, damage)
}

/** What valid frames say about durability. */
class Claims {
  syncedLength = 0
  predecessorsSynced = false

  add(source: Buffer, offset: number): void {
    const syncedLength = frameSyncedLength(source, offset)
    if (syncedLength > this.syncedLength) this.syncedLength = syncedLength
    if (framePredecessorsSynced(source, offset)) this.predecessorsSynced = true
  }
}

function result(
  source: Buffer,
  header: RecordFileHeader | undefined,
  validLength: number,
  lastSequence: number,
  claims: Claims,
  damage: RecordDamage | undefined,
): RecordScan {
  return {
    header,
    validLength,
    fileLength: source.length,
    lastSequence,
    syncedLengthKnown: claims.syncedLength,
    predecessorsSyncedKnown: claims.predecessorsSynced,
    damage,
    endsInZeros: damage !== undefined && isZero(source, damage.offset),
  }
}

function isZero(source: Buffer, start: number): boolean {
  let at = start
  while (at < source.length && source[at] === 0) at++
  return at === source.length
}

function frameIsValid(
  source: Buffer,
  offset: number,
  lastSequence: number,
  fileNumber: number,
): boolean {
  return (
    frameIsPlausible(source, offset, source.length, fileNumber) &&
    frameSequence(source, offset) >= lastSequence &&
    frameVerifies(source, offset, fileNumber)
  )
}

/** Adds the claims of all frames that verify anywhere behind `damageOffset`. */
function searchBehind(
  source: Buffer,
  damageOffset: number,
  fileNumber: number,
  claims: Claims,
): void {
  const fileLength = source.length
  let hashedBytesLeft = fileLength * hashedBytesPerFileByte
  let offset = damageOffset + 1
  while (offset + frameHeaderBytes <= fileLength) {
    if (!frameIsPlausible(source, offset, fileLength, fileNumber)) {
      offset++
      continue
    }
    const frameBytes = frameHeaderBytes + frameLength(source, offset)
    hashedBytesLeft -= frameBytes
    if (hashedBytesLeft < 0) {
      claims.syncedLength = fileLength
      claims.predecessorsSynced = true
      return
    }
    if (frameVerifies(source, offset, fileNumber)) {
      claims.add(source, offset)
      offset += frameBytes
    } else {
      offset++
    }
  }
}

function describe(source: Buffer, offset: number, header: RecordFileHeader): string {
  const rest = source.length - offset
  if (rest < frameHeaderBytes) return `only ${rest} bytes`
  if (isZero(source, offset)) return `${rest} zero bytes`
  if (frameIsPlausible(source, offset, source.length, header.fileNumber)) {
    return frameVerifies(source, offset, header.fileNumber)
      ? `a frame whose sequence ${frameSequence(source, offset)} falls`
      : 'a frame whose checksum does not match'
  }
  const claimed = readUint64LE(source, offset + 8) % 0x1_0000_0000
  if (claimed > rest - frameHeaderBytes) return `a frame that says ${claimed} bytes, ${rest} left`
  return 'bytes that are not a frame of this place'
}

function readWholeSync(fileSystem: FileSystem, path: string): Buffer {
  const file = fileSystem.openSync(path, 'read')
  try {
    const size = file.sizeSync()
    if (size > recordFileBytesMax) {
      const expected = `at most ${recordFileBytesMax} bytes`
      throw corruption('overlong record file', {
        file: path,
        offset: recordFileBytesMax,
        expected,
        found: `${size} bytes`,
      })
    }
    const source = Buffer.allocUnsafeSlow(size)
    for (let at = 0; at < size; at += readBytesMax) {
      const wanted = Math.min(readBytesMax, size - at)
      // A short read must never look like the end of the file.
      if (file.readSync(source, at, wanted, at) !== wanted) {
        throw new CellarError(ErrorCode.io, `${path} became shorter while it was read`)
      }
    }
    return source
  } finally {
    file.closeSync()
  }
}
