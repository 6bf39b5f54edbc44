/** Types that describe a compaction: its choice, its progress, and its result. */
import type { CompactionChoice } from '../../compaction/choice.js'
import type { DropCounts } from '../../job/job.js'

/** The choice of a policy, except the choice to do nothing. */
export type CompactionWork = Exclude<CompactionChoice, { kind: 'nothing' }>

/**
 * The result of a compaction. A move or drop reads nothing, so only its counts of files are set.
 */
export interface CompactionOutcome {
  readonly kind: CompactionWork['kind']
  readonly major: boolean
  readonly inputFiles: number
  readonly inputBytes: number
  readonly outputFiles: number
  readonly outputLevel: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly entriesRead: number
  readonly entriesWritten: number
  readonly entriesDropped: number
  readonly dropped: DropCounts
}

/** The progress of a running compaction. */
export interface CompactionProgress {
  readonly major: boolean
  readonly inputFiles: number
  readonly bytesDone: number
  readonly bytesTotal: number
}
