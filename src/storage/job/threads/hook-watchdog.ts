/**
 * Ends a job whose cell hook loops for ever, from another thread. The job notes which hook is
 * running in shared memory, and the watchdog reads these notes regularly. Time that the job spends
 * outside of hooks, for example in a slow disk, does not count.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { timerMillisecondsMax } from '../../../base/clock.js'
import { HookWatch, type HookPlan } from '../../coprocessor/hook-chain.js'

/** Checks per time limit. So a hook is ended after one to one and a quarter of the limit. */
const looksPerLimit = 4

export class HookWatchdog {
  /** The error to report, once a hook was found to loop. */
  error: CellarError | undefined = undefined
  private readonly plan: HookPlan
  private readonly watch: Int32Array
  private readonly limitMilliseconds: number
  private readonly end: () => void
  private readonly timer: NodeJS.Timeout
  private calls = 0
  private looksWithoutProgress = 0

  /** `end` is called once, when a call of a hook takes longer than the limit. */
  constructor(plan: HookPlan, limitMilliseconds: number, end: () => void) {
    this.plan = plan
    this.watch = new Int32Array(plan.watch)
    this.limitMilliseconds = limitMilliseconds
    this.end = end
    const pause = Math.min(timerMillisecondsMax, Math.ceil(limitMilliseconds / looksPerLimit))
    this.timer = setInterval(() => this.look(), pause)
    this.timer.unref()
  }

  /** Stops the checks. */
  stop(): void {
    clearInterval(this.timer)
  }

  private look(): void {
    const running = Atomics.load(this.watch, HookWatch.running)
    const calls = Atomics.load(this.watch, HookWatch.calls)
    const same = running !== 0 && calls === this.calls
    this.calls = calls
    this.looksWithoutProgress = same ? this.looksWithoutProgress + 1 : 0
    if (this.looksWithoutProgress < looksPerLimit) return
    this.stop()
    const { name } = this.plan.tasks[running - 1]
    const message =
      `coprocessor '${name}' made no progress for ${this.limitMilliseconds} ms in a ` +
      `${this.plan.job.kind} of '${this.plan.job.table}'; its thread was ended`
    this.error = new CellarError(ErrorCode.coprocessor, message)
    this.end()
  }
}
