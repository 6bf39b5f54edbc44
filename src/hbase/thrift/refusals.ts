/** Refuses calls that have no form in the Thrift2 service, before anything is sent. */
import { CellarError, ErrorCode } from '../../base/errors.js'

/**
 * The options and operations without a form, each with another way. The table of docs/hbase.md
 * lists them.
 */
export const refusals = {
  familyTimeRanges: ['a get with familyTimeRanges', 'scan the one row'],
  cellsPerFamily: [
    'a scan with cellsPerFamilyMax or cellsPerFamilyOffset',
    'get the rows, or cut them by batch',
  ],
  maxResultBytes: ['maxResultBytes with allowPartialResults', 'cut rows by batch'],
  uncommitted: ["isolation 'READ_UNCOMMITTED'", 'leave the option out'],
  marker: ['a cell of a put with the type Delete and no timestamp', 'delete by columnVersions'],
  updateInRow: ['an increment or append among the mutations of a row', 'call it on its own'],
  updateTime: ['a timestamp or timeRange of an increment or append', 'leave it out'],
  checkFilter: ['a check by filter', 'check a column'],
  checkTimeRange: ['a check with timeRange', 'check the newest version'],
  compaction: ['the compaction of a column family', "set HBase's configuration"],
} as const

/** Makes the `ERR_UNSUPPORTED` of an option or operation; the message says what to write. */
export function notInThrift(which: keyof typeof refusals): CellarError {
  const [what, instead] = refusals[which]
  return new CellarError(ErrorCode.unsupported, `${what} has no form in Thrift2; ${instead}`)
}
