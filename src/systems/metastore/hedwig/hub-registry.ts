/**
 * The registry of hubs: their liveness and load. Hedwig uses ZooKeeper; `LeaseHubRegistry` uses the
 * MetaStore.
 */
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
  /** Reports the number of topics that the hub owns. `ERR_INVALID_ARGUMENT` for any other value. */
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
