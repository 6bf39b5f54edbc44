/** A registry of hubs in memory: hubs live until their registration ends. */
import type {
  HubInfoData,
  HubRegistration,
  HubRegistry,
} from '../../../src/systems/metastore/index.js'
import {
  checkLoad,
  copyOfHub,
  hubAddress,
  isSameHub,
} from '../../../src/systems/metastore/hedwig/hub-info.js'
import { leastLoaded } from '../../../src/systems/metastore/hedwig/hub-list.js'
import {
  callListener,
  checkCallable,
  warnOfListener,
} from '../../../src/systems/metastore/kernel/listener-errors.js'

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

/** A registry of hubs in one process, without leases. */
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
