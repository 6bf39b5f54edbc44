/** The jobs of the flusher: each writes the files of one memtable, and reports its progress. */
import { JobControl, type FlushJob, type JobResult } from '../../job/job.js'
import type { FrozenEntries } from '../../memtable/frozen-entries.js'
import { formatOfFamily } from '../../store/family-settings.js'
import type { FlushMember, FlushUnit } from '../../store/flush-unit.js'
import type { Store } from '../../store/store.js'
import type { OpenedParts } from '../engine.js'
import type { HookedJob } from './job-hooks.js'
import type { JobRunner } from './job-runner.js'
import { Ticker } from './ticker.js'

/** How far a flush has come. */
export interface FlushProgress {
  readonly store: Store
  readonly bytesDone: number
  readonly bytesTotal: number
}

interface FlushJobsParts extends Pick<OpenedParts, 'readers' | 'reports'> {
  readonly runner: JobRunner
}

/** The running jobs of one flusher. */
export class FlushJobs {
  private readonly parts: FlushJobsParts
  private readonly onChange: () => void
  /** The job of a unit that was taken over may end after the next ones begin. */
  private readonly running = new Set<{
    readonly member: FlushMember
    readonly control: JobControl
  }>()
  private readonly ticker = new Ticker(() => this.tick())

  /** Calls `onChange` when a job begins or ends to write the files of a memtable. */
  constructor(parts: FlushJobsParts, onChange: () => void) {
    this.parts = parts
    this.onChange = onChange
  }

  /** Whether a job writes the files of a memtable. */
  get isWriting(): boolean {
    return this.running.size > 0
  }

  /** The running jobs, with their progress in bytes of memory. */
  get progress(): readonly FlushProgress[] {
    return Array.from(this.running, ({ member: { store, slot }, control }) => {
      const bytesTotal = slot.memtable.bytesUsed
      return { store, bytesDone: Math.round(control.progress * bytesTotal), bytesTotal }
    })
  }

  /** Makes the job that writes the entries of a memtable. */
  make(
    store: Store,
    entries: FrozenEntries,
    { job, plan, retention, sequenceKept }: HookedJob,
  ): FlushJob {
    const { readers, runner } = this.parts
    const format = formatOfFamily(store.settings)
    const separates = format.inlineBytesMax < Infinity
    return {
      ...runner.common,
      kind: 'flush',
      fileNumber: runner.allocate(1)[0],
      valueFileNumbers: separates ? runner.allocateValueFiles(entries.arenaBytes) : [],
      entries,
      format,
      retention,
      sequenceKept,
      now: job.now,
      hooks: plan,
      segments: store.settings.blockCache ? readers.cache.borrowSegments(entries.arenaBytes) : [],
    }
  }

  /** Runs a job. {@link cancel} and {@link stop} end it. */
  async run(member: FlushMember, job: FlushJob): Promise<JobResult> {
    const { reports, runner } = this.parts
    const { store, slot } = member
    const control = new JobControl()
    const running = { member, control }
    this.running.add(running)
    reports.flushStarted(store, job.entries.entryCount, slot.memtable.bytesUsed)
    this.ticker.start()
    slot.startJob()
    this.onChange()
    try {
      return await reports.traceJob(store, 'flush', () => runner.executor.run(job, control))
    } finally {
      slot.endJob()
      this.running.delete(running)
      this.onChange()
    }
  }

  /** Cancels the jobs of the members of a unit. */
  cancel({ members }: FlushUnit): void {
    for (const { member, control } of this.running) {
      if (members.some(({ slot }) => slot === member.slot)) control.cancel()
    }
  }

  /** Cancels all jobs. */
  stop(): void {
    this.ticker.stop()
    for (const { control } of this.running) control.cancel()
  }

  private tick(): boolean {
    for (const { store, bytesDone, bytesTotal } of this.progress) {
      this.parts.reports.flushMoved(store, bytesDone, bytesTotal)
    }
    return this.isWriting
  }
}
