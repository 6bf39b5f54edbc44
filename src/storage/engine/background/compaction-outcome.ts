/** Compactions as data: the choice, the progress and the result of one, and the sums of all. */
import type { CompactionChoice } from '../../compaction/choice.js'
import { addDrops, noDrops, type DropCounts } from '../../job/job.js'

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

/** Sums over all compactions since the open. */
export class CompactionTotals {
  /** Merges; files that were moved; files that were dropped. */
  merges = 0
  moves = 0
  drops = 0
  bytesRead = 0
  bytesWritten = 0
  entriesRead = 0
  entriesWritten = 0
  entriesDropped = 0
  readonly dropped = noDrops()

  /** Adds a finished compaction. */
  add(outcome: CompactionOutcome): void {
    if (outcome.kind === 'merge') this.merges++
    else if (outcome.kind === 'move') this.moves += outcome.inputFiles
    else this.drops += outcome.inputFiles
    this.bytesRead += outcome.bytesRead
    this.bytesWritten += outcome.bytesWritten
    this.entriesRead += outcome.entriesRead
    this.entriesWritten += outcome.entriesWritten
    this.entriesDropped += outcome.entriesDropped
    addDrops(this.dropped, outcome.dropped)
  }
}
