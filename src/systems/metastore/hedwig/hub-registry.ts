/**
 * Which hubs there are, whether they live, and how busy they are. In Hedwig this is ZooKeeper's
 * part; {@link LeaseHubRegistry} (`lease-hub-registry.ts`) keeps it in the same store as the rest,
 * {@link MemoryHubRegistry} in memory for hubs of one process.
 */
import { checkCallable } from '../kernel/arguments.js'
import { callListener, warnOfListener } from '../kernel/listener-errors.js'
import { checkLoad, copyOfHub, hubAddress, isSameHub } from './hub-info.js'
import type { HubInfoData } from './records.js'

/** The hubs as topic ownership sees them. */
export interface HubRegistry {
  /** Whether exactly this incarnation of a hub is registered and alive. */
  isAlive(hub: HubInfoData): Promise<boolean>
  /**
   * Makes sure that an incarnation of a hub can never be alive again, and returns true; false if it
   * is alive, which this does not change. Its topics may be taken over after true only.
   */
  expel(hub: HubInfoData): Promise<boolean>
  /** The living hub with the lowest load, one of several at random; undefined if there is none. */
  chooseLeastLoaded(): Promise<HubInfoData | undefined>
}

/** A hub's own entry in a registry. */
export interface HubRegistration {
  /** The hub, with a `czxid` that no earlier registration of its address had. */
  readonly hub: HubInfoData
  /**
   * Whether the hub may act as an owner at this moment. Once it is false it stays false: the hub
   * has to register again. To be asked before every answer.
   */
  isHeld(): boolean
  /** Calls `listener` in the moment in which the registration ends; at once if it has ended. */
  onLost(listener: () => void): void
  /** Says how many topics the hub owns. */
  setLoad(topics: number): Promise<void>
  /** Ends the registration, at once for this hub, and takes the hub out of the registry. */
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

/** One registration in memory. */
class MemoryRegistration implements HubRegistration {
  readonly hub: HubInfoData
  load = 0
  #isHeld = true
  readonly #listeners: (() => void)[] = []

  constructor(hub: HubInfoData) {
    this.hub = hub
  }

  isHeld(): boolean {
    return this.#isHeld
  }

  onLost(listener: () => void): void {
    checkCallable(listener, 'the listener')
    if (this.#isHeld) this.#listeners.push(listener)
    else callListener(warnOfListener, listener)
  }

  async setLoad(topics: number): Promise<void> {
    checkLoad(topics)
    this.load = topics
  }

  async unregister(): Promise<void> {
    if (!this.#isHeld) return
    this.#isHeld = false
    for (const listener of this.#listeners.splice(0)) callListener(warnOfListener, listener)
  }
}

/** A registry of hubs in one process. */
export class MemoryHubRegistry implements HubRegistry {
  readonly #random: () => number
  readonly #hubs = new Map<string, MemoryRegistration>()
  #czxid = 0n

  /** `random` returns numbers in [0, 1) and chooses among equals. */
  constructor(random: () => number) {
    this.#random = checkCallable(random, 'random')
  }

  /** Adds a hub, or a new incarnation of it, which ends the earlier one. */
  register(address: string): HubRegistration {
    const hub: HubInfoData = { hostname: hubAddress(address), czxid: ++this.#czxid }
    void this.#hubs.get(hub.hostname)?.unregister()
    const registration = new MemoryRegistration(hub)
    this.#hubs.set(hub.hostname, registration)
    return registration
  }

  async isAlive(hub: HubInfoData): Promise<boolean> {
    const asked = copyOfHub(hub)
    const registration = this.#hubs.get(asked.hostname)
    return registration?.isHeld() === true && isSameHub(registration.hub, asked)
  }

  async expel(hub: HubInfoData): Promise<boolean> {
    return !(await this.isAlive(hub))
  }

  async chooseLeastLoaded(): Promise<HubInfoData | undefined> {
    const living = [...this.#hubs.values()].filter((each) => each.isHeld())
    return leastLoaded(living, this.#random)
  }
}
