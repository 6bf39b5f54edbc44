/**
 * The registry of hubs: their liveness and load. Hedwig uses ZooKeeper. `LeaseHubRegistry`
 * (`lease-hub-registry.ts`) uses the MetaStore; {@link MemoryHubRegistry} is in memory, for hubs of
 * one process.
 */
import { checkCallable } from '../kernel/arguments.js'
import { callListener, warnOfListener } from '../kernel/listener-errors.js'
import { checkLoad, copyOfHub, hubAddress, isSameHub } from './hub-info.js'
import type { HubInfoData } from './records.js'

/** The registry of hubs, as used by topic ownership. */
export interface HubRegistry {
  /** Whether this incarnation of a hub is registered and alive. */
  isAlive(hub: HubInfoData): Promise<boolean>
  /**
   * Ensures that a dead incarnation of a hub can never be alive again, and returns true. Returns
   * false, without any effect, if it is alive. Its topics may be taken over only after true.
   */
  expel(hub: HubInfoData): Promise<boolean>
  /** The living hub with the lowest load, ties broken at random; undefined if there is none. */
  chooseLeastLoaded(): Promise<HubInfoData | undefined>
}

/** The registration of a hub. */
export interface HubRegistration {
  /** The hub, with a `czxid` that is new for its address. */
  readonly hub: HubInfoData
  /**
   * Whether the hub may currently act as an owner. Once false, the result stays false, and the hub
   * has to register again. REQUIRES: checked before every response.
   */
  isHeld(): boolean
  /** Calls `listener` synchronously when the registration ends; immediately if it has ended. */
  onLost(listener: () => void): void
  /** Reports the number of topics that the hub owns. */
  setLoad(topics: number): Promise<void>
  /** Ends the registration, immediately for this hub, and removes the hub from the registry. */
  unregister(): Promise<void>
}

/** Chooses a hub with the lowest load. `random` returns numbers in [0, 1). */
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

  /** `random` returns numbers in [0, 1), to choose among hubs of equal load. */
  constructor(random: () => number) {
    this.#random = checkCallable(random, 'random')
  }

  /**
   * Registers a hub, or a new incarnation of it; the registration of the earlier incarnation ends.
   */
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
