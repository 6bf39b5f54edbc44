/**
 * Pauses before the work of a store that has failed is tried again. The pause of a store doubles
 * from one second to one minute, until its work succeeds. Never keeps the process alive.
 */
import type { Store } from '../../store/store.js'

const pauseMillisecondsMin = 1000
const pauseMillisecondsMax = 60_000

export class RetryPauses {
  private readonly retry: (store: Store) => void
  /** The next pause of each store whose last try failed. */
  private readonly pauses = new Map<Store, number>()
  private readonly timers = new Set<NodeJS.Timeout>()

  /** `retry` is called at the end of each pause. */
  constructor(retry: (store: Store) => void) {
    this.retry = retry
  }

  /** Begins a pause of a store. */
  begin(store: Store): void {
    const pause = this.pauses.get(store) ?? pauseMillisecondsMin
    this.pauses.set(store, Math.min(2 * pause, pauseMillisecondsMax))
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.retry(store)
    }, pause)
    timer.unref()
    this.timers.add(timer)
  }

  /** Called when the work of a store has succeeded, or the store was dropped. */
  forget(store: Store): void {
    this.pauses.delete(store)
  }

  /** Ends all pauses without a try. */
  stop(): void {
    for (const timer of this.timers) clearTimeout(timer)
  }
}
