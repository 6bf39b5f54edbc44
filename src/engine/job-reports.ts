/** Tells events and diagnostics channels what flushes and compactions do. */
import type { JobResult } from '../job/job.js'
import type { Store } from '../store/store.js'
import type { CompactionOutcome, CompactionProgress, CompactionWork } from './compaction-host.js'
import { publishDiagnostic } from './diagnostics.js'
import type { EngineEvents } from './engine.js'

/** What a report says of the database. */
export interface ReportedDatabase {
  readonly directory: string
  tableNameOf(store: Store): string
}

/** Reports of background jobs; see the file header. */
export class JobReports {
  private readonly database: ReportedDatabase
  private readonly events: EngineEvents

  constructor(database: ReportedDatabase, events: EngineEvents) {
    this.database = database
    this.events = events
  }

  /** A job begins to write a memtable of so many entries and bytes. */
  flushStarted(store: Store, entries: number, bytes: number): void {
    publishDiagnostic('flushStart', { ...this.placeOf(store), entries, bytes })
  }

  flushMoved(store: Store, bytesDone: number, bytesTotal: number): void {
    const place = this.placeOf(store)
    publishDiagnostic('flushProgress', { ...place, bytesDone, bytesTotal })
    this.events.onFlushMoved(place.table, store.family, bytesDone, bytesTotal)
  }

  flushEnded(store: Store, result: JobResult): void {
    const place = this.placeOf(store)
    publishDiagnostic('flushEnd', { ...place, ...result })
    this.events.onFlushed(place.table, store.family, result)
  }

  flushFailed(store: Store, error: unknown): void {
    const place = this.placeOf(store)
    publishDiagnostic('flushError', { ...place, error })
    this.events.onFlushFailed(place.table, store.family, error)
  }

  compactionStarted(store: Store, { kind, files, ...work }: CompactionWork): void {
    publishDiagnostic('compactionStart', {
      ...this.placeOf(store),
      kind,
      major: 'major' in work && work.major,
      inputFiles: files.length,
      bytesTotal: files.reduce((sum, file) => sum + file.fileBytes, 0),
    })
  }

  compactionMoved(store: Store, progress: CompactionProgress): void {
    const place = this.placeOf(store)
    publishDiagnostic('compactionProgress', { ...place, ...progress })
    this.events.onCompactionMoved(place.table, store.family, progress)
  }

  compactionEnded(store: Store, outcome: CompactionOutcome): void {
    const place = this.placeOf(store)
    publishDiagnostic('compactionEnd', { ...place, ...outcome })
    this.events.onCompacted(place.table, store.family, outcome)
  }

  /** `requested`: a promise tells the error. */
  compactionFailed(store: Store, error: unknown, requested: boolean): void {
    const place = this.placeOf(store)
    publishDiagnostic('compactionError', { ...place, error })
    this.events.onCompactionFailed(place.table, store.family, error, requested)
  }

  private placeOf(store: Store): { directory: string; table: string; family: string } {
    const { directory } = this.database
    return { directory, table: this.database.tableNameOf(store), family: store.family }
  }
}
