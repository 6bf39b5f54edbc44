/**
 * Periodic maintenance. Removes uploads that no record took, deleted records after their undelete
 * time, and the remains of dropped tables.
 */
import {
  callback,
  checked,
  checkMethods,
  checkSignal,
  declareOptions,
  integer,
  timerMillisecondsMax,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import type { RepositoryManager } from './repository-manager.js'
import { tell } from '../../../comfort/told.js'
import { errorOf } from '../thrown.js'

const hour = 3_600_000
const minute = 60_000

const common = {
  /** Age in milliseconds at which an unused blob is removed. Default an hour. */
  uploadMillisecondsMax: integer({ min: 0, max: timerMillisecondsMax, default: hour }),
}

/** The declared options of the maintenance. */
export const maintenanceOptions = declareOptions('the maintenance of a repository', {
  ...common,
  /** Milliseconds from the end of a run to the next one. Default an hour. */
  intervalMilliseconds: integer({ min: 1, max: timerMillisecondsMax, default: hour }),
  /** Milliseconds before the first run. Default a minute, or the interval if that is less. */
  firstMilliseconds: integer({ min: 0, max: timerMillisecondsMax, default: undefined }),
  /** Called with the error of a failed run; its exceptions are ignored. Default: none. */
  onFailure: callback<(error: Error) => void>(),
})

/** Options of {@link RepositoryMaintenance.start}. */
export interface MaintenanceOptions extends OptionsOf<typeof maintenanceOptions> {}

const runOptions = declareOptions('a run of maintenance', {
  ...common,
  /** Aborts the run with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of {@link maintain}. */
export interface MaintenanceRun extends OptionsOf<typeof runOptions> {}

/** Counts of one run. */
export interface MaintenanceReport {
  /** Blob states that were examined, of used blobs as well. */
  readonly blobsExamined: number
  /** Blobs that were removed because no record refers to them. */
  readonly blobsRemoved: number
  /** Unused blobs that stay, because their store was not given to `open`. */
  readonly blobsUnreachable: number
  /** Deleted records that were removed completely. */
  readonly recordsPurged: number
  /** Tables and repositories whose interrupted drop was completed. */
  readonly dropsFinished: number
}

/** Counts since the start. */
export interface MaintenanceCounts extends MaintenanceReport {
  /** Runs that succeeded. */
  readonly runs: number
  /** Runs that failed. */
  readonly failures: number
}

const managerMethods = ['finishDrops', 'listRepositories', 'repository', 'findTable'] as const

/** Maintains the repositories of a manager until it is closed. */
export class RepositoryMaintenance {
  readonly #manager: RepositoryManager
  readonly #settings: SettingsOf<typeof maintenanceOptions>
  readonly #stop = new AbortController()
  readonly #counts: Record<keyof MaintenanceCounts, number> = {
    ...{ runs: 0, failures: 0, dropsFinished: 0, recordsPurged: 0 },
    ...{ blobsExamined: 0, blobsRemoved: 0, blobsUnreachable: 0 },
  }
  #timer: NodeJS.Timeout | undefined
  #running: Promise<MaintenanceReport> | undefined
  #failure: Error | undefined
  #last: MaintenanceReport | undefined
  /** End of the last successful run, by a monotonic clock. */
  #ended = performance.now()

  private constructor(manager: RepositoryManager, options: MaintenanceOptions) {
    this.#manager = manager
    this.#settings = maintenanceOptions.read(options)
    const { intervalMilliseconds, firstMilliseconds } = this.#settings
    this.#schedule(firstMilliseconds ?? Math.min(minute, intervalMilliseconds))
  }

  /** Starts the maintenance. The caller still owns the manager. `ERR_INVALID_ARGUMENT`. */
  static start(
    manager: RepositoryManager,
    options: MaintenanceOptions = {},
  ): RepositoryMaintenance {
    checkMethods(manager, 'the manager of repositories', managerMethods)
    return new RepositoryMaintenance(manager, options)
  }

  /** Runs now, or joins the run in progress. */
  run(): Promise<MaintenanceReport> {
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
    return this.#running
  }

  /** Counts since the start. */
  get counts(): MaintenanceCounts {
    return { ...this.#counts }
  }

  /** Milliseconds since the last successful run, or since the start. */
  get ageMilliseconds(): number {
    return performance.now() - this.#ended
  }

  /** Report of the last successful run; undefined before the first. */
  get lastReport(): MaintenanceReport | undefined {
    return this.#last
  }

  /** Error of the last run; undefined if it succeeded. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Stops the maintenance; a run in progress is aborted. */
  async close(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
    await this.#running?.catch(() => undefined)
  }

  #schedule(milliseconds: number): void {
    if (this.#stop.signal.aborted) return
    this.#timer = setTimeout(() => {
      // The error is in `failure`, and `onFailure` was notified.
      void this.run()
        .catch(() => undefined)
        .then(() => this.#schedule(this.#settings.intervalMilliseconds))
    }, milliseconds)
    this.#timer.unref()
  }

  async #run(): Promise<MaintenanceReport> {
    try {
      const report = await maintain(this.#manager, {
        uploadMillisecondsMax: this.#settings.uploadMillisecondsMax,
        signal: this.#stop.signal,
      })
      this.#counts.runs++
      for (const name of Object.keys(report) as (keyof MaintenanceReport)[]) {
        this.#counts[name] += report[name]
      }
      this.#failure = undefined
      this.#last = report
      this.#ended = performance.now()
      return report
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        this.#counts.failures++
        this.#failure = errorOf(error)
        tell(this.#settings.onFailure, this.#failure)
      }
      throw error
    }
  }
}

/** Maintains the repositories of a manager once. `ERR_INVALID_ARGUMENT`, `ERR_ABORTED`. */
export async function maintain(
  manager: RepositoryManager,
  options: MaintenanceRun = {},
): Promise<MaintenanceReport> {
  checkMethods(manager, 'the manager of repositories', managerMethods)
  const { uploadMillisecondsMax, signal } = runOptions.read(options)
  const dropsFinished = await manager.finishDrops()
  // The count also removes expired scanners.
  await manager.scanners.count()
  let recordsPurged = 0
  for (const repository of manager.listRepositories()) {
    for (const name of manager.repository(repository).listTables()) {
      recordsPurged += (await manager.findTable(repository, name)?.purgeDeleted({ signal })) ?? 0
    }
  }
  const { looked, removed, unreachable } = await manager.blobs.sweep({
    ageMillisecondsMin: uploadMillisecondsMax,
    signal,
  })
  const blobs = { blobsExamined: looked, blobsRemoved: removed, blobsUnreachable: unreachable }
  return { ...blobs, recordsPurged, dropsFinished }
}
