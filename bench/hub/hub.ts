/**
 * One hub in a process of its own: `hub.js DIRECTORY ADDRESS MESSAGES [VERSION]`. It serves one
 * topic with one subscriber and consumes so many messages. With a version it first shows that a
 * write of somebody who only knows that version is refused.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { CellarError, Database } from '../../src/entries/index.js'
import {
  CellarMetaStore,
  createMetadataManagerFactory,
  LeaseHubRegistry,
  LongVersion,
  TopicManager,
  type SubscriptionData,
  type SubscriptionDataManager,
  type SubscriptionFence,
  type Version,
} from '../../src/systems/metastore/index.js'

/** What a hub tells. */
export type HubEvent =
  | { readonly kind: 'waiting'; readonly owner: string }
  | { readonly kind: 'acquired'; readonly at: number }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'consumed'; readonly at: number; readonly version: string }

const topic = 'weather'
const subscriber = 'window'
/** Renewed four times in this time, so a hub may stand still for about two seconds. */
const leaseMilliseconds = 3000
const tell = (event: HubEvent): unknown => process.send!(event)

const at = (message: number): SubscriptionData => ({
  state: { msgId: { localComponent: BigInt(message) } },
})

/** Where the subscriber is, and the version of that. The first hub subscribes it. */
async function open(
  subscriptions: SubscriptionDataManager,
  fence: SubscriptionFence,
): Promise<[number, Version]> {
  const found = await subscriptions.readSubscriptionData(topic, subscriber)
  if (found !== null) return [Number(found.value.state!.msgId.localComponent), found.version]
  return [0, await subscriptions.createSubscriptionData(topic, subscriber, at(0), fence)]
}

async function showRefusal(subscriptions: SubscriptionDataManager, stale: string): Promise<void> {
  try {
    const version = new LongVersion(BigInt(stale))
    await subscriptions.updateSubscriptionData(topic, subscriber, at(0), version)
  } catch (error) {
    if (error instanceof CellarError) tell({ kind: 'refused', code: error.code })
    else throw error
  }
}

async function main(words: readonly string[]): Promise<void> {
  const [directory, address, messages, staleVersion] = words
  const store = new CellarMetaStore()
  await store.init({ openDatabase: () => Database.open(directory) }, store.getVersion())
  const factory = await createMetadataManagerFactory({ store })
  const subscriptions = await factory.newSubscriptionDataManager()

  const hubs = await LeaseHubRegistry.open(store, { leaseMilliseconds, now: Date.now })
  const registration = await hubs.register(address)
  const renewal = setInterval(() => {
    registration.renew().catch((error: unknown) => {
      // Others may own our topics by now.
      console.error(error)
      process.exit(1)
    })
  }, leaseMilliseconds / 4)

  const ownership = await factory.newTopicOwnershipManager()
  const topics = new TopicManager({ ownership, hubs, registration })
  for (;;) {
    const { hostname } = await topics.getOwner(topic)
    if (hostname === topics.self.hostname) break
    tell({ kind: 'waiting', owner: hostname })
    await wait(leaseMilliseconds / 2)
  }
  const fence = await subscriptions.fence(topics.ownershipOf(topic)!)
  let [message, version] = await open(subscriptions, fence)
  tell({ kind: 'acquired', at: message })
  if (staleVersion !== '') {
    // One more message, so that what the dead hub knew is old in any case.
    const same = at(message)
    version = await subscriptions.updateSubscriptionData(topic, subscriber, same, version, fence)
    await showRefusal(subscriptions, staleVersion)
  }
  for (let i = 0; i < Number(messages); i++) {
    const next = message + 1
    const moved = at(next)
    version = await subscriptions.updateSubscriptionData(topic, subscriber, moved, version, fence)
    message = next
    tell({ kind: 'consumed', at: message, version: version.toString() })
  }
  await topics.releaseTopic(topic)
  clearInterval(renewal)
  await registration.unregister()
  await store.close()
  process.disconnect()
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
