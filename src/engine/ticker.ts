/** Calls something now and then while there is anything to tell, and no longer. */

/** How often progress is reported. */
const tickMilliseconds = 100

/** Reports progress of background work; see the file header. Never keeps the process alive. */
export class Ticker {
  private readonly tick: () => boolean
  private timer: NodeJS.Timeout | undefined = undefined

  /** `tick` returns whether it wants to be called again. */
  constructor(tick: () => boolean) {
    this.tick = tick
  }

  /** Begins unless it is going on. */
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
