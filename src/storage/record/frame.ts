/**
 * Byte layout of the frames of record files (logs and manifests), and their checks. Writer and
 * scanner share these functions, so they cannot disagree. FORMAT.md of this folder describes the
 * layout with diagrams.
 *
 * REQUIRES loaded checksums (`loadChecksums`).
 */

import { readUint64LE } from '../../base/bytes.js'
import { placeSeed, xxh64 } from '../codec/checksum.js'

// On disk: never change these numbers. Zero is no kind of frame.
/** Bytes of a frame header. */
export const frameHeaderBytes = 32
/**
 * The last byte of every frame. The byte is not zero, so that a frame that ends with zero was not
 * written whole. It has more than one bit set, so that no single flipped bit turns it into zero.
 */
export const frameEndByte = 0xa5
/** Bytes of a frame around its payload. */
export const frameOverheadBytes = frameHeaderBytes + 1
/** A frame that carries a payload. */
export const frameKindData = 1
/** A frame without payload, written only for its `syncedLength`. */
export const frameKindMark = 2
/**
 * A frame that names the durable part of the other record file: two numbers of 64 bits (FORMAT.md).
 */
export const frameKindNote = 3
/** Payload bytes of a note. */
export const notePayloadBytes = 16
/** Added to the kind if all older files of the chain were known to be durable in whole. */
export const frameFlagPredecessorsSynced = 0x80
// Offsets in the frame header.
const frameChecksumAt = 0
const frameLengthAt = 8
const frameCheckAt = 12
const frameSequenceLowAt = 16
const frameSequenceHighAt = 20
const frameKindAt = 23
const frameSyncedLengthAt = 24

/** Offset in a frame of the first byte that {@link frameHeaderFits} checks. */
export const frameHeaderCheckedAt = frameLengthAt

/** Longest payload of a frame, in bytes (inclusive). */
export const framePayloadBytesMax = 0x4000_0000
/** Bytes that a disk stores as a whole or not at all. */
export const sectorBytes = 512

/**
 * Fills in the 32 header bytes at `at` and the end byte. The payload must stand after the header
 * already.
 *
 * @param kind - data, mark or note, with or without {@link frameFlagPredecessorsSynced}.
 * @param fileOffset - offset in bytes that the frame will have in the file.
 */
export function sealFrame(
  target: Buffer,
  at: number,
  payloadLength: number,
  kind: number,
  sequence: number,
  syncedLength: number,
  fileNumber: number,
  fileOffset: number,
): void {
  const sequenceHigh = (kind << 24) | Math.floor(sequence / 0x1_0000_0000)
  const syncedHigh = Math.floor(syncedLength / 0x1_0000_0000)
  const check = headerCheck(
    fileNumber,
    fileOffset,
    payloadLength,
    sequence | 0,
    sequenceHigh,
    syncedLength | 0,
    syncedHigh,
  )
  writeInt32(target, at + frameLengthAt, payloadLength)
  writeInt32(target, at + frameCheckAt, check)
  writeInt32(target, at + frameSequenceLowAt, sequence | 0)
  writeInt32(target, at + frameSequenceHighAt, sequenceHigh)
  writeInt32(target, at + frameSyncedLengthAt, syncedLength | 0)
  writeInt32(target, at + frameSyncedLengthAt + 4, syncedHigh)
  computeChecksum(target, at, payloadLength, fileNumber, fileOffset)
  for (let i = 0; i < 8; i++) target[at + frameChecksumAt + i] = checksumBytes[i]
  target[at + frameHeaderBytes + payloadLength] = frameEndByte
}

/**
 * Whether the bytes at `at` can be a frame of this file at this offset, with a payload that ends at
 * or before `end`. Costs a few nanoseconds and may err; {@link frameVerifies} decides. `origin` is
 * the file offset of `source[0]`.
 */
export function frameIsPlausible(
  source: Buffer,
  at: number,
  end: number,
  fileNumber: number,
  origin = 0,
): boolean {
  if (end - at < frameOverheadBytes) return false
  if (frameLength(source, at) > end - at - frameOverheadBytes) return false
  return frameHeaderFits(source, at, fileNumber, origin)
}

/**
 * Whether the {@link frameHeaderBytes} bytes at `at` can be a frame header of this file at this
 * offset. The frame may extend past the end of the file.
 */
export function frameHeaderFits(
  source: Buffer,
  at: number,
  fileNumber: number,
  origin = 0,
): boolean {
  const kind = frameKind(source, at)
  if (kind < frameKindData || kind > frameKindNote) return false
  const payloadLength = frameLength(source, at)
  if (payloadLength > framePayloadBytesMax) return false
  const check = headerCheck(
    fileNumber,
    origin + at,
    payloadLength,
    readInt32(source, at + frameSequenceLowAt),
    readInt32(source, at + frameSequenceHighAt),
    readInt32(source, at + frameSyncedLengthAt),
    readInt32(source, at + frameSyncedLengthAt + 4),
  )
  if (readInt32(source, at + frameCheckAt) !== check) return false
  // The synced length counts bytes before this frame only, and sequences are safe integers.
  const sequenceHigh = readInt32(source, at + frameSequenceHighAt) & 0xff_ffff
  return frameSyncedLength(source, at) <= origin + at && sequenceHigh < 0x20_0000
}

/** Whether the checksum and the end byte of the plausible frame at `at` are right. */
export function frameVerifies(source: Buffer, at: number, fileNumber: number, origin = 0): boolean {
  const payloadLength = frameLength(source, at)
  if (source[at + frameHeaderBytes + payloadLength] !== frameEndByte) return false
  computeChecksum(source, at, payloadLength, fileNumber, origin + at)
  for (let i = 0; i < 8; i++) {
    if (source[at + frameChecksumAt + i] !== checksumBytes[i]) return false
  }
  return true
}

/** Payload length in the frame header at `at`. */
export function frameLength(source: Buffer, at: number): number {
  return readInt32(source, at + frameLengthAt) >>> 0
}

/** Kind in the frame header at `at`. */
export function frameKind(source: Buffer, at: number): number {
  return source[at + frameKindAt] & ~frameFlagPredecessorsSynced
}

/** Whether the frame header at `at` says that all older files of the chain were durable. */
export function framePredecessorsSynced(source: Buffer, at: number): boolean {
  return (source[at + frameKindAt] & frameFlagPredecessorsSynced) !== 0
}

/** Sequence in the frame header at `at`. */
export function frameSequence(source: Buffer, at: number): number {
  const high = readInt32(source, at + frameSequenceHighAt) & 0xff_ffff
  return (readInt32(source, at + frameSequenceLowAt) >>> 0) + high * 0x1_0000_0000
}

/** Synced length in the frame header at `at`. */
export function frameSyncedLength(source: Buffer, at: number): number {
  return readUint64LE(source, at + frameSyncedLengthAt)
}

const checksumView = new DataView(new ArrayBuffer(8))
/** The result of {@link computeChecksum}, little-endian; faster than converting a bigint. */
const checksumBytes = new Uint8Array(checksumView.buffer)

function computeChecksum(
  source: Buffer,
  at: number,
  payloadLength: number,
  fileNumber: number,
  fileOffset: number,
): void {
  const covered = source.subarray(at + frameLengthAt, at + frameHeaderBytes + payloadLength)
  checksumView.setBigUint64(0, xxh64(covered, placeSeed(fileNumber, fileOffset)), true)
}

/**
 * A 32-bit mix of the header fields and the frame's place: rejects chance matches without hashing.
 */
function headerCheck(
  fileNumber: number,
  fileOffset: number,
  payloadLength: number,
  sequenceLow: number,
  sequenceHigh: number,
  syncedLow: number,
  syncedHigh: number,
): number {
  let hash = mix(0x9e37_79b9, fileNumber | 0)
  hash = mix(hash, (fileNumber / 0x1_0000_0000) | 0)
  hash = mix(hash, fileOffset | 0)
  hash = mix(hash, payloadLength)
  hash = mix(hash, sequenceLow)
  hash = mix(hash, sequenceHigh)
  hash = mix(hash, syncedLow)
  hash = mix(hash, syncedHigh)
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85eb_ca6b)
  return hash ^ (hash >>> 13)
}

// Plain byte access: Buffer's methods check their arguments, which costs more than the access.

function writeInt32(target: Buffer, at: number, value: number): void {
  target[at] = value & 0xff
  target[at + 1] = (value >>> 8) & 0xff
  target[at + 2] = (value >>> 16) & 0xff
  target[at + 3] = value >>> 24
}

function readInt32(source: Buffer, at: number): number {
  return source[at] | (source[at + 1] << 8) | (source[at + 2] << 16) | (source[at + 3] << 24)
}

function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0xc2b2_ae35)
  return (mixed << 13) | (mixed >>> 19)
}
