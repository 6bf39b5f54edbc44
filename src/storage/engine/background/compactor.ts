/**
 * Schedules compactions, so that the number of files and the stale data of every store stay in
 * bounds.
 *
 * Compactions come from policies and from users, whose requests come first. A policy is asked after
 * each flush and each compaction of its store, and when the store is at rest. A run takes one
 * place, and one more for each further slice while places are free. Policies learn which files are
 * busy, so that several compactions of one store do not use the same files.
 *
 * A failed run changes nothing and is reported. A failed background compaction is tried again after
 * a pause, which doubles from one second to one minute, or when the store is flushed.
 */
import { abortedError, checkAborted, closedError } from '../../../base/errors.js'
import {
  nothing,
  type CompactionChoice,
  type CompactionPolicy,
  type PolicyInput,
} from '../../compaction/choice.js'
import { isCancelled } from '../../job/job.js'
import { policyOf } from '../../store/family-policy.js'
import { TimedOperation } from '../write/operation-times.js'
import type { Store } from '../../store/store.js'
import {
  CompactionRequests,
  dropped,
  type CompactionRequest,
  type PendingRequest,
} from './compaction-requests.js'
import {
  CompactionTotals,
  type CompactionOutcome,
  type CompactionWork,
} from './compaction-outcome.js'
import { CompactionRun, type CompactionParts } from './compaction-run.js'
import type { OpenedParts } from '../engine.js'
import type { JobHooks } from './job-hooks.js'
import { RetryPauses } from './retry-pauses.js'
import { StoreWatch } from './store-watch.js'
import { Ticker } from './ticker.js'

/** Parallel compactions on worker threads. */
const placesOfWorkers = 2

interface CompactorParts
  extends CompactionParts, Pick<OpenedParts, 'catalog' | 'clock' | 'reports'> {}

export class Compactor {
  readonly totals = new CompactionTotals()
  /** Whether policies of stores start background compactions. */
  isEnabled: boolean
  /** Whether a user has paused all compactions. */
  isPaused = false
  private readonly parts: CompactorParts
  private readonly hooks: JobHooks
  private readonly onCompacted: (store: Store, outcome: CompactionOutcome) => void
  private placesTaken = 0
  private bytesPerSecondMax: number
  private readonly waiting = new Set<Store>()
  private readonly requests = new CompactionRequests()
  private readonly runs = new Map<CompactionRun, Promise<void>>()
  /** The pauses after background compactions that failed. */
  private readonly pauses = new RetryPauses((store) => this.lookAt(store))
  private readonly watch: StoreWatch
  private readonly ticker = new Ticker(() => this.tick())
  /** Whether compactions rest for the sake of flushes. */
  private yields = false
  private stopped = false

  /** `onCompacted` is called after files of a store were replaced. */
  constructor(
    parts: CompactorParts,
    onCompacted: (store: Store, outcome: CompactionOutcome) => void,
  ) {
    this.parts = parts
    this.hooks = parts.hooks
    this.onCompacted = onCompacted
    this.watch = new StoreWatch(parts.catalog.stores, (store) => this.lookAt(store))
    this.isEnabled = parts.options.compactionEnabled
    this.bytesPerSecondMax = parts.options.compactionBytesPerSecondMax
  }

  /** How many compactions may run at the same time. */
  private get places(): number {
    return this.parts.runner.executor.kind === 'worker' ? placesOfWorkers : 1
  }

  /** Number of compactions that run, wait, or were requested. */
  get queueLength(): number {
    return this.waiting.size + this.runs.size + this.requests.waiting.length
  }

  get running(): readonly CompactionRun[] {
    return [...this.runs.keys()]
  }

  /** Called when a store got a file. Starts a compaction if the policy of the store chooses one. */
  consider(store: Store): void {
    this.watch.noteFile(store)
    this.lookAt(store)
  }

  private lookAt(store: Store): void {
    if (!this.mayRun(store)) return
    this.waiting.add(store)
    this.pump()
  }

  /**
   * Compacts a store on request. Rejects with the error of the compaction or of `onProgress`; with
   * `ERR_ABORTED` if the signal aborts; with `ERR_TABLE_NOT_FOUND` if the store is dropped; with
   * `ERR_CLOSED` by a close.
   */
  async compact(store: Store, request: CompactionRequest): Promise<void> {
    checkAborted('the compaction', request.signal)
    if (store.dropped) throw dropped(store)
    if (this.stopped) throw closedError('the database')
    const finished = this.requests.add(store, request)
    this.pump()
    return finished
  }

  /**
   * Pauses all compactions, running jobs included, or lets them continue. Does not affect flushes.
   */
  pause(paused: boolean): void {
    this.isPaused = paused
    this.holdRuns()
  }

  /**
   * Lets all compactions rest while flushes need the processors, or continue. Does not count as a
   * pause: debts still slow writers down.
   */
  yieldToFlushes(yields: boolean): void {
    if (yields === this.yields) return
    this.yields = yields
    this.holdRuns()
  }

  private get isHeld(): boolean {
    return this.isPaused || this.yields
  }

  private holdRuns(): void {
    for (const run of this.runs.keys()) run.pause(this.isHeld)
    this.pump()
  }

  /** Changes the bytes that all compactions together may read and write per second. */
  limit(bytesPerSecondMax: number): void {
    this.bytesPerSecondMax = bytesPerSecondMax
    this.spreadLimit()
  }

  /** Ends the compactions of a store that was dropped. */
  forget(store: Store): void {
    this.waiting.delete(store)
    this.pauses.forget(store)
    this.watch.forget(store)
    for (const run of this.runs.keys()) if (run.store === store) run.cancel()
    for (const request of this.requests.waiting) {
      if (request.store === store) this.requests.finish(request, dropped(store))
    }
  }

  /** Cancels running compactions, rejects requests, and waits until all runs have ended. */
  async stop(): Promise<void> {
    this.stopped = true
    this.waiting.clear()
    this.pauses.stop()
    this.watch.stop()
    this.ticker.stop()
    for (const request of this.requests.waiting) {
      this.requests.finish(request, closedError('the database'))
    }
    for (const run of this.runs.keys()) run.cancel()
    await Promise.all(this.runs.values())
  }

  private mayRun(store: Store): boolean {
    return (
      this.isEnabled && this.parts.lifecycle.mayFlush && !this.stopped && !this.isDropped(store)
    )
  }

  /** Whether the store is dropped, or an edit that drops it is being published. */
  private isDropped(store: Store): boolean {
    return store.dropped || !this.parts.versions.hasStore(store.storeId)
  }

  /** Starts as many compactions as places allow, requested ones first. */
  private pump(): void {
    if (this.stopped || this.isHeld) return
    for (const request of this.requests.pending) {
      if (this.placesTaken >= this.places) return
      if (request.run === undefined) this.serve(request)
    }
    for (const store of [...this.waiting]) {
      if (this.placesTaken >= this.places) return
      // A run that may not publish would be cancelled, and started again without end.
      if (!this.mayRun(store)) {
        this.waiting.delete(store)
        continue
      }
      // A request of this store waits for its running compactions, so no background one is added.
      if (this.requests.pending.some((request) => request.store === store)) continue
      this.startBackground(store)
    }
  }

  private serve(request: PendingRequest): void {
    const { store, major, rows } = request
    try {
      this.parts.lifecycle.checkWritable()
      const choice = this.choose(store, (policy, input) =>
        major ? this.spareSettled(store, policy.chooseMajor(input, rows)) : policy.choose(input),
      )
      if (choice.kind === 'nothing') {
        if (!choice.blocked) this.requests.finish(request, undefined)
        return
      }
      request.run = this.start(store, choice, (error) => {
        request.run = undefined
        if (error !== undefined) this.requests.finish(request, this.reasonOf(error, request))
        else if (major) this.requests.finish(request, undefined)
        // Else the policy may choose more: the request is served again.
      })
    } catch (error) {
      this.requests.finish(request, error)
    }
  }

  /** The choice without the merge of a single file that would write the same cells again. */
  private spareSettled(store: Store, choice: CompactionChoice): CompactionChoice {
    if (choice.kind !== 'merge' || choice.files.length !== 1) return choice
    const { files, outputLevel, outputBytesMax } = choice
    const [file] = files
    if (file.fileBytes > outputBytesMax || !store.settled.has(file, store.settings)) return choice
    if (this.hooks.hasCoprocessors(store)) return choice
    return file.level === outputLevel ? nothing : { kind: 'move', files, outputLevel }
  }

  private reasonOf(error: unknown, { store, signal }: PendingRequest): unknown {
    // The files of a dropped store may disappear before its jobs have ended, so their error is no
    // news.
    if (this.isDropped(store)) return dropped(store)
    if (!isCancelled(error)) return error
    if (signal?.aborted === true) return abortedError('the compaction', signal)
    try {
      this.parts.lifecycle.checkWritable()
    } catch (reason) {
      return reason
    }
    return closedError('the database')
  }

  private startBackground(store: Store): void {
    try {
      const choice = this.choose(store, (policy, input) => policy.choose(input))
      if (choice.kind === 'nothing') {
        // A blocked choice is tried again when a run ends.
        if (!choice.blocked) this.waiting.delete(store)
        return
      }
      this.start(store, choice, (error) => {
        if (error === undefined) this.pauses.forget(store)
        else if (!isCancelled(error)) this.retryLater(store)
      })
    } catch (error) {
      this.retryLater(store)
      this.parts.reports.compactionFailed(store, error, false)
    }
  }

  /** Asks the policy for a choice. The observers of the table are asked before and told after. */
  private choose(
    store: Store,
    ask: (policy: CompactionPolicy, input: PolicyInput) => CompactionChoice,
  ): CompactionChoice {
    const { hooks } = this
    if (!hooks.maySelect(store)) return nothing
    const choice = ask(policyOf(store.settings), this.inputOf(store))
    hooks.selected(store, choice.kind === 'nothing' ? [] : choice.files)
    return choice
  }

  private start(
    store: Store,
    work: CompactionWork,
    ended: (error: unknown) => void,
  ): CompactionRun {
    const run = new CompactionRun(this.parts, store, work)
    const giveBack = this.takePlace()!
    // Registered before it starts, so that the next choice knows which files are busy.
    this.runs.set(run, Promise.resolve())
    this.spreadLimit()
    this.ticker.start()
    this.parts.reports.compactionStarted(store, work)
    this.runs.set(
      run,
      this.execute(run, ended).then(() => {
        giveBack()
        this.spreadLimit()
        this.pump()
      }),
    )
    return run
  }

  private async execute(run: CompactionRun, ended: (error: unknown) => void): Promise<void> {
    const { store } = run
    const requested = (): boolean => this.requests.pending.some((request) => request.run === run)
    const { reports } = this.parts
    const startedAt = reports.beginJob(store, TimedOperation.compaction)
    try {
      const outcome = await reports.traceJob(store, 'compaction', () => {
        return run.execute(() => this.takeFurtherPlace())
      })
      this.runs.delete(run)
      this.totals.add(outcome)
      reports.endJob(store, TimedOperation.compaction, startedAt)
      this.onCompacted(store, outcome)
      // The policy may choose another compaction of the store.
      if (this.mayRun(store)) this.waiting.add(store)
      ended(undefined)
    } catch (error) {
      this.runs.delete(run)
      // Whoever cancels a run knows about it, so a cancelled run is not reported.
      const cancelled = isCancelled(error) || this.isDropped(store)
      if (!cancelled) this.parts.reports.compactionFailed(store, error, requested())
      ended(error)
    } finally {
      // Reads meet other runs now, or must pay again for a merge that has failed.
      store.readBytes[0] = 0
    }
  }

  private takePlace(): (() => void) | undefined {
    if (this.placesTaken >= this.places) return undefined
    this.placesTaken++
    return () => this.placesTaken--
  }

  /** As {@link takePlace}, for a slice that may end before its run. */
  private takeFurtherPlace(): (() => void) | undefined {
    const giveBack = this.takePlace()
    if (giveBack === undefined) return undefined
    return () => {
      giveBack()
      this.pump()
    }
  }

  private retryLater(store: Store): void {
    this.waiting.delete(store)
    this.pauses.begin(store)
  }

  private spreadLimit(): void {
    const share = this.bytesPerSecondMax / Math.max(1, this.runs.size)
    for (const run of this.runs.keys()) run.limit(share)
  }

  /** Reports progress; returns whether compactions are running. */
  private tick(): boolean {
    for (const run of this.runs.keys()) this.parts.reports.compactionMoved(run.store, run.progress)
    this.requests.tellProgress()
    return this.runs.size > 0
  }

  private inputOf(store: Store): PolicyInput {
    const { ttlSeconds, minVersions } = store.settings
    const busyFiles = new Set<number>()
    for (const run of this.runs.keys()) {
      if (run.store !== store) continue
      for (const { fileNumber } of run.work.files) busyFiles.add(fileNumber)
    }
    return {
      levels: this.parts.versions.current.stores.get(store.storeId)?.levels ?? [[]],
      now: this.parts.clock.now(),
      ttlMilliseconds: ttlSeconds * 1000,
      minVersions,
      busyFiles,
      resting: this.watch.isResting(store),
      readBytes: store.readBytes[0],
    }
  }

  /** Starts to ask the policies of stores that get no new files. */
  startWatch(): void {
    this.watch.start(this.parts.options.compactionRestMilliseconds)
  }
}
