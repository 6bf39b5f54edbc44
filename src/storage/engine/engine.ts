/**
 * The engine: one open database directory. The engine owns the parts that share the directory, and
 * the state of the database from open to closed.
 *
 * Three parts do the work: `WritePath` (mutations, log, memtables, admission), `Background`
 * (flushes and compactions) and `Reports` (events and diagnostics). All their files come into use
 * by `Publisher`.
 *
 * The first failed write or sync of the log or manifest poisons the engine. Then reads continue,
 * writes fail with `ERR_POISONED` and the first error as cause, and the event `poisoned` is raised
 * once.
 */
import { CellarError, closedError, ErrorCode, poisonedError } from '../../base/errors.js'
import type { TurnBudget } from '../../base/turn-budget.js'
import type { Codecs } from '../codec/codec.js'
import type { JobCoprocessors } from '../coprocessor/job-coprocessors.js'
import type { FileRemover } from '../fs/file-remover.js'
import type { DirectoryLock, FileSystem } from '../fs/types.js'
import type { JobExecutor } from '../job/threads/executor.js'
import type { ArenaPool } from '../store/arena-pool.js'
import type { Store } from '../store/store.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { SpaceReserve } from '../version/space-reserve.js'
import type { VersionSet } from '../version/version-set.js'
import { Background } from './background/background.js'
import type { TableState } from './catalog/catalog.js'
import { closeParts, ClosingSteps, flushForClose } from './open/close-engine.js'
import type { MemoryBudget } from './background/memory-budget.js'
import type { ResolvedOptions } from './options.js'
import { Publisher } from './background/publisher.js'
import type { Recovery } from './open/recovery.js'
import { ReadPoints } from './catalog/read-points.js'
import type { Raise } from './events.js'
import { Reports } from './reports.js'
import type { ServerClock } from './write/server-clock.js'
import type { SsTableReaders } from '../files/sstable-readers.js'
import { TimedOperation } from './write/operation-times.js'
import { WritePath } from './write/write-path.js'
import type { Log } from '../wal/log.js'
import type { LogOptions } from '../wal/log-options.js'

/** The parts that `openEngine` has opened, and the options. */
export interface OpenedParts {
  readonly fileSystem: FileSystem
  readonly directory: string
  readonly options: ResolvedOptions
  readonly lock: DirectoryLock
  readonly codecs: Codecs
  readonly versions: VersionSet
  readonly readers: SsTableReaders
  readonly remover: FileRemover
  readonly reserve: SpaceReserve
  readonly stores: Map<number, Store>
  readonly tables: Map<string, TableState>
  readonly arenas: ArenaPool
  readonly clock: ServerClock
  readonly turn: TurnBudget
}

/** The calls by which the engine learns of the syncs and the failure of the log. */
export type LogWatch = Required<Pick<LogOptions, 'onSyncing' | 'onSynced' | 'onFailure'>>

/** What the constructor passes on to the parts of the engine. */
export interface EngineStart {
  readonly budget: MemoryBudget
  readonly executor: JobExecutor
  readonly coprocessors: JobCoprocessors
  readonly raise: Raise
  readonly recovery: Recovery
  /** Sequence of the newest recovered mutation. */
  readonly lastSequence: number
  /** Begins the first new segment of the log. */
  beginLog(watch: LogWatch): Log
}

export class Engine implements OpenedParts {
  readonly fileSystem: FileSystem
  readonly directory: string
  readonly options: ResolvedOptions
  readonly lock: DirectoryLock
  readonly codecs: Codecs
  readonly versions: VersionSet
  readonly readers: SsTableReaders
  readonly remover: FileRemover
  readonly reserve: SpaceReserve
  readonly stores: Map<number, Store>
  readonly tables: Map<string, TableState>
  readonly arenas: ArenaPool
  readonly clock: ServerClock
  /** Operations that awaited calls may still do in this turn of the event loop. */
  readonly turn: TurnBudget
  readonly readPoints: ReadPoints
  readonly publisher: Publisher
  readonly reports: Reports
  readonly writes: WritePath
  readonly background: Background
  readonly recovery: Recovery
  /** Functions that a close calls, to end calls that might otherwise wait for ever. */
  readonly endedByClose = new Set<() => void>()
  private poisonedBy: CellarError | undefined = undefined
  /** Whether mutations and flushes are refused: the engine is poisoned or open read-only. */
  private isUnwritable: boolean
  state: 'open' | 'closing' | 'closed' = 'open'
  /** Running changes that make files or edits. A close waits for them. */
  private readonly changes = new Set<Promise<unknown>>()
  private closing: Promise<void> | undefined = undefined

  constructor(parts: OpenedParts, start: EngineStart) {
    this.fileSystem = parts.fileSystem
    this.directory = parts.directory
    this.options = parts.options
    this.lock = parts.lock
    this.codecs = parts.codecs
    this.versions = parts.versions
    this.readers = parts.readers
    this.remover = parts.remover
    this.reserve = parts.reserve
    this.stores = parts.stores
    this.tables = parts.tables
    this.arenas = parts.arenas
    this.clock = parts.clock
    this.turn = parts.turn
    this.isUnwritable = parts.options.readOnly
    this.readPoints = new ReadPoints(parts.versions)
    this.publisher = new Publisher(this)
    this.recovery = start.recovery
    this.reports = new Reports(this, start.raise)
    const { times } = this.reports
    const log = start.beginLog({
      onSyncing: () => times.beginLong(TimedOperation.sync),
      onSynced: (startedAt) => times.endLong(TimedOperation.sync, startedAt),
      onFailure: (failure) => this.poison(failure),
    })
    this.background = new Background(this, start, log)
    const { relief } = this.background
    this.writes = new WritePath(this, start.budget, log, relief, start.lastSequence)
    relief.account()
  }

  /** Sequence of the newest visible mutation: the read point of new readers. */
  get lastSequence(): number {
    return this.writes.lastSequence
  }

  /** Throws `ERR_CLOSED` unless the database is open. */
  checkOpen(): void {
    if (this.state !== 'open') throw closedError('the database')
  }

  /** Throws unless mutations are possible: `ERR_CLOSED`, `ERR_POISONED`, `ERR_READ_ONLY`. */
  checkWritable(): void {
    if (this.state !== 'open') throw closedError('the database')
    if (this.isUnwritable) throw this.writeRefusal()
  }

  /** Whether {@link checkWritable} passes. */
  get isWritable(): boolean {
    return this.state === 'open' && !this.isUnwritable
  }

  /**
   * Throws if flushes are impossible: `ERR_CLOSED`, `ERR_POISONED`, `ERR_READ_ONLY`. During a close
   * they are still possible.
   */
  checkFlush(): void {
    if (this.state === 'closed') throw closedError('the database')
    if (this.isUnwritable) throw this.writeRefusal()
  }

  /** Whether {@link checkFlush} passes. */
  get mayFlush(): boolean {
    return this.state !== 'closed' && !this.isUnwritable
  }

  /** Refuses all later writes. */
  poison(error: CellarError): void {
    if (this.poisonedBy !== undefined) return
    this.poisonedBy = error
    this.isUnwritable = true
    this.writes.refuseAll(error)
    this.reports.poisoned(error)
  }

  /** The error that poisoned the engine; undefined if none did. */
  get failure(): CellarError | undefined {
    return this.poisonedBy
  }

  /**
   * Runs a change that makes files or edits; a close waits for it. REQUIRES that the change does
   * not wait for its caller. Throws as {@link checkWritable}.
   */
  async change<T>(step: () => Promise<T>): Promise<T> {
    this.checkWritable()
    const change = step()
    this.changes.add(change)
    try {
      return await change
    } finally {
      this.changes.delete(change)
    }
  }

  private writeRefusal(): CellarError {
    if (this.poisonedBy !== undefined) return poisonedError(this.poisonedBy)
    return new CellarError(ErrorCode.readOnly, `${this.directory} is open read-only`)
  }

  now(): number {
    return this.clock.now()
  }

  /**
   * Makes the log durable. Called before an edit that names new data. A power cut must not take
   * mutations that are older than the files and catalog that survive: rows would be torn and the
   * history would have a hole.
   */
  syncLog(): Promise<void> {
    return this.writes.log.commit('FSYNC_WAL')
  }

  /** As {@link syncLog}, blocking. */
  syncLogSync(): void {
    this.writes.log.commitSync('FSYNC_WAL')
  }

  /** Files of a store in the current version, level 0 first, newest first within level 0. */
  filesOf(store: Store): readonly FileMetadata[] {
    return (this.versions.current.store(store.storeId)?.levels ?? []).flat()
  }

  tableNameOf(store: Store): string {
    for (const table of this.tables.values()) {
      if (table.families.some((family) => family.store === store)) return table.name
    }
    return ''
  }

  /**
   * Flushes large memtables and unlogged mutations, then releases everything. The next open replays
   * the other mutations from the log. Calling it again returns the same promise.
   */
  close(): Promise<void> {
    this.closing ??= this.closeOnce()
    return this.closing
  }

  private async closeOnce(): Promise<void> {
    this.state = 'closing'
    const poisonedBefore = this.poisonedBy !== undefined
    const steps = new ClosingSteps()
    if (!this.isUnwritable) await steps.attempt(() => flushForClose(this))
    // After the release of the lock, the directory may belong to another process.
    await Promise.allSettled(this.changes)
    for (const end of this.endedByClose) await steps.attempt(end)
    this.state = 'closed'
    this.writes.refuseAll(closedError('the database'))
    await closeParts(this, steps)
    if (steps.failure !== undefined && !poisonedBefore) throw steps.failure as Error
  }
}
