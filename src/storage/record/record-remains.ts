/**
 * Reads all that is left of a damaged record file: every frame that verifies, also behind damage.
 *
 * A frame verifies only at its own offset of the file of its number, so bytes of another place are
 * never taken for a frame. The payload of a frame is whole or it is left out.
 *
 * After damage every byte offset is tried, as by `record-scan.ts`. Memory: the whole file.
 */
import type { FileSystem } from '../fs/types.js'
import { readWholeFileSync } from '../fs/whole-file.js'
import {
  decodeFileHeader,
  fileHeaderBytes,
  type ExpectedFile,
  type RecordFileHeader,
} from './file-header.js'
import {
  frameHeaderBytes,
  frameIsPlausible,
  frameKind,
  frameKindData,
  frameLength,
  frameOverheadBytes,
  frameSequence,
  frameVerifies,
} from './frame.js'
import type { OnFrame } from './record-scan.js'

/** Bytes of a record file that are no frame, although frames or the end of the file follow. */
export interface RecordGap {
  /** Offset in bytes of the first and of the byte after the last. */
  readonly start: number
  readonly end: number
  /** Sequence of the last frame before it, and of the first after it; undefined at the end. */
  readonly sequenceBefore: number
  readonly sequenceAfter: number | undefined
}

/** What {@link readRemainsSync} found. */
export interface RecordRemains {
  /** Undefined if the header is damaged. */
  readonly header: RecordFileHeader | undefined
  /** Zeros at the end of the file, which a writer puts there in advance, are no gap. */
  readonly gaps: readonly RecordGap[]
  /** Sequence of the last frame; 0 if there is none. */
  readonly lastSequence: number
}

/**
 * Calls `onFrame` for the payload of each frame of the file, in order.
 *
 * @throws CellarError `ERR_FORMAT_VERSION`, `ERR_CORRUPTION` if the file belongs to another
 * database, and errors of the file system.
 */
export function readRemainsSync(
  fileSystem: FileSystem,
  path: string,
  expected: ExpectedFile,
  onFrame: OnFrame,
): RecordRemains {
  const source = readWholeFileSync(fileSystem, path)
  const decoded = decodeFileHeader(source, source.length, path, expected)
  const header = typeof decoded === 'string' ? undefined : decoded
  const { fileNumber } = expected
  let contentEnd = source.length
  while (contentEnd > 0 && source[contentEnd - 1] === 0) contentEnd--
  const gaps: RecordGap[] = []
  let sequenceBefore = header?.predecessor?.lastSequence ?? 0
  let gapStart = header === undefined ? 0 : -1
  let at = header === undefined ? 0 : fileHeaderBytes
  while (at < contentEnd) {
    const isFrame =
      frameIsPlausible(source, at, source.length, fileNumber) &&
      frameVerifies(source, at, fileNumber)
    if (!isFrame) {
      if (gapStart < 0) gapStart = at
      at++
      continue
    }
    const sequence = frameSequence(source, at)
    if (gapStart >= 0) {
      gaps.push({ start: gapStart, end: at, sequenceBefore, sequenceAfter: sequence })
      gapStart = -1
    }
    const start = at + frameHeaderBytes
    const end = start + frameLength(source, at)
    if (frameKind(source, at) === frameKindData) onFrame(source, start, end, sequence, at)
    sequenceBefore = sequence
    at += frameOverheadBytes + end - start
  }
  if (gapStart >= 0) {
    gaps.push({ start: gapStart, end: contentEnd, sequenceBefore, sequenceAfter: undefined })
  }
  return { header, gaps, lastSequence: sequenceBefore }
}
