/**
 * Knows the SSTables that a compaction of each alone would not change.
 *
 * A job applies the rules of the family to all cells that it writes. A second application has the
 * same result if all cells are puts and none can expire. So a major compaction of such an SSTable
 * would write the same cells again.
 *
 * Known only for SSTables written by this process, and until the settings of the family change.
 */
import type { JobResult } from '../job/job.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { FamilySettings } from './family-settings.js'

export class SettledTables {
  /** The settings by which a file was written, by file number. */
  private readonly written = new Map<number, FamilySettings>()

  /**
   * Adds the files of a finished job that applied `settings` to all its cells. `sequenceKept`:
   * cells up to this sequence were kept regardless of the rules. `present`: the numbers of all
   * files of the store; others are removed.
   */
  note(
    { files, holdsPlainPuts }: Pick<JobResult, 'files' | 'holdsPlainPuts'>,
    settings: FamilySettings,
    sequenceKept: number,
    present: ReadonlySet<number>,
  ): void {
    const { written } = this
    for (const fileNumber of written.keys()) {
      if (!present.has(fileNumber)) written.delete(fileNumber)
    }
    if (!holdsPlainPuts || settings.ttlSeconds !== Infinity || settings.newVersionBehavior) return
    for (const { fileNumber, minSequence, valueFiles } of files) {
      if (valueFiles !== undefined || minSequence <= sequenceKept) continue
      written.set(fileNumber, settings)
    }
  }

  /** Whether a compaction of this file alone, by these settings, would change nothing. */
  has({ fileNumber }: FileMetadata, settings: FamilySettings): boolean {
    return this.written.get(fileNumber) === settings
  }
}
