/**
 * The hubs for elections: a cached copy of the table `hubs`, read again after a maximum age.
 * Changes of this process are applied immediately. The caller confirms a chosen hub, so an outdated
 * copy costs an attempt or balance, but never results in a wrong owner.
 */
import type { HubEntry, HubRows } from './hub-row.js'

/** Mutable: an election adds the assigned topic to the load. */
interface ListedHub {
  readonly hub: HubEntry['hub']
  leaseEnd: number
  load: number
}

/** The cached list of hubs; see the file header. */
export class HubList {
  readonly #rows: HubRows
  readonly #now: () => number
  readonly #ageMax: number
  readonly #hubs = new Map<string, ListedHub>()
  /** A time before the last read. */
  #asOf = -Infinity
  #reading: Promise<void> | undefined = undefined

  /** `ageMax` is in milliseconds of `now`. */
  constructor(rows: HubRows, now: () => number, ageMax: number) {
    this.#rows = rows
    this.#now = now
    this.#ageMax = ageMax
  }

  /** Reads the copy again if it is too old. Returns whether it was. */
  async refresh(): Promise<boolean> {
    const age = this.#now() - this.#asOf
    // A clock without `elapsed` may have been set back.
    if (age >= 0 && age < this.#ageMax) return false
    await this.read()
    return true
  }

  /** Reads the copy; concurrent callers share one read. */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  /** A hub with the lowest load whose lease is valid at `asOf`; adds one topic to its load. */
  take(asOf: number, random: () => number): HubEntry['hub'] | undefined {
    const living: ListedHub[] = []
    for (const listed of this.#hubs.values()) if (listed.leaseEnd > asOf) living.push(listed)
    const chosen = leastLoaded(living, random)
    if (chosen !== undefined) this.#hubs.get(chosen.hostname)!.load++
    return chosen
  }

  /** Adds a row that was just read or written. */
  put({ hub, load, leaseEnd }: HubEntry): void {
    this.#hubs.set(hub.hostname, { hub, load, leaseEnd })
  }

  /** Updates a hub of the copy. */
  change(hostname: string, change: Partial<Pick<HubEntry, 'load' | 'leaseEnd'>>): void {
    const listed = this.#hubs.get(hostname)
    if (listed !== undefined) Object.assign(listed, change)
  }

  /** Removes a hub until the next read of the copy. */
  remove(hostname: string): void {
    this.#hubs.delete(hostname)
  }

  async #read(): Promise<void> {
    const asOf = this.#now()
    const entries = await this.#rows.all()
    this.#hubs.clear()
    for (const entry of entries) this.put(entry)
    this.#asOf = asOf
  }
}

/** Chooses a hub with the lowest load. `random` returns numbers in [0, 1). */
export function leastLoaded(
  hubs: Iterable<{ readonly hub: HubEntry['hub']; readonly load: number }>,
  random: () => number,
): HubEntry['hub'] | undefined {
  let lowest = Infinity
  let best: HubEntry['hub'][] = []
  for (const { hub, load } of hubs) {
    if (load < lowest) {
      lowest = load
      best = []
    }
    if (load === lowest) best.push(hub)
  }
  return best[Math.floor(random() * best.length)]
}
