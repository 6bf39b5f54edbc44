/** Checks the options that only scans have. */
import { checkBoolean, checkInteger, checkSignal, shown } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { Filter } from '../storage/filter/filter.js'
import { scanOptions, type Scan } from '../api/reads.js'
import { checkForm } from './forms.js'

/** Checks the member names of a scan, its flags, and the hints without effect. */
export function checkScan(scan: Scan): void {
  scanOptions.checkNames(checkForm(scan, 'scan'))
  checkFlags(scan)
  checkHints(scan)
}

const readTypes: readonly string[] = ['DEFAULT', 'STREAM', 'PREAD']

/** Checks each flag by name: a loop would look up each member by its text. */
function checkFlags(scan: Scan): void {
  checkBoolean(scan.startInclusive, 'startInclusive', false)
  checkBoolean(scan.stopInclusive, 'stopInclusive', false)
  checkBoolean(scan.reversed, 'reversed', false)
  checkBoolean(scan.raw, 'raw', false)
  checkBoolean(scan.allowPartialResults, 'allowPartialResults', false)
  checkBoolean(scan.needCursorResult, 'needCursorResult', false)
  checkBoolean(scan.asyncPrefetch, 'asyncPrefetch', false)
}

/** Checks the options without effect, which must be valid too. */
function checkHints(scan: Scan): void {
  checkInteger(scan.caching, 'caching', 1)
  const { readType } = scan
  if (readType !== undefined && !readTypes.includes(readType)) {
    throw invalidArgument(`readType must be DEFAULT, STREAM or PREAD, got ${shown(readType)}`)
  }
}

/** How the results of a scan are cut. */
export interface ScanCuts {
  /** Most rows; Infinity = all. */
  readonly limit: number
  /** Most cells per result; negative = whole rows. */
  readonly batch: number
  /** Bytes after which a result is cut; Infinity = never. */
  readonly bytesMax: number
  /** Whether to report the position of the scan when it found nothing for a while. */
  readonly needCursorResult: boolean
  /** Aborting it ends the scan. */
  readonly signal: AbortSignal | undefined
}

/** Parses the limits of a scan. Called before its other options are read. */
export function parseLimits(scan: Scan): Pick<ScanCuts, 'limit' | 'batch'> {
  return {
    limit: checkInteger(scan.limit, 'limit', 1) ?? Infinity,
    batch: checkInteger(scan.batch, 'batch', 1) ?? -1,
  }
}

/** Parses how a scan with the given filter cuts its results. */
export function parseCuts(
  scan: Scan,
  { limit, batch }: Pick<ScanCuts, 'limit' | 'batch'>,
  filter: Filter | undefined,
): ScanCuts {
  if (batch > 0 && filter?.hasFilterRow === true) {
    throw invalidArgument('batch cannot be combined with a filter that decides about whole rows')
  }
  const bytes = checkInteger(scan.maxResultBytes, 'maxResultBytes', 1) ?? Infinity
  const isCut = scan.allowPartialResults === true && filter?.hasFilterRow !== true
  return {
    limit,
    batch,
    bytesMax: isCut ? bytes : Infinity,
    needCursorResult: scan.needCursorResult ?? false,
    signal: checkSignal(scan.signal),
  }
}
