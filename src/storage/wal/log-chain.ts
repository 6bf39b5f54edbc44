/**
 * Judges a chain of scanned segments: where its accepted prefix ends, and whether the damage or gap
 * there can be a torn tail.
 *
 * A tear is damage that a stop of the process or of the machine can leave. Two questions decide.
 * What can have caused the damage (`DamageCause`)? And does anything prove that the bytes were
 * durable: a frame of the segment, a header or frame of a later segment, or the statement of a
 * clean close? The tables of FORMAT.md give the same rules. Everything but a legal tear is
 * `ERR_CORRUPTION`.
 */

import { corruption, type CellarError } from '../../base/errors.js'
import type { DamageCause, RecordScan } from '../record/record-scan.js'
import type { LogSegment } from './log-segment.js'
import { segmentName } from './segment-name.js'

/** The facts by which a chain is judged. */
export interface ChainRules {
  /** Segments with a lower number are obsolete: recovery removes them without reading them. */
  readonly fileNumberFloor: number
  /**
   * All mutations up to and including this sequence are durable in SSTables. Segments without newer
   * mutations may be missing or damaged. Default: 0.
   */
  readonly sequenceFlushed?: number
  /**
   * Whether the machine has not stopped since the log was written. Then all written bytes are still
   * there, except the end of a write that was cut. Default: false.
   */
  readonly sameRun?: boolean
  /** The last segment as the statement of a clean close names it. Default: no statement. */
  readonly closed?: LogSegment
  /** Number of a segment that was begun, as the manifest notes. Default: none. */
  readonly begun?: number
  /** Whether a legal tear is refused too. Default: false. */
  readonly strict?: boolean
}

/** A segment and the result of its scan. */
export interface ScannedSegment {
  readonly fileNumber: number
  readonly path: string
  readonly scan: RecordScan
}

/** The end of the accepted prefix, where the chain does not end with its last segment. */
export interface Tear {
  readonly index: number
  readonly offset: number
  readonly expected: string
  readonly found: string
  readonly cause: DamageCause
}

type PathOf = (fileNumber: number) => string

/**
 * Index of the first segment that is needed: all mutations of the segments before it are flushed.
 */
export function firstNeeded(segments: readonly ScannedSegment[], sequenceFlushed: number): number {
  for (let i = segments.length - 1; i > 0; i--) {
    const predecessor = segments[i].scan.header?.predecessor
    if (predecessor !== undefined && predecessor.lastSequence <= sequenceFlushed) return i
  }
  return 0
}

/**
 * Follows the chain to its tear, if there is one.
 *
 * @param pathOf - returns the path of the segment with a number, for messages.
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

/** Throws if the segment before the first one is missing and still needed. */
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

/** Follows the chain to the first place where it does not continue as written. */
function findTear(segments: readonly ScannedSegment[], pathOf: PathOf): Tear | undefined {
  for (let index = 0; index < segments.length; index++) {
    const { header, damage } = segments[index].scan
    if (header === undefined) return { index, ...damage! }
    if (index > 0) checkLink(segments, index, pathOf)
    const next = segments.at(index + 1)
    const named = next?.scan.header?.predecessor
    if (next !== undefined && named?.fileNumber === segments[index].fileNumber) {
      // The next header records the length of this segment. Bytes after that length do not
      // matter.
      const tear = findShortness(segments, index, named.length)
      if (tear !== undefined) return tear
    } else if (damage !== undefined && damage.cause !== 'room') {
      return { index, ...damage }
    }
  }
  return undefined
}

/** The tear of a segment that is shorter than the next header says. */
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

/** Checks that the segment continues the one before it, and that the older one is not too long. */
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

/** Throws unless the chain ends exactly where the clean close left it. */
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

/** Throws if a segment is missing that was begun according to the manifest. */
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

/** Throws unless a stop can have left the tear, and nothing says that the bytes were durable. */
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
