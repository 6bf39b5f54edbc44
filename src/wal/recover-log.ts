/**
 * Reads the log back after a stop or a crash, and makes the directory fit for a new segment.
 *
 * 1. Scan every segment: verify frames and their structure, apply nothing.
 * 2. Follow the chain of headers and find where the accepted prefix ends. Damage is a legal tear
 *    only if nothing that survived proves that the damaged bytes had been durable: neither a frame
 *    of the segment, nor a header or frame of a later one. Everything else is `ERR_CORRUPTION`,
 *    with nothing applied and nothing changed on disk. Zeros behind the last frame are no damage:
 *    the writer makes files longer ahead of their content.
 * 3. Replay the accepted prefix, so that the history never has a hole.
 * 4. Remove what lies behind the prefix, and obsolete segments; sync what was kept. What users read
 *    from now on can then no longer disappear.
 *
 * A crash within step 4 leaves a state that recovers to the same prefix: later segments are removed
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
  type RecordFileHeader,
  type RecordFilePredecessor,
} from '../record/format.js'
import { scanRecordsSync, type RecordScan } from '../record/record-scan.js'
import type { LogSegment } from './log-segment.js'
import { parseSegmentName, segmentName } from './segment-name.js'

/** Takes one mutation: `source[start, end)`, borrowed during the call. */
export type OnMutation = (source: Buffer, start: number, end: number, sequence: number) => void

/** What {@link recoverLog} needs. */
export interface RecoverLogOptions {
  readonly fileSystem: FileSystem
  readonly directory: string
  /** Identity of the database. Segments of another one are refused. */
  readonly databaseId: Buffer
  /** Segments with a lower number are obsolete: they are not read, and removed. */
  readonly fileNumberFloor: number
  /**
   * All mutations up to and including this sequence are durable elsewhere, so segments that hold
   * nothing newer may be missing or damaged. Default: 0.
   */
  readonly sequenceFlushed?: number
  /** Obsolete segments are kept up to so many bytes, the newest ones. Default: 0. */
  readonly retainedBytesMax?: number
  /** Called for each mutation of the accepted prefix, in order; `sequence` is its frame's. */
  readonly onMutation: OnMutation
  /** Default and only mode: refuse everything but a torn tail. */
  readonly mode?: 'strict'
}

/** Where recovery cut the log. */
export interface TornTail {
  /** Path of the segment that was cut, or removed if the offset is zero. */
  readonly file: string
  readonly offset: number
  /** Bytes dropped there and in later segments. */
  readonly bytesLost: number
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

interface Segment {
  readonly fileNumber: number
  readonly path: string
  readonly scan: RecordScan
}

/** Where the accepted prefix ends, if not at the end of the last segment. */
interface Tear {
  readonly index: number
  readonly offset: number
  readonly expected: string
  readonly found: string
}

/**
 * Recovers the log of `directory`.
 *
 * @throws CellarError `ERR_CORRUPTION` (file, offset, expected, found) for anything but a torn
 * tail, `ERR_FORMAT_VERSION`, and what the file system or `onMutation` throws.
 */
export function recoverLog(options: RecoverLogOptions): RecoveredLog {
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
  checkBeginning(options, segments)
  const tear = findTear(options, segments)
  if (tear !== undefined) checkTear(segments, tear)
  const keptCount =
    tear === undefined ? segments.length : tear.index + (tear.offset < fileHeaderBytes ? 0 : 1)
  const kept = segments.slice(0, keptCount)
  for (const segment of kept) replay(options, segment)
  const dropped = segments.slice(keptCount)
  const retained = retain(options, obsolete, kept.at(0))
  repair(options, kept, dropped, obsolete)
  const recovered = kept.map(({ fileNumber, scan }) => {
    return { fileNumber, length: scan.validLength, lastSequence: scan.lastSequence }
  })
  const predecessor = recovered.at(-1)
  return {
    lastSequence: predecessor?.lastSequence ?? 0,
    segments: recovered,
    retained,
    tornTail: tear === undefined ? undefined : describeTear(segments, tear),
    predecessor,
  }
}

function scanSegment(options: RecoverLogOptions, fileNumber: number): Segment {
  const path = options.fileSystem.join(options.directory, segmentName(fileNumber))
  const expected = { kind: 'log' as const, fileNumber, databaseId: options.databaseId }
  const scan = scanRecordsSync(
    options.fileSystem,
    path,
    expected,
    (payload, start, end, sequence, offset) => {
      forEachMutation(path, offset, payload, start, end, sequence, ignore)
    },
  )
  return { fileNumber, path, scan }
}

function ignore(): void {
  // The first pass only verifies.
}

function replay(options: RecoverLogOptions, segment: Segment): void {
  const { path, fileNumber } = segment
  const expected = { kind: 'log' as const, fileNumber, databaseId: options.databaseId }
  const again = scanRecordsSync(
    options.fileSystem,
    path,
    expected,
    (payload, start, end, sequence, offset) => {
      forEachMutation(path, offset, payload, start, end, sequence, options.onMutation)
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

/** The last segment before which everything is flushed; what comes before it is obsolete. */
function firstNeeded(segments: readonly Segment[], sequenceFlushed: number): number {
  for (let i = segments.length - 1; i > 0; i--) {
    const predecessor = segments[i].scan.header?.predecessor
    if (predecessor !== undefined && predecessor.lastSequence <= sequenceFlushed) return i
  }
  return 0
}

/** The first segment may continue only one that is obsolete. */
function checkBeginning(options: RecoverLogOptions, segments: readonly Segment[]): void {
  const predecessor = segments.at(0)?.scan.header?.predecessor
  if (predecessor === undefined || predecessor.fileNumber < options.fileNumberFloor) return
  if (predecessor.lastSequence <= (options.sequenceFlushed ?? 0)) return
  throw missingSegment(options, predecessor.fileNumber, segments[0])
}

/** Goes along the chain to the first place where it does not go on as written. */
function findTear(options: RecoverLogOptions, segments: readonly Segment[]): Tear | undefined {
  for (let index = 0; index < segments.length; index++) {
    const { header, damage, endsInZeros } = segments[index].scan
    if (header === undefined) return { index, ...damage! }
    if (index > 0) {
      const tear = checkLink(options, segments, index)
      if (tear !== undefined) return tear
    }
    // Zeros are room that was made ahead. Where there should be frames, the next header knows.
    if (damage !== undefined && !endsInZeros) return { index, ...damage }
  }
  return undefined
}

/** Checks that the segment continues the one before it, which is undamaged. */
function checkLink(
  options: RecoverLogOptions,
  segments: readonly Segment[],
  index: number,
): Tear | undefined {
  const before = segments[index - 1]
  const segment = segments[index]
  const predecessor = segment.scan.header?.predecessor
  const { validLength, lastSequence } = before.scan
  if (predecessor === undefined || predecessor.fileNumber <= before.fileNumber) {
    if (predecessor?.fileNumber !== before.fileNumber) {
      const found = predecessor === undefined ? 'none' : segmentName(predecessor.fileNumber)
      const expected = `${segmentName(before.fileNumber)} as predecessor`
      throw corruption('broken log chain', { file: segment.path, offset: 24, expected, found })
    }
  } else {
    throw missingSegment(options, predecessor.fileNumber, segment)
  }
  const expected = `${predecessor.length} bytes, as ${segment.path} says`
  if (validLength < predecessor.length) {
    return { index: index - 1, offset: validLength, expected, found: `${validLength} bytes` }
  }
  if (validLength > predecessor.length) {
    const { path } = before
    const found = `${validLength} bytes`
    throw corruption('overlong log segment', {
      file: path,
      offset: predecessor.length,
      expected,
      found,
    })
  }
  if (lastSequence !== predecessor.lastSequence) {
    throw corruption('broken log chain', {
      file: segment.path,
      offset: 40,
      expected: `last sequence ${lastSequence}`,
      found: `${predecessor.lastSequence}`,
    })
  }
  return undefined
}

function missingSegment(options: RecoverLogOptions, fileNumber: number, next: Segment): Error {
  return corruption('missing log segment', {
    file: options.fileSystem.join(options.directory, segmentName(fileNumber)),
    offset: 0,
    expected: `the segment that ${next.path} continues`,
    found: 'no such file in the chain',
  })
}

/** Throws unless nothing proves that the torn bytes had been durable. */
function checkTear(segments: readonly Segment[], tear: Tear): void {
  const { path, scan } = segments[tear.index]
  const { offset, expected, found } = tear
  if (offset < scan.syncedLengthKnown) {
    const why = `${found}, though ${scan.syncedLengthKnown} bytes had been durable`
    throw corruption('damaged log', { file: path, offset, expected, found: why })
  }
  for (const later of segments.slice(tear.index + 1)) {
    if (!later.scan.predecessorsSyncedKnown) continue
    const why = `${found}, though ${later.path} says that the file had been durable`
    throw corruption('damaged log', { file: path, offset, expected, found: why })
  }
}

/**
 * Takes the newest obsolete segments, as far as their bytes are within the bound and each is
 * continued by the next, off the list of those that are removed.
 */
function retain(
  options: RecoverLogOptions,
  obsolete: number[],
  firstKept: Segment | undefined,
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

function describeTear(segments: readonly Segment[], tear: Tear): TornTail {
  let bytesLost = segments[tear.index].scan.fileLength - tear.offset
  for (const later of segments.slice(tear.index + 1)) bytesLost += later.scan.fileLength
  return { file: segments[tear.index].path, offset: tear.offset, bytesLost }
}

/** Makes the disk hold the kept prefix and nothing else of the log, durably. */
function repair(
  options: RecoverLogOptions,
  kept: readonly Segment[],
  dropped: readonly Segment[],
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
