/** Reports events to the users of a database, and to monitors of the process. */
import type { CellarError } from '../../base/errors.js'
import type { JobResult } from '../job/job.js'
import type { Store } from '../store/store.js'
import type {
  CompactionOutcome,
  CompactionProgress,
  CompactionWork,
} from './background/compaction-outcome.js'
import { publishDiagnostic, traceJob } from './diagnostics.js'
import type { Catalog } from './catalog/catalog.js'
import type { EventSource, Raise } from './events.js'
import { OperationTimes, TimedOperation, type TableTimes } from './write/operation-times.js'
import type { Pressure } from './write/write-pacer.js'
import type { FlushProgress } from './background/flush-jobs.js'

/** A flush or compaction that runs. */
export interface RunningJob extends EventSource {
  /** What it does. */
  readonly kind: 'flush' | 'compaction'
  /** Bytes of memory that are written, or of files that are merged. */
  readonly bytesDone: number
  /** Bytes of all of them. */
  readonly bytesTotal: number
  /** Time since its start. */
  readonly milliseconds: number
}

interface JobSources {
  readonly flusher: { readonly jobs: { readonly progress: readonly FlushProgress[] } }
  readonly compactor: {
    readonly running: readonly { store: Store; progress: CompactionProgress; startedAt: number }[]
  }
}

export class Reports {
  private readonly directory: string
  private readonly catalog: Catalog
  private readonly raise: Raise
  /** How long operations and jobs take. */
  readonly times: OperationTimes
  /** When the running flushes began. */
  private readonly flushStarts = new Map<Store, number>()

  constructor(
    directory: string,
    slowOperationMilliseconds: number,
    catalog: Catalog,
    raise: Raise,
  ) {
    this.directory = directory
    this.catalog = catalog
    this.raise = raise
    this.times = new OperationTimes(slowOperationMilliseconds, directory, {
      familiesOf: (table) => catalog.tables.get(table)?.familyNames ?? [],
      onSlow: (slow) => raise('slowOperation', slow),
    })
  }

  /** Reports that the engine was poisoned. */
  poisoned(error: CellarError): void {
    this.raise('poisoned', error)
  }

  pressureChanged(pressure: Pressure): void {
    const { directory } = this
    publishDiagnostic('pressure', { directory, ...pressure })
    this.raise('pressure', pressure)
  }

  /** Reports damage that the scrub has found. */
  damageFound(file: string, error: CellarError): void {
    const { directory } = this
    publishDiagnostic('damage', { directory, file, error })
    this.raise('damage', { file, error })
  }

  /** Reports a failure without effect on the data. */
  warn(error: unknown): void {
    this.raise('warning', error)
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
    this.flushStarts.set(store, this.beginJob(store, TimedOperation.flush))
    publishDiagnostic('flushStart', { ...this.placeOf(store), entries, bytes })
  }

  flushMoved(store: Store, bytesDone: number, bytesTotal: number): void {
    const place = this.placeOf(store)
    publishDiagnostic('flushProgress', { ...place, bytesDone, bytesTotal })
    this.raise('flushProgress', { ...sourceOf(place), bytesDone, bytesTotal })
  }

  flushEnded(store: Store, result: JobResult): void {
    const place = this.placeOf(store)
    const startedAt = this.flushStarts.get(store)
    if (startedAt !== undefined) this.endJob(store, TimedOperation.flush, startedAt)
    this.flushStarts.delete(store)
    publishDiagnostic('flushEnd', { ...place, ...result })
    const { entriesWritten: entries, bytesWritten: bytes } = result
    this.raise('flush', { ...sourceOf(place), entries, bytes })
  }

  flushFailed(store: Store, error: unknown): void {
    const place = this.placeOf(store)
    this.flushStarts.delete(store)
    publishDiagnostic('flushError', { ...place, error })
    this.raise('flushError', { ...sourceOf(place), error })
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
    this.raise('compactionProgress', { ...sourceOf(place), ...progress })
  }

  compactionEnded(store: Store, outcome: CompactionOutcome): void {
    const place = this.placeOf(store)
    publishDiagnostic('compactionEnd', { ...place, ...outcome })
    const { kind, major, inputFiles, outputFiles, outputLevel } = outcome
    this.raise('compaction', {
      ...sourceOf(place),
      ...{ kind, major, inputFiles, outputFiles, outputLevel },
      entries: outcome.entriesWritten,
      droppedEntries: outcome.entriesDropped,
      bytes: outcome.bytesWritten,
    })
  }

  /** `requested`: the error also rejects the promise of a caller. */
  compactionFailed(store: Store, error: unknown, requested: boolean): void {
    const place = this.placeOf(store)
    publishDiagnostic('compactionError', { ...place, error })
    if (!requested) this.raise('compactionError', { ...sourceOf(place), error })
  }

  /** The flushes and compactions that run now. */
  runningJobs({ flusher, compactor }: JobSources): RunningJob[] {
    const now = performance.now()
    const flushes = flusher.jobs.progress.map(({ store, bytesDone, bytesTotal }): RunningJob => {
      const milliseconds = now - (this.flushStarts.get(store) ?? now)
      const source = sourceOf(this.placeOf(store))
      return { kind: 'flush', ...source, bytesDone, bytesTotal, milliseconds }
    })
    const compactions = compactor.running.map(({ store, progress, startedAt }): RunningJob => {
      const { bytesDone, bytesTotal } = progress
      const milliseconds = now - startedAt
      const source = sourceOf(this.placeOf(store))
      return { kind: 'compaction', ...source, bytesDone, bytesTotal, milliseconds }
    })
    return [...flushes, ...compactions]
  }

  /** Counts a job that begins. Returns the time. */
  beginJob(store: Store, kind: TimedOperation): number {
    return this.timesOf(store).beginLong(kind)
  }

  /** Takes the duration of a job that has ended well. */
  endJob(store: Store, kind: TimedOperation, startedAt: number): void {
    this.timesOf(store).endLong(kind, startedAt, store.family)
  }

  /** Runs a job between the messages of the channel `cellardb:job`. */
  traceJob<T>(store: Store, kind: 'flush' | 'compaction', run: () => Promise<T>): Promise<T> {
    return traceJob(() => ({ ...this.placeOf(store), kind }), run)
  }

  private timesOf(store: Store): TableTimes {
    return this.times.ofTable(this.catalog.tableNameOf(store))
  }

  private placeOf(store: Store): FamilyPlace {
    const { directory, catalog } = this
    return { directory, table: catalog.tableNameOf(store), family: store.family }
  }
}

/** A family, as messages of the process name it. */
interface FamilyPlace extends EventSource {
  readonly directory: string
}

function sourceOf({ table, family }: FamilyPlace): EventSource {
  return { table, family }
}
