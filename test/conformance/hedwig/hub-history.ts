/**
 * Random histories of a few hubs on one store, from one seed: every call to the store stands still
 * on its way there and on its way back until the history lets it go, some calls for long; the
 * clock moves between any two steps, and timers go off late. After each step the hubs are asked
 * what they own.
 *
 * A history is wrong if two hubs own one topic at one time, or if a fenced write of an earlier
 * owner is applied behind one of a later owner.
 */
import { seededRandom } from '../../../src/base/random.js'
import {
  CellarMetaStore,
  LeaseHubRegistry,
  LongVersion,
  SubscriptionDataManager,
  TopicManager,
  TopicOwnershipManager,
  Version,
  type HubRegistry,
  type LeaseRegistration,
  type MetaStore,
  type SubscriptionFence,
  type TopicOwnership,
} from '../../../src/systems/metastore/index.js'
import { ManualTimer } from '../../helpers/manual-timer.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { Halts, SlowStore, type Halt } from '../../helpers/metastore/slow-metastore.js'

/** What a hub is made of; a planted fault replaces parts. */
export interface HubParts {
  readonly store: MetaStore
  readonly timer: ManualTimer
  readonly hubs: HubRegistry
  readonly registration: LeaseRegistration
  readonly ownership: TopicOwnershipManager
  /** Whether writes of subscriptions are fenced. */
  readonly isFenced: boolean
}

/** The length of a lease. */
export const leaseMilliseconds = 100

const topics = ['x']

interface Hub {
  readonly parts: HubParts
  readonly manager: TopicManager
  readonly subscriptions: SubscriptionDataManager
  readonly fences: Map<TopicOwnership, SubscriptionFence>
}

/** A fenced write that was applied. */
interface AppliedWrite {
  readonly topic: string
  readonly version: bigint
  readonly token: bigint
}

/** One history; see the head of this file. */
export class HubHistory {
  readonly #random: () => number
  readonly #plant: (parts: HubParts) => Partial<HubParts>
  readonly #database = ModelDatabase.open()
  readonly #timer = new ManualTimer(1000)
  readonly #halts = new Halts()
  readonly #addresses: readonly string[]
  /** All hubs that ever were, the newest of an address last. */
  readonly #hubs: Hub[] = []
  readonly #writes: AppliedWrite[] = []
  /** Ends that leases had. */
  readonly #ends = new Set<number>()
  #running = 0
  /** Renewals under way. */
  #renewing = 0
  /** A call that gets no further for a while. */
  #held: Halt | undefined = undefined
  /** Which calls are mostly held in this history. */
  readonly #holdsAnswers: boolean
  /** Acquisitions so far: a history without any shows nothing. */
  acquisitions = 0

  constructor(seed: number, hubs: number, plant: (parts: HubParts) => Partial<HubParts>) {
    this.#random = seededRandom(seed)
    this.#plant = plant
    this.#holdsAnswers = this.#random() < 0.5
    this.#addresses = Array.from({ length: hubs }, (_, i) => `h${i}:1`)
  }

  /** Writes of subscriptions that were applied. */
  get writes(): number {
    return this.#writes.length
  }

  /** Runs so many steps; returns what is wrong with the history, or undefined. */
  async run(steps: number): Promise<string | undefined> {
    for (const address of this.#addresses) await this.#start(address)
    this.#halts.areOpen = false
    for (let step = 0; step < steps; step++) {
      this.#step()
      await new Promise((resolve) => setImmediate(resolve))
      const wrong = this.#twoOwners()
      if (wrong !== undefined) return `step ${step}: ${wrong}`
    }
    this.#halts.open()
    while (this.#running > 0) await new Promise((resolve) => setImmediate(resolve))
    return this.#twoOwners() ?? this.#lateWrite()
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #step(): void {
    const draw = this.#random()
    if (draw > 0.97) this.#hold()
    const waiting = this.#halts.waiting.filter((halt) => halt !== this.#held)
    if (draw < 0.1) this.#moveClock()
    else if (draw < 0.35 && this.#running < 14) this.#begin()
    // Mostly the one that stands for longest: a call that overtakes all others ends nothing.
    else waiting.at(this.#random() < 0.6 ? 0 : this.#below(waiting.length))?.go()
  }

  /** Holds a call, or lets go the one that is held. */
  #hold(): void {
    const { waiting } = this.#halts
    // Old answers make hubs decide wrongly, and late writes are to be refused.
    const wanted = waiting.filter(({ operation, side }) =>
      this.#holdsAnswers ? operation === 'get' && side === 'answer' : operation === 'put',
    )
    const among = wanted.length > 0 && this.#random() < 0.7 ? wanted : waiting
    this.#held = this.#held === undefined ? among[this.#below(among.length)] : undefined
  }

  #moveClock(): void {
    // Most renewals are in time: late ones end the lease, and nothing is left to go wrong.
    if (this.#renewing > 0 && this.#random() < 0.8) return
    const now = this.#timer.milliseconds
    for (const { parts } of this.#hubs) this.#ends.add(parts.registration.leaseEnd)
    const ahead = [...this.#ends].filter((end) => end > now)
    const draw = this.#random()
    // To a moment about the end of a lease, also one that was renewed: there mistakes show.
    const jumps = draw < 0.5 && ahead.length > 0
    const end = jumps ? Math.min(...ahead) + this.#below(5) - 3 : now
    this.#timer.milliseconds = Math.max(now + this.#below(4), end)
    if (this.#random() < 0.5) this.#timer.goOff()
    for (const { parts } of this.#hubs) {
      const { registration } = parts
      const isLate = registration.leaseEnd - this.#timer.milliseconds < 60
      if (isLate && this.#random() < 0.8 && registration.isHeld()) this.#renew(parts)
    }
  }

  #begin(): void {
    const address = this.#addresses[this.#below(this.#addresses.length)]
    const hub = this.#hubs.findLast(({ manager }) => manager.self.hostname.startsWith(address))!
    const topic = topics[this.#below(topics.length)]
    const draw = this.#random()
    const isHeld = hub.parts.registration.isHeld()
    if (!isHeld && draw < 0.5) this.#run(this.#start(address))
    else if (draw < 0.05) this.#renew(hub.parts)
    else if (draw < 0.5) this.#run(hub.manager.getOwner(topic))
    else if (draw < 0.85) this.#run(this.#write(hub, topic))
    else if (draw < 0.9) this.#run(hub.manager.releaseTopic(topic))
    else if (draw < 0.92) this.#run(hub.parts.registration.unregister())
    else if (draw > 0.98) this.#run(this.#start(address))
  }

  #renew({ registration }: HubParts): void {
    this.#renewing++
    const ended = (): void => void this.#renewing--
    this.#run(registration.renew().then(ended, ended))
  }

  /** What fails, fails: only what is done counts. */
  #run(promise: Promise<unknown>): void {
    this.#running++
    const ended = (): void => void this.#running--
    promise.then(ended, ended)
  }

  async #start(address: string): Promise<void> {
    const timer = this.#timer
    const quick = new CellarMetaStore()
    await quick.init({ database: await this.#database }, quick.getVersion())
    const store = new SlowStore(quick, this.#halts)
    const options = { leaseMilliseconds, now: timer.now, after: timer.after, random: this.#random }
    const hubs = await LeaseHubRegistry.open(store, options)
    const registration = await hubs.register(address)
    const ownership = await TopicOwnershipManager.open(store)
    const plain = { store, timer, hubs, registration, ownership, isFenced: true }
    const parts: HubParts = { ...plain, ...this.#plant(plain) }
    const { ownership: owned, hubs: registry, registration: own } = parts
    const manager = new TopicManager({ ownership: owned, hubs: registry, registration: own })
    manager.addTopicOwnershipChangeListener({
      acquiredTopic: () => void this.acquisitions++,
      lostTopic: () => undefined,
    })
    const subscriptions = await SubscriptionDataManager.open(store)
    this.#hubs.push({ parts, manager, subscriptions, fences: new Map() })
  }

  /** What a hub does for a subscriber: it takes the fence once, and writes. */
  async #write({ parts, manager, subscriptions, fences }: Hub, topic: string): Promise<void> {
    const owned = manager.ownershipOf(topic)
    if (owned === undefined) return
    let fence = fences.get(owned)
    if (fence === undefined) {
      fence = await subscriptions.fence(owned)
      fences.set(owned, fence)
    }
    const used = parts.isFenced ? fence : undefined
    const data = { state: { msgId: { localComponent: 1n } } }
    const isThere = (await subscriptions.readSubscriptionData(topic, 's')) !== null
    const version = isThere
      ? await subscriptions.updateSubscriptionData(topic, 's', data, Version.ANY, used)
      : await subscriptions.createSubscriptionData(topic, 's', data, used)
    const { value } = version as LongVersion
    const token = (owned.token as LongVersion).value
    this.#writes.push({ topic, version: value, token })
  }

  #twoOwners(): string | undefined {
    for (const topic of topics) {
      const owners = this.#hubs.filter(({ manager }) => manager.owns(topic))
      if (owners.length < 2) continue
      const names = owners.map(({ manager }) => `${manager.self.hostname} ${manager.self.czxid}`)
      return `topic ${topic} is owned by ${names.join(' and ')} at ${this.#timer.milliseconds}`
    }
    return undefined
  }

  /** Versions of one store grow, so they are the order in which writes were applied. */
  #lateWrite(): string | undefined {
    for (const topic of topics) {
      const writes = this.#writes.filter((write) => write.topic === topic)
      writes.sort((a, b) => Number(a.version - b.version))
      for (let i = 1; i < writes.length; i++) {
        if (writes[i].token >= writes[i - 1].token) continue
        return `owner ${writes[i].token} of ${topic} wrote after owner ${writes[i - 1].token}`
      }
    }
    return undefined
  }
}
