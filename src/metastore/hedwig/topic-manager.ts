/**
 * Which hub owns a topic (Hedwig: `MMTopicManager`): elected by conditional writes of the owner's
 * record, with nobody in between.
 *
 * A topic without owner, or whose owner is dead, goes to the hub with the lowest load, by a write
 * that names the version that was read. Whoever loses that race reads again, whatever it lost to:
 * that the record exists already is a lost race as well. (In Hedwig it was `SERVICE_DOWN`.) An
 * owner is alive if exactly the incarnation in the record is registered.
 *
 * Calls for one topic are carried out in order. Listeners are told before a call returns.
 */
import { Version } from '../bookkeeper/version.js'
import { HedwigError, statusOf, type StatusName } from './errors.js'
import { isSameHub } from './hub-info.js'
import type { HubRegistration, HubRegistry } from './hub-registry.js'
import { KeyedQueue } from './keyed-queue.js'
import type { HubInfoData } from './records.js'
import { topicKey, topicOfKey, type TopicName } from './topic-key.js'
import type { TopicOwnershipManager } from './topic-ownership-manager.js'

/** Told when this hub gets or loses a topic. */
export interface TopicOwnershipChangeListener {
  /** If it fails, the topic is given back. */
  acquiredTopic(topic: Buffer): Promise<void> | void
  /** Failures are ignored: the topic is lost all the same. */
  lostTopic(topic: Buffer): Promise<void> | void
}

/** Settings of a topic manager. */
export interface TopicManagerOptions {
  readonly ownership: TopicOwnershipManager
  readonly hubs: HubRegistry
  /** This hub. */
  readonly registration: HubRegistration
  /**
   * Returns milliseconds, as `Date.now` does. Needed for `retentionMilliseconds`; default: time
   * stands still.
   */
  readonly now?: () => number
  /** Topics that this hub owns at most; the one unused for longest goes. Default: no limit. */
  readonly topicsMax?: number
  /** Topics unused for so long are idle. Default: never. */
  readonly retentionMilliseconds?: number
}

/** Lost races: the record is not what was read a moment ago. */
const lostRaces: ReadonlySet<StatusName | undefined> = new Set([
  'BAD_VERSION',
  'NO_TOPIC_OWNER_INFO',
  'TOPIC_OWNER_INFO_EXISTS',
])

/** The topics of one hub. Errors are `HedwigError`s. */
export class TopicManager {
  readonly #ownership: TopicOwnershipManager
  readonly #hubs: HubRegistry
  readonly #registration: HubRegistration
  readonly #now: () => number
  readonly #topicsMax: number
  readonly #retention: number
  readonly #listeners: TopicOwnershipChangeListener[] = []
  readonly #queue = new KeyedQueue()
  /** Owned topics by key with the time of their last use, the one unused for longest first. */
  readonly #owned = new Map<string, number>()
  #isSuspended = false

  constructor(options: TopicManagerOptions) {
    this.#ownership = options.ownership
    this.#hubs = options.hubs
    this.#registration = options.registration
    this.#now = options.now ?? (() => 0)
    this.#topicsMax = options.topicsMax ?? Infinity
    this.#retention = options.retentionMilliseconds ?? Infinity
  }

  /** This hub. */
  get self(): HubInfoData {
    return this.#registration.hub
  }

  /** Number of topics that this hub owns. */
  get topicCount(): number {
    return this.#owned.size
  }

  /** Adds a listener; they are told in the order in which they came. */
  addTopicOwnershipChangeListener(listener: TopicOwnershipChangeListener): void {
    this.#listeners.push(listener)
  }

  /** Whether this hub believes to own a topic. */
  owns(topic: TopicName): boolean {
    return this.#owned.has(topicKey(topic))
  }

  /** Refuses all topics with `SERVICE_DOWN` until {@link resume}: the registry is out of reach. */
  suspend(): void {
    this.#isSuspended = true
  }

  resume(): void {
    this.#isSuspended = false
  }

  /**
   * The owner of a topic; elects one if there is none that lives. `SERVICE_DOWN` if that is not
   * possible now, `COMPOSITE` if this hub was elected and a listener refused the topic.
   */
  async getOwner(topic: TopicName): Promise<HubInfoData> {
    const key = topicKey(topic)
    const owner = await this.#queue.run(key, () => this.#getOwner(key))
    // Outside the queue: two topics that push out each other must not wait for each other.
    while (this.#owned.size > this.#topicsMax) {
      const [oldest] = this.#owned.keys()
      await this.#queue.run(oldest, async () => {
        const isNeeded = this.#owned.size > this.#topicsMax
        if (isNeeded && this.#owned.has(oldest)) await this.#release(oldest)
      })
    }
    return owner
  }

  /** Gives a topic up. Success as well if this hub does not own it. */
  async releaseTopic(topic: TopicName): Promise<void> {
    const key = topicKey(topic)
    await this.#queue.run(key, async () => {
      if (this.#owned.has(key)) await this.#release(key)
    })
  }

  /** Gives up the topics that are idle, and says how many; to be called from time to time. */
  async releaseIdleTopics(): Promise<number> {
    const isIdle = (usedAt: number | undefined): boolean =>
      usedAt !== undefined && this.#now() - usedAt >= this.#retention
    let released = 0
    for (const [key, usedAt] of [...this.#owned]) {
      if (!isIdle(usedAt)) continue
      await this.#queue.run(key, async () => {
        if (!isIdle(this.#owned.get(key))) return
        await this.#release(key)
        released++
      })
    }
    return released
  }

  async #getOwner(key: string): Promise<HubInfoData> {
    if (this.#isSuspended) throw new HedwigError('SERVICE_DOWN', 'the hub is suspended')
    if (this.#owned.has(key)) {
      this.#use(key)
      return this.self
    }
    for (;;) {
      const owner = await this.#elect(key)
      if (owner === undefined) continue
      if (isSameHub(owner, this.self)) await this.#acquire(key)
      return owner
    }
  }

  /** Reads the owner or makes one; undefined if another hub was faster. */
  async #elect(key: string): Promise<HubInfoData | undefined> {
    const topic = topicOfKey(key)
    try {
      const record = await this.#ownership.readOwnerInfo(topic)
      const owner = record?.value ?? undefined
      if (owner !== undefined && (await this.#isAlive(owner))) return owner
      const chosen = await this.#hubs.chooseLeastLoaded()
      if (chosen === undefined) throw new HedwigError('SERVICE_DOWN', 'no hub is registered')
      await this.#ownership.writeOwnerInfo(topic, chosen, record?.version ?? Version.NEW)
      return chosen
    } catch (error) {
      const status = statusOf(error)
      if (lostRaces.has(status)) return undefined
      if (status === 'SERVICE_DOWN') throw error
      const message = `no owner of topic ${topic.toString()} can be found`
      throw new HedwigError('SERVICE_DOWN', message, { cause: error })
    }
  }

  async #isAlive(owner: HubInfoData): Promise<boolean> {
    // An earlier incarnation of this hub is dead, whatever the registry knows yet.
    if (owner.hostname === this.self.hostname) return isSameHub(owner, this.self)
    return this.#hubs.isAlive(owner)
  }

  async #acquire(key: string): Promise<void> {
    const topic = topicOfKey(key)
    try {
      for (const listener of this.#listeners) await listener.acquiredTopic(topic)
    } catch (error) {
      const failures: unknown[] = [error]
      await this.#release(key).catch((later: unknown) => failures.push(later))
      const message = `topic ${topic.toString()} was refused after the election`
      const refused = new HedwigError('SERVICE_DOWN', message, { cause: error })
      throw new HedwigError('COMPOSITE', message, { failures: [refused, ...failures] })
    }
    this.#use(key)
    await this.#reportLoad()
  }

  /** Tells the listeners first, so that nobody serves the topic when another hub gets it. */
  async #release(key: string): Promise<void> {
    const topic = topicOfKey(key)
    this.#owned.delete(key)
    for (const listener of this.#listeners) await tellLost(listener, topic)
    await this.#reportLoad()
    for (;;) {
      const record = await this.#ownership.readOwnerInfo(topic)
      const owner = record?.value ?? undefined
      if (record === null || owner === undefined || !isSameHub(owner, this.self)) return
      try {
        await this.#ownership.deleteOwnerInfo(topic, record.version)
        return
      } catch (error) {
        if (!lostRaces.has(statusOf(error))) throw error
      }
    }
  }

  #use(key: string): void {
    this.#owned.delete(key)
    this.#owned.set(key, this.#now())
  }

  /** The load only steers elections; that it could not be told is no failure of the topic. */
  async #reportLoad(): Promise<void> {
    await this.#registration.setLoad(this.#owned.size).catch(() => undefined)
  }
}

async function tellLost(listener: TopicOwnershipChangeListener, topic: Buffer): Promise<void> {
  try {
    await listener.lostTopic(topic)
  } catch {
    // The interface says so: a listener cannot keep a topic.
  }
}
