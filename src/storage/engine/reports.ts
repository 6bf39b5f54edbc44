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
import type { Catalog } from './catalog/catalog.js'
import type { EventSource, Raise } from './events.js'
import { OperationTimes, TimedOperation } from './write/operation-times.js'
import type { Pressure } from './write/write-pacer.js'

/** Reports of one engine; see the file header. */
export class Reports {
  private readonly directory: string
  private readonly catalog: Catalog
  private readonly raise: Raise
  /** How long operations and jobs take. */
  readonly times: OperationTimes
  /** Start times of the running flushes. */
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
    this.times = new OperationTimes(slowOperationMilliseconds, directory, (slow) =>
      raise('slowOperation', slow),
    )
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
    this.flushStarts.set(store, this.times.beginLong(TimedOperation.flush))
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
    if (startedAt !== undefined) this.times.endLong(TimedOperation.flush, startedAt)
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
