/**
 * Reads a record file from its start to the first damage, and searches after the damage for proof
 * that the damaged bytes were durable.
 *
 * The scanner does not judge. It reports where the valid prefix ends, what can have caused the
 * damage after the prefix, and the greatest length that any valid frame claims to be durable. The
 * caller decides: damage at or after that length may be the torn tail of a crash; damage before it
 * is corruption.
 *
 * The file is read once into one buffer of its size. After the damage every byte offset is tried
 * with checks of a few nanoseconds. A checksum is computed only where header check, kind and length
 * fit, and over at most {@link hashedBytesPerFileByte} times the size of the file in all.
 */

import { readUint64LE } from '../../base/bytes.js'
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import { readFailedSync } from './failed-sync.js'
import {
  decodeFileHeader,
  fileHeaderBytes,
  hadFileHeader,
  recordFileBytesMax,
  type DurableFile,
  type ExpectedFile,
  type RecordFileHeader,
  type RecordFileKind,
} from './file-header.js'
import {
  frameHeaderBytes,
  frameHeaderCheckedAt,
  frameHeaderFits,
  frameIsPlausible,
  frameKind,
  frameKindData,
  frameKindNote,
  frameLength,
  frameOverheadBytes,
  framePredecessorsSynced,
  frameSequence,
  frameSyncedLength,
  frameVerifies,
  notePayloadBytes,
  sectorBytes,
} from './frame.js'

/** Bytes that the search after damage may hash, as a multiple of the file's size. */
const hashedBytesPerFileByte = 4
const readBytesMax = 64 * 1024 * 1024

/** A torn tail that the open left out of a file. */
export interface CutTail {
  /** Path of the file. */
  readonly file: string
  /** Offset in bytes at which the file was cut; 0: the whole file was removed. */
  readonly offset: number
  /** Bytes that were left out, including those of later log segments. */
  readonly bytesLost: number
  /** Description of the bytes found at the offset. */
  readonly found: string
}

/**
 * The possible cause of damage, the most harmless first:
 *
 * - `room`: only zeros up to the end of the file, which the writer put there in advance.
 * - `cutWrite`: the beginning of a header or frame, then only zeros or the end of the file. The
 *   process or the machine stopped within a write.
 * - `failedSync`: the writer has said that a sync of these bytes failed (`failed-sync.ts`).
 * - `lostBlocks`: sectors were never stored, while later ones were. Only a stop of the machine
 *   causes that.
 * - `harm`: bytes have changed after they were written. No stop causes that.
 */
export type DamageCause = 'room' | 'cutWrite' | 'failedSync' | 'lostBlocks' | 'harm'

/** The place where a record file stops being readable. */
export interface RecordDamage {
  /** Offset in bytes of the damaged header or frame; the valid prefix ends here. */
  readonly offset: number
  readonly expected: string
  readonly found: string
  readonly cause: DamageCause
}

/** The result of {@link scanRecordsSync}. */
export interface RecordScan {
  /** Undefined if the file has no whole, valid header of the expected kind and number. */
  readonly header: RecordFileHeader | undefined
  /** Bytes from the start to the end of the last valid frame; zero without a header. */
  readonly validLength: number
  readonly fileLength: number
  /** Bytes of the file without the zeros at its end. */
  readonly contentLength: number
  /** Sequence of the last valid frame, else that of the predecessor in the header, else zero. */
  readonly lastSequence: number
  /**
   * The highest `syncedLength` in any valid frame, frames after the damage included. Equal to
   * `fileLength` if the search after the damage had to stop early, so that nothing is dropped.
   */
  readonly syncedLengthKnown: number
  /**
   * Whether the header or any valid frame, frames after the damage included, says that all older
   * files of the chain were durable in whole. True as well if the search had to stop early.
   */
  readonly predecessorsSyncedKnown: boolean
  /** The newest note in the header or any valid frame, frames after the damage included. */
  readonly noted: DurableFile | undefined
  /** The first byte that a failed sync may have lost; Infinity if none is known. */
  readonly unsyncedFrom: number
  /** Undefined if the file ends right after its last frame. */
  readonly damage: RecordDamage | undefined
}

/**
 * Receives the payload of one frame: `payload[start, end)`, borrowed until the scan returns; the
 * frame's sequence; and the offset of the frame in the file.
 */
export type OnFrame = (
  payload: Buffer,
  start: number,
  end: number,
  sequence: number,
  offset: number,
) => void

/**
 * Reads a record file and calls `onFrame` for each payload of its valid prefix, in order. Damage is
 * part of the result and does not throw.
 *
 * @throws CellarError `ERR_FORMAT_VERSION` if another version wrote the file; `ERR_CORRUPTION` if
 * the file belongs to another database or is longer than a record file can be; and errors of the
 * file system.
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
  const claims = new Claims(readFailedSync(fileSystem, path, expected.databaseId))
  if (typeof header === 'string') {
    const { kind, fileNumber } = expected
    const firstValid = searchBehind(source, 0, fileNumber, claims)
    const cause = claims.causeAt(0, causeOfHeader(source, kind, firstValid))
    const damage = { offset: 0, expected: `a ${kind} file header`, found: header, cause }
    return result(source, undefined, 0, 0, claims, damage)
  }
  claims.predecessorsSynced = header.predecessorsSynced === true
  if (header.manifest !== undefined) claims.addNote(header.manifest)
  let offset = fileHeaderBytes
  let lastSequence = header.predecessor?.lastSequence ?? 0
  while (offset < fileLength && frameIsValid(source, offset, lastSequence, header.fileNumber)) {
    const start = offset + frameHeaderBytes
    const end = start + frameLength(source, offset)
    const next = end + frameOverheadBytes - frameHeaderBytes
    lastSequence = frameSequence(source, offset)
    claims.add(source, offset)
    if (frameKind(source, offset) === frameKindData) {
      onFrame(source, start, end, lastSequence, offset)
    }
    offset = next
  }
  if (offset === fileLength) {
    return result(source, header, offset, lastSequence, claims, undefined)
  }
  const found = describe(source, offset, header)
  const firstValid = searchBehind(source, offset, header.fileNumber, claims)
  const cause = claims.causeAt(offset, causeOfFrame(source, offset, header.fileNumber, firstValid))
  const damage = { offset, expected: 'a valid frame', found, cause }
  return result(source, header, offset, lastSequence, claims, damage)
}

/** The statements of valid frames, and of a failed sync, about durability. */
class Claims {
  readonly unsyncedFrom: number
  syncedLength = 0
  predecessorsSynced = false
  noted: DurableFile | undefined

  constructor(unsyncedFrom: number) {
    this.unsyncedFrom = unsyncedFrom
  }

  /** The cause of damage at `offset`, which would be `cause` without a failed sync. */
  causeAt(offset: number, cause: DamageCause): DamageCause {
    const isUnlikely = cause === 'lostBlocks' || cause === 'harm'
    return isUnlikely && offset >= this.unsyncedFrom ? 'failedSync' : cause
  }

  add(source: Buffer, offset: number): void {
    const syncedLength = frameSyncedLength(source, offset)
    if (syncedLength > this.syncedLength) this.syncedLength = syncedLength
    if (framePredecessorsSynced(source, offset)) this.predecessorsSynced = true
    const isNote = frameKind(source, offset) === frameKindNote
    if (isNote && frameLength(source, offset) === notePayloadBytes) {
      const at = offset + frameHeaderBytes
      this.addNote({ fileNumber: readUint64LE(source, at), length: readUint64LE(source, at + 8) })
    }
  }

  addNote(note: DurableFile): void {
    const { noted } = this
    const isNewer =
      noted === undefined ||
      note.fileNumber > noted.fileNumber ||
      (note.fileNumber === noted.fileNumber && note.length > noted.length)
    if (isNewer) this.noted = note
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
    contentLength: damage === undefined ? source.length : contentEnd(source, damage.offset),
    lastSequence,
    syncedLengthKnown: claims.syncedLength,
    predecessorsSyncedKnown: claims.predecessorsSynced,
    noted: claims.noted,
    unsyncedFrom: claims.unsyncedFrom,
    damage,
  }
}

function isZero(source: Buffer, start: number): boolean {
  return contentEnd(source, start) === start
}

/** Start of the zeros that continue to the end of the file; at least `start`. */
function contentEnd(source: Buffer, start: number): number {
  let end = source.length
  while (end > start && source[end - 1] === 0) end--
  return end
}

/**
 * The cause of a missing header. `firstValid` is the offset of the first valid frame, if there is
 * one.
 */
function causeOfHeader(
  source: Buffer,
  kind: RecordFileKind,
  firstValid: number | undefined,
): DamageCause {
  if (contentEnd(source, 0) < fileHeaderBytes) return 'cutWrite'
  if (hadFileHeader(source, kind)) return 'harm'
  return firstValid !== undefined && firstValid < sectorBytes ? 'harm' : 'lostBlocks'
}

/**
 * The cause of the invalid frame at `offset`. `firstValid` is the offset of the next
 * valid frame.
 *
 * A sector is stored whole or not at all, and its bytes were written in order. So a sector was
 * stored if it shows the header of the frame, or the beginning of a later frame.
 */
function causeOfFrame(
  source: Buffer,
  offset: number,
  fileNumber: number,
  firstValid: number | undefined,
): DamageCause {
  const end = contentEnd(source, offset)
  if (end === offset) return 'room'
  const headerEnd = offset + frameHeaderBytes
  if (end < headerEnd) return 'cutWrite'
  // The range of sectors that may be lost.
  let first = Math.floor(offset / sectorBytes)
  let last = Math.floor((headerEnd - 1) / sectorBytes)
  if (frameHeaderFits(source, offset, fileNumber)) {
    const frameEnd = offset + frameOverheadBytes + frameLength(source, offset)
    if (end < frameEnd) return 'cutWrite'
    // The first sector may hold only bytes of the checksum, which the header check does not
    // cover, and zeros of the header. A lost sector reads as zeros too. So the sector may be lost
    // although the header fits.
    const shownEnd = Math.min(headerEnd, (first + 1) * sectorBytes)
    const checkedAt = Math.min(offset + frameHeaderCheckedAt, shownEnd)
    if (isZero(source.subarray(0, shownEnd), checkedAt)) return 'lostBlocks'
    // Zeros of the header prove nothing: a lost sector may read as zeros.
    first = Math.floor((contentEnd(source.subarray(0, headerEnd), offset) - 1) / sectorBytes) + 1
    last = Math.floor((frameEnd - 1) / sectorBytes)
  }
  if (firstValid !== undefined) {
    const sector = Math.floor(firstValid / sectorBytes)
    const isShown = !isZero(source.subarray(0, (sector + 1) * sectorBytes), firstValid)
    last = Math.min(last, isShown ? sector - 1 : sector)
  }
  return first <= last ? 'lostBlocks' : 'harm'
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

/**
 * Adds the claims of all valid frames after `damageOffset`. Returns the offset of the first such
 * frame.
 */
function searchBehind(
  source: Buffer,
  damageOffset: number,
  fileNumber: number,
  claims: Claims,
): number | undefined {
  const fileLength = contentEnd(source, damageOffset)
  let firstValid: number | undefined
  let hashedBytesLeft = source.length * hashedBytesPerFileByte
  let offset = damageOffset + 1
  while (offset + frameOverheadBytes <= fileLength) {
    if (!frameIsPlausible(source, offset, fileLength, fileNumber)) {
      offset++
      continue
    }
    const frameBytes = frameOverheadBytes + frameLength(source, offset)
    hashedBytesLeft -= frameBytes
    if (hashedBytesLeft < 0) {
      claims.syncedLength = source.length
      claims.predecessorsSynced = true
      return firstValid
    }
    if (frameVerifies(source, offset, fileNumber)) {
      claims.add(source, offset)
      firstValid ??= offset
      offset += frameBytes
    } else {
      offset++
    }
  }
  return firstValid
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
  const claimed = frameLength(source, offset)
  if (claimed > rest - frameOverheadBytes) return `a frame that says ${claimed} bytes, ${rest} left`
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
      // A short read must not be taken for the end of the file.
      if (file.readSync(source, at, wanted, at) !== wanted) {
        throw new CellarError(ErrorCode.io, `${path} became shorter while it was read`)
      }
    }
    return source
  } finally {
    file.closeSync()
  }
}
