/**
 * Which SSTables of a store hold nothing that a compaction of them alone could change.
 *
 * A job applies the rules of the family to all that it writes. The rules give the same answer when
 * they are asked again, provided that all cells are puts, and that nothing expires. So a major
 * compaction of such an SSTable would write the same cells again.
 *
 * Known only for SSTables that this process wrote, and until the settings of the family change.
 */
import type { JobResult } from '../job/job.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { FamilySettings } from './family-settings.js'

export class SettledTables {
  /** The settings by which a file was written, by the number of the file. */
  private readonly written = new Map<number, FamilySettings>()

  /**
   * Notes the files of a finished job that `settings` alone decided. `sequenceKept`: cells up to
   * this sequence were kept whatever the rules say. `present`: the numbers of all files of the
   * store; others are forgotten.
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
