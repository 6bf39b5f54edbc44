/** The pace of a long reading: turns of the event loop, a rate of bytes, progress and an end. */
import { checkAborted } from '../../../base/errors.js'

/** Options of a {@link Pace}. */
export interface PaceOptions {
  /** Most bytes per second. Infinity: as fast as possible. */
  readonly bytesPerSecondMax: number
  readonly onProgress?: ((part: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Whether waiting does not keep the process alive. */
  readonly isUnref?: boolean
}

/** Longest time without a turn of the event loop. */
const sliceMilliseconds = 8
const sleepMillisecondsMax = 1000
/** Time by which steps may be ahead of the rate: few long waits cost less than many short ones. */
const aheadMillisecondsMax = 200

export class Pace {
  private readonly what: string
  private readonly options: PaceOptions
  private readonly startedAt = performance.now()
  private sliceEnd = 0
  private done = 0
  /** Bytes of the whole work. */
  bytesTotal = 0

  /** @param what - names the work in `ERR_ABORTED`. */
  constructor(what: string, options: PaceOptions) {
    this.what = what
    this.options = options
  }

  /** Runs steps that read `bytes` bytes, about the same in each of `count` steps. */
  async run<T>(steps: Generator<void, T>, bytes: number, count: number): Promise<T> {
    const bytesPerStep = bytes / Math.max(1, count)
    let left = bytes
    for (;;) {
      const step = steps.next()
      const spent = step.done === true ? left : Math.min(left, bytesPerStep)
      left -= spent
      await this.spend(spent, step.done === true ? 0 : aheadMillisecondsMax)
      if (step.done === true) return step.value
    }
  }

  /** Waits for a time, or for a turn of the event loop. An abort ends it. `ERR_ABORTED`. */
  async rest(milliseconds: number): Promise<void> {
    const { signal, isUnref = false } = this.options
    await new Promise<void>((resolve) => {
      const end = (): void => {
        signal?.removeEventListener('abort', end)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(end, Math.max(0, milliseconds))
      if (isUnref) timer.unref()
      signal?.addEventListener('abort', end)
    })
    checkAborted(this.what, signal)
  }

  /** Notes that bytes were read. Waits if that was too fast. `ERR_ABORTED`. */
  async spend(bytes: number, aheadMilliseconds = 0): Promise<void> {
    const { bytesPerSecondMax, onProgress, signal } = this.options
    this.done += bytes
    const dueAt = this.startedAt + (this.done / bytesPerSecondMax) * 1000
    if (dueAt - performance.now() <= aheadMilliseconds && performance.now() < this.sliceEnd) return
    for (
      let now = performance.now();
      now < dueAt || now >= this.sliceEnd;
      now = performance.now()
    ) {
      checkAborted(this.what, signal)
      onProgress?.(this.bytesTotal === 0 ? 1 : Math.min(1, this.done / this.bytesTotal))
      const rest = Math.min(dueAt - now, sleepMillisecondsMax)
      await this.rest(rest)
      this.sliceEnd = performance.now() + sliceMilliseconds
    }
  }
}
