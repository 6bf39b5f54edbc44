/**
 * Judges a chain of scanned segments: where its accepted prefix ends, and whether what is missing
 * or damaged there can be a torn tail.
 *
 * A tear is what a stop of the process or of the machine can leave. Two questions decide. What can
 * have caused the damage (`DamageCause`)? And does anything prove that the bytes had been durable:
 * a frame of the segment, a header or frame of a later one, or the statement of a clean close? The
 * tables of FORMAT.md say the same. Everything but a legal tear is `ERR_CORRUPTION`.
 */

import { corruption, type CellarError } from '../base/errors.js'
import type { DamageCause, RecordScan } from '../record/record-scan.js'
import type { LogSegment } from './log-segment.js'
import { segmentName } from './segment-name.js'

/** What a chain is judged by. */
export interface ChainRules {
  /** Segments with a lower number are obsolete: they are not read, and removed. */
  readonly fileNumberFloor: number
  /**
   * All mutations up to and including this sequence are durable elsewhere, so segments that hold
   * nothing newer may be missing or damaged. Default: 0.
   */
  readonly sequenceFlushed?: number
  /**
   * Whether the machine runs on since the log was written, so that nothing that was written can be
   * missing but the end of a write that was cut. Default: false.
   */
  readonly sameRun?: boolean
  /** The last segment as a clean close has stated it. Default: no such statement. */
  readonly closed?: LogSegment
  /** A segment of which the manifest knows that it was begun. Default: none. */
  readonly begun?: number
  /** Refuse a legal tear too. Default: false. */
  readonly strict?: boolean
}

/** A segment and what the scan of it saw. */
export interface ScannedSegment {
  readonly fileNumber: number
  readonly path: string
  readonly scan: RecordScan
}

/** Where the accepted prefix ends, if not at the end of the last segment. */
export interface Tear {
  readonly index: number
  readonly offset: number
  readonly expected: string
  readonly found: string
  readonly cause: DamageCause
}

type PathOf = (fileNumber: number) => string

/** The last segment before which everything is flushed; what comes before it is obsolete. */
export function firstNeeded(segments: readonly ScannedSegment[], sequenceFlushed: number): number {
  for (let i = segments.length - 1; i > 0; i--) {
    const predecessor = segments[i].scan.header?.predecessor
    if (predecessor !== undefined && predecessor.lastSequence <= sequenceFlushed) return i
  }
  return 0
}

/**
 * Goes along the chain to its tear, if there is one.
 *
 * @param pathOf - path of the segment with a number, for messages.
 * @throws CellarError `ERR_CORRUPTION` unless the chain is whole or its tear is legal.
 */
export function judgeChain(
  segments: readonly ScannedSegment[],
  rules: ChainRules,
  pathOf: PathOf,
): Tear | undefined {
  checkBeginning(segments, rules, pathOf)
  const tear = findTear(segments, pathOf)
  if (rules.closed !== undefined) checkClosed(segments, tear, rules.closed, pathOf)
  const { begun = 0 } = rules
  if (begun >= Math.max(1, rules.fileNumberFloor)) checkBegun(segments, begun, pathOf)
  if (tear !== undefined) checkTear(segments, tear, rules)
  return tear
}

/** The first segment may continue only one that is obsolete. */
function checkBeginning(
  segments: readonly ScannedSegment[],
  rules: ChainRules,
  pathOf: PathOf,
): void {
  const predecessor = segments.at(0)?.scan.header?.predecessor
  if (predecessor === undefined || predecessor.fileNumber < rules.fileNumberFloor) return
  if (predecessor.lastSequence <= (rules.sequenceFlushed ?? 0)) return
  throw missingSegment(pathOf(predecessor.fileNumber), segments[0])
}

/** Goes along the chain to the first place where it does not go on as written. */
function findTear(segments: readonly ScannedSegment[], pathOf: PathOf): Tear | undefined {
  for (let index = 0; index < segments.length; index++) {
    const { header, damage } = segments[index].scan
    if (header === undefined) return { index, ...damage! }
    if (index > 0) checkLink(segments, index, pathOf)
    const next = segments.at(index + 1)
    const named = next?.scan.header?.predecessor
    if (next !== undefined && named?.fileNumber === segments[index].fileNumber) {
      // The next header knows how long this segment is. What follows is room, damaged or not.
      const tear = findShortness(segments, index, named.length)
      if (tear !== undefined) return tear
    } else if (damage !== undefined && damage.cause !== 'room') {
      return { index, ...damage }
    }
  }
  return undefined
}

/** The tear of a segment that is shorter than the next one says. */
function findShortness(
  segments: readonly ScannedSegment[],
  index: number,
  length: number,
): Tear | undefined {
  const { validLength, damage } = segments[index].scan
  if (validLength >= length) return undefined
  const expected = `${length} bytes, as ${segments[index + 1].path} says`
  if (damage === undefined || damage.cause === 'room') {
    const found = `${validLength} bytes`
    return { index, offset: validLength, expected, found, cause: 'cutWrite' }
  }
  return { index, ...damage, expected: `${damage.expected}; ${expected}` }
}

/** Checks that the segment continues the one before it, which is long enough. */
function checkLink(segments: readonly ScannedSegment[], index: number, pathOf: PathOf): void {
  const before = segments[index - 1]
  const segment = segments[index]
  const predecessor = segment.scan.header?.predecessor
  const { validLength, lastSequence } = before.scan
  if (predecessor === undefined || predecessor.fileNumber < before.fileNumber) {
    const found = predecessor === undefined ? 'none' : segmentName(predecessor.fileNumber)
    const expected = `${segmentName(before.fileNumber)} as predecessor`
    throw corruption('broken log chain', { file: segment.path, offset: 40, expected, found })
  }
  if (predecessor.fileNumber > before.fileNumber) {
    throw missingSegment(pathOf(predecessor.fileNumber), segment)
  }
  if (validLength > predecessor.length) {
    throw corruption('overlong log segment', {
      file: before.path,
      offset: predecessor.length,
      expected: `${predecessor.length} bytes, as ${segment.path} says`,
      found: `${validLength} bytes`,
    })
  }
  if (lastSequence !== predecessor.lastSequence) {
    throw corruption('broken log chain', {
      file: segment.path,
      offset: 56,
      expected: `last sequence ${lastSequence}`,
      found: `${predecessor.lastSequence}`,
    })
  }
}

function missingSegment(file: string, next: ScannedSegment): CellarError {
  return corruption('missing log segment', {
    file,
    offset: 0,
    expected: `the segment that ${next.path} continues`,
    found: 'no such file in the chain',
  })
}

/** Throws unless the chain ends exactly where a clean close has left it. */
function checkClosed(
  segments: readonly ScannedSegment[],
  tear: Tear | undefined,
  closed: LogSegment,
  pathOf: PathOf,
): void {
  const said = 'as the statement of the last close says'
  if (tear !== undefined) {
    const { offset, expected, found } = tear
    const facts = { offset, expected: `${expected}, ${said}`, found }
    throw corruption('damaged log', { file: segments[tear.index].path, ...facts })
  }
  const last = segments.at(-1)
  if (last?.fileNumber !== closed.fileNumber) {
    throw corruption('missing log segment', {
      file: pathOf(closed.fileNumber),
      offset: 0,
      expected: `${segmentName(closed.fileNumber)} as the last segment, ${said}`,
      found: last === undefined ? 'no segment' : segmentName(last.fileNumber),
    })
  }
  const { validLength, lastSequence } = last.scan
  if (validLength === closed.length && lastSequence === closed.lastSequence) return
  throw corruption('damaged log', {
    file: last.path,
    offset: Math.min(validLength, closed.length),
    expected: `${closed.length} bytes up to sequence ${closed.lastSequence}, ${said}`,
    found: `${validLength} bytes up to sequence ${lastSequence}`,
  })
}

/** Throws if a segment is missing of which the manifest says that it was begun. */
function checkBegun(segments: readonly ScannedSegment[], begun: number, pathOf: PathOf): void {
  const last = segments.at(-1)
  if (last !== undefined && last.fileNumber >= begun) return
  throw corruption('missing log segment', {
    file: pathOf(begun),
    offset: 0,
    expected: 'the segment that the manifest names',
    found: 'no such file',
  })
}

/** Throws unless the tear is what a stop can leave of bytes that nothing says were durable. */
function checkTear(segments: readonly ScannedSegment[], tear: Tear, rules: ChainRules): void {
  const { path, scan } = segments[tear.index]
  const { offset, expected, found, cause } = tear
  const refuse = (why: string): never => {
    throw corruption('damaged log', { file: path, offset, expected, found: `${found}, ${why}` })
  }
  if (offset < scan.syncedLengthKnown) {
    refuse(`though ${scan.syncedLengthKnown} bytes had been durable`)
  }
  for (const later of segments.slice(tear.index + 1)) {
    if (!later.scan.predecessorsSyncedKnown) continue
    refuse(`though ${later.path} says that the file had been durable`)
  }
  if (cause === 'harm') refuse('which no stop leaves behind')
  if (cause === 'lostBlocks' && rules.sameRun === true) {
    refuse('which only a stop of the machine leaves behind, and it has not stopped')
  }
  if (rules.strict === true) refuse("which may be a torn tail, but recovery is 'strict'")
}
