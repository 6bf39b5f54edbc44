/**
 * The background work of an engine: flushes, compactions, and the steps that follow them.
 *
 * A flush takes one direction. `MemoryRelief` freezes a memtable, `Flusher` writes and publishes
 * its file, and then calls `flushed` here. That call frees memory and log, notifies observers and
 * users, and lets the policy of the store choose a compaction.
 */
import type { JobCoprocessors } from '../../coprocessor/job-coprocessors.js'
import type { JobExecutor } from '../../job/threads/executor.js'
import type { JobResult } from '../../job/job.js'
import type { Store } from '../../store/store.js'
import type { Log } from '../../wal/log.js'
import type { CompactionOutcome } from './compaction-outcome.js'
import { Compactor, type CompactionRequest } from './compactor.js'
import type { Engine } from '../engine.js'
import { Flusher } from './flusher.js'
import { JobHooks, type HookedJob } from './job-hooks.js'
import { LogFloor } from './log-floor.js'
import type { MemoryBudget } from './memory-budget.js'
import { MemoryRelief } from './memory-relief.js'

/**
 * Part of the memory budget from which compactions rest while a flush runs. A flush that keeps up
 * frees its memtable before the next one is full: by the default budget at half of it.
 */
const yieldingPart = 0.5

/** What background work needs besides the engine. */
export interface BackgroundParts {
  readonly executor: JobExecutor
  readonly coprocessors: JobCoprocessors
  readonly budget: MemoryBudget
}

/** Background work of one engine; see the file header. */
export class Background {
  readonly executor: JobExecutor
  readonly hooks: JobHooks
  readonly flusher: Flusher
  readonly compactor: Compactor
  readonly relief: MemoryRelief
  private readonly engine: Engine
  private readonly logFloor: LogFloor

  constructor(engine: Engine, { executor, coprocessors, budget }: BackgroundParts, log: Log) {
    const hooks = new JobHooks(engine, coprocessors)
    const logFloor = new LogFloor(engine)
    this.engine = engine
    this.executor = executor
    this.hooks = hooks
    this.logFloor = logFloor
    this.flusher = new Flusher(engine, executor, hooks, logFloor, {
      flushed: (store, result, hooked) => this.flushed(store, result, hooked),
      failed: (store, error) => this.flushFailed(store, error),
      jobsChanged: () => this.shareProcessors(),
    })
    this.compactor = new Compactor(engine, executor, hooks, (store, outcome) =>
      this.compacted(store, outcome),
    )
    this.relief = new MemoryRelief(engine, budget, log, this.flusher, () => {
      executor.prepare()
      this.shareProcessors()
    })
  }

  /** Freezes and flushes the given stores. Resolves when all of their data is on disk. */
  async flush(stores: readonly Store[]): Promise<void> {
    const { engine } = this
    engine.checkWritable()
    const idle = stores.filter((store) => store.active.isEmpty && store.frozen.length === 0)
    for (const store of stores) store.freeze(engine.lastSequence)
    for (const store of stores) await this.flusher.drain(store)
    for (const store of idle) this.hooks.finishIdleFlush(store)
  }

  /**
   * Compacts the given stores one after the other; see `Compactor.compact`. Settles after the
   * obsolete files were removed.
   */
  async compact(stores: readonly Store[], request: CompactionRequest): Promise<void> {
    this.engine.checkWritable()
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
      await this.engine.remover.idle()
    }
  }

  /** Switches background compactions on or off. Returns whether they were on before. */
  enableCompaction(on: boolean): boolean {
    const { compactor } = this
    const before = compactor.isEnabled
    compactor.isEnabled = on
    this.updatePressure()
    if (on) for (const store of this.engine.stores.values()) compactor.consider(store)
    return before
  }

  /** Pauses compactions or lets them continue. */
  pauseCompaction(paused: boolean): void {
    this.compactor.pause(paused)
    this.updatePressure()
  }

  /** Called when a store got files other than by a flush. */
  filesAdded(store: Store): void {
    if (this.compactor.isEnabled) this.compactor.consider(store)
  }

  /**
   * Runs while the edit of the flush becomes visible. Must not throw, since that would poison the
   * engine.
   */
  private flushed(store: Store, result: JobResult, hooked: HookedJob): void {
    const { versions, reports } = this.engine
    try {
      this.relief.account()
      this.logFloor.removeSegments()
      versions.removeObsoleteFiles()
      reports.flushEnded(store, result)
      this.hooks.finish(store, hooked, { ...result, files: result.files.length })
      this.filesAdded(store)
      this.updatePressure()
    } catch (error) {
      reports.warn(error)
    }
  }

  /**
   * Lets compactions rest while memory fills up and a flush is under way. Where processors are
   * short, flushes would else share one with two merges. Writers would have to wait for memory, and
   * a synchronous writer would do the work of the flush itself. When the debt of the compactions
   * slows writers down, compactions go on.
   */
  private shareProcessors(): void {
    const { budget, pacer } = this.engine.writes
    const isShort = budget.bytesUsed > budget.bytesMax * yieldingPart
    this.compactor.yieldToFlushes(isShort && this.flusher.isWriting && !pacer.isPacing)
  }

  private flushFailed(store: Store, error: unknown): void {
    this.engine.writes.budget.fail(error)
    this.engine.reports.flushFailed(store, error)
  }

  private compacted(store: Store, outcome: CompactionOutcome): void {
    this.engine.versions.removeObsoleteFiles()
    this.engine.reports.compactionEnded(store, outcome)
    this.updatePressure()
  }

  /**
   * Measures how far compactions lag. While compactions are off or paused, no writer waits
   * for them.
   */
  private updatePressure(): void {
    const { compactor, engine } = this
    const { stores, writes } = engine
    const counted = compactor.isEnabled && !compactor.isPaused ? stores.values() : []
    const debts = Array.from(counted, (store) => compactor.debtOf(store))
    writes.pacer.update(debts, writes.userBytes)
  }
}
