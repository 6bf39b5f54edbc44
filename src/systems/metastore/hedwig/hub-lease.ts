/**
 * A hub's own lease: renewals, load reports, and the moment in which all is lost.
 *
 * The hub holds its lease until the end that the last acknowledged renewal gave it. A renewal that
 * is acknowledged later than that end comes too late: others may have acted in between. The end is
 * noticed by a timer and by every question for {@link HubLease.isHeld}, whichever comes first, and
 * is final.
 *
 * At most one write is under way. Everything that is asked for meanwhile goes into one next write:
 * a renewal never waits behind load reports, and of those only the newest is written.
 */
import { checkCallable } from '../kernel/arguments.js'
import type { MetastoreTable } from '../bookkeeper/types.js'
import type { Version } from '../bookkeeper/tables/version.js'
import { HedwigError, statusOf } from './errors.js'
import { checkLoad, isSameHub } from './hub-info.js'
import type { HubRegistration } from './hub-registry.js'
import { readHub, writeHub, type HubEntry } from './hub-row.js'
import { elapsed, later, type LeaseClock } from '../kernel/lease-clock.js'
import { callListener, type ListenerErrorHandler } from '../kernel/listener-errors.js'
import type { HubInfoData } from './records.js'

/** A hub's entry; {@link renew} has to be called well before the lease ends. */
export interface LeaseRegistration extends HubRegistration {
  /** Wall clock at which the lease ends if it is not renewed. */
  readonly leaseEnd: number
  /**
   * Extends the lease. `SERVICE_DOWN` if it has ended, also if it ended before the store had
   * acknowledged the renewal, or if the address registered again. Another failure of the store
   * leaves the lease as it is: the call may be repeated.
   */
  renew(): Promise<void>
}

/** What a lease needs of its registry. */
export interface LeaseSettings {
  readonly table: MetastoreTable
  readonly clock: LeaseClock
  readonly leaseMilliseconds: number
  /** Told what listeners throw. */
  readonly onListenerError: ListenerErrorHandler
  /** Told the load at once, before it is written. */
  readonly onLoad: (load: number) => void
  /** Told the end of the lease when a renewal is acknowledged. */
  readonly onRenewed: (leaseEnd: number) => void
}

/** What one write carries. */
interface Request {
  load: number | undefined
  renews: boolean
  unregisters: boolean
  readonly done: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** See the head of this file. */
export class HubLease implements LeaseRegistration {
  readonly #settings: LeaseSettings
  readonly #listeners: (() => void)[] = []
  /** As it was acknowledged last. */
  #entry: HubEntry
  #version: Version
  /** The end of the lease by a clock that nobody sets: the wall clock may be set back. */
  #elapsedEnd: number
  /** Whether a write failed and may have been applied all the same. */
  #isInDoubt = false
  #isLost = false
  /** Whether another hub ended the lease, or the address registered again. */
  #isReplaced = false
  #isWriting = false
  #next: Request | undefined = undefined
  #cancelTimer: () => void = () => undefined

  /** `entry` was written, and has the version. `elapsedEnd` is its end by `elapsed`. */
  constructor(settings: LeaseSettings, entry: HubEntry, version: Version, elapsedEnd: number) {
    this.#settings = settings
    this.#entry = entry
    this.#version = version
    this.#elapsedEnd = elapsedEnd
    this.#startTimer()
  }

  get hub(): HubInfoData {
    return this.#entry.hub
  }

  get leaseEnd(): number {
    return this.#entry.leaseEnd
  }

  isHeld(): boolean {
    if (!this.#isLost && this.#left <= 0) this.#lose()
    return !this.#isLost
  }

  /** Milliseconds to the end of the lease, by whichever clock comes first. */
  get #left(): number {
    const { clock } = this.#settings
    return Math.min(this.#entry.leaseEnd - clock.now(), this.#elapsedEnd - elapsed(clock))
  }

  onLost(listener: () => void): void {
    checkCallable(listener, 'the listener')
    if (this.#isLost) this.#call(listener)
    else this.#listeners.push(listener)
  }

  renew(): Promise<void> {
    const request = this.#request()
    request.renews = true
    return request.done
  }

  async setLoad(topics: number): Promise<void> {
    checkLoad(topics)
    this.#settings.onLoad(topics)
    const request = this.#request()
    request.load = topics
    return request.done
  }

  unregister(): Promise<void> {
    // First of all: when others read that the lease ended, the hub must know.
    this.#lose()
    const request = this.#request()
    request.unregisters = true
    return request.done
  }

  #startTimer(): void {
    this.#cancelTimer = later(this.#settings.clock, this.#left, () => {
      if (this.isHeld()) this.#startTimer()
    })
  }

  #lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#cancelTimer()
    for (const listener of this.#listeners.splice(0)) this.#call(listener)
  }

  #call(listener: () => void): void {
    callListener(this.#settings.onListenerError, listener)
  }

  /** The write to come, which takes up what is asked for until it begins. */
  #request(): Request {
    this.#next ??= newRequest()
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
    await this.#write(entry)
    // By the old end: what is acknowledged after it may have been applied after it.
    this.#checkHeld()
    this.#entry = entry
    if (renews) this.#elapsedEnd = elapsedEnd
    if (renews) this.#settings.onRenewed(entry.leaseEnd)
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
      this.#version = await writeHub(this.#settings.table, entry, this.#version)
    } catch (error) {
      if (statusOf(error) === 'BAD_VERSION') throw this.#replaced()
      this.#isInDoubt = true
      throw error
    }
  }

  /** Learns what became of a write that failed. */
  async #readVersion(): Promise<void> {
    const row = await readHub(this.#settings.table, this.hub.hostname)
    const isMine = row !== undefined && isSameHub(row.value.hub, this.hub)
    if (!isMine || row.value.leaseEnd === 0) throw this.#replaced()
    this.#version = row.version
    this.#isInDoubt = false
  }

  #checkHeld(): void {
    if (!this.isHeld()) throw leaseEnded(this.hub)
  }

  #replaced(): HedwigError {
    this.#isReplaced = true
    this.#lose()
    return leaseEnded(this.hub)
  }
}

function leaseEnded({ hostname, czxid }: HubInfoData): HedwigError {
  return new HedwigError('SERVICE_DOWN', `the lease of hub ${hostname} (${czxid}) has ended`)
}

function newRequest(): Request {
  let resolve!: () => void
  let reject!: (error: unknown) => void
  const done = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { load: undefined, renews: false, unregisters: false, done, resolve, reject }
}
