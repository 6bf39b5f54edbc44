/** What compactions do: the work that was chosen, how far it is, and what it did. */
import type { CompactionChoice } from '../compaction/choice.js'
import type { DropCounts } from '../job/job.js'

/** A choice that changes something. */
export type CompactionWork = Exclude<CompactionChoice, { kind: 'nothing' }>

/** What a compaction did. All zero but for the files if nothing was read (a move or drop). */
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

/** How far a running compaction is. */
export interface CompactionProgress {
  readonly major: boolean
  readonly inputFiles: number
  readonly bytesDone: number
  readonly bytesTotal: number
}
