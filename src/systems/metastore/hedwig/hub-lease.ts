/**
 * A hub's own lease: renewals, load reports, and the notification of its end.
 *
 * The hub holds its lease until the end set by the last acknowledged renewal. A renewal
 * acknowledged after this end is too late: other hubs may have acted in between. The end is
 * detected by a timer or by a call of {@link HubLease.isHeld}, whichever comes first, and is final.
 *
 * At most one write is in progress. Requests during a write are combined into one next write. So a
 * renewal never waits for load reports, of which only the newest is written.
 */
import { assert, deferred, type CellarError, type Deferred } from '../../../api/index.js'
import {
  callListener,
  checkCallable,
  type ListenerErrorHandler,
} from '../kernel/listener-errors.js'
import type { Version } from '../bookkeeper/tables/version.js'
import { HedwigErrorCode, codeOf, failed } from '../errors.js'
import { checkLoad, isSameHub } from './hub-info.js'
import type { HubList } from './hub-list.js'
import type { HubRegistration } from './topic-manager.js'
import type { HubEntry, HubRows } from './hub-row.js'
import { elapsed, Lease, type LeaseClock } from '../kernel/lease-clock.js'
import type { HubInfoData } from './records.js'

/** The registration of a hub; {@link renew} has to be called well before the lease ends. */
export interface LeaseRegistration extends HubRegistration {
  /** Wall clock at which the lease ends without a renewal. */
  readonly leaseEnd: number
  /**
   * Extends the lease. `SERVICE_DOWN` if the lease has ended, also before the acknowledgement of
   * the renewal, or if the address registered again. After another failure of the store the lease
   * is unchanged, and the call may be repeated.
   */
  renew(): Promise<void>
}

/** The parts and settings of a registry of leases. */
export interface LeaseSettings {
  readonly rows: HubRows
  readonly list: HubList
  readonly clock: LeaseClock
  readonly leaseMilliseconds: number
  readonly onListenerError: ListenerErrorHandler
}

/** The requests combined in one write. */
interface Request extends Deferred<void> {
  load: number | undefined
  renews: boolean
  unregisters: boolean
}

/** The lease of a hub; see the file header. */
export class HubLease implements LeaseRegistration {
  readonly #settings: LeaseSettings
  readonly #listeners: (() => void)[] = []
  /** The last acknowledged row. */
  #entry: HubEntry
  #version: Version
  /** Its end is also one by the monotonic clock: the wall clock may be set back. */
  readonly #lease: Lease
  /** Whether a failed write may have been applied. */
  #isInDoubt = false
  /** Whether another hub ended the lease, or the address registered again. */
  #isReplaced = false
  #isWriting = false
  #next: Request | undefined = undefined

  /** `entry` was written with `version`. `elapsedEnd` is the end of the lease by `elapsed`. */
  constructor(settings: LeaseSettings, entry: HubEntry, version: Version, elapsedEnd: number) {
    this.#settings = settings
    this.#entry = entry
    this.#version = version
    const onEnd = (): void => this.#tellLost()
    this.#lease = new Lease(settings.clock, onEnd, elapsedEnd, entry.leaseEnd)
  }

  get hub(): HubInfoData {
    return this.#entry.hub
  }

  get leaseEnd(): number {
    return this.#entry.leaseEnd
  }

  isHeld(): boolean {
    return this.#lease.check()
  }

  onLost(listener: () => void): void {
    checkCallable(listener, 'the listener')
    if (this.#lease.isHeld) this.#listeners.push(listener)
    else this.#call(listener)
  }

  async renew(): Promise<void> {
    this.#checkHeld()
    const request = this.#request()
    request.renews = true
    return request.promise
  }

  async setLoad(topics: number): Promise<void> {
    checkLoad(topics)
    this.#settings.list.change(this.hub.hostname, { load: topics })
    this.#checkHeld()
    const request = this.#request()
    request.load = topics
    return request.promise
  }

  unregister(): Promise<void> {
    // First: the hub must stop before other hubs can read that the lease has ended.
    this.#lose()
    if (this.#next?.unregisters === false) {
      // The requests before are of a lease that has ended.
      this.#next.reject(leaseEnded(this.hub))
      this.#next = undefined
    }
    const request = this.#request()
    request.unregisters = true
    return request.promise
  }

  #lose(): void {
    if (this.#lease.end()) this.#tellLost()
  }

  #tellLost(): void {
    for (const listener of this.#listeners.splice(0)) this.#call(listener)
  }

  #call(listener: () => void): void {
    callListener(this.#settings.onListenerError, listener)
  }

  /** The next write, which combines all requests until it begins. */
  #request(): Request {
    this.#next ??= { load: undefined, renews: false, unregisters: false, ...deferred<void>() }
    if (!this.#isWriting) {
      this.#isWriting = true
      queueMicrotask(() => void this.#writeAll())
    }
    return this.#next
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const request = this.#next
      this.#next = undefined
      try {
        if (request.unregisters) await this.#end()
        else await this.#update(request)
        request.resolve()
      } catch (error) {
        request.reject(error)
      }
    }
    this.#isWriting = false
  }

  async #update({ load, renews }: Request): Promise<void> {
    this.#checkHeld()
    if (this.#isInDoubt) await this.#readVersion()
    const { clock, leaseMilliseconds } = this.#settings
    const before = this.#entry
    const elapsedEnd = elapsed(clock) + leaseMilliseconds
    const renewed = Math.max(before.leaseEnd, clock.now() + leaseMilliseconds)
    const entry = {
      ...before,
      load: load ?? before.load,
      leaseEnd: renews ? renewed : before.leaseEnd,
    }
    assert(entry.leaseEnd >= before.leaseEnd, 'the end of a lease only grows')
    await this.#write(entry)
    // Checked against the old end: a write acknowledged later may have been applied after the end.
    this.#checkHeld()
    this.#entry = entry
    if (!renews) return
    this.#lease.renew(elapsedEnd, entry.leaseEnd)
    this.#settings.list.change(this.hub.hostname, { leaseEnd: entry.leaseEnd })
  }

  async #end(): Promise<void> {
    try {
      if (this.#isInDoubt) await this.#readVersion()
      await this.#write({ ...this.#entry, leaseEnd: 0 })
    } catch (error) {
      if (!this.#isReplaced) throw error
    }
  }

  async #write(entry: HubEntry): Promise<void> {
    try {
      this.#version = await this.#settings.rows.write(entry, this.#version)
    } catch (error) {
      if (codeOf(error) === HedwigErrorCode.badVersion) throw this.#replaced()
      this.#isInDoubt = true
      throw error
    }
  }

  /** Reads the version after a write with unknown outcome. */
  async #readVersion(): Promise<void> {
    const row = await this.#settings.rows.read(this.hub.hostname)
    const isMine = row !== undefined && isSameHub(row.value.hub, this.hub)
    if (!isMine || row.value.leaseEnd === 0) throw this.#replaced()
    this.#version = row.version
    this.#isInDoubt = false
  }

  #checkHeld(): void {
    if (!this.isHeld()) throw leaseEnded(this.hub)
  }

  #replaced(): CellarError {
    this.#isReplaced = true
    this.#lose()
    return leaseEnded(this.hub)
  }
}

function leaseEnded({ hostname, czxid }: HubInfoData): CellarError {
  return failed(HedwigErrorCode.serviceDown, `the lease of hub ${hostname} (${czxid}) has ended`)
}
