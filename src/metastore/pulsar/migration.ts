/**
 * The move of all records to another store while brokers run (PIP-454).
 *
 * The state of the move is a record of the source. Every {@link DualMetadataStore} holds an
 * ephemeral record as long as it may write to the source. When a move is prepared, the handles stop
 * writing and remove these records; the coordinator waits until all are gone, copies, and says that
 * the target counts from then on.
 */
import { pause, systemClock } from '../kernel/backoff.js'
import { elapsed, type LeaseClock } from '../kernel/lease-clock.js'
import type { CachingStore } from './cache-sink.js'
import { IllegalStateError, TimeoutError, UnsupportedError } from './errors.js'
import { childOf, isWithin } from './paths.js'
import type { Expected, GetResult, MetadataStore } from './types.js'

/** How far a move is. */
export type MigrationPhase = 'NOT_STARTED' | 'PREPARATION' | 'COPYING' | 'COMPLETED' | 'FAILED'

/** The record of a move. */
export interface MigrationState {
  /** How far the move is; handles follow it. */
  readonly phase: MigrationPhase
  /** URL of the store that the records move to. */
  readonly targetUrl: string
}

/** Opens the store that the records move to. */
export type OpenTarget = (url: string) => Promise<CachingStore>

/** A store that takes records with their versions and times, as a move needs. */
export interface RecordImporter {
  /**
   * Writes records with the versions and times of their stats. Records that are there are replaced.
   */
  importRecords(records: readonly GetResult[]): Promise<void>
}

const coordinatorPath = '/pulsar/migration-coordinator'
/** Path of the {@link MigrationState}. */
export const migrationPath = `${coordinatorPath}/migration`
/** Parent of the records of handles that may write to the source. */
export const participantsPath = `${coordinatorPath}/participants`

const notStarted: MigrationState = { phase: 'NOT_STARTED', targetUrl: '' }
const copiedAtOnce = 500
const pollMilliseconds = 50

/** Reads the state of a move, with what a write of the record has to expect. */
export async function readMigration(
  source: MetadataStore,
): Promise<{ readonly state: MigrationState; readonly expected: Expected }> {
  const found = await source.get(migrationPath)
  if (found === undefined) return { state: notStarted, expected: -1 }
  const state = JSON.parse(found.value.toString()) as MigrationState
  return { state, expected: found.stat.version }
}

/** Settings of a {@link MigrationCoordinator}. */
export interface MigrationOptions {
  /** Opens the store that `targetUrl` names; the coordinator closes the store. */
  readonly openTarget: OpenTarget
  /** Time that handles have to stop writing. Default 60,000. */
  readonly preparationMilliseconds?: number
  /** Time and timers of waits. Default: those of the system. */
  readonly clock?: LeaseClock
}

/** Moves all persistent records of a store; see the file header. */
export class MigrationCoordinator {
  readonly #source: CachingStore
  readonly #targetUrl: string
  readonly #options: MigrationOptions
  readonly #clock: LeaseClock

  /** `source` stays the caller's. `targetUrl` is handed to `openTarget`, and to all handles. */
  constructor(source: CachingStore, targetUrl: string, options: MigrationOptions) {
    this.#source = source
    this.#targetUrl = targetUrl
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  /**
   * Moves the records; they keep their versions and times. Secondary indexes are no part of a
   * record that a store gives out, so they have to be written again. Ephemeral records stay behind:
   * their owners make them anew.
   *
   * `ERR_METADATA_ILLEGAL_STATE` if a move has begun or is over, `ERR_METADATA_TIMEOUT` if handles
   * go on writing, `ERR_METADATA_UNSUPPORTED` if the target cannot take versions. After an error
   * the source counts, and the move can be started again.
   */
  async startMigration(): Promise<void> {
    const { state, expected } = await readMigration(this.#source)
    if (state.phase !== 'NOT_STARTED' && state.phase !== 'FAILED') {
      throw new IllegalStateError(`a migration to ${state.targetUrl} is ${state.phase}`)
    }
    await this.#setPhase('PREPARATION', expected)
    let target: CachingStore | undefined
    try {
      await this.#waitForParticipants()
      await this.#setPhase('COPYING')
      target = await this.#options.openTarget(this.#targetUrl)
      await this.#copy('/', importerOf(target))
      await this.#setPhase('COMPLETED')
    } catch (error) {
      await this.#setPhase('FAILED')
      throw error
    } finally {
      await target?.close()
    }
  }

  async #setPhase(phase: MigrationPhase, expected?: Expected): Promise<void> {
    const state: MigrationState = { phase, targetUrl: this.#targetUrl }
    await this.#source.put(migrationPath, JSON.stringify(state), expected)
  }

  async #waitForParticipants(): Promise<void> {
    const limit = this.#options.preparationMilliseconds ?? 60_000
    const deadline = elapsed(this.#clock) + limit
    for (;;) {
      const left = await this.#source.getChildrenFromStore(participantsPath)
      if (left.length === 0) return
      if (elapsed(this.#clock) >= deadline) {
        throw new TimeoutError(`${left.length} handles went on writing for ${limit} ms`)
      }
      await pause(this.#clock, pollMilliseconds)
    }
  }

  async #copy(path: string, target: RecordImporter): Promise<void> {
    let page: GetResult[] = []
    for await (const record of this.#source.scanChildren(path)) {
      if (record.stat.ephemeral || isWithin(record.stat.path, coordinatorPath)) continue
      page.push(record)
      if (page.length < copiedAtOnce) continue
      await target.importRecords(page)
      page = []
    }
    if (page.length > 0) await target.importRecords(page)
    for (const name of await this.#source.getChildrenFromStore(path)) {
      const child = childOf(path, name)
      if (!isWithin(child, coordinatorPath)) await this.#copy(child, target)
    }
  }
}

function importerOf(target: CachingStore): RecordImporter {
  if ('importRecords' in target) return target as CachingStore & RecordImporter
  throw new UnsupportedError('records with versions of another store')
}
