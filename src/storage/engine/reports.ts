/** Reports events to the users of a database, and to monitors of the process. */
import type { CellarError } from '../../base/errors.js'
import type { JobResult } from '../job/job.js'
import type { Store } from '../store/store.js'
import type {
  CompactionOutcome,
  CompactionProgress,
  CompactionWork,
} from './background/compaction-outcome.js'
import { publishDiagnostic } from './diagnostics.js'
import { OperationTimes, TimedOperation, type OperationEvents } from './write/operation-times.js'
import type { Pressure } from './write/write-pacer.js'

/** Events of the engine that `Database` reports to its users. */
export interface EngineEvents extends OperationEvents {
  onPoisoned(error: CellarError): void
  onFlushMoved(table: string, family: string, bytesDone: number, bytesTotal: number): void
  onFlushed(table: string, family: string, result: JobResult): void
  onFlushFailed(table: string, family: string, error: unknown): void
  onCompactionMoved(table: string, family: string, progress: CompactionProgress): void
  onCompacted(table: string, family: string, outcome: CompactionOutcome): void
  /** `requested`: the error also rejects the promise of a caller. */
  onCompactionFailed(table: string, family: string, error: unknown, requested: boolean): void
  /** Called when the back-pressure on writers begins, changes or ends. */
  onPressure(pressure: Pressure): void
  /** Called for a failure without effect on the data, such as a file that could not be removed. */
  onWarning(error: unknown): void
}

/** The facts about the database that reports need. */
export interface ReportedDatabase {
  readonly directory: string
  readonly options: { readonly slowOperationMilliseconds: number }
  tableNameOf(store: Store): string
}

/** Reports of one engine; see the file header. */
export class Reports {
  private readonly database: ReportedDatabase
  private readonly events: EngineEvents
  /** How long operations and jobs take. */
  readonly times: OperationTimes
  /** Start times of the running flushes. */
  private readonly flushStarts = new Map<Store, number>()

  constructor(database: ReportedDatabase, events: EngineEvents) {
    this.database = database
    this.events = events
    const { slowOperationMilliseconds } = database.options
    this.times = new OperationTimes(slowOperationMilliseconds, database.directory, events)
  }

  /** Reports that the engine was poisoned. */
  poisoned(error: CellarError): void {
    this.events.onPoisoned(error)
  }

  pressureChanged(pressure: Pressure): void {
    const { directory } = this.database
    publishDiagnostic('pressure', { directory, ...pressure })
    this.events.onPressure(pressure)
  }

  /** Reports a failure without effect on the data. */
  warn(error: unknown): void {
    this.events.onWarning(error)
  }

  /** Runs an action whose failure has no effect on the data, and reports the failure. */
  attempt(action: () => void): void {
    try {
      action()
    } catch (error) {
      this.warn(error)
    }
  }

  /** Reports that a job begins to write a memtable of `entries` entries and `bytes` bytes. */
  flushStarted(store: Store, entries: number, bytes: number): void {
    this.flushStarts.set(store, this.times.beginLong(TimedOperation.flush))
    publishDiagnostic('flushStart', { ...this.placeOf(store), entries, bytes })
  }

  flushMoved(store: Store, bytesDone: number, bytesTotal: number): void {
    const place = this.placeOf(store)
    publishDiagnostic('flushProgress', { ...place, bytesDone, bytesTotal })
    this.events.onFlushMoved(place.table, store.family, bytesDone, bytesTotal)
  }

  flushEnded(store: Store, result: JobResult): void {
    const place = this.placeOf(store)
    const startedAt = this.flushStarts.get(store)
    if (startedAt !== undefined) this.times.endLong(TimedOperation.flush, startedAt)
    this.flushStarts.delete(store)
    publishDiagnostic('flushEnd', { ...place, ...result })
    this.events.onFlushed(place.table, store.family, result)
  }

  flushFailed(store: Store, error: unknown): void {
    const place = this.placeOf(store)
    this.flushStarts.delete(store)
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

  /** `requested`: the error also rejects the promise of a caller. */
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
