/** Counts of the compactions of a database, for its statistics. */
import { addDrops, noDrops } from '../../job/job.js'
import type { CompactionOutcome } from './compaction-outcome.js'

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
