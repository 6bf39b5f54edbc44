/**
 * The background work of an engine: flushes, compactions, and the steps that follow them.
 *
 * A flush takes one direction. `MemoryRelief` freezes a memtable, `Flusher` writes and publishes
 * its file, and then calls `flushed` here. That call frees memory and log, notifies observers and
 * users, and lets the policy of the store choose a compaction.
 */
import type { JobResult } from '../../job/job.js'
import { debtOf } from '../../store/family-policy.js'
import type { Store } from '../../store/store.js'
import type { CompactionOutcome } from './compaction-outcome.js'
import type { CompactionRequest } from './compaction-requests.js'
import { Compactor } from './compactor.js'
import type { OpenedParts } from '../engine.js'
import { FlushEdits } from './flush-edits.js'
import { Flusher } from './flusher.js'
import { JobHooks, type HookedJob } from './job-hooks.js'
import { JobRunner } from './job-runner.js'
import { MemoryRelief } from './memory-relief.js'
import { Scrubber } from './scrubber.js'
import type { Publisher } from './publisher.js'
import type { WritePacer } from '../write/write-pacer.js'

/**
 * Part of the memory budget from which compactions rest while a flush runs. A flush that keeps up
 * frees its memtable before the next one is full: by the default budget at half of it.
 */
const yieldingPart = 0.5

/** The parts of an engine on which background work is done. */
export interface BackgroundParts extends OpenedParts {
  readonly pacer: WritePacer
  readonly publisher: Publisher
}

export class Background {
  private readonly hooks: JobHooks
  readonly flusher: Flusher
  readonly compactor: Compactor
  readonly relief: MemoryRelief
  readonly scrubber: Scrubber
  private readonly parts: BackgroundParts
  private readonly flushEdits: FlushEdits

  constructor(parts: BackgroundParts) {
    const hooks = new JobHooks(parts)
    const runner = new JobRunner(parts)
    this.parts = parts
    this.hooks = hooks
    this.flushEdits = new FlushEdits(parts)
    this.flusher = new Flusher({ ...parts, hooks, runner }, this.flushEdits, {
      flushed: (store, result, hooked) => this.flushed(store, result, hooked),
      failed: (store, error) => this.flushFailed(store, error),
      jobsChanged: () => this.shareProcessors(),
    })
    this.scrubber = new Scrubber(parts)
    this.compactor = new Compactor({ ...parts, hooks, runner }, (store, outcome) =>
      this.compacted(store, outcome),
    )
    this.relief = new MemoryRelief(parts, this.flusher, () => {
      // A flush of less would run without a thread, or soon have one.
      if (parts.budget.bytesUsed >= parts.options.flushBytes / 2) parts.executor.prepare()
      this.shareProcessors()
    })
  }

  /** Freezes and flushes the given stores. Resolves when all of their data is on disk. */
  async flush(stores: readonly Store[]): Promise<void> {
    const { lifecycle, readPoints } = this.parts
    lifecycle.checkWritable()
    const idle = stores.filter((store) => store.active.isEmpty && store.frozen.length === 0)
    for (const store of stores) store.freeze(readPoints.lastSequence)
    await this.drain(stores)
    for (const store of idle) this.hooks.finishIdleFlush(store)
  }

  /** Resolves when all memtables of the stores that are frozen now are on disk. */
  async drain(stores: readonly Store[]): Promise<void> {
    for (const store of stores) await this.flusher.drain(store)
  }

  /** Ends the work on stores that were dropped. */
  forget(stores: readonly Store[]): void {
    for (const store of stores) this.compactor.forget(store)
    this.relief.account()
  }

  /**
   * Compacts the given stores one after the other; see `Compactor.compact`. Settles after the
   * obsolete files were removed.
   */
  async compact(stores: readonly Store[], request: CompactionRequest): Promise<void> {
    this.parts.lifecycle.checkWritable()
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
      await this.parts.remover.idle()
    }
  }

  /** Switches background compactions on or off. Returns whether they were on before. */
  enableCompaction(on: boolean): boolean {
    const { compactor } = this
    const before = compactor.isEnabled
    compactor.isEnabled = on
    this.updatePressure()
    if (on) for (const store of this.parts.catalog.stores.values()) compactor.consider(store)
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
    const { versions, reports } = this.parts
    try {
      this.relief.account()
      this.flushEdits.removeSegments()
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
    const { budget, pacer } = this.parts
    const isShort = budget.bytesUsed > budget.bytesMax * yieldingPart
    this.compactor.yieldToFlushes(isShort && this.flusher.jobs.isWriting && !pacer.isPacing)
  }

  private flushFailed(store: Store, error: unknown): void {
    this.parts.budget.fail(error)
    this.parts.reports.flushFailed(store, error)
  }

  private compacted(store: Store, outcome: CompactionOutcome): void {
    this.parts.versions.removeObsoleteFiles()
    this.parts.reports.compactionEnded(store, outcome)
    this.updatePressure()
  }

  /**
   * Measures how far compactions lag. While compactions are off or paused, no writer waits
   * for them.
   */
  private updatePressure(): void {
    const { compactor } = this
    const { catalog, pacer, versions } = this.parts
    const counted = compactor.isEnabled && !compactor.isPaused ? catalog.stores.values() : []
    pacer.update(
      Array.from(counted, ({ settings, storeId }) => {
        return debtOf(settings, versions.current.stores.get(storeId)?.levels ?? [[]])
      }),
    )
  }
}
