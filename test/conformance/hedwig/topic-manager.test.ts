/** Topic ownership, case by case (4.4 of the specification), on each backend. */
import { MemoryHubRegistry } from '../../helpers/metastore/memory-hubs.js'
import { CellarError } from '../../../src/api/index.js'
import { ManualClock } from '../../../src/base/clock.js'
import { seededRandom } from '../../../src/base/random.js'
import {
  hubAddress,
  LongVersion,
  MetastoreErrorCode,
  SubscriptionDataManager,
  TopicManager,
  TopicOwnershipManager,
  Version,
  type HubInfoData,
  type HubRegistration,
  type HubRegistry,
  type MetaStore,
  type TopicManagerOptions,
  type TopicName,
} from '../../../src/systems/metastore/index.js'
import {
  countNumberedCases,
  fails,
  FaultyStore,
  onEachBackend,
} from '../../helpers/metastore/metastores.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_260_107)
/** The full size of case 127 takes minutes. */
const raceTopics = Number(process.env['CELLAR_HUB_TOPICS'] ?? 300)

interface Hub {
  readonly manager: TopicManager
  readonly registration: HubRegistration
  readonly ownership: TopicOwnershipManager
  readonly events: string[]
}

async function startHub(
  store: MetaStore,
  hubs: HubRegistry,
  registration: HubRegistration,
  options: Partial<TopicManagerOptions> = {},
): Promise<Hub> {
  const ownership = await TopicOwnershipManager.open(store)
  const manager = new TopicManager({ ownership, hubs, registration, ...options })
  const events: string[] = []
  manager.addTopicOwnershipChangeListener({
    acquiredTopic: (topic) => void events.push(`+${topic.toString()}`),
    lostTopic: (topic) => void events.push(`-${topic.toString()}`),
  })
  return { manager, registration, ownership, events }
}

onEachBackend('116, 117: all hubs name one owner', async (t, group) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const alone = await startHub(group.store, registry, registry.register('h0:1'))
  t.strictSame(await alone.manager.getOwner('single'), alone.manager.self)
  const hubs = [alone]
  for (const address of ['h1:1', 'h2:1']) {
    hubs.push(await startHub(await group.another(), registry, registry.register(address)))
  }
  const owner = await hubs[1].manager.getOwner('topic')
  for (let round = 0; round < 100; round++) {
    for (const { manager } of hubs) t.strictSame(await manager.getOwner('topic'), owner)
  }
  let elsewhere = 0
  for (let i = 0; i < 100; i++) {
    const other = await hubs[0].manager.getOwner(`topic ${i}`)
    for (const { manager } of hubs) t.strictSame(await manager.getOwner(`topic ${i}`), other)
    if (other.hostname !== owner.hostname) elsewhere++
  }
  t.ok(elsewhere > 0)
})

onEachBackend('118: a new hub gets the next topic', async (t, { store }) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const a = await startHub(store, registry, registry.register('a:1'))
  await a.manager.getOwner('first')
  const b = await startHub(store, registry, registry.register('b:1'))
  t.strictSame(await a.manager.getOwner('second'), b.manager.self)
  t.notOk(b.manager.owns('second'), 'it does not know yet')
  t.strictSame(await b.manager.getOwner('second'), b.manager.self)
  t.ok(b.manager.owns('second'))
})

onEachBackend('119: events and records', async (t, { store }) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const { manager, ownership, events } = await startHub(store, registry, registry.register('a:1'))
  await manager.getOwner('x')
  t.strictSame(events, ['+x'])
  t.strictSame((await ownership.readOwnerInfo('x'))?.value, manager.self)
  await manager.getOwner('x')
  t.strictSame(events, ['+x'])
  await manager.releaseTopic('x')
  t.strictSame(events, ['+x', '-x'])
  t.equal(await ownership.readOwnerInfo('x'), null)
  await manager.releaseTopic('x')
  await manager.releaseTopic('never owned')
  t.strictSame(events, ['+x', '-x'])
  manager.addTopicOwnershipChangeListener({
    acquiredTopic: () => Promise.reject(new Error('planted')),
    lostTopic: () => Promise.reject(new Error('planted')),
  })
  await fails(t, manager.getOwner('x'), {
    code: 'ERR_HEDWIG_COMPOSITE',
    returnCode: 700,
    cause: { errors: [{ code: 'ERR_HEDWIG_SERVICE_DOWN' }, { message: 'planted' }] },
  })
  t.notOk(manager.owns('x'))
  t.equal(await ownership.readOwnerInfo('x'), null)
})

onEachBackend('121: idle topics go', async (t, { store }) => {
  const clock = new ManualClock()
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const { manager, ownership } = await startHub(store, registry, registry.register('a:1'), {
    now: () => clock.now(),
    retentionMilliseconds: 5000,
  })
  await manager.getOwner('x')
  clock.milliseconds += 4999
  t.equal(await manager.releaseIdleTopics(), 0)
  await manager.getOwner('y')
  clock.milliseconds += 1
  t.equal(await manager.releaseIdleTopics(), 1)
  t.equal(await ownership.readOwnerInfo('x'), null)
  t.ok(manager.owns('y'))
  await manager.getOwner('x')
  clock.milliseconds += 4999
  t.equal(await manager.releaseIdleTopics(), 1, 'y, not x')
  t.ok(manager.owns('x'))
  t.strictSame((await ownership.readOwnerInfo('x'))?.value, manager.self)
})

onEachBackend('122: one topic at most', async (t, { store }) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const { manager, ownership, events } = await startHub(store, registry, registry.register('a:1'), {
    topicsMax: 1,
  })
  await manager.getOwner('x')
  await manager.getOwner('y')
  t.strictSame(events, ['+x', '+y', '-x'])
  t.equal(await ownership.readOwnerInfo('x'), null)
  await Promise.all(['a', 'b', 'x', 'y', 'a', 'b'].map((topic) => manager.getOwner(topic)))
  t.equal(manager.topicCount, 1)
})

onEachBackend('123: racing for a topic that nobody owns', async (t, group) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const hubs: Hub[] = []
  for (let i = 0; i < 10; i++) {
    hubs.push(await startHub(await group.another(), registry, registry.register(`h${i}:1`)))
  }
  for (let round = 0; round < 20; round++) {
    const topic = `topic ${round}`
    const owners = await Promise.all(hubs.map(({ manager }) => manager.getOwner(topic)))
    t.equal(new Set(owners.map(({ hostname }) => hostname)).size, 1)
  }
})

onEachBackend('124, 125: incarnations', async (t, { store }) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const before = registry.register('a:1')
  const ownership = await TopicOwnershipManager.open(store)
  const first = await ownership.writeOwnerInfo('x', before.hub, Version.NEW)
  await ownership.writeOwnerInfo('y', { ...before.hub, czxid: 77n }, Version.NEW)
  const now = registry.register('a:1')
  const { manager } = await startHub(store, registry, now)
  t.strictSame(await manager.getOwner('x'), now.hub)
  const record = await ownership.readOwnerInfo('x')
  t.strictSame(record?.value, now.hub, 'elected anew')
  t.equal(record?.version.compare(first), 'AFTER')
  const other = await startHub(store, registry, registry.register('b:1'))
  await now.setLoad(9)
  t.strictSame(await other.manager.getOwner('y'), other.manager.self, 'a czxid that nobody has')
})

onEachBackend('126: release of a topic that went elsewhere', async (t, { store }) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const { manager, ownership, events } = await startHub(store, registry, registry.register('a:1'))
  for (const owner of [
    { hostname: hubAddress('b:1'), czxid: 1n },
    { ...manager.self, czxid: 99n },
  ]) {
    await manager.getOwner('x')
    await ownership.writeOwnerInfo('x', owner, Version.ANY)
    await manager.releaseTopic('x')
    t.strictSame((await ownership.readOwnerInfo('x'))?.value, owner)
    t.equal(events.at(-1), '-x')
    await ownership.deleteOwnerInfo('x', Version.ANY)
  }
})

onEachBackend('a suspended hub answers nothing', async (t, { store }) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const { manager } = await startHub(store, registry, registry.register('a:1'))
  await manager.getOwner('x')
  manager.suspend()
  await fails(t, manager.getOwner('x'), { code: 'ERR_HEDWIG_SERVICE_DOWN', returnCode: 502 })
  manager.resume()
  t.strictSame(await manager.getOwner('x'), manager.self)
})

onEachBackend('failures of the store are SERVICE_DOWN', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const { manager, events } = await startHub(faulty, registry, registry.register('a:1'))
  for (const code of [MetastoreErrorCode.serviceDown, MetastoreErrorCode.operationFailure]) {
    for (const operation of ['get', 'put'] as const) {
      faulty.before = (call) => {
        if (call.operation === operation) throw new CellarError(code, 'planted')
      }
      await fails(t, manager.getOwner('x'), { code: 'ERR_HEDWIG_SERVICE_DOWN' })
    }
  }
  const empty = new MemoryHubRegistry(seededRandom(seed))
  faulty.before = () => undefined
  const gone = await startHub(store, empty, registry.register('b:1'))
  await fails(t, gone.manager.getOwner('x'), { code: 'ERR_HEDWIG_SERVICE_DOWN' })
  t.strictSame(events, [])
})

/** Notes each successful claim that a hub makes for itself. */
function recordClaims(ownership: TopicOwnershipManager, self: HubInfoData, claims: string[]): void {
  const write = ownership.writeOwnerInfo.bind(ownership)
  ownership.writeOwnerInfo = async (topic: TopicName, owner, version) => {
    const next = await write(topic, owner, version)
    if (owner.hostname === self.hostname) {
      const overwritten = version.toString()
      claims.push(`${Buffer.from(topic as Buffer).toString()} over ${overwritten}`)
      claims.push(`${Buffer.from(topic as Buffer).toString()} as ${next.toString()}`)
    }
    return next
  }
}

onEachBackend(`127: 200 hubs and random kills [seed ${seed}]`, async (t, group) => {
  const random = seededRandom(seed)
  const registry = new MemoryHubRegistry(random)
  const claims: string[] = []
  const stores = [group.store, await group.another(), await group.another()]
  const start = async (i: number): Promise<Hub> => {
    const hub = await startHub(stores[i % 3], registry, registry.register(`h${i}:1`))
    recordClaims(hub.ownership, hub.registration.hub, claims)
    return hub
  }
  const hubs: Hub[] = []
  for (let i = 0; i < 200; i++) hubs.push(await start(i))
  const below = (limit: number): number => Math.floor(random() * limit)
  let restarts = 0
  const client = async (): Promise<void> => {
    for (let i = 0; i < raceTopics / 10; i++) {
      const topic = `topic ${below(raceTopics)}`
      const asked = below(200)
      const { manager, registration } = hubs[asked]
      const owner = await manager.getOwner(topic).catch((error: unknown) => {
        // It died while it was asked.
        if (registration.isHeld()) throw error
      })
      if (owner === undefined || below(4) !== 0) continue
      // The owner dies, with or without knowing of the topic; another incarnation starts.
      const dead = Number(/^h(\d+):/.exec(owner.hostname)![1])
      hubs[dead] = await start(dead)
      restarts++
    }
  }
  await Promise.all(Array.from({ length: 50 }, client))
  t.ok(restarts > 0)
  const repeated = claims.filter((claim, i) => !claim.endsWith('NEW') && claims.indexOf(claim) < i)
  t.strictSame(repeated, [], 'no version was claimed or overwritten by two')
  // In the end everybody agrees, and each topic has one owner that is alive.
  for (let i = 0; i < raceTopics; i += 10) {
    const topic = `topic ${i}`
    const asked = [hubs[below(200)], hubs[below(200)], hubs[below(200)]]
    const owners = await Promise.all(asked.map(({ manager }) => manager.getOwner(topic)))
    t.equal(new Set(owners.map(({ hostname }) => hostname)).size, 1)
    t.ok(await registry.isAlive(owners[0]))
  }
})

onEachBackend('listeners that write into the name of a topic', async (t, { store }) => {
  const registry = new MemoryHubRegistry(seededRandom(seed))
  const ownership = await TopicOwnershipManager.open(store)
  const registration = registry.register('a:1')
  const manager = new TopicManager({ ownership, hubs: registry, registration })
  manager.addTopicOwnershipChangeListener({
    acquiredTopic: (topic, owned) => {
      topic.fill('y')
      owned.topic.fill('y')
    },
    lostTopic: (topic) => void topic.fill('z'),
  })
  const events: string[] = []
  manager.addTopicOwnershipChangeListener({
    acquiredTopic: (topic) => void events.push(`+${topic.toString()}`),
    lostTopic: (topic) => void events.push(`-${topic.toString()}`),
  })
  await manager.getOwner('x')
  await manager.releaseTopic('x')
  t.strictSame(events, ['+x', '-x'])
  t.equal(await ownership.readOwnerInfo('x'), null, 'the topic is free')
  const subscriptions = await SubscriptionDataManager.open(store)
  const owned = { topic: Buffer.from('w'), token: new LongVersion(1n), isHeld: () => true }
  const taking = subscriptions.fence(owned)
  owned.topic.fill('v')
  const fence = await taking
  const write = subscriptions.createSubscriptionData('w', 's', {}, fence)
  await t.resolves(write, 'the fence is of the topic of its call')
})

const aboveMetadata = 'it is about a hub that serves messages; the interface ends at its metadata'
countNumberedCases({
  128: `${aboveMetadata}: subscribe and unsubscribe are calls of clients, not of the managers`,
  133: `${aboveMetadata}: it publishes, consumes and trims message ledgers`,
  134: `${aboveMetadata}: it publishes, trims and scans message ledgers`,
})
