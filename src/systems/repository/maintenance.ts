/**
 * Removes what nobody needs any more, again and again: uploads that no record took, what deleted
 * records have kept for too long, and what is left of tables that were dropped.
 */
import {
  checkFunction,
  checkMethods,
  checkSignal,
  OptionNames,
  readArguments,
  shown,
} from '../../api/index.js'
import { invalidArgument } from './errors.js'
import type { RepositoryManager } from './repository-manager.js'
import { tell } from './told.js'
import { errorOf } from './thrown.js'

/** Options of {@link RepositoryMaintenance.start}. */
export interface MaintenanceOptions {
  /** Milliseconds from the end of a run to the next one. Default an hour. */
  readonly intervalMilliseconds?: number | undefined
  /** Milliseconds before the first run. Default a minute, or the interval if that is less. */
  readonly firstMilliseconds?: number | undefined
  /** Milliseconds after which a blob that no record has is removed. Default an hour. */
  readonly uploadMillisecondsMax?: number | undefined
  /** Told of runs that failed; what it throws is ignored. Default: `failure` says it. */
  readonly onFailure?: ((error: Error) => void) | undefined
}

/** What a run has done. */
export interface MaintenanceReport {
  /** Blobs outside records that were looked at. */
  readonly blobsLooked: number
  /** Blobs that were removed: nobody had them. */
  readonly blobsRemoved: number
  /** Blobs that would have been removed, but whose store was not given to `open`. */
  readonly blobsUnreachable: number
  /** Deleted records of which nothing is left now. */
  readonly recordsPurged: number
  /** Tables and repositories that were dropped earlier and are gone now. */
  readonly dropsFinished: number
}

/** What was done since the start. */
export interface MaintenanceCounts extends MaintenanceReport {
  /** Runs that came to their end. */
  readonly runs: number
  /** Runs that failed. */
  readonly failures: number
}

const optionNames = new OptionNames<MaintenanceOptions>('the maintenance of a repository', {
  intervalMilliseconds: true,
  firstMilliseconds: true,
  uploadMillisecondsMax: true,
  onFailure: true,
})
const runNames = new OptionNames<MaintenanceRun>('a run of maintenance', {
  uploadMillisecondsMax: true,
  signal: true,
})
const managerMethods = ['finishDrops', 'listRepositories', 'repository', 'findTable'] as const
const hour = 3_600_000
const minute = 60_000
/** The longest time of a timer. */
const millisecondsMax = 2 ** 31 - 1

/** Maintains the repositories of a manager until it is closed. */
export class RepositoryMaintenance {
  readonly #manager: RepositoryManager
  readonly #interval: number
  readonly #uploadMillisecondsMax: number
  readonly #onFailure: ((error: Error) => void) | undefined
  readonly #stop = new AbortController()
  readonly #counts = {
    runs: 0,
    failures: 0,
    blobsLooked: 0,
    blobsRemoved: 0,
    blobsUnreachable: 0,
    recordsPurged: 0,
    dropsFinished: 0,
  }
  #timer: NodeJS.Timeout | undefined
  #running: Promise<MaintenanceReport> | undefined
  #failure: Error | undefined
  #last: MaintenanceReport | undefined
  /** When the last run ended that did not fail, by a clock that never goes back. */
  #ended = performance.now()

  private constructor(manager: RepositoryManager, options: MaintenanceOptions) {
    const { intervalMilliseconds = hour, uploadMillisecondsMax = hour, onFailure } = options
    const { firstMilliseconds = Math.min(minute, intervalMilliseconds) } = options
    this.#manager = manager
    this.#interval = checkMilliseconds(intervalMilliseconds, 'intervalMilliseconds', 1)
    this.#uploadMillisecondsMax = checkMilliseconds(uploadMillisecondsMax, 'uploadMillisecondsMax')
    this.#onFailure = checkFunction(onFailure, 'onFailure')
    this.#schedule(checkMilliseconds(firstMilliseconds, 'firstMilliseconds'))
  }

  /** Begins; the manager stays the caller's. `ERR_INVALID_ARGUMENT`. */
  static start(
    manager: RepositoryManager,
    options: MaintenanceOptions = {},
  ): RepositoryMaintenance {
    checkMethods(manager, 'the manager of repositories', managerMethods)
    return new RepositoryMaintenance(
      manager,
      readArguments(() => optionNames.copy(options)),
    )
  }

  /** Runs now, or takes part in the run under way. */
  run(): Promise<MaintenanceReport> {
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
    return this.#running
  }

  /** What was done since the start. */
  get counts(): MaintenanceCounts {
    return { ...this.#counts }
  }

  /** Milliseconds since a run has come to its end, or since the start. */
  get ageMilliseconds(): number {
    return performance.now() - this.#ended
  }

  /** What the last run did that came to its end; undefined before the first. */
  get lastReport(): MaintenanceReport | undefined {
    return this.#last
  }

  /** Why the last run failed; undefined if it did not. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Ends; a run under way is broken off. */
  async close(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
    await this.#running?.catch(() => undefined)
  }

  #schedule(milliseconds: number): void {
    if (this.#stop.signal.aborted) return
    this.#timer = setTimeout(() => {
      // Its failure is kept and told.
      void this.run()
        .catch(() => undefined)
        .then(() => this.#schedule(this.#interval))
    }, milliseconds)
    this.#timer.unref()
  }

  async #run(): Promise<MaintenanceReport> {
    try {
      const report = await maintain(this.#manager, {
        uploadMillisecondsMax: this.#uploadMillisecondsMax,
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
      if (!this.#stop.signal.aborted) this.#failed(error)
      throw error
    }
  }

  #failed(error: unknown): void {
    this.#counts.failures++
    this.#failure = errorOf(error)
    tell(this.#onFailure, this.#failure)
  }
}

/** What one run is asked for. */
export interface MaintenanceRun {
  /** Milliseconds after which a blob that no record has is removed. Default an hour. */
  readonly uploadMillisecondsMax?: number | undefined
  /** Ends the run with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

/** Maintains the repositories of a manager once. `ERR_INVALID_ARGUMENT`, `ERR_ABORTED`. */
export async function maintain(
  manager: RepositoryManager,
  options: MaintenanceRun = {},
): Promise<MaintenanceReport> {
  checkMethods(manager, 'the manager of repositories', managerMethods)
  const { uploadMillisecondsMax = hour, signal } = readArguments(() => {
    const copy = runNames.copy(options)
    checkSignal(copy.signal)
    return copy
  })
  checkMilliseconds(uploadMillisecondsMax, 'uploadMillisecondsMax')
  const dropsFinished = await manager.finishDrops()
  // Removes the scanners whose lease has ended.
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
  const blobs = { blobsLooked: looked, blobsRemoved: removed, blobsUnreachable: unreachable }
  return { ...blobs, recordsPurged, dropsFinished }
}

function checkMilliseconds(value: unknown, what: string, least = 0): number {
  const fits = Number.isSafeInteger(value) && (value as number) >= least
  if (fits && (value as number) <= millisecondsMax) return value as number
  throw invalidArgument(`${what} must be ${least} to ${millisecondsMax}, got ${shown(value)}`)
}
