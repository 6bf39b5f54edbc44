/**
 * The move of all records to another store while brokers run (PIP-454).
 *
 * The state of the move is a record of the source. Every {@link DualMetadataStore} holds an
 * ephemeral record as long as it may write to the source. When a move is prepared, the handles stop
 * writing and remove these records; the coordinator waits until all are gone, copies, and says that
 * the target counts from then on.
 *
 * The coordinator holds an ephemeral record, too. When that is gone before the move is over, any
 * handle says that the move has failed, and the source counts again. Every write of the state
 * expects the one before, so a coordinator that was taken for dead cannot end the move later.
 */
import { pause, systemClock } from '../../kernel/backoff.js'
import { elapsed, type LeaseClock } from '../../kernel/lease-clock.js'
import { checkFunction, checkStore, copyOfOptions } from '../arguments.js'
import type { CachingStore } from '../store/cache-sink.js'
import {
  hasCode,
  IllegalStateError,
  InvalidArgumentError,
  MetadataErrorCode,
  TimeoutError,
  UnsupportedError,
} from '../errors.js'
import { childOf, isWithin } from '../paths.js'
import type { Expected, GetResult, MetadataStore, Stat } from '../types.js'

/** How far a move is. */
export type MigrationPhase = 'NOT_STARTED' | 'PREPARATION' | 'COPYING' | 'COMPLETED' | 'FAILED'

/** The record of a move. */
export interface MigrationState {
  /** How far the move is; handles follow it. */
  readonly phase: MigrationPhase
  /** URL of the store that the records move to. */
  readonly targetUrl: string
  /**
   * `Stat.creationSequence` of the coordinator's record at `coordinatorRecord`. Absent in a
   * state that somebody else wrote: then only {@link MigrationCoordinator.reset} gives the move up.
   */
  readonly coordinator?: number
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
/** Path of the record that a coordinator holds while it moves records. */
export const coordinatorRecord = `${coordinatorPath}/coordinator`
/** In the target: the records come from a move that is not over. */
const copyPath = `${coordinatorPath}/copy`
/** Parent of the records of handles that may write to the source. */
export const participantsPath = `${coordinatorPath}/participants`

const notStarted: MigrationState = { phase: 'NOT_STARTED', targetUrl: '' }
const copiedAtOnce = 500
const bytesAtOnce = 8 * 1024 * 1024
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

/** Whether a state is one of a move that has begun and is not over. */
export function isMoving({ phase }: Pick<MigrationState, 'phase'>): boolean {
  return phase === 'PREPARATION' || phase === 'COPYING'
}

/**
 * Says that a move has failed if its coordinator is dead. False if the state is another one by now:
 * it has to be read again.
 */
export async function giveUpIfDead(source: MetadataStore): Promise<boolean> {
  const { state, expected } = await readMigration(source)
  if (!isMoving(state) || state.coordinator === undefined) return true
  const holder = await source.get(coordinatorRecord)
  if (holder?.stat.creationSequence === state.coordinator) return true
  return giveUp(source, state, expected)
}

async function giveUp(
  source: MetadataStore,
  { targetUrl }: MigrationState,
  expected: Expected,
): Promise<boolean> {
  const state: MigrationState = { phase: 'FAILED', targetUrl }
  try {
    await source.put(migrationPath, JSON.stringify(state), expected)
  } catch (error) {
    if (!hasCode(error, MetadataErrorCode.badVersion)) throw error
  }
  return false
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

const names: Readonly<Record<keyof MigrationOptions, true>> = {
  openTarget: true,
  preparationMilliseconds: true,
  clock: true,
}

/** Moves all persistent records of a store; see the file header. */
export class MigrationCoordinator {
  readonly #source: CachingStore
  readonly #targetUrl: string
  readonly #options: MigrationOptions
  readonly #clock: LeaseClock
  /** Creation of the record that keeps other coordinators out. */
  #holder = 0

  /**
   * `source` stays the caller's. `targetUrl` is handed to `openTarget`, and to all handles.
   * `ERR_METADATA_INVALID_ARGUMENT` for an unknown option.
   */
  constructor(source: CachingStore, targetUrl: string, options: MigrationOptions) {
    checkText(targetUrl)
    this.#source = checkStore(source)
    this.#targetUrl = targetUrl
    this.#options = copyOfOptions(options, names, 'a migration')
    checkFunction(this.#options.openTarget, 'openTarget')
    this.#clock = this.#options.clock ?? systemClock
  }

  /**
   * Moves the records; they keep their versions and times. Secondary indexes are no part of a
   * record that a store gives out, so they have to be written again. Ephemeral records stay behind:
   * their owners make them anew.
   *
   * `ERR_METADATA_ILLEGAL_STATE` if a move is over, another coordinator is at work, or the target
   * holds records that are not of an earlier attempt; `ERR_METADATA_TIMEOUT` if handles go on
   * writing; `ERR_METADATA_UNSUPPORTED` if the target cannot take versions. After an error the
   * source counts, and the move can be started again: with an empty target, so nothing comes back
   * that was deleted meanwhile. A move whose coordinator died is started again in the same way.
   */
  async startMigration(): Promise<void> {
    const { creationSequence } = await this.#hold()
    this.#holder = creationSequence
    try {
      await this.#move()
    } finally {
      // Not the one of a coordinator that came after the session of this one.
      const mine = { creationSequence }
      await this.#source.deleteIfExists(coordinatorRecord, mine).catch(() => undefined)
    }
  }

  /**
   * Gives up a move that nobody carries on, so that handles write to the source again; handles do
   * so on their own when the coordinator's session ends. `ERR_METADATA_ILLEGAL_STATE` if the move
   * is over or its coordinator lives.
   */
  async reset(): Promise<void> {
    for (;;) {
      const { state, expected } = await readMigration(this.#source)
      if (state.phase === 'COMPLETED') throw new IllegalStateError('the migration is over')
      if (!isMoving(state)) return
      if (await this.#source.exists(coordinatorRecord)) {
        throw new IllegalStateError('the coordinator of the migration is at work')
      }
      await giveUp(this.#source, state, expected)
    }
  }

  /** Keeps other coordinators out, as long as the session lives. */
  async #hold(): Promise<Stat> {
    try {
      return await this.#source.put(coordinatorRecord, '', -1, { ephemeral: true })
    } catch (error) {
      if (!hasCode(error, MetadataErrorCode.badVersion)) throw error
      throw new IllegalStateError('another coordinator is at work')
    }
  }

  async #move(): Promise<void> {
    const { state, expected } = await readMigration(this.#source)
    if (state.phase === 'COMPLETED') {
      throw new IllegalStateError(`the migration to ${state.targetUrl} is over`)
    }
    let written = await this.#setPhase('PREPARATION', expected)
    let target: CachingStore | undefined
    try {
      await this.#waitForParticipants()
      written = await this.#setPhase('COPYING', written)
      target = await this.#options.openTarget(this.#targetUrl)
      const importer = importerOf(target)
      await this.#empty(target)
      await this.#copy('/', importer)
      await this.#setPhase('COMPLETED', written)
      await target.deleteIfExists(copyPath).catch(() => undefined)
    } catch (error) {
      const failed: MigrationState = { phase: 'FAILED', targetUrl: this.#targetUrl }
      // If that is not possible, handles say so when the record of the coordinator is gone.
      await giveUp(this.#source, failed, written).catch(() => undefined)
      throw error
    } finally {
      await target?.close()
    }
  }

  /** Writes the state, and returns what the next write has to expect. */
  async #setPhase(phase: MigrationPhase, expected: Expected): Promise<Expected> {
    const moving: MigrationState = { phase, targetUrl: this.#targetUrl }
    const state = isMoving(moving) ? { ...moving, coordinator: this.#holder } : moving
    try {
      return (await this.#source.put(migrationPath, JSON.stringify(state), expected)).version
    } catch (error) {
      if (!hasCode(error, MetadataErrorCode.badVersion)) throw error
      throw new IllegalStateError('the move was given up, for the session of its coordinator ended')
    }
  }

  /** Removes what an earlier attempt has copied. */
  async #empty(target: CachingStore): Promise<void> {
    const isOfMove = await target.exists(copyPath)
    if (!isOfMove && (await target.getChildrenFromStore('/')).length > 0) {
      throw new IllegalStateError(`${this.#targetUrl} holds records that are of no migration`)
    }
    await target.deleteRecursive('/')
    await target.put(copyPath, '')
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
    let bytes = 0
    for await (const record of this.#source.scanChildren(path)) {
      if (record.stat.ephemeral || isWithin(record.stat.path, coordinatorPath)) continue
      page.push(record)
      bytes += record.value.length
      if (page.length < copiedAtOnce && bytes < bytesAtOnce) continue
      await target.importRecords(page)
      page = []
      bytes = 0
    }
    if (page.length > 0) await target.importRecords(page)
    for (const name of await this.#source.getChildrenFromStore(path)) {
      const child = childOf(path, name)
      if (!isWithin(child, coordinatorPath)) await this.#copy(child, target)
    }
  }
}

function checkText(url: unknown): void {
  if (typeof url !== 'string') throw new InvalidArgumentError('the URL of the target is a string')
}

function importerOf(target: CachingStore): RecordImporter {
  if ('importRecords' in target) return target as CachingStore & RecordImporter
  throw new UnsupportedError('records with versions of another store')
}
