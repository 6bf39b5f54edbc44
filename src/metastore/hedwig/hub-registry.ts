/**
 * Which hubs there are, whether they live, and how busy they are. In Hedwig this is ZooKeeper's
 * part; {@link LeaseHubRegistry} (`lease-hub-registry.ts`) keeps it in the same store as the rest,
 * {@link MemoryHubRegistry} in memory for hubs of one process.
 */
import { hubAddress, isSameHub } from './hub-info.js'
import type { HubInfoData } from './records.js'

/** The hubs as topic ownership sees them. */
export interface HubRegistry {
  /** Whether exactly this incarnation of a hub is registered and alive. */
  isAlive(hub: HubInfoData): Promise<boolean>
  /** The living hub with the lowest load, one of several at random; undefined if there is none. */
  chooseLeastLoaded(): Promise<HubInfoData | undefined>
}

/** A hub's own entry in a registry. */
export interface HubRegistration {
  /** The hub, with a `czxid` that no earlier registration of its address had. */
  readonly hub: HubInfoData
  /** Says how many topics the hub owns. */
  setLoad(topics: number): Promise<void>
  /** Takes the hub out of the registry. */
  unregister(): Promise<void>
}

/** Of some hubs one with the lowest load. `random` returns numbers in [0, 1). */
export function leastLoaded(
  hubs: Iterable<{ readonly hub: HubInfoData; readonly load: number }>,
  random: () => number,
): HubInfoData | undefined {
  let lowest = Infinity
  let best: HubInfoData[] = []
  for (const { hub, load } of hubs) {
    if (load < lowest) {
      lowest = load
      best = []
    }
    if (load === lowest) best.push(hub)
  }
  return best[Math.floor(random() * best.length)]
}

/** A registry of hubs in one process. */
export class MemoryHubRegistry implements HubRegistry {
  readonly #random: () => number
  readonly #hubs = new Map<string, { hub: HubInfoData; load: number }>()
  #czxid = 0n

  /** `random` returns numbers in [0, 1) and chooses among equals. */
  constructor(random: () => number) {
    this.#random = random
  }

  /** Adds a hub, or a new incarnation of it. */
  register(address: string): HubRegistration {
    const hub: HubInfoData = { hostname: hubAddress(address), czxid: ++this.#czxid }
    const entry = { hub, load: 0 }
    this.#hubs.set(hub.hostname, entry)
    return {
      hub,
      setLoad: async (topics) => {
        entry.load = topics
      },
      unregister: async () => {
        if (this.#hubs.get(hub.hostname) === entry) this.#hubs.delete(hub.hostname)
      },
    }
  }

  async isAlive(hub: HubInfoData): Promise<boolean> {
    const entry = this.#hubs.get(hub.hostname)
    return entry !== undefined && isSameHub(entry.hub, hub)
  }

  async chooseLeastLoaded(): Promise<HubInfoData | undefined> {
    return leastLoaded(this.#hubs.values(), this.#random)
  }
}
