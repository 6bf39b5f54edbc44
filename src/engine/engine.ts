/**
 * The engine: one open database directory. It owns the log, the version set, the stores, the memory
 * budget and the background jobs, and is the only place where state changes.
 *
 * The write path (design D1, D5, D6): a caller builds a mutation in `mutation`, then `apply`
 * appends it to the log's pending frame, inserts it into the memtables and moves the read point,
 * all in one turn without `await`; `commit` or `commitSync` then makes the log as durable as asked.
 * Readers therefore see a mutation whole or not at all.
 *
 * Failure behaviour: the first failed write or sync of the log, or manifest edit, poisons the
 * engine: reads go on, writes fail with `ERR_POISONED` and the stored cause, `onPoisoned` is called
 * once. A mutation whose commit failed is indeterminate: visible until the close, maybe gone after
 * a reopen.
 */
import { CellarError, closedError, poisonedError } from '../base/errors.js'
import { bytesPerOperation, type TurnBudget } from '../base/turn-budget.js'
import type { Codecs } from '../codec/codec.js'
import type { JobCoprocessors } from '../coprocessor/job-coprocessors.js'
import type { FileRemover } from '../fs/file-remover.js'
import type { DirectoryLock, FileSystem } from '../fs/types.js'
import type { JobExecutor } from '../job/executor.js'
import type { JobResult } from '../job/job.js'
import type { ArenaPool } from '../store/arena-pool.js'
import { tieStores, type FlushMember } from '../store/flush-unit.js'
import type { Store } from '../store/store.js'
import type { FileMetadata } from '../version/file-metadata.js'
import type { Version } from '../version/version.js'
import type { SpaceReserve } from '../version/space-reserve.js'
import type { VersionEdit } from '../version/version-edit.js'
import type { OnCurrent, VersionSet } from '../version/version-set.js'
import type { Durability, Log } from '../wal/log.js'
import type { TableState } from './catalog.js'
import { closeParts, ClosingSteps, flushForClose } from './close-engine.js'
import type { CompactionHost, CompactionOutcome, CompactionProgress } from './compaction-host.js'
import { Compactor, type CompactionRequest } from './compactor.js'
import type { FlushHost } from './flush-host.js'
import { Flusher } from './flusher.js'
import { JobHooks, type HookedJob } from './job-hooks.js'
import { JobReports } from './job-reports.js'
import type { MemoryBudget } from './memory-budget.js'
import { MemoryRelief, type ReliefHost } from './memory-relief.js'
import { MutationBuffer } from './mutation-buffer.js'
import type { ResolvedOptions } from './options.js'
import type { Recovery } from './recovery.js'
import { ReadPoints } from './read-points.js'
import type { ServerClock } from './server-clock.js'
import type { TableReaders } from './table-readers.js'
import { publishDiagnostic } from './diagnostics.js'
import { WaitingCalls } from './waiting-calls.js'
import { WritePacer, type Pressure } from './write-pacer.js'

/** What happens inside, for `Database` to tell its users. */
export interface EngineEvents {
  onPoisoned(error: CellarError): void
  onFlushMoved(table: string, family: string, bytesDone: number, bytesTotal: number): void
  onFlushed(table: string, family: string, result: JobResult): void
  onFlushFailed(table: string, family: string, error: unknown): void
  onCompactionMoved(table: string, family: string, progress: CompactionProgress): void
  onCompacted(table: string, family: string, outcome: CompactionOutcome): void
  /** `requested`: the one who asked is told by a promise. */
  onCompactionFailed(table: string, family: string, error: unknown, requested: boolean): void
  /** Writers are held back, or no longer. */
  onPressure(pressure: Pressure): void
  /** Something went wrong that changes nothing: a file could not be removed, for instance. */
  onWarning(error: unknown): void
}

/** The parts that `openEngine` puts together. */
export interface EngineParts {
  readonly fileSystem: FileSystem
  readonly directory: string
  readonly options: ResolvedOptions
  readonly lock: DirectoryLock
  readonly codecs: Codecs
  readonly versions: VersionSet
  readonly readers: TableReaders
  readonly remover: FileRemover
  readonly reserve: SpaceReserve
  readonly stores: Map<number, Store>
  readonly tables: Map<string, TableState>
  readonly clock: ServerClock
  readonly executor: JobExecutor
  readonly turn: TurnBudget
  readonly budget: MemoryBudget
  readonly arenas: ArenaPool
  readonly coprocessors: JobCoprocessors
  readonly events: EngineEvents
  readonly lastSequence: number
}

/** A commit that resolves in the next turn of the event loop or later. */
interface DelayedCommit {
  readonly done: Promise<void>
  readonly turn: Promise<void>
  readonly both: Promise<void>
}

const nothing = Promise.resolve()

export class Engine implements FlushHost, CompactionHost, ReliefHost {
  readonly fileSystem: FileSystem
  readonly directory: string
  readonly options: ResolvedOptions
  readonly codecs: Codecs
  readonly nativeFree: boolean
  readonly versions: VersionSet
  readonly readers: TableReaders
  readonly remover: FileRemover
  readonly reserve: SpaceReserve
  readonly stores: Map<number, Store>
  readonly tables: Map<string, TableState>
  readonly clock: ServerClock
  readonly budget: MemoryBudget
  readonly arenas: ArenaPool
  readonly readPoints: ReadPoints
  readonly hooks: JobHooks
  readonly reports: JobReports
  readonly flusher: Flusher
  readonly compactor: Compactor
  readonly relief: MemoryRelief
  readonly pacer: WritePacer
  /** The mutation under construction; one at a time, because no turn is given up in between. */
  readonly mutation = new MutationBuffer()
  readonly retryMilliseconds = 1000
  /** Mutating calls that could not be carried out at once, and their order. */
  readonly waiting = new WaitingCalls()
  /** What awaited operations may do before the event loop gets its turn. */
  readonly turn: TurnBudget
  /** Sequence of the newest visible mutation: the read point of new readers. */
  lastSequence: number
  /** Bytes of keys and values written by users since the open, for write amplification. */
  userBytes = 0
  /** Whether files are merged in the background. */
  compactionEnabled: boolean
  /** Bytes of mutations appended to the log since the open. */
  logBytesWritten = 0
  /** The files that the stores read, as the newest version has named them. */
  private filesShown: Version['stores']
  /** Highest floor of the log that an edit was made with. */
  private logFloor = 0
  log!: Log
  recovery!: Recovery
  readonly lock: DirectoryLock
  readonly executor: JobExecutor
  private readonly events: EngineEvents
  /** The commit that was put off to the next turn of the event loop last. */
  private delayed: DelayedCommit = { done: nothing, turn: nothing, both: nothing }
  private poisonedBy: CellarError | undefined = undefined
  state: 'open' | 'closing' | 'closed' = 'open'
  /** Changes under way that make files or edits: a close waits for their end. */
  private readonly changes = new Set<Promise<unknown>>()
  /** What a close ends because it may wait for its caller for ever. */
  readonly endedByClose = new Set<() => void>()
  private closing: Promise<void> | undefined = undefined

  constructor(parts: EngineParts) {
    this.fileSystem = parts.fileSystem
    this.directory = parts.directory
    this.options = parts.options
    this.compactionEnabled = parts.options.compactionEnabled
    this.codecs = parts.codecs
    this.nativeFree = parts.options.nativeFree
    this.versions = parts.versions
    this.readPoints = new ReadPoints(parts.versions)
    this.filesShown = parts.versions.current.stores
    this.readers = parts.readers
    this.remover = parts.remover
    this.reserve = parts.reserve
    this.stores = parts.stores
    this.tables = parts.tables
    this.clock = parts.clock
    this.turn = parts.turn
    this.budget = parts.budget
    this.arenas = parts.arenas
    this.lastSequence = parts.lastSequence
    this.lock = parts.lock
    this.executor = parts.executor
    this.events = parts.events
    this.hooks = new JobHooks(this, parts.coprocessors)
    this.reports = new JobReports(this, parts.events)
    this.flusher = new Flusher(this, parts.executor)
    this.compactor = new Compactor(this, parts.executor)
    this.relief = new MemoryRelief(this)
    this.pacer = new WritePacer(
      parts.options,
      (pressure) => this.pressureChanged(pressure),
      () => this.budget.bytesPerWriter,
    )
    this.versions.addListener((version, edit) => this.versionChanged(version, edit))
  }

  /** Where jobs run. */
  get executorKind(): 'inline' | 'worker' {
    return this.executor.kind
  }

  /** Throws `ERR_CLOSED` unless the database is open. */
  checkOpen(): void {
    if (this.state !== 'open') throw closedError('the database')
  }

  /** Throws unless mutations are possible: `ERR_CLOSED`, `ERR_POISONED`. */
  checkWritable(): void {
    if (this.state !== 'open') throw closedError('the database')
    if (this.poisonedBy !== undefined) throw poisonedError(this.poisonedBy)
  }

  /** Stops all writes for good. */
  poison(error: CellarError): void {
    if (this.poisonedBy !== undefined) return
    this.poisonedBy = error
    this.budget.fail(error)
    this.pacer.fail(error)
    this.events.onPoisoned(error)
  }

  /** The error that poisoned the engine, if one did. */
  get failure(): CellarError | undefined {
    return this.poisonedBy
  }

  /**
   * Makes the group in `mutation` part of the database. REQUIRES `checkWritable` in the same turn,
   * and that the sequences in its keys are `lastSequence + 1` and those that follow, one for each
   * mutation. Nothing is applied if it throws.
   */
  apply(durability: Durability): void {
    const { mutation } = this
    const { payloadBytes } = mutation
    const first = this.lastSequence + 1
    const sequence = this.lastSequence + mutation.mutationCount
    const logged = durability !== 'SKIP_WAL'
    this.reserveMemory()
    if (logged) {
      this.log.append(mutation.buffer, 0, mutation.length, sequence)
      this.logBytesWritten += mutation.length
    }
    const before = mutation.bytesCharged
    const { buffer, stores, keyStarts, keyEnds, valueEnds, entryCount } = mutation
    for (let i = 0; i < entryCount; i++) {
      const keyEnd = keyEnds[i]
      stores[i].insert(buffer, keyStarts[i], keyEnd, keyEnd, valueEnds[i], first)
    }
    this.lastSequence = sequence
    this.budget.bytesUsed += mutation.bytesCharged - before
    this.userBytes += payloadBytes
    if (payloadBytes >= bytesPerOperation) this.turn.spendBytes(payloadBytes)
    if (this.pacer.isPacing) this.pacer.spend(payloadBytes)
    // A running mean: it follows quickly when writers turn to larger cells.
    this.budget.bytesPerWriter += (payloadBytes - this.budget.bytesPerWriter) / 16
    const full = this.freezeFull(logged)
    // Whoever waits for its turn must not find memory short that nobody frees.
    if (this.budget.isExceeded || (!full && this.budget.isHigh)) this.relief.start()
    this.relief.checkLog()
  }

  /** Memory first: once the group is in the log it must also get into the memtables. */
  private reserveMemory(): void {
    const { touchedStores, touchedCount, entryCount, payloadBytes } = this.mutation
    for (let i = 0; i < touchedCount; i++) {
      this.budget.bytesUsed += touchedStores[i].reserve(entryCount, payloadBytes)
    }
  }

  /** Freezes memtables that the group has filled; false if there are none. */
  private freezeFull(logged: boolean): boolean {
    const { touchedStores, touchedCount } = this.mutation
    let full = false
    if (!logged) {
      tieStores(touchedStores, touchedCount)
      for (let i = 0; i < touchedCount; i++) touchedStores[i].active.hasUnloggedMutations = true
    }
    for (let i = 0; i < touchedCount; i++) {
      const store = touchedStores[i]
      const { bytesUsed } = store.active.memtable
      if (bytesUsed < this.options.flushBytes && bytesUsed < store.flushBytes) continue
      this.relief.freeze(store)
      full = true
    }
    return full
  }

  /** Makes everything applied so far as durable as asked, before returning. */
  commitSync(durability: Durability): void {
    this.log.commitSync(durability)
  }

  /** Before a synchronous mutation: flushes above the budget; nothing is changed if it throws. */
  admitSync(): void {
    if (!this.budget.isExceeded) return
    this.checkWritable()
    this.relief.finishSync()
  }

  /**
   * Resolves when everything applied so far is as durable as asked. Mutations that share a commit
   * share the promise as well.
   */
  commit(durability: Durability): Promise<void> {
    const done = this.log.commit(durability)
    if (this.turn.spend()) return done
    const turn = this.turn.waitForTurn()
    if (this.delayed.done !== done || this.delayed.turn !== turn) {
      this.delayed = { done, turn, both: bothDone(done, turn) }
    }
    return this.delayed.both
  }

  /** Whether an awaited mutation has to wait before it is applied, behind those that wait. */
  get isHeld(): boolean {
    const { budget, pacer, turn } = this
    return budget.isExceeded || turn.isFull || budget.hasWaiters || pacer.isHeld
  }

  /** Resolves when writing may go on; rejects with the reason why it cannot. */
  async admit(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const run = (): void => {
        // It writes when this turn has let others go, so what it will is guessed.
        this.turn.spendBytes(this.budget.bytesPerWriter)
        resolve()
      }
      this.admitLater(run, reject)
    })
    // Whoever has waited for its turn goes on; only memory is looked at again.
    while (this.budget.isExceeded) {
      await new Promise<void>((resolve, reject) => this.whenMemoryFree(resolve, reject))
    }
  }

  /** As {@link admit}, without a promise: calls `run`, or `fail` with the reason. */
  admitLater(run: () => void, fail: (error: unknown) => void): void {
    const held = this.pacer.isHeld && this.failure === undefined && this.state === 'open'
    if (held) this.pacer.whenFree(() => this.whenMemoryFree(run, fail), fail)
    else this.whenMemoryFree(run, fail)
  }

  private whenMemoryFree(run: () => void, fail: (error: unknown) => void): void {
    try {
      // Nobody frees memory any more once flushes have stopped.
      this.checkWritable()
    } catch (error) {
      fail(error)
      return
    }
    const { budget } = this
    if (!budget.isExceeded && !this.turn.isFull && !budget.hasWaiters) {
      run()
      return
    }
    if (budget.isExceeded) this.relief.start()
    budget.whenFree(run, fail)
  }

  /** Freezes and flushes the given stores; resolves when all is on disk. */
  async flush(stores: readonly Store[]): Promise<void> {
    this.checkWritable()
    const idle = stores.filter((store) => store.active.isEmpty && store.frozen.length === 0)
    for (const store of stores) store.freeze(this.lastSequence)
    for (const store of stores) await this.flusher.drain(store)
    for (const store of idle) this.hooks.finishIdleFlush(store)
  }

  /**
   * Compacts the given stores one after the other; see `Compactor.compact`. Settles when the files
   * that nobody needs any more are gone.
   */
  async compact(stores: readonly Store[], request: CompactionRequest): Promise<void> {
    this.checkWritable()
    try {
      for (let i = 0; i < stores.length; i++) {
        const { onProgress } = request
        const onPart =
          onProgress === undefined
            ? undefined
            : (part: number): void => onProgress((i + part) / stores.length)
        await this.compactor.compact(stores[i], { ...request, onProgress: onPart })
      }
    } finally {
      await this.remover.idle()
    }
  }

  /**
   * Carries out a change that makes files or edits, which a close then waits for. REQUIRES that the
   * change does not wait for its caller. Throws as {@link checkWritable}.
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

  // What the flusher and the compactor ask for.

  get mayFlush(): boolean {
    return this.state !== 'closed' && this.poisonedBy === undefined
  }

  checkFlush(): void {
    if (this.state === 'closed') throw closedError('the database')
    if (this.poisonedBy !== undefined) throw poisonedError(this.poisonedBy)
  }

  get hasWaitingWriters(): boolean {
    return this.budget.hasWaiters
  }

  get lastServerTimestamp(): number {
    return this.clock.highest
  }

  now(): number {
    return this.clock.now()
  }

  readPointOldest(): number {
    return this.readPoints.oldest(this.lastSequence)
  }

  logFloorAfter(flushed: readonly FlushMember[]): number {
    const oldest = this.relief.oldestUnflushedAfter(flushed)
    // With nothing left in it, even the current segment need not stay on disk.
    if (oldest > this.lastSequence) this.log.rollIfLong()
    // Edits of other flushes may be on their way; what they allow to go stays gone.
    const floor = this.log.floorFor(oldest - 1)
    this.logFloor = Math.max(this.logFloor, floor, this.versions.current.logFileNumberFloor)
    return this.logFloor
  }

  flushed(store: Store, result: JobResult, hooked: HookedJob): void {
    try {
      this.afterFlush(store, result, hooked)
    } catch (error) {
      this.warn(error)
    }
  }

  private afterFlush(store: Store, result: JobResult, hooked: HookedJob): void {
    this.relief.account()
    if (this.log.failure === undefined) {
      const oldest = this.relief.oldestUnflushed()
      this.log.removeObsolete(oldest - 1, this.versions.current.logFileNumberFloor)
    }
    this.versions.removeObsoleteFiles()
    this.reports.flushEnded(store, result)
    this.hooks.finish(store, hooked, { ...result, files: result.files.length })
    if (this.compactionEnabled) this.compactor.consider(store)
    this.updatePressure()
  }

  compacted(store: Store, outcome: CompactionOutcome): void {
    this.versions.removeObsoleteFiles()
    this.reports.compactionEnded(store, outcome)
    this.updatePressure()
  }

  /** Measures how far compactions are behind; without them, nobody waits for them. */
  updatePressure(): void {
    const stores = this.compactionEnabled && !this.compactor.isPaused ? this.stores.values() : []
    const debts = Array.from(stores, (store) => this.compactor.debtOf(store))
    this.pacer.update(debts, this.userBytes)
  }

  private pressureChanged(pressure: Pressure): void {
    publishDiagnostic('pressure', { directory: this.directory, ...pressure })
    this.events.onPressure(pressure)
  }

  /**
   * Makes the log durable. Tables and catalog must never survive a power cut that takes mutations
   * applied before them, or rows would be torn and the history have a hole; so this comes before an
   * edit that names new data.
   */
  syncLog(): Promise<void> {
    return this.log.commit('FSYNC_WAL')
  }

  /** As {@link syncLog}, before returning. */
  syncLogSync(): void {
    this.log.commitSync('FSYNC_WAL')
  }

  /** Publishes an edit; a failure of the manifest poisons the engine. */
  async publish(edit: VersionEdit, onCurrent?: OnCurrent): Promise<void> {
    try {
      await this.versions.publish(edit, onCurrent)
    } finally {
      this.poisonIfManifestFailed()
    }
  }

  /** As {@link publish}, before returning. */
  publishSync(edit: VersionEdit, onCurrent?: OnCurrent): void {
    try {
      this.versions.publishSync(edit, onCurrent)
    } finally {
      this.poisonIfManifestFailed()
    }
  }

  private poisonIfManifestFailed(): void {
    const failure = this.versions.failure
    if (failure !== undefined) this.poison(failure)
  }

  flushFailed(store: Store, error: unknown): void {
    this.budget.fail(error)
    this.reports.flushFailed(store, error)
  }

  /**
   * A version has become current: its files replace what the stores had, in the same moment. The
   * flusher does that for its own files.
   */
  private versionChanged(version: Version, edit: VersionEdit): void {
    const flushed = new Set((edit.flushedSequences ?? []).map(({ storeId }) => storeId))
    const changed = new Set([
      ...(edit.filesRemoved ?? []).map(({ storeId }) => storeId),
      ...(edit.filesAdded ?? []).map(({ storeId }) => storeId),
    ])
    for (const storeId of changed) {
      const store = this.stores.get(storeId)
      const levels = version.store(storeId)?.levels
      if (store === undefined || levels === undefined || flushed.has(storeId)) continue
      const before = this.filesShown.get(storeId)?.levels ?? []
      this.readPoints.filesReplaced(store, before.flat(), levels.flat())
      store.installTables(this.readers.openLevels(levels))
    }
    this.filesShown = version.stores
  }

  /** Tells of a failure that changes nothing. */
  warn(error: unknown): void {
    this.events.onWarning(error)
  }

  discardRemains(fileNumber: number): void {
    try {
      for (const path of [
        this.readers.pathOf(fileNumber),
        this.readers.values.pathOf(fileNumber),
      ]) {
        if (this.fileSystem.statSync(path) !== undefined) this.fileSystem.unlinkSync(path)
      }
    } catch (error) {
      this.events.onWarning(error)
    }
  }

  /** Files of a store in the current version, newest first. */
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
   * Flushes what is large or not in the log, then gives everything back. The rest is in the log and
   * comes back with the next open. Calling it again waits for the same close.
   */
  close(): Promise<void> {
    this.closing ??= this.closeOnce()
    return this.closing
  }

  private async closeOnce(): Promise<void> {
    this.state = 'closing'
    const poisonedBefore = this.poisonedBy !== undefined
    const steps = new ClosingSteps()
    if (this.poisonedBy === undefined) await steps.attempt(() => flushForClose(this))
    // Behind the lock's release the directory may be another process's.
    await Promise.allSettled(this.changes)
    for (const end of this.endedByClose) await steps.attempt(end)
    this.state = 'closed'
    this.budget.fail(closedError('the database'))
    this.pacer.fail(closedError('the database'))
    await closeParts(this, steps)
    if (steps.failure !== undefined && !poisonedBefore) throw steps.failure as Error
  }
}

async function bothDone(done: Promise<void>, turn: Promise<void>): Promise<void> {
  // It may fail while nobody looks; the caller still gets the rejection.
  done.catch(() => undefined)
  await turn
  return done
}
