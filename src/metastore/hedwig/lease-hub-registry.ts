/**
 * A registry of hubs in the store itself: table `hubs`, one row an address, with the incarnation
 * (`hub`, text form), the number of topics (`load`, text form) and the end of the lease (`lease`,
 * milliseconds since the Unix epoch in decimal).
 *
 * A hub is alive while its lease runs. A lease that ran out cannot be renewed: others may have
 * taken the hub's topics, so it has to register again and gets a new `czxid`. Rows are never
 * removed, so that no `czxid` of an address comes back. Leases compare clocks of different hubs;
 * what keeps two hubs from owning a topic at once is not the lease but the conditional write of
 * the owner's record.
 */
import { isLostRace } from '../bookkeeper/errors.js'
import type { MetaStore, MetastoreTable } from '../bookkeeper/types.js'
import { Value } from '../bookkeeper/value.js'
import { Version, type Versioned } from '../bookkeeper/version.js'
import { HedwigError, unexpectedCondition } from './errors.js'
import {
  formatHubInfo,
  formatHubLoad,
  hubAddress,
  isSameHub,
  parseHubInfo,
  parseHubLoad,
} from './hub-info.js'
import { leastLoaded, type HubRegistration, type HubRegistry } from './hub-registry.js'
import type { HubInfoData } from './records.js'
import { failure, putRow, readRow, RecordKind } from './store-failure.js'

const tableName = 'hubs'
const pageSize = 1000
const kind = new RecordKind(
  'registration of the hub',
  'UNEXPECTED_CONDITION',
  'UNEXPECTED_CONDITION',
)

/** Settings of a registry of leases. */
export interface LeaseOptions {
  /** Milliseconds that a registration lives without being renewed. Default 10,000. */
  readonly leaseMilliseconds?: number
  /** Returns the wall clock in milliseconds, as `Date.now` does. */
  readonly now: () => number
  /** Returns numbers in [0, 1); chooses among hubs of equal load. Default: always the first. */
  readonly random?: () => number
}

interface Entry {
  readonly hub: HubInfoData
  readonly load: number
  readonly leaseEnd: number
}

/** A hub's entry; {@link renew} has to be called well before the lease ends. */
export interface LeaseRegistration extends HubRegistration {
  /** Wall clock at which the lease ends if it is not renewed. */
  readonly leaseEnd: number
  /** Extends the lease. `SERVICE_DOWN` if it ended already or the address registered again. */
  renew(): Promise<void>
}

/** The registry; see the head of this file. */
export class LeaseHubRegistry implements HubRegistry {
  readonly #table: MetastoreTable
  readonly #leaseMilliseconds: number
  readonly #now: () => number
  readonly #random: () => number

  private constructor(table: MetastoreTable, options: LeaseOptions) {
    this.#table = table
    this.#leaseMilliseconds = options.leaseMilliseconds ?? 10_000
    this.#now = options.now
    this.#random = options.random ?? (() => 0)
  }

  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore, options: LeaseOptions): Promise<LeaseHubRegistry> {
    return new LeaseHubRegistry(await store.createTable(tableName), options)
  }

  /** Registers a hub, or a new incarnation of it. */
  async register(address: string): Promise<LeaseRegistration> {
    const hostname = validAddress(address)
    for (;;) {
      const row = await readRow(this.#table, kind, hostname, null)
      const earlier = row === undefined ? 0n : readEntry(row.value).hub.czxid
      const hub = { hostname, czxid: earlier + 1n }
      const leaseEnd = this.#now() + this.#leaseMilliseconds
      const value = this.#value({ hub, load: 0, leaseEnd })
      try {
        const version = await this.#table.put(hostname, value, row?.version ?? Version.NEW)
        return this.#registration(hub, leaseEnd, version)
      } catch (error) {
        if (!isLostRace(error)) throw failure(kind, error)
      }
    }
  }

  async isAlive(hub: HubInfoData): Promise<boolean> {
    const row = await readRow(this.#table, kind, hub.hostname, null)
    if (row === undefined) return false
    const entry = readEntry(row.value)
    return isSameHub(entry.hub, hub) && entry.leaseEnd > this.#now()
  }

  async chooseLeastLoaded(): Promise<HubInfoData | undefined> {
    const now = this.#now()
    const living: Entry[] = []
    try {
      const cursor = await this.#table.openCursor()
      try {
        while (cursor.hasMoreEntries()) {
          for (const { value } of await cursor.asyncReadEntries(pageSize)) {
            const entry = readEntry(value.value)
            if (entry.leaseEnd > now) living.push(entry)
          }
        }
      } finally {
        cursor.close()
      }
    } catch (error) {
      throw failure(kind, error)
    }
    return leastLoaded(living, this.#random)
  }

  #registration(hub: HubInfoData, leaseEnd: number, version: Version): LeaseRegistration {
    const state: Versioned<Entry> = { value: { hub, load: 0, leaseEnd }, version }
    let last: Promise<void> = Promise.resolve()
    // One after the other: each write needs the version of the one before.
    const write = (change: () => Partial<Entry>): Promise<void> => {
      last = last
        .catch(() => undefined)
        .then(async () => {
          if (state.value.leaseEnd <= this.#now()) throw leaseEnded(hub)
          const entry = { ...state.value, ...change() }
          state.version = await this.#write(entry, state.version)
          state.value = entry
        })
      return last
    }
    return {
      hub,
      get leaseEnd() {
        return state.value.leaseEnd
      },
      renew: () => write(() => ({ leaseEnd: this.#now() + this.#leaseMilliseconds })),
      setLoad: (load) => write(() => ({ load })),
      unregister: () => write(() => ({ leaseEnd: 0 })),
    }
  }

  async #write(entry: Entry, version: Version): Promise<Version> {
    try {
      return await putRow(this.#table, kind, entry.hub.hostname, this.#value(entry), version)
    } catch (error) {
      const isOther = error instanceof HedwigError && error.status === 'BAD_VERSION'
      throw isOther ? leaseEnded(entry.hub) : error
    }
  }

  #value({ hub, load, leaseEnd }: Entry): Value {
    return new Value({
      hub: formatHubInfo(hub),
      load: formatHubLoad({ numTopics: BigInt(load) }),
      lease: String(leaseEnd),
    })
  }

  /** Ends this handle of the table; leases go on. */
  close(): void {
    this.#table.close()
  }
}

function readEntry(value: Value): Entry {
  try {
    return {
      hub: parseHubInfo(textOf(value, 'hub')),
      load: Number(parseHubLoad(textOf(value, 'load')).numTopics),
      leaseEnd: Number(textOf(value, 'lease')),
    }
  } catch (error) {
    throw unexpectedCondition('the registration of a hub cannot be read', error)
  }
}

function textOf(value: Value, field: string): string {
  return value.getField(field)?.toString() ?? ''
}

function validAddress(address: string): string {
  try {
    return hubAddress(address)
  } catch (error) {
    throw unexpectedCondition('the hub has no valid address', error)
  }
}

function leaseEnded({ hostname, czxid }: HubInfoData): HedwigError {
  return new HedwigError('SERVICE_DOWN', `the lease of hub ${hostname} (${czxid}) has ended`)
}
