/**
 * Reads the log after a stop or a crash, and prepares the directory for a new segment.
 *
 * 1. {@link inspectLog} scans every segment and verifies frames and their structure. It changes
 * nothing. It follows the chain of headers to the end of the accepted prefix, and judges whether
 * damage there can be a torn tail (`log-chain.ts`). All other damage is `ERR_CORRUPTION`.
 * 2. {@link replayLog} replays the accepted prefix, so the history never has a hole. Then it
 * removes the bytes after the prefix and the obsolete segments. In the kept segments it writes the
 * bytes again that nothing proves to be durable, and syncs them. Data that users read from now on
 * cannot disappear any more.
 *
 * A crash within step 2 leaves a log that recovers to the same prefix: later segments are removed
 * from the newest on, and each removal is durable before the next.
 *
 * Memory: one segment at a time. Each segment is read twice.
 */

import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import { readVarint, varintLength } from '../../base/varint.js'
import type { File, FileSystem } from '../fs/types.js'
import { quietly } from '../fs/quietly.js'
import { fileOfFailedSync, writeFailedSync } from '../record/failed-sync.js'
import {
  decodeFileHeader,
  fileHeaderBytes,
  type DurableFile,
  type RecordFileHeader,
  type RecordFilePredecessor,
} from '../record/file-header.js'
import { scanRecordsSync, type CutTail } from '../record/record-scan.js'
import {
  firstNeeded,
  judgeChain,
  type ChainRules,
  type ScannedSegment,
  type Tear,
} from './log-chain.js'
import type { LogSegment } from './log-segment.js'
import { parseSegmentName, segmentName } from './segment-name.js'

/** Receives one mutation: `source[start, end)`, borrowed during the call. */
export type OnMutation = (source: Buffer, start: number, end: number, sequence: number) => void

/** See {@link InspectLogOptions}. */
export type CheckMutation = (
  path: string,
  offset: number,
  source: Buffer,
  start: number,
  end: number,
) => void

/** Options of {@link inspectLog}. */
export interface InspectLogOptions extends ChainRules {
  readonly fileSystem: FileSystem
  readonly directory: string
  /** Identity of the database. Segments of another database are refused. */
  readonly databaseId: Buffer
  /**
   * Checks each mutation of all scanned segments before anything is changed; throws for a bad one.
   * `path` and `offset` are the place of the mutation's frame. Default: no check.
   */
  readonly checkMutation?: CheckMutation
  /** Largest total of bytes of obsolete segments that are kept, the newest first. Default: 0. */
  readonly retainedBytesMax?: number
  /** Whether nothing is to survive: the file system keeps all changes in memory. Default: false. */
  readonly readOnly?: boolean
}

/** The recovered log. */
export interface RecoveredLog {
  /** Sequence of the last accepted frame; 0 if there is none. */
  readonly lastSequence: number
  /** Segments that were kept, the oldest first, for `LogOptions.recovered`. All durable. */
  readonly segments: readonly LogSegment[]
  /** Obsolete segments that were kept, the oldest first, for `LogOptions.retained`. */
  readonly retained: readonly LogSegment[]
  /** Undefined if the log ended cleanly. The lost bytes leave out zeros at the end of a file. */
  readonly tornTail: CutTail | undefined
  /** The last kept segment, for `LogOptions.predecessor`. */
  readonly predecessor: RecordFilePredecessor | undefined
}

/** A log that passed inspection; nothing of it was used or changed so far. */
export interface InspectedLog {
  readonly options: InspectLogOptions
  readonly kept: readonly ScannedSegment[]
  readonly dropped: readonly ScannedSegment[]
  /** Numbers of segments that are not needed any more. */
  readonly obsolete: readonly number[]
  readonly tornTail: CutTail | undefined
  /** The durable part of the manifest, by the newest note. */
  readonly manifestNoted: DurableFile | undefined
}

/**
 * Judges the log of `directory` and changes nothing.
 *
 * @throws CellarError `ERR_CORRUPTION` (file, offset, expected, found) for damage that is not a
 * torn tail, `ERR_FORMAT_VERSION`, and errors of the file system.
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
  const { checkMutation } = options
  let segments = fileNumbers.map((fileNumber) =>
    scanSegment(options, fileNumber, (path, offset) => (source, start, end) => {
      checkMutation?.(path, offset, source, start, end)
    }),
  )
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
 * Replays an inspected log. Afterwards the disk holds exactly the replayed prefix of the log,
 * durably.
 *
 * @param onMutation - called for each mutation, in order; `sequence` is that of its frame.
 * @throws CellarError `ERR_CORRUPTION` if the log changed meanwhile, and errors of the file system
 * or of `onMutation`.
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

/** Scans a segment. `visitorOf` gives the receiver of the mutations in the frame at an offset. */
export function scanSegment(
  { fileSystem, directory, databaseId }: InspectLogOptions,
  fileNumber: number,
  visitorOf: (path: string, offset: number) => OnMutation,
): ScannedSegment {
  const path = fileSystem.join(directory, segmentName(fileNumber))
  const expected = { kind: 'log' as const, fileNumber, databaseId }
  const scan = scanRecordsSync(
    fileSystem,
    path,
    expected,
    (payload, start, end, sequence, offset) => {
      const visit = visitorOf(path, offset)
      forEachMutation(path, offset, payload, start, end, sequence, visit)
    },
  )
  return { fileNumber, path, scan }
}

function replaySegment(
  options: InspectLogOptions,
  { path, fileNumber, scan }: ScannedSegment,
  onMutation: OnMutation,
): void {
  const again = scanSegment(options, fileNumber, () => onMutation).scan
  if (again.validLength !== scan.validLength) {
    throw corruption('the log changed while it was recovered', {
      file: path,
      offset: Math.min(again.validLength, scan.validLength),
      expected: `${scan.validLength} valid bytes`,
      found: `${again.validLength}`,
    })
  }
}

/** Splits the payload of a verified frame into mutations: repeated [varint length][mutation]. */
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
 * Chooses obsolete segments to keep: the newest, while their bytes are within the limit and each is
 * the predecessor of the next. Removes the kept ones from `obsolete`.
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

function describeTear(segments: readonly ScannedSegment[], tear: Tear): CutTail {
  const { path, scan } = segments[tear.index]
  let bytesLost = Math.max(0, scan.contentLength - tear.offset)
  for (const later of segments.slice(tear.index + 1)) bytesLost += later.scan.contentLength
  return { file: path, offset: tear.offset, bytesLost, found: tear.found }
}

/** Removes everything but the kept prefix of the log from the disk, and syncs the prefix. */
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
  for (const [i, segment] of kept.entries()) {
    const later = [...kept.slice(i + 1), ...dropped]
    makeDurable(options, segment, options.closed !== undefined || hasProof(later))
  }
  for (const fileNumber of obsolete) {
    fileSystem.unlinkSync(fileSystem.join(directory, segmentName(fileNumber)))
  }
  for (const name of fileSystem.listSync(directory)) {
    const about = fileOfFailedSync(name)
    if (about === undefined || parseSegmentName(about) === undefined) continue
    fileSystem.unlinkSync(fileSystem.join(directory, name))
  }
  fileSystem.syncDirectorySync(directory)
}

/** Whether one of the segments says that all older ones are durable. */
function hasProof(segments: readonly ScannedSegment[]): boolean {
  return segments.some(({ scan }) => scan.predecessorsSyncedKnown)
}

/**
 * Cuts a segment behind its valid prefix and makes the prefix durable. `isProven`: it is, unless a
 * statement of a failed sync says otherwise.
 */
function makeDurable(options: InspectLogOptions, segment: ScannedSegment, isProven: boolean): void {
  const { fileSystem, databaseId, readOnly = false } = options
  const { path, scan } = segment
  const { validLength, fileLength, syncedLengthKnown, unsyncedFrom } = scan
  const file = fileSystem.openSync(path, 'write')
  const unproven = isProven ? validLength : syncedLengthKnown
  const from = unsyncedFrom < Infinity ? unsyncedFrom : unproven
  try {
    if (validLength < fileLength) file.truncateSync(validLength)
    if (!readOnly) rewrite(file, from, validLength)
    try {
      file.syncSync()
    } catch (error) {
      // As when a sync of the writer fails: the next open must not take lost bytes for harm.
      quietly(() => writeFailedSync(fileSystem, path, databaseId, from))
      throw error
    }
  } finally {
    file.closeSync()
  }
}

const rewrittenBytesMax = 1024 * 1024

/**
 * Writes the bytes of `[from, end)` again. An earlier sync of them may have failed: then the system
 * may take them for stored, and no sync would store them.
 */
function rewrite(file: File, from: number, end: number): void {
  const bytes = Buffer.allocUnsafeSlow(Math.max(0, Math.min(rewrittenBytesMax, end - from)))
  for (let at = from; at < end; at += bytes.length) {
    const length = Math.min(bytes.length, end - at)
    if (file.readSync(bytes, 0, length, at) < length) {
      throw new CellarError(ErrorCode.io, `${file.path} became shorter while it was recovered`)
    }
    file.writeSync(bytes, 0, length, at)
  }
}
