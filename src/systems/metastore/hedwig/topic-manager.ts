/**
 * The election of topic owners (Hedwig: `MMTopicManager`), by conditional writes of the owner's
 * record, without a coordinator; and the registry of hubs, as elections use it.
 *
 * A topic without an owner, or with a dead owner, is assigned to the hub with the lowest load, by a
 * write conditional on the version that was read. A hub that loses this race reads again, also if
 * the record was created in the meantime. (In Hedwig this was `SERVICE_DOWN`.) An owner is alive if
 * the incarnation in the record is registered. A dead owner is expelled from the registry before
 * its topic is taken over.
 *
 * When the registration of the hub ends, the hub owns no topic: every listener is notified of every
 * lost topic, and all calls fail. A hub that registers again needs a new manager.
 *
 * Calls for one topic are performed in order. Listeners are notified before a call returns.
 */
import {
  assert,
  callback,
  checkMethods,
  declareOptions,
  implementation,
  KeyedQueue,
  number,
  required,
  type OptionsOf,
} from '../../../api/index.js'
import { Version } from '../bookkeeper/tables/version.js'
import { HedwigErrorCode, codeOf, failed } from '../errors.js'
import { isSameHub } from './hub-info.js'
import type { HubInfoData } from './records.js'
import { topicKey, topicOfKey, type TopicName } from './topic-key.js'
import type { TopicOwnershipManager } from './topic-records.js'

/**
 * The registry of hubs: their liveness and load. Hedwig uses ZooKeeper; `LeaseHubRegistry` uses the
 * MetaStore.
 */
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

/** The ownership of a topic by a hub, from an election until the topic is released or lost. */
export interface TopicOwnership {
  /** The topic, as bytes. */
  readonly topic: Buffer
  /**
   * The fencing token: the version of the owner's record, which is after the tokens of all earlier
   * owners. See `SubscriptionDataManager.fence`.
   */
  readonly token: Version
  /** Whether the hub currently owns the topic. Once false, the result stays false. */
  isHeld(): boolean
}

/** Notified when this hub acquires or loses a topic. */
export interface TopicOwnershipChangeListener {
  /** The topic was acquired. If the listener fails, the topic is released. */
  acquiredTopic(topic: Buffer, ownership: TopicOwnership): Promise<void> | void
  /** The topic was lost. Failures are ignored: a listener cannot keep a topic. */
  lostTopic(topic: Buffer): Promise<void> | void
}

const managerOptions = declareOptions('a topic manager', {
  /** The stored owners; the caller closes the manager. */
  ownership: required(implementation<TopicOwnershipManager>(['readOwnerInfo', 'writeOwnerInfo'])),
  /** The registered hubs and their load. */
  hubs: required(implementation<HubRegistry>(['expel', 'chooseLeastLoaded'])),
  /** The registration of this hub. */
  registration: required(implementation<HubRegistration>(['isHeld', 'onLost', 'setLoad'])),
  /**
   * Returns milliseconds, as `Date.now` does. Needed for `retentionMilliseconds`. Default: always
   * 0.
   */
  now: callback<() => number>(() => 0),
  /** Most topics of this hub; the least recently used one is released. Default: no limit. */
  topicsMax: number({ min: 0, default: Infinity }),
  /** Time without use after which a topic is idle. Default: never. */
  retentionMilliseconds: number({ min: 0, default: Infinity }),
})

/** Settings of a topic manager. */
export interface TopicManagerOptions extends OptionsOf<typeof managerOptions> {}

/** The statuses of lost races: the record has changed since it was read. */
const lostRaces: ReadonlySet<string | undefined> = new Set([
  HedwigErrorCode.badVersion,
  HedwigErrorCode.noOwner,
  HedwigErrorCode.ownerExists,
])

/** See {@link TopicOwnership}. */
class OwnedTopic implements TopicOwnership {
  readonly topic: Buffer
  readonly token: Version
  usedAt = 0
  isLost = false
  readonly #registration: HubRegistration

  constructor(topic: Buffer, token: Version, registration: HubRegistration) {
    this.topic = topic
    this.token = token
    this.#registration = registration
  }

  isHeld(): boolean {
    return !this.isLost && this.#registration.isHeld()
  }
}

/** The owner in a record, with the version of the record. */
interface Elected {
  readonly owner: HubInfoData
  readonly version: Version
}

/** The topics of one hub. Errors have codes of `HedwigErrorCode`. */
export class TopicManager {
  readonly #ownership: TopicOwnershipManager
  readonly #hubs: HubRegistry
  readonly #registration: HubRegistration
  readonly #now: () => number
  readonly #topicsMax: number
  readonly #retention: number
  readonly #listeners: TopicOwnershipChangeListener[] = []
  readonly #queue = new KeyedQueue()
  /** Owned topics by key, the least recently used first. */
  readonly #owned = new Map<string, OwnedTopic>()
  #isSuspended = false

  /** Subscribes to the end of the registration. `ERR_INVALID_ARGUMENT` for an unknown option. */
  constructor(options: TopicManagerOptions) {
    const settings = managerOptions.read(options)
    this.#ownership = settings.ownership
    this.#hubs = settings.hubs
    this.#registration = settings.registration
    this.#now = settings.now
    this.#topicsMax = settings.topicsMax
    this.#retention = settings.retentionMilliseconds
    this.#registration.onLost(() => this.#loseAll())
  }

  /** This hub. */
  get self(): HubInfoData {
    return this.#registration.hub
  }

  /** Number of topics that this hub owns. */
  get topicCount(): number {
    return this.#registration.isHeld() ? this.#owned.size : 0
  }

  /** Adds a listener. Listeners are notified in the order of their registration. */
  addTopicOwnershipChangeListener(listener: TopicOwnershipChangeListener): void {
    checkMethods(listener, 'the listener', ['acquiredTopic', 'lostTopic'])
    this.#listeners.push(listener)
  }

  /** Whether this hub currently owns a topic. */
  owns(topic: TopicName): boolean {
    return this.ownershipOf(topic) !== undefined
  }

  /** The current ownership of a topic; undefined if this hub does not own the topic. */
  ownershipOf(topic: TopicName): TopicOwnership | undefined {
    const owned = this.#owned.get(topicKey(topic))
    return owned?.isHeld() === true ? owned : undefined
  }

  /** Refuses all topics with `SERVICE_DOWN` until {@link resume}, for an unreachable registry. */
  suspend(): void {
    this.#isSuspended = true
  }

  /** Ends `suspend`: topics are served again. */
  resume(): void {
    this.#isSuspended = false
  }

  /**
   * The owner of a topic; elects one if there is no living owner. `SERVICE_DOWN` if the election is
   * currently not possible, or the registration of this hub has ended. `COMPOSITE` if this hub was
   * elected and a listener refused the topic.
   */
  async getOwner(topic: TopicName): Promise<HubInfoData> {
    const key = topicKey(topic)
    const owner = await this.#queue.run(key, () => this.#getOwner(key))
    // Outside the queue: two topics that evict each other must not wait for each other.
    while (this.#owned.size > this.#topicsMax) {
      const [oldest] = this.#owned.keys()
      await this.#queue.run(oldest, async () => {
        const isNeeded = this.#owned.size > this.#topicsMax
        if (isNeeded && this.#owned.has(oldest)) await this.#release(oldest)
      })
    }
    if (isSameHub(owner, this.self)) this.#checkServing()
    return owner
  }

  /** Releases a topic. Also succeeds if this hub does not own the topic. */
  async releaseTopic(topic: TopicName): Promise<void> {
    const key = topicKey(topic)
    await this.#queue.run(key, async () => {
      if (this.#owned.has(key)) await this.#release(key)
    })
  }

  /** Releases the idle topics and returns their number. To be called periodically. */
  async releaseIdleTopics(): Promise<number> {
    const isIdle = (usedAt: number | undefined): boolean =>
      usedAt !== undefined && this.#now() - usedAt >= this.#retention
    let released = 0
    for (const [key, { usedAt }] of [...this.#owned]) {
      if (!isIdle(usedAt)) continue
      await this.#queue.run(key, async () => {
        if (!isIdle(this.#owned.get(key)?.usedAt)) return
        await this.#release(key)
        released++
      })
    }
    return released
  }

  #checkServing(): void {
    if (this.#isSuspended) throw failed(HedwigErrorCode.serviceDown, 'the hub is suspended')
    this.#checkHeld()
  }

  #checkHeld(): void {
    if (this.#registration.isHeld()) return
    throw failed(HedwigErrorCode.serviceDown, 'the registration of the hub has ended')
  }

  async #getOwner(key: string): Promise<HubInfoData> {
    for (;;) {
      this.#checkServing()
      const owned = this.#owned.get(key)
      if (owned !== undefined) {
        this.#use(key, owned)
        return this.self
      }
      const elected = await this.#elect(key)
      if (elected === undefined) continue
      if (isSameHub(elected.owner, this.self)) await this.#acquire(key, elected.version)
      return elected.owner
    }
  }

  /** Reads or elects the owner; undefined after a lost race. */
  async #elect(key: string): Promise<Elected | undefined> {
    const topic = topicOfKey(key)
    try {
      const record = await this.#ownership.readOwnerInfo(topic)
      const owner = record?.value ?? undefined
      if (record !== null && owner !== undefined && (await this.#isAlive(owner))) {
        return { owner, version: record.version }
      }
      const chosen = await this.#hubs.chooseLeastLoaded()
      if (chosen === undefined) throw failed(HedwigErrorCode.serviceDown, 'no hub is registered')
      const expected = record?.version ?? Version.NEW
      const version = await this.#ownership.writeOwnerInfo(topic, chosen, expected)
      return { owner: chosen, version }
    } catch (error) {
      const status = codeOf(error)
      if (lostRaces.has(status)) return undefined
      if (status === HedwigErrorCode.serviceDown) throw error
      const message = `no owner of topic ${topic.toString()} can be found`
      throw failed(HedwigErrorCode.serviceDown, message, error)
    }
  }

  /** Whether an owner is alive. After false the owner can never be alive again. */
  async #isAlive(owner: HubInfoData): Promise<boolean> {
    if (isSameHub(owner, this.self)) return true
    if (await this.#hubs.expel(owner)) return false
    if (owner.hostname !== this.self.hostname) return true
    const message = 'an earlier incarnation of this hub may still serve the topic'
    throw failed(HedwigErrorCode.serviceDown, message)
  }

  async #acquire(key: string, token: Version): Promise<void> {
    this.#checkHeld()
    const owned = new OwnedTopic(topicOfKey(key), token, this.#registration)
    try {
      for (const listener of this.#listeners) {
        await listener.acquiredTopic(topicOfKey(key), owned)
        this.#checkHeld()
      }
    } catch (error) {
      const failures: unknown[] = [error]
      await this.#giveUp(key, owned).catch((later: unknown) => failures.push(later))
      this.#checkHeld()
      const message = `topic ${topicOfKey(key).toString()} was refused after the election`
      const refused = failed(HedwigErrorCode.serviceDown, message, error)
      const all = new AggregateError([refused, ...failures], message)
      throw failed(HedwigErrorCode.composite, message, all)
    }
    this.#use(key, owned)
    this.#reportLoad()
  }

  async #release(key: string): Promise<void> {
    const owned = this.#owned.get(key)
    assert(owned !== undefined, 'an owned topic is released')
    this.#owned.delete(key)
    await this.#giveUp(key, owned)
  }

  /**
   * Notifies the listeners first, so that this hub stops serving the topic before another hub owns
   * it.
   */
  async #giveUp(key: string, owned: OwnedTopic): Promise<void> {
    // Not the topic of the ownership: listeners have that, and may write into it.
    const topic = topicOfKey(key)
    owned.isLost = true
    await this.#tellLost(key)
    this.#reportLoad()
    for (;;) {
      const record = await this.#ownership.readOwnerInfo(topic)
      const owner = record?.value ?? undefined
      if (record === null || owner === undefined || !isSameHub(owner, this.self)) return
      try {
        await this.#ownership.deleteOwnerInfo(topic, record.version)
        return
      } catch (error) {
        if (!lostRaces.has(codeOf(error))) throw error
      }
    }
  }

  /** The registration has ended: from now on other hubs may own the topics. */
  #loseAll(): void {
    const lost = [...this.#owned]
    this.#owned.clear()
    for (const [, owned] of lost) owned.isLost = true
    for (const [key] of lost) void this.#tellLost(key)
  }

  async #tellLost(key: string): Promise<void> {
    for (const listener of this.#listeners) await tellLost(listener, topicOfKey(key))
  }

  #use(key: string, owned: OwnedTopic): void {
    owned.usedAt = this.#now()
    this.#owned.delete(key)
    this.#owned.set(key, owned)
  }

  /** Not awaited: the load only balances elections, so a failed report must not fail the call. */
  #reportLoad(): void {
    if (!this.#registration.isHeld()) return
    this.#registration.setLoad(this.#owned.size).catch(() => undefined)
  }
}

async function tellLost(listener: TopicOwnershipChangeListener, topic: Buffer): Promise<void> {
  try {
    await listener.lostTopic(topic)
  } catch {
    // By contract, failures are ignored: a listener cannot keep a topic.
  }
}
