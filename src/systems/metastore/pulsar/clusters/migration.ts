/**
 * The migration of all records to another store while brokers run (PIP-454).
 *
 * The state of the migration is a record of the source. Every {@link DualMetadataStore} holds an
 * ephemeral record while it may write to the source. When a migration is prepared, the handles stop
 * writing and remove these records. The coordinator waits until all are removed, copies the
 * records, and switches the handles to the target.
 *
 * The coordinator holds an ephemeral record, too. If this record is removed before the migration is
 * completed, any handle marks the migration as failed and the handles return to the source. Every
 * write of the state expects the previous state, so a coordinator with an expired session cannot
 * complete the migration later.
 */
import {
  callback,
  checkText,
  declareOptions,
  implementation,
  number,
  required,
  type OptionsOf,
  type SettingsOf,
} from '../../../../api/index.js'
import { pause, systemClock } from '../../kernel/backoff.js'
import { elapsed, type LeaseClock } from '../../kernel/lease-clock.js'
import { checkArguments, checkStore, readOptions } from '../../metadata/arguments.js'
import { hasCode, metadataError } from '../../metadata/errors.js'
import { childOf, isWithin } from '../../metadata/paths.js'
import { ownObject } from '../../metadata/serde.js'
import type {
  CachingStore,
  Expected,
  GetResult,
  MetadataStore,
  Stat,
} from '../../metadata/types.js'

const phases = ['NOT_STARTED', 'PREPARATION', 'COPYING', 'COMPLETED', 'FAILED'] as const

/** The phase of a migration. */
export type MigrationPhase = (typeof phases)[number]

/** The state record of a migration. */
export interface MigrationState {
  /** The phase; handles act on its changes. */
  readonly phase: MigrationPhase
  /** URL of the target. */
  readonly targetUrl: string
  /**
   * `Stat.creationSequence` of the coordinator's record at `coordinatorRecord`. Absent if another
   * implementation wrote the state: then only {@link MigrationCoordinator.reset} abandons the
   * migration.
   */
  readonly coordinator?: number
}

/** Opens the target. */
export type OpenTarget = (url: string) => Promise<CachingStore>

/** A store that accepts records with their versions and times, as a migration needs. */
export interface RecordImporter {
  /** Writes records with the versions and times of their stats. Replaces existing records. */
  importRecords(records: readonly GetResult[]): Promise<void>
}

const coordinatorPath = '/pulsar/migration-coordinator'
/** Path of the {@link MigrationState}. */
export const migrationPath = `${coordinatorPath}/migration`
/** Path of the record that a coordinator holds during a migration. */
export const coordinatorRecord = `${coordinatorPath}/coordinator`
/** In the target: marks the copy of an unfinished migration. */
const copyPath = `${coordinatorPath}/copy`
/** Parent of the records of the participants: handles that may write to the source. */
export const participantsPath = `${coordinatorPath}/participants`

const notStarted: MigrationState = { phase: 'NOT_STARTED', targetUrl: '' }
const copiedAtOnce = 500
const bytesAtOnce = 8 * 1024 * 1024
const pollMilliseconds = 50

/**
 * Reads the state of a migration, with the expectation for the next write of the state.
 * `ERR_METADATA_CONTENT_DESERIALIZATION`.
 */
export async function readMigration(
  source: MetadataStore,
): Promise<{ readonly state: MigrationState; readonly expected: Expected }> {
  const found = await source.get(migrationPath)
  if (found === undefined) return { state: notStarted, expected: -1 }
  const state = ownObject<MigrationState>(found, isSound)
  return { state, expected: found.stat.version }
}

function isSound({ phase, targetUrl, coordinator }: Partial<MigrationState>): boolean {
  const isHeld = coordinator === undefined || Number.isSafeInteger(coordinator)
  return phases.includes(phase!) && typeof targetUrl === 'string' && isHeld
}

/** Whether a migration is in progress. */
export function isMoving({ phase }: Pick<MigrationState, 'phase'>): boolean {
  return phase === 'PREPARATION' || phase === 'COPYING'
}

/**
 * Marks a migration as failed if its coordinator is dead. Returns false if the state has changed
 * and has to be read again.
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
    if (!hasCode(error, 'badVersion')) throw error
  }
  return false
}

const migrationOptions = declareOptions('a migration', {
  /** Opens the store of `targetUrl`; the coordinator closes the store. */
  openTarget: required(callback<OpenTarget>()),
  /** How long the coordinator waits for handles to stop writing. Default 60,000. */
  preparationMilliseconds: number({ min: 0, default: 60_000 }),
  /** Clock and timers. Default: the system clock. */
  clock: implementation<LeaseClock>(['now'], systemClock),
})

/** Settings of a {@link MigrationCoordinator}. */
export interface MigrationOptions extends OptionsOf<typeof migrationOptions> {}

/** Migrates all persistent records of a store; see the file header. */
export class MigrationCoordinator {
  readonly #source: CachingStore
  readonly #targetUrl: string
  readonly #settings: SettingsOf<typeof migrationOptions>
  /** Creation sequence of the record that excludes other coordinators. */
  #holder = 0

  /**
   * The caller closes `source`. `targetUrl` is passed to `openTarget`, also by all handles.
   * `ERR_METADATA_INVALID_ARGUMENT` for an unknown option.
   */
  constructor(source: CachingStore, targetUrl: string, options: MigrationOptions) {
    this.#source = checkStore(source)
    this.#targetUrl = checkArguments(() => checkText(targetUrl, 'the URL of the target'))
    this.#settings = readOptions(migrationOptions, options)
  }

  /**
   * Migrates the records; they keep their versions and times. Secondary indexes are not migrated,
   * because reads do not return them; they have to be written again. Neither are the numbers of
   * sequential puts, counters and sequence keys: they start again. Ephemeral records are not
   * migrated; their owners create them again.
   *
   * `ERR_METADATA_ILLEGAL_STATE` if a migration is completed, another coordinator is active, or the
   * target holds records other than those of an earlier attempt. `ERR_METADATA_TIMEOUT` if handles
   * do not stop writing. `ERR_METADATA_UNSUPPORTED` if the target does not accept versions.
   *
   * After an error the source remains in use, and the migration can be started again. It starts
   * with an empty target, so records deleted in the meantime do not reappear. The migration of a
   * dead coordinator is started again in the same way.
   */
  async startMigration(): Promise<void> {
    const { creationSequence } = await this.#hold()
    this.#holder = creationSequence
    try {
      await this.#move()
    } finally {
      // If the session has expired, the record may belong to another coordinator.
      const mine = { creationSequence }
      await this.#source.deleteIfExists(coordinatorRecord, mine).catch(() => undefined)
    }
  }

  /**
   * Abandons a migration without an active coordinator, so that handles write to the source again.
   * Handles do so themselves when the session of the coordinator ends. `ERR_METADATA_ILLEGAL_STATE`
   * if the migration is completed or its coordinator is active.
   */
  async reset(): Promise<void> {
    for (;;) {
      const { state, expected } = await readMigration(this.#source)
      if (state.phase === 'COMPLETED') throw metadataError('illegalState', 'the migration is over')
      if (!isMoving(state)) return
      if (await this.#source.exists(coordinatorRecord)) {
        throw metadataError('illegalState', 'the coordinator of the migration is at work')
      }
      await giveUp(this.#source, state, expected)
    }
  }

  /** Excludes other coordinators while the session lives. */
  async #hold(): Promise<Stat> {
    try {
      return await this.#source.put(coordinatorRecord, '', -1, { ephemeral: true })
    } catch (error) {
      if (!hasCode(error, 'badVersion')) throw error
      throw metadataError('illegalState', 'another coordinator is at work')
    }
  }

  async #move(): Promise<void> {
    const { state, expected } = await readMigration(this.#source)
    if (state.phase === 'COMPLETED') {
      throw metadataError('illegalState', `the migration to ${state.targetUrl} is over`)
    }
    let written = await this.#setPhase('PREPARATION', expected)
    let target: CachingStore | undefined
    try {
      await this.#waitForParticipants()
      written = await this.#setPhase('COPYING', written)
      target = await this.#settings.openTarget(this.#targetUrl)
      const importer = importerOf(target)
      await this.#empty(target)
      const root = await this.#source.get('/')
      if (root !== undefined) await importer.importRecords([root])
      await this.#copy('/', importer)
      await this.#setPhase('COMPLETED', written)
      await target.deleteIfExists(copyPath).catch(() => undefined)
    } catch (error) {
      const failed: MigrationState = { phase: 'FAILED', targetUrl: this.#targetUrl }
      // If this write fails, handles mark the failure when the coordinator's record is removed.
      await giveUp(this.#source, failed, written).catch(() => undefined)
      throw error
    } finally {
      await target?.close()
    }
  }

  /** Writes the state. Returns the expectation for the next write. */
  async #setPhase(phase: MigrationPhase, expected: Expected): Promise<Expected> {
    const moving: MigrationState = { phase, targetUrl: this.#targetUrl }
    const state = isMoving(moving) ? { ...moving, coordinator: this.#holder } : moving
    try {
      return (await this.#source.put(migrationPath, JSON.stringify(state), expected)).version
    } catch (error) {
      if (!hasCode(error, 'badVersion')) throw error
      throw metadataError(
        'illegalState',
        'the move was given up, for the session of its coordinator ended',
      )
    }
  }

  /** Removes the records of an earlier attempt from the target. */
  async #empty(target: CachingStore): Promise<void> {
    const isOfMove = await target.exists(copyPath)
    const hasRecords = async (): Promise<boolean> =>
      (await target.exists('/')) || (await target.getChildrenFromStore('/')).length > 0
    if (!isOfMove && (await hasRecords())) {
      throw metadataError(
        'illegalState',
        `${this.#targetUrl} holds records that are of no migration`,
      )
    }
    await target.deleteRecursive('/')
    await target.put(copyPath, '')
  }

  async #waitForParticipants(): Promise<void> {
    const { clock, preparationMilliseconds: limit } = this.#settings
    const deadline = elapsed(clock) + limit
    for (;;) {
      const left = await this.#source.getChildrenFromStore(participantsPath)
      if (left.length === 0) return
      if (elapsed(clock) >= deadline) {
        throw metadataError('timeout', `${left.length} handles went on writing for ${limit} ms`)
      }
      await pause(clock, pollMilliseconds)
    }
  }

  /** Copies the records below a path. */
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

function importerOf(target: CachingStore): RecordImporter {
  if ('importRecords' in target) return target as CachingStore & RecordImporter
  throw metadataError('unsupported', 'records with versions of another store')
}
