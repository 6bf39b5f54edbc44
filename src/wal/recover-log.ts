/**
 * Reads the log back after a stop or a crash, and makes the directory fit for a new segment.
 *
 * 1. {@link inspectLog} scans every segment: it verifies frames and their structure, applies
 *    nothing and changes nothing. It follows the chain of headers to the end of the accepted prefix
 *    and judges whether what is missing or damaged there can be a torn tail (`log-chain.ts`).
 *    Everything else is `ERR_CORRUPTION`.
 * 2. {@link replayLog} replays the accepted prefix, so that the history never has a hole. Then it
 *    removes what lies behind the prefix, and obsolete segments, and syncs what was kept. What
 *    users read from now on can then no longer disappear.
 *
 * A crash within step 2 leaves a state that recovers to the same prefix: later segments are removed
 * from the newest on, each removal made durable before the next.
 *
 * Memory: one segment at a time. Each segment is read twice.
 */

import { corruption } from '../base/errors.js'
import { readVarint, varintLength } from '../base/varint.js'
import type { FileSystem } from '../fs/types.js'
import {
  decodeFileHeader,
  fileHeaderBytes,
  type DurableFile,
  type RecordFileHeader,
  type RecordFilePredecessor,
} from '../record/format.js'
import { scanRecordsSync } from '../record/record-scan.js'
import {
  firstNeeded,
  judgeChain,
  type ChainRules,
  type ScannedSegment,
  type Tear,
} from './log-chain.js'
import type { LogSegment } from './log-segment.js'
import { parseSegmentName, segmentName } from './segment-name.js'

/** Takes one mutation: `source[start, end)`, borrowed during the call. */
export type OnMutation = (source: Buffer, start: number, end: number, sequence: number) => void

/** See {@link InspectLogOptions}. */
export type CheckMutation = (
  path: string,
  offset: number,
  source: Buffer,
  start: number,
  end: number,
) => void

/** What {@link inspectLog} needs. */
export interface InspectLogOptions extends ChainRules {
  readonly fileSystem: FileSystem
  readonly directory: string
  /** Identity of the database. Segments of another one are refused. */
  readonly databaseId: Buffer
  /**
   * Looks at each mutation of the accepted prefix before anything is changed, and throws if it is
   * not good. `path` and `offset` are the place of its frame. Default: every mutation is good.
   */
  readonly checkMutation?: CheckMutation
  /** Obsolete segments are kept up to so many bytes, the newest ones. Default: 0. */
  readonly retainedBytesMax?: number
}

/** What {@link recoverLog} needs. */
export interface RecoverLogOptions extends InspectLogOptions {
  /** Called for each mutation of the accepted prefix, in order; `sequence` is its frame's. */
  readonly onMutation: OnMutation
}

/** Where recovery cut the log. */
export interface TornTail {
  /** Path of the segment that was cut, or removed if the offset is zero. */
  readonly file: string
  readonly offset: number
  /** Bytes dropped there and in later segments. Room made ahead is not counted. */
  readonly bytesLost: number
  /** What was found instead of the frame or segment that should be there. */
  readonly found: string
}

/** What recovery found. */
export interface RecoveredLog {
  /** Sequence of the last accepted frame; 0 if there is none. */
  readonly lastSequence: number
  /** Segments that were kept, the oldest first, for `LogOptions.recovered`. All durable. */
  readonly segments: readonly LogSegment[]
  /** Obsolete segments that were kept, the oldest first, for `LogOptions.retained`. */
  readonly retained: readonly LogSegment[]
  /** Undefined if the log ended cleanly. */
  readonly tornTail: TornTail | undefined
  /** For `LogOptions.predecessor`. */
  readonly predecessor: RecordFilePredecessor | undefined
}

/** A log that was found good, before anything of it was used or changed. */
export interface InspectedLog {
  readonly options: InspectLogOptions
  readonly kept: readonly ScannedSegment[]
  readonly dropped: readonly ScannedSegment[]
  /** Numbers of segments that nothing needs any more. */
  readonly obsolete: readonly number[]
  readonly tornTail: TornTail | undefined
  /** The newest note of what is durable of the manifest. */
  readonly manifestNoted: DurableFile | undefined
}

/**
 * Inspects and replays the log of `directory` in one go.
 *
 * @throws as {@link inspectLog} and {@link replayLog}.
 */
export function recoverLog(options: RecoverLogOptions): RecoveredLog {
  return replayLog(inspectLog(options), options.onMutation)
}

/**
 * Judges the log of `directory` and changes nothing.
 *
 * @throws CellarError `ERR_CORRUPTION` (file, offset, expected, found) for anything but a torn
 * tail, `ERR_FORMAT_VERSION`, and what the file system throws.
 */
export function inspectLog(options: InspectLogOptions): InspectedLog {
  const { fileSystem, directory } = options
  const obsolete: number[] = []
  const fileNumbers: number[] = []
  for (const name of fileSystem.listSync(directory)) {
    const fileNumber = parseSegmentName(name)
    if (fileNumber === undefined) continue
    if (fileNumber < options.fileNumberFloor) obsolete.push(fileNumber)
    else fileNumbers.push(fileNumber)
  }
  fileNumbers.sort((a, b) => a - b)
  let segments = fileNumbers.map((fileNumber) => scanSegment(options, fileNumber))
  const first = firstNeeded(segments, options.sequenceFlushed ?? 0)
  for (const segment of segments.slice(0, first)) obsolete.push(segment.fileNumber)
  segments = segments.slice(first)
  const pathOf = (fileNumber: number): string => fileSystem.join(directory, segmentName(fileNumber))
  const tear = judgeChain(segments, options, pathOf)
  const keptCount =
    tear === undefined ? segments.length : tear.index + (tear.offset < fileHeaderBytes ? 0 : 1)
  return {
    options,
    kept: segments.slice(0, keptCount),
    dropped: segments.slice(keptCount),
    obsolete,
    manifestNoted: segments.at(-1)?.scan.noted ?? segments.at(-2)?.scan.noted,
    tornTail: tear === undefined ? undefined : describeTear(segments, tear),
  }
}

/**
 * Replays an inspected log and makes the disk hold what was replayed and nothing else of the log,
 * durably.
 *
 * @param onMutation - called for each mutation, in order; `sequence` is its frame's.
 * @throws CellarError `ERR_CORRUPTION` if the log changed meanwhile, and what the file system or
 * `onMutation` throws.
 */
export function replayLog(inspected: InspectedLog, onMutation: OnMutation): RecoveredLog {
  const { options, kept, dropped, tornTail } = inspected
  for (const segment of kept) replaySegment(options, segment, onMutation)
  const obsolete = [...inspected.obsolete]
  const retained = retain(options, obsolete, kept.at(0))
  repair(options, kept, dropped, obsolete)
  const segments = kept.map(({ fileNumber, scan }) => {
    return { fileNumber, length: scan.validLength, lastSequence: scan.lastSequence }
  })
  const predecessor = segments.at(-1)
  const lastSequence = predecessor?.lastSequence ?? 0
  return { lastSequence, segments, retained, tornTail, predecessor }
}

function scanSegment(options: InspectLogOptions, fileNumber: number): ScannedSegment {
  const path = options.fileSystem.join(options.directory, segmentName(fileNumber))
  const expected = { kind: 'log' as const, fileNumber, databaseId: options.databaseId }
  const scan = scanRecordsSync(
    options.fileSystem,
    path,
    expected,
    (payload, start, end, sequence, offset) => {
      forEachMutation(path, offset, payload, start, end, sequence, (source, from, to) => {
        options.checkMutation?.(path, offset, source, from, to)
      })
    },
  )
  return { fileNumber, path, scan }
}

function replaySegment(
  options: InspectLogOptions,
  segment: ScannedSegment,
  onMutation: OnMutation,
): void {
  const { path, fileNumber } = segment
  const expected = { kind: 'log' as const, fileNumber, databaseId: options.databaseId }
  const again = scanRecordsSync(
    options.fileSystem,
    path,
    expected,
    (payload, start, end, sequence, offset) => {
      forEachMutation(path, offset, payload, start, end, sequence, onMutation)
    },
  )
  if (again.validLength !== segment.scan.validLength) {
    throw corruption('the log changed while it was recovered', {
      file: path,
      offset: Math.min(again.validLength, segment.scan.validLength),
      expected: `${segment.scan.validLength} valid bytes`,
      found: `${again.validLength}`,
    })
  }
}

/** Takes a verified frame's payload apart: repeated [varint length][mutation]. */
export function forEachMutation(
  path: string,
  frameOffset: number,
  payload: Buffer,
  start: number,
  end: number,
  sequence: number,
  onMutation: OnMutation,
): void {
  let at = start
  while (at < end) {
    const length = readVarint(payload, at, end)
    const mutationStart = at + varintLength(length)
    if (length < 0 || length > end - mutationStart) {
      throw corruption('malformed log frame', {
        file: path,
        offset: frameOffset,
        expected: 'mutations that fill the frame',
        found: length < 0 ? 'a malformed length' : `a mutation of ${length} bytes`,
      })
    }
    onMutation(payload, mutationStart, mutationStart + length, sequence)
    at = mutationStart + length
  }
}

/**
 * Takes the newest obsolete segments, as far as their bytes are within the bound and each is
 * continued by the next, off the list of those that are removed.
 */
function retain(
  options: InspectLogOptions,
  obsolete: number[],
  firstKept: ScannedSegment | undefined,
): LogSegment[] {
  const { fileSystem, directory } = options
  const retained: LogSegment[] = []
  let bytesLeft = options.retainedBytesMax ?? 0
  let next = firstKept?.scan.header
  obsolete.sort((a, b) => a - b)
  while (bytesLeft > 0 && obsolete.length > 0 && next?.predecessor !== undefined) {
    const { fileNumber, length, lastSequence } = next.predecessor
    if (obsolete.at(-1) !== fileNumber || length > bytesLeft) break
    const path = fileSystem.join(directory, segmentName(fileNumber))
    const file = fileSystem.openSync(path, 'read')
    let header: RecordFileHeader | string
    try {
      const bytes = Buffer.alloc(fileHeaderBytes)
      const found = file.readSync(bytes, 0, fileHeaderBytes, 0)
      const { databaseId } = options
      header = decodeFileHeader(bytes, found, path, { kind: 'log', fileNumber, databaseId })
      if (file.sizeSync() < length) break
    } finally {
      file.closeSync()
    }
    if (typeof header === 'string') break
    obsolete.pop()
    bytesLeft -= length
    retained.unshift({ fileNumber, length, lastSequence })
    next = header
  }
  return retained
}

function describeTear(segments: readonly ScannedSegment[], tear: Tear): TornTail {
  const { path, scan } = segments[tear.index]
  let bytesLost = Math.max(0, scan.contentLength - tear.offset)
  for (const later of segments.slice(tear.index + 1)) bytesLost += later.scan.contentLength
  return { file: path, offset: tear.offset, bytesLost, found: tear.found }
}

/** Makes the disk hold the kept prefix and nothing else of the log, durably. */
function repair(
  options: InspectLogOptions,
  kept: readonly ScannedSegment[],
  dropped: readonly ScannedSegment[],
  obsolete: readonly number[],
): void {
  const { fileSystem, directory } = options
  for (let i = dropped.length - 1; i >= 0; i--) {
    fileSystem.unlinkSync(dropped[i].path)
    fileSystem.syncDirectorySync(directory)
  }
  for (const { path, scan } of kept) {
    const file = fileSystem.openSync(path, 'write')
    try {
      if (scan.validLength < scan.fileLength) file.truncateSync(scan.validLength)
      file.syncSync()
    } finally {
      file.closeSync()
    }
  }
  for (const fileNumber of obsolete) {
    fileSystem.unlinkSync(fileSystem.join(directory, segmentName(fileNumber)))
  }
  fileSystem.syncDirectorySync(directory)
}
