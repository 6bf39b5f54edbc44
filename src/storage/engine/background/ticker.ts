/** Calls a function repeatedly while there is progress to report. */

/** Interval between two calls. */
const tickMilliseconds = 100

/** Reports progress of background work; see the file header. Never keeps the process alive. */
export class Ticker {
  private readonly tick: () => boolean
  private timer: NodeJS.Timeout | undefined = undefined

  /** `tick` returns whether it must be called again. */
  constructor(tick: () => boolean) {
    this.tick = tick
  }

  /** Begins the calls, unless they are running. */
  start(): void {
    if (this.timer !== undefined) return
    this.timer = setInterval(() => {
      if (!this.tick()) this.stop()
    }, tickMilliseconds)
    this.timer.unref()
  }

  stop(): void {
    clearInterval(this.timer)
    this.timer = undefined
  }
}
