/**
 * The edits of flushes. When an edit becomes visible, the memtables are replaced by their SSTables
 * at that moment, so no reader sees the cells twice, or not at all.
 */
import type { FlushJob, JobResult } from '../../job/job.js'
import type { FlushMember } from '../../store/flush-unit.js'
import type { VersionEdit } from '../../version/version-edit.js'
import type { Version } from '../../version/version.js'
import type { OpenedParts } from '../engine.js'
import type { LogFloor } from './log-floor.js'

/** The files of one memtable. */
export interface FlushOutput extends FlushMember {
  readonly job: FlushJob
  readonly result: JobResult
  /** See {@link FlushedTables}. */
  readonly sequenceSame: number
}

/** Makes and installs the edits of one engine's flushes; see the file header. */
export class FlushEdits {
  private readonly parts: Pick<OpenedParts, 'clock' | 'readers' | 'readPoints'>
  private readonly logFloor: LogFloor

  constructor(parts: Pick<OpenedParts, 'clock' | 'readers' | 'readPoints'>, logFloor: LogFloor) {
    this.parts = parts
    this.logFloor = logFloor
  }

  /**
   * Makes an edit, and opens the readers first, so that their failure comes before the manifest
   * names the files.
   */
  prepare(outputs: readonly FlushOutput[]): VersionEdit {
    const { clock, readers, readPoints } = this.parts
    const files = outputs.flatMap(({ store, result }) =>
      result.files.map((file) => ({ storeId: store.storeId, file })),
    )
    try {
      for (const { file } of files) readers.open(file)
      return {
        filesAdded: files,
        flushedSequences: outputs.map(({ store, slot }) => {
          return { storeId: store.storeId, sequence: slot.sequenceCovered }
        }),
        logFileNumberFloor: this.logFloor.after(outputs),
        lastSequence: readPoints.lastSequence,
        lastServerTimestamp: clock.highest,
      }
    } catch (error) {
      for (const { file } of files) readers.close(file.fileNumber)
      throw error
    }
  }

  /** Replaces the memtables by their SSTables, when the edit becomes visible. */
  install(outputs: readonly FlushOutput[], version: Version): void {
    const { readers, readPoints } = this.parts
    for (const { store, slot, job, result, sequenceSame } of outputs) {
      const flushed = { tables: result.files.map((file) => readers.open(file)), sequenceSame }
      readPoints.memtableReplaced(store, slot, sequenceSame)
      store.installFlush(slot, flushed, readers.openLevels(version.store(store.storeId)?.levels))
      readers.lend(result, job.segments)
    }
  }
}
