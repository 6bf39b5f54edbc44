/**
 * The hubs as elections see them: a copy of the table `hubs` that is read again when it is older
 * than a bound. Its own process's changes go in at once. A choice among its hubs is confirmed by
 * the caller, so an old copy costs an attempt, or balance, and never a wrong owner.
 */
import type { MetastoreTable } from '../bookkeeper/types.js'
import { leastLoaded } from './hub-registry.js'
import { hubKind, parseEntry, type HubEntry } from './hub-row.js'
import { failure } from './store-failure.js'

const pageSize = 1000

/** Mutable: an election counts the topic that it gives to a hub. */
interface ListedHub {
  readonly hub: HubEntry['hub']
  leaseEnd: number
  load: number
}

/** See the head of this file. */
export class HubList {
  readonly #table: MetastoreTable
  readonly #now: () => number
  readonly #ageMax: number
  readonly #hubs = new Map<string, ListedHub>()
  /** A time before the copy was read. */
  #asOf = -Infinity
  #reading: Promise<void> | undefined = undefined

  /** `ageMax` is in milliseconds by `now`. */
  constructor(table: MetastoreTable, now: () => number, ageMax: number) {
    this.#table = table
    this.#now = now
    this.#ageMax = ageMax
  }

  /** Reads the copy again if it is too old, and says whether it was. */
  async refresh(): Promise<boolean> {
    if (this.#now() - this.#asOf < this.#ageMax) return false
    await this.read()
    return true
  }

  /** Reads the copy; callers that come meanwhile share the reading. */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  /** A hub of the lowest load whose lease runs at `asOf`; counts one topic more for it. */
  take(asOf: number, random: () => number): HubEntry['hub'] | undefined {
    const living: ListedHub[] = []
    for (const listed of this.#hubs.values()) if (listed.leaseEnd > asOf) living.push(listed)
    const chosen = leastLoaded(living, random)
    if (chosen !== undefined) this.#hubs.get(chosen.hostname)!.load++
    return chosen
  }

  /** Puts in what was read or written just now. */
  put({ hub, load, leaseEnd }: HubEntry): void {
    this.#hubs.set(hub.hostname, { hub, load, leaseEnd })
  }

  /** Corrects what is known of a hub. */
  change(hostname: string, change: Partial<Pick<HubEntry, 'load' | 'leaseEnd'>>): void {
    const listed = this.#hubs.get(hostname)
    if (listed !== undefined) Object.assign(listed, change)
  }

  /** Takes a hub out until the copy is read again. */
  remove(hostname: string): void {
    this.#hubs.delete(hostname)
  }

  async #read(): Promise<void> {
    const asOf = this.#now()
    const entries: HubEntry[] = []
    try {
      const cursor = await this.#table.openCursor()
      try {
        while (cursor.hasMoreEntries()) {
          for (const { value } of await cursor.asyncReadEntries(pageSize)) {
            entries.push(parseEntry(value.value))
          }
        }
      } finally {
        cursor.close()
      }
    } catch (error) {
      throw failure(hubKind, error)
    }
    this.#hubs.clear()
    for (const entry of entries) this.put(entry)
    this.#asOf = asOf
  }
}
