/**
 * A registry of hubs in the store itself: table `hubs`, one row per address (`hub-row.ts`).
 *
 * A hub is alive while its lease is valid. An ended lease cannot be renewed, because other hubs may
 * have taken over its topics. The hub has to register again and gets a new `czxid`. Rows are never
 * removed, so no `czxid` of an address is reused.
 *
 * Invariants that prevent two hubs from owning one topic at the same time:
 *
 * - A hub relies on its lease only until the end set by an acknowledged write.
 * - Other hubs read the clock before the row. If the end is at or before this time, the lease had
 *   ended when the row was read: no renewal was acknowledged in time.
 * - A hub that takes over ends the lease permanently, by a conditional write on the version that
 *   was read. A concurrent renewal fails, or makes this write fail.
 * - An address that registers again does not take over topics of its earlier incarnation until
 *   the lease of that incarnation has ended, too.
 * - The record of an owner is changed by conditional writes only.
 *
 * Leases compare the clocks of different hubs, which may differ by `clockSkewMillisecondsMax`. If a
 * wall clock is set forward and back within one lease, by more than that, a hub that did not read
 * it meanwhile relies on a lease that others have ended, until its next renewal fails. A write that
 * was sent during the lease may arrive after its end; therefore writes are fenced
 * (`subscription-fence.ts`).
 */
import {
  callback,
  declareOptions,
  number,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { HedwigErrorCode, codeOf, unexpectedCondition, isLostRace } from '../errors.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { Version } from '../bookkeeper/tables/version.js'
import { copyOfHub, hubAddress, isSameHub } from './hub-info.js'
import { HubLease, type LeaseRegistration, type LeaseSettings } from './hub-lease.js'
import { HubList } from './hub-list.js'
import type { HubRegistry } from './topic-manager.js'
import { HubRows, mayBeAlive } from './hub-row.js'
import { elapsed, leaseClock } from '../kernel/lease-clock.js'
import { warnOfListener, type ListenerErrorHandler } from '../kernel/listener-errors.js'
import type { HubInfoData } from './records.js'

const leaseOptions = declareOptions('a registry of leases', {
  ...leaseClock,
  /** Milliseconds until a registration ends without a renewal. Default 10,000. */
  leaseMilliseconds: number({ min: Number.MIN_VALUE, max: Number.MAX_VALUE, default: 10_000 }),
  /**
   * Greatest difference in milliseconds between the clocks of two hubs: other hubs respect a lease
   * for this time after its end. Default 0, for hubs that share a clock.
   */
  clockSkewMillisecondsMax: number({ min: 0, max: Number.MAX_VALUE, default: 0 }),
  /**
   * Maximum age in milliseconds of the list of hubs for elections. New hubs of other registries get
   * topics after this time. Default: a tenth of the lease.
   */
  hubListMillisecondsMax: number({ min: 0, max: Number.MAX_VALUE, default: undefined }),
  /** Random numbers in [0, 1), to choose among hubs of equal load. Default: always the first. */
  random: callback<() => number>(() => 0),
  /** Receives the errors of listeners of `onLost`. Default: `process.emitWarning`. */
  onListenerError: callback<ListenerErrorHandler>(warnOfListener),
})

/** Settings of a registry of leases. */
export interface LeaseOptions extends OptionsOf<typeof leaseOptions> {}

/** Most entries of the cache of dead incarnations; a dead incarnation never becomes alive. */
const deadMax = 10_000

/** A registry with leases; see the file header. */
export class LeaseHubRegistry implements HubRegistry {
  readonly #settings: SettingsOf<typeof leaseOptions> & LeaseSettings
  /** Leases of this registry object, by address. */
  readonly #own = new Map<string, HubLease>()
  readonly #dead = new Set<string>()

  private constructor(rows: HubRows, options: LeaseOptions) {
    const settings = leaseOptions.read(options)
    const age = settings.hubListMillisecondsMax ?? settings.leaseMilliseconds / 10
    const list = new HubList(rows, () => elapsed(settings), age)
    this.#settings = { ...settings, rows, list, clock: settings }
  }

  /** Opens the table; `store` is initialised. `ERR_INVALID_ARGUMENT` for wrong options. */
  static async open(store: MetaStore, options: LeaseOptions): Promise<LeaseHubRegistry> {
    return new LeaseHubRegistry(await HubRows.open(store), options)
  }

  /**
   * Registers a hub, or a new incarnation of it. The topics of an earlier incarnation are not taken
   * over until its lease has ended.
   */
  async register(address: string): Promise<LeaseRegistration> {
    const hostname = validAddress(address)
    const { rows, list, clock, leaseMilliseconds } = this.#settings
    for (;;) {
      const row = await rows.read(hostname)
      const before = row?.value ?? { hub: { czxid: 0n }, leaseEnd: 0, earlierEnd: 0 }
      const elapsedEnd = elapsed(clock) + leaseMilliseconds
      const entry = {
        hub: { hostname, czxid: before.hub.czxid + 1n },
        load: 0,
        leaseEnd: clock.now() + leaseMilliseconds,
        earlierEnd: Math.max(before.earlierEnd, before.leaseEnd),
      }
      try {
        const version = await rows.write(entry, row?.version ?? Version.NEW)
        const lease = new HubLease(this.#settings, entry, version, elapsedEnd)
        this.#own.set(hostname, lease)
        list.put(entry)
        return lease
      } catch (error) {
        if (!isLostRace((error as Error).cause)) throw error
      }
    }
  }

  async isAlive(asked: HubInfoData): Promise<boolean> {
    const hub = validHub(asked)
    if (this.#dead.has(nameOf(hub))) return false
    const asOf = this.#others()
    const row = await this.#settings.rows.read(hub.hostname)
    return row !== undefined && mayBeAlive(row.value, hub, asOf)
  }

  async expel(asked: HubInfoData): Promise<boolean> {
    const hub = validHub(asked)
    if (this.#dead.has(nameOf(hub))) return true
    for (;;) {
      const asOf = this.#others()
      const row = await this.#settings.rows.read(hub.hostname)
      if (row === undefined) return true
      const { value: entry, version } = row
      if (mayBeAlive(entry, hub, asOf)) return false
      // A future incarnation must not be cached as dead.
      if (hub.czxid > entry.hub.czxid) return true
      if (!isSameHub(entry.hub, hub) || entry.leaseEnd === 0) break
      try {
        await this.#settings.rows.write({ ...entry, leaseEnd: 0 }, version)
        break
      } catch (error) {
        if (codeOf(error) !== HedwigErrorCode.badVersion) throw error
      }
    }
    this.#noteDead(hub)
    return true
  }

  #noteDead(hub: HubInfoData): void {
    if (this.#dead.size >= deadMax) this.#dead.clear()
    this.#dead.add(nameOf(hub))
  }

  async chooseLeastLoaded(): Promise<HubInfoData | undefined> {
    const { list, clock, random } = this.#settings
    let isFresh = await list.refresh()
    for (;;) {
      const chosen = list.take(clock.now(), random)
      if (chosen === undefined) {
        if (isFresh) return undefined
        await list.read()
        isFresh = true
      } else if (await this.#confirm(chosen)) {
        return chosen
      } else {
        list.remove(chosen.hostname)
      }
    }
  }

  /** Whether a hub of the list is alive. */
  async #confirm(hub: HubInfoData): Promise<boolean> {
    const own = this.#own.get(hub.hostname)
    if (own !== undefined && isSameHub(own.hub, hub)) return own.isHeld()
    return this.isAlive(hub)
  }

  /** The time with which ends of leases are compared: the clock minus the greatest skew. */
  #others(): number {
    return this.#settings.clock.now() - this.#settings.clockSkewMillisecondsMax
  }

  /**
   * Closes this handle of the table. Leases remain valid until their end, but cannot be renewed.
   */
  close(): void {
    this.#settings.rows.close()
  }
}

function nameOf({ hostname, czxid }: HubInfoData): string {
  return `${hostname} ${czxid}`
}

function validHub(asked: HubInfoData): HubInfoData {
  const hub = copyOfHub(asked)
  if (typeof hub.czxid !== 'bigint') throw unexpectedCondition('the incarnation is a bigint')
  return { ...hub, hostname: validAddress(hub.hostname) }
}

function validAddress(address: string): string {
  try {
    return hubAddress(address)
  } catch (error) {
    throw unexpectedCondition('the hub has no valid address', error)
  }
}
