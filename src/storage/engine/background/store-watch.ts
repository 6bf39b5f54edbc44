/**
 * Finds the stores whose policies should be asked although they got no new file: those at rest,
 * because a policy may then remove stale data, and again when reads have met several runs; and
 * those with a TTL, because cells expire without any write.
 */
import type { Store } from '../../store/store.js'

/** How often stores with a TTL are asked about. */
const expiryMilliseconds = 60_000

export class StoreWatch {
  private readonly stores: ReadonlyMap<number, Store>
  private readonly ask: (store: Store) => void
  /** Stores that got a file since the last look. */
  private readonly busy = new Set<Store>()
  /** Stores that got no file between two looks. */
  private readonly resting = new Set<Store>()
  private readonly timers: NodeJS.Timeout[] = []

  /** `ask` is called with each store whose policy should be asked. */
  constructor(stores: ReadonlyMap<number, Store>, ask: (store: Store) => void) {
    this.stores = stores
    this.ask = ask
  }

  /** Starts the looks; those at rest come after `restMilliseconds`, or never for Infinity. */
  start(restMilliseconds: number): void {
    if (restMilliseconds !== Infinity) this.every(restMilliseconds, () => this.lookAtRest())
    this.every(expiryMilliseconds, () => {
      for (const store of this.stores.values()) {
        if (store.settings.ttlSeconds !== Infinity) this.ask(store)
      }
    })
  }

  /** Ends the looks. */
  stop(): void {
    for (const timer of this.timers) clearInterval(timer)
  }

  /** Called when a store got a file. */
  noteFile(store: Store): void {
    this.busy.add(store)
    this.resting.delete(store)
  }

  /** Whether the store got no file for a while. */
  isResting(store: Store): boolean {
    return this.resting.has(store)
  }

  /** Called when a store was dropped. */
  forget(store: Store): void {
    this.busy.delete(store)
    this.resting.delete(store)
  }

  private lookAtRest(): void {
    for (const store of this.stores.values()) {
      if (this.busy.delete(store)) continue
      if (this.resting.has(store) && store.readBytes[0] === 0) continue
      this.resting.add(store)
      this.ask(store)
    }
  }

  private every(milliseconds: number, look: () => void): void {
    const timer = setInterval(look, milliseconds)
    timer.unref()
    this.timers.push(timer)
  }
}
