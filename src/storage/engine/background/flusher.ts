/**
 * Writes frozen memtables to disk: oldest first, and each unit of memtables (`FlushUnit`) once.
 *
 * All callers that want a unit on disk share its one flush. For each memtable of the unit: the
 * offsets of its sorted entries are collected in slices, and a job (in a worker or inline) writes
 * the files. Then, for all memtables together: the readers of the new files are opened and one edit
 * is published. At the moment when the edit becomes visible, the memtables are replaced by their
 * SSTables. A failure before the edit changes nothing: writers that wait for memory get the error,
 * and the flush is tried again.
 *
 * A synchronous writer that meets a full budget cannot wait for a worker. It cancels the running
 * job and runs the same job inline. The output of the cancelled job is never used.
 */
import { assert } from '../../../base/assert.js'
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { attemptsMax, runInSlices, runToEnd } from '../../job/threads/executor.js'
import { isThreadLost } from '../../job/threads/thread-place.js'
import { addDrops, isCancelled, noDrops, type FlushJob, type JobResult } from '../../job/job.js'
import type { FlushMember, FlushUnit } from '../../store/flush-unit.js'
import type { Store } from '../../store/store.js'
import type { Version } from '../../version/version.js'
import type { OpenedParts } from '../engine.js'
import type { FlushEdits, FlushOutput } from './flush-edits.js'
import { FlushJobs } from './flush-jobs.js'
import type { HookedJob, JobHooks } from './job-hooks.js'
import type { JobRunner } from './job-runner.js'
import type { Publisher } from './publisher.js'

/** The files of one memtable before the edit. */
interface Output extends FlushOutput {
  /** The job as the hooks of coprocessors know it. */
  readonly hooked: HookedJob
  /** How often hooks were asked about the memtable. */
  readonly round: number
}

/** Receives the ends of flushes. */
export interface FlushWatcher {
  /** Called when a job begins or ends to write the files of a memtable. */
  jobsChanged(): void
  /** Called when a memtable was replaced by its SSTable. REQUIRES that it does not throw. */
  flushed(store: Store, result: JobResult, hooked: HookedJob): void
  /** Called when a flush in the background has failed; nothing was changed. */
  failed(store: Store, error: unknown): void
}

interface FlusherParts extends Pick<
  OpenedParts,
  'budget' | 'lifecycle' | 'log' | 'readers' | 'reports' | 'versions'
> {
  readonly hooks: JobHooks
  readonly publisher: Publisher
  readonly runner: JobRunner
}

/** Pause before a failed flush is tried again. */
const retryMilliseconds = 1000

export class Flusher {
  /** Number of flushes, and sums of entries and bytes, since the open. */
  flushCount = 0
  entriesWritten = 0
  entriesDropped = 0
  bytesWritten = 0
  readonly dropped = noDrops()
  readonly jobs: FlushJobs
  private readonly parts: FlusherParts
  private readonly hooks: JobHooks
  private readonly edits: FlushEdits
  private readonly watcher: FlushWatcher
  /** The one flush of each unit that is being flushed or waits for older ones. */
  private readonly running = new Map<FlushUnit, Promise<void>>()
  /** Stores with a running background flush. */
  private readonly scheduled = new Set<Store>()
  /**
   * Units whose observers are being asked, or that `flushSync` is flushing further up the stack.
   */
  private readonly entered = new Set<FlushUnit>()

  constructor(parts: FlusherParts, edits: FlushEdits, watcher: FlushWatcher) {
    this.parts = parts
    this.hooks = parts.hooks
    this.edits = edits
    this.watcher = watcher
    this.jobs = new FlushJobs(parts, () => watcher.jobsChanged())
  }

  /** Number of stores with a running flush. */
  get runningCount(): number {
    const stores = new Set<Store>()
    for (const unit of this.running.keys()) for (const { store } of unit.members) stores.add(store)
    return stores.size
  }

  /** Starts flushing a store's frozen memtables in the background, unless that is running. */
  schedule(store: Store): void {
    if (this.scheduled.has(store)) return
    this.scheduled.add(store)
    void this.flushAll(store)
  }

  /**
   * Resolves when all memtables that are frozen now are on disk. Rejects with the error of the
   * flush.
   */
  async drain(store: Store): Promise<void> {
    const newest = store.frozen.at(0)
    if (newest !== undefined && this.isWanted(store)) await this.flush(newest.unit!)
  }

  /**
   * Flushes frozen memtables of a store on this thread, blocking, as long as `isNeeded`. Does
   * nothing more if an observer calls this while it is asked about a flush, because the call would
   * wait for itself.
   */
  drainSync(store: Store, isNeeded: () => boolean): void {
    while (store.frozen.length > 0 && this.isWanted(store) && isNeeded()) {
      if (!this.flushSync(store.frozen.at(-1)!.unit!)) return
    }
  }

  /** Cancels running flushes and waits until they have ended. */
  async stop(): Promise<void> {
    this.jobs.stop()
    await Promise.allSettled(this.running.values())
  }

  /** The one flush of a unit; all callers share it. */
  private flush(unit: FlushUnit): Promise<void> {
    const running = this.running.get(unit)
    if (running !== undefined) return running
    const run = this.flushInOrder(unit).finally(() => this.running.delete(unit))
    this.running.set(unit, run)
    return run
  }

  private async flushInOrder(unit: FlushUnit): Promise<void> {
    // The caller registers the flush first, because an observer may ask for the same flush.
    await Promise.resolve()
    for (const { store, slot } of unit.members) {
      const before = store.frozenBefore(slot)
      if (before !== undefined && !store.dropped) await this.flush(before.unit!)
    }
    await this.flushOldest(unit)
    const isLeft = unit.isPending && unit.live.some(({ store }) => this.isWanted(store))
    assert(!isLeft, 'a flush that succeeds leaves no memtable behind')
  }

  /** Flushes in the background until the store has no frozen memtable. */
  private async flushAll(store: Store): Promise<void> {
    try {
      while (store.frozen.length > 0 && this.isWanted(store) && this.parts.lifecycle.mayFlush) {
        await this.flush(store.frozen.at(-1)!.unit!)
      }
    } catch (error) {
      const isClosed = error instanceof CellarError && error.code === ErrorCode.closed
      if (!isClosed) this.watcher.failed(store, error)
      // A writer that tries again at once would otherwise keep the event loop from its turn.
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    this.scheduled.delete(store)
    if (store.frozen.length === 0 || !this.isWanted(store) || !this.parts.lifecycle.mayFlush) return
    // Writers that began to wait after the failure was reported still need a flush.
    if (this.parts.budget.hasWaiters) this.schedule(store)
    else this.retryLater(store)
  }

  /** Whether the store exists. False if an edit that drops it is being published. */
  private isWanted(store: Store): boolean {
    return !store.dropped && this.parts.versions.hasStore(store.storeId)
  }

  private retryLater(store: Store): void {
    const timer = setTimeout(() => {
      if (!store.dropped && this.parts.lifecycle.mayFlush) this.schedule(store)
    }, retryMilliseconds)
    timer.unref()
  }

  /** Writes and publishes the files of a unit whose memtables are the oldest of their stores. */
  private async flushOldest(unit: FlushUnit): Promise<void> {
    const { log, publisher } = this.parts
    const outputs: Output[] = []
    let named: readonly Output[] = []
    try {
      // Frozen memtables hold nothing that is not in the log by now.
      const logged = log.commit('FSYNC_WAL')
      // Awaited when the files are written, or never, if they cannot be.
      logged.catch(() => undefined)
      for (const member of unit.live) {
        const output = await this.write(unit, member, 1)
        if (output === undefined) return
        outputs.push(output)
      }
      await logged
      while (unit.isPending && (await this.rewriteStale(unit, outputs)));
      // From the last look at the unit to the edit nothing is awaited: else a synchronous writer
      // could flush the unit in between.
      if (!unit.isPending) return
      const live = outputs.filter(({ store }) => this.isWanted(store))
      if (live.length === 0) return
      const edit = this.edits.prepare(live)
      unit.isPublishing = true
      // From here on the manifest may name the files, so an error must not remove them.
      named = live
      try {
        await publisher.publish(edit, (version) => this.install(live, version))
      } finally {
        unit.isPublishing = false
      }
    } finally {
      this.finish(outputs, named)
    }
  }

  /** Ends the jobs of outputs, and removes the files that no edit names. */
  private finish(outputs: readonly Output[], named: readonly Output[] = []): void {
    const { runner } = this.parts
    for (const output of outputs) {
      runner.end(output.job)
      if (!named.includes(output)) runner.discard(output.job)
    }
  }

  /**
   * Writes one memtable again whose output cannot be used, if there is one: its hooks changed cells
   * that a new snapshot sees, or cells were dropped that a new scan sees, which will continue in
   * the SSTable. Returns false if all outputs can be used.
   */
  private async rewriteStale(unit: FlushUnit, outputs: Output[]): Promise<boolean> {
    const stale = outputs.findIndex((output) => {
      const { store, hooked, result } = output
      if (store.dropped) return false
      return missesScans(output) || this.hooks.conflicts(hooked, result)
    })
    if (stale < 0) return false
    const [old] = outputs.splice(stale, 1)
    this.finish([old])
    const output = await this.write(unit, old, old.round + 1, missesScans(old))
    if (output !== undefined) outputs.push(output)
    return true
  }

  /**
   * Writes the files of one memtable, with all its cells if `keepsAll`. Undefined if a synchronous
   * writer has flushed the unit meanwhile; then the memory may already be used by another memtable.
   */
  private async write(
    unit: FlushUnit,
    { store, slot }: FlushMember,
    round: number,
    keepsAll = false,
  ): Promise<Output | undefined> {
    const { lifecycle, runner } = this.parts
    const entries = await runInSlices(slot.memtable.exportSlices())
    for (let attempt = 1; ;) {
      if (!unit.isPending) return undefined
      lifecycle.checkFlush()
      const sequenceKept = keepsAll ? Number.MAX_SAFE_INTEGER : slot.readPointNewest
      const hooked = this.ask(unit, () => {
        return this.hooks.start(store, 'flush', false, round, sequenceKept)
      })
      if (!unit.isPending) return undefined
      const job = this.jobs.make(store, entries, hooked)
      try {
        const result = await this.jobs.run({ store, slot }, job)
        return { store, slot, job, hooked, result, round, sequenceSame: sequenceSame(job, result) }
      } catch (error) {
        runner.end(job, true)
        // A synchronous writer took over the unit, or a close wants the job to end. The loop finds
        // out.
        if (isCancelled(error)) continue
        // A worker thread that died may have left an unfinished file.
        runner.discard(job)
        if (!isThreadLost(error) || attempt++ >= attemptsMax) throw error
      }
    }
  }

  /** Asks observers. An observer that writes meanwhile does not wait for the unit. */
  private ask<T>(unit: FlushUnit, question: () => T): T {
    this.entered.add(unit)
    try {
      return question()
    } finally {
      this.entered.delete(unit)
    }
  }

  /** As {@link flush}, blocking. Returns false if that flush is running further up the stack. */
  private flushSync(unit: FlushUnit): boolean {
    if (this.entered.has(unit)) return false
    for (const { store, slot } of unit.live) {
      const before = store.frozenBefore(slot)
      if (before !== undefined && !this.flushSync(before.unit!)) return false
    }
    if (unit.isPublishing) {
      // The edit of the unit is in the manifest already. Publishing an empty edit after it blocks
      // until both are visible.
      this.parts.publisher.publishSync({})
      return true
    }
    this.jobs.cancel(unit)
    this.ask(unit, () => this.writeSync(unit))
    return true
  }

  private writeSync(unit: FlushUnit): void {
    const { hooks, log, publisher, runner } = this.parts
    const outputs: Output[] = []
    let named: readonly Output[] = []
    try {
      for (const { store, slot } of unit.live.filter(({ store }) => this.isWanted(store))) {
        const entries = runToEnd(slot.memtable.exportSlices())
        const sequenceKept = slot.readPointNewest
        const hooked = hooks.start(store, 'flush', false, 1, sequenceKept)
        const job = this.jobs.make(store, entries, hooked)
        try {
          const result = runner.runSync(job)
          const same = sequenceSame(job, result)
          outputs.push({ store, slot, job, hooked, result, round: 1, sequenceSame: same })
        } catch (error) {
          runner.end(job, true)
          throw error
        }
      }
      log.commitSync('FSYNC_WAL')
      const edit = this.edits.prepare(outputs)
      named = outputs
      publisher.publishSync(edit, (version) => this.install(outputs, version))
    } finally {
      this.finish(outputs, named)
    }
  }

  /** Puts the files into use and counts them, when the edit becomes visible. */
  private install(outputs: readonly Output[], version: Version): void {
    const live = outputs.filter(({ store }) => !store.dropped)
    this.edits.install(live, version)
    for (const { store, hooked, result } of live) {
      this.flushCount++
      this.entriesWritten += result.entriesWritten
      this.entriesDropped += result.entriesDropped
      this.bytesWritten += result.bytesWritten
      addDrops(this.dropped, result.dropped)
      this.hooks.noteSettled(store, hooked, result)
      this.watcher.flushed(store, result, hooked)
    }
  }
}

/** Highest sequence up to which the written SSTable holds the same cells as the memtable. */
function sequenceSame(job: FlushJob, { entriesDropped, hooks }: JobResult): number {
  const changed = entriesDropped > 0 || hooks.some(({ replaced }) => replaced > 0)
  return changed ? job.sequenceKept : Infinity
}

/** Whether an open scan of the memtable may see cells that the SSTable lacks. */
function missesScans({ slot, sequenceSame }: Output): boolean {
  return slot.readPointNewest > sequenceSame
}
