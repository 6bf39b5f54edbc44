/** Leases of hubs, case by case: by a clock and timers that move by hand, on each backend. */
import { CellarError } from '../../../src/api/index.js'
import type { Test } from 'tap'
import { seededRandom } from '../../../src/base/random.js'
import {
  hubAddress,
  LeaseHubRegistry,
  LongVersion,
  MetastoreErrorCode,
  SubscriptionDataManager,
  TopicManager,
  TopicOwnershipManager,
  Version,
  type LeaseOptions,
  type LeaseRegistration,
  type MetaStore,
  type SubscriptionData,
  type TopicManagerOptions,
} from '../../../src/systems/metastore/index.js'
import { ManualTimer } from '../../helpers/manual-timer.js'
import { fails, FaultyStore, onEachBackend } from '../../helpers/metastore/metastores.js'
import { codeOf } from '../../suites/kit.js'
import { SlowStore, type Halt, type Halts } from '../../helpers/metastore/slow-metastore.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_260_107)
const ended = { code: 'ERR_HEDWIG_SERVICE_DOWN', returnCode: 502 }
const notResponsible = { code: 'ERR_HEDWIG_NOT_RESPONSIBLE_FOR_TOPIC', returnCode: 501 }
const state = (seq: bigint): SubscriptionData => ({ state: { msgId: { localComponent: seq } } })

/** Leases of 100 ms, at first at the time 1000. */
function leases(timer: ManualTimer): LeaseOptions {
  return { leaseMilliseconds: 100, now: timer.now, after: timer.after }
}

interface Hub {
  readonly manager: TopicManager
  readonly registry: LeaseHubRegistry
  readonly registration: LeaseRegistration
  readonly ownership: TopicOwnershipManager
  readonly subscriptions: SubscriptionDataManager
  readonly events: string[]
}

async function startHub(
  store: MetaStore,
  address: string,
  options: LeaseOptions,
  settings: Partial<TopicManagerOptions> = {},
): Promise<Hub> {
  const registry = await LeaseHubRegistry.open(store, options)
  const registration = await registry.register(address)
  const ownership = await TopicOwnershipManager.open(store)
  const subscriptions = await SubscriptionDataManager.open(store)
  const manager = new TopicManager({ ownership, hubs: registry, registration, ...settings })
  const events: string[] = []
  manager.addTopicOwnershipChangeListener({
    acquiredTopic: (topic) => void events.push(`+${topic.toString()}`),
    lostTopic: (topic) => void events.push(`-${topic.toString()}`),
  })
  return { manager, registry, registration, ownership, subscriptions, events }
}

/** Waits until a call stands at a place; the others go on. */
async function standing(
  halts: Halts,
  operation: Halt['operation'],
  side: Halt['side'],
  table = 'hubs',
): Promise<Halt> {
  for (let turn = 0; turn < 1000; turn++) {
    const isIt = (halt: Halt): boolean =>
      halt.operation === operation && halt.side === side && halt.table === table
    const found = halts.waiting.find(isIt)
    if (found !== undefined) return found
    for (const halt of [...halts.waiting]) halt.go()
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error(`no ${side} of a ${operation} came`)
}

onEachBackend('a lease whose end cannot be read is not written', async (t, group) => {
  const timer = new ManualTimer(1000)
  const registry = await LeaseHubRegistry.open(group.store, leases(timer))
  const { hub } = await registry.register('good:1')
  const refused = { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' }
  for (const wrong of [{ leaseMilliseconds: 1e17 }, { now: () => NaN }, { now: () => -1e6 }]) {
    const other = await LeaseHubRegistry.open(group.store, { ...leases(timer), ...wrong })
    await fails(t, other.register('bad:1'), refused)
  }
  const another = await LeaseHubRegistry.open(await group.another(), leases(timer))
  t.strictSame(await another.chooseLeastLoaded(), hub, 'the others go on')
})

onEachBackend('hubs are chosen after their clock was set back', async (t, group) => {
  const timer = new ManualTimer(3_600_000)
  const registry = await LeaseHubRegistry.open(group.store, leases(timer))
  t.equal(await registry.chooseLeastLoaded(), undefined)
  timer.milliseconds = 1000
  t.equal(await registry.chooseLeastLoaded(), undefined)
  const other = await LeaseHubRegistry.open(await group.another(), leases(timer))
  const { hub } = await other.register('a:1')
  t.strictSame(await registry.chooseLeastLoaded(), hub)
  timer.milliseconds = 900
  const next = await other.register('b:1')
  const chosen = [await registry.chooseLeastLoaded(), await registry.chooseLeastLoaded()]
  t.ok(
    chosen.some((each) => each?.hostname === next.hub.hostname),
    'a new list',
  )
})

onEachBackend('a hub lives while it renews', async (t, group) => {
  const timer = new ManualTimer(1000)
  const options = { ...leases(timer), random: seededRandom(seed) }
  const registry = await LeaseHubRegistry.open(group.store, options)
  const other = await LeaseHubRegistry.open(await group.another(), options)
  t.equal(await other.chooseLeastLoaded(), undefined)
  const a = await registry.register('a:1')
  const b = await other.register('b:1')
  await a.setLoad(3)
  t.strictSame(await other.chooseLeastLoaded(), b.hub)
  await b.setLoad(4)
  t.strictSame(await registry.chooseLeastLoaded(), a.hub)
  timer.advance(99)
  // A load that cannot be stored takes no renewal along that would share its write.
  const refused = [-1, 0.5, NaN].map((load) => {
    return fails(t, a.setLoad(load), { code: 'ERR_INVALID_ARGUMENT' })
  })
  await Promise.all([a.renew(), ...refused, a.setLoad(9), a.renew()])
  timer.advance(1)
  t.ok(await other.isAlive(a.hub))
  t.notOk(await registry.isAlive(b.hub), 'its lease has ended')
  t.strictSame(await other.chooseLeastLoaded(), a.hub)
  await fails(t, b.renew(), ended)
  const again = await other.register('b:1')
  t.ok(again.hub.czxid > b.hub.czxid)
  t.notOk(await registry.isAlive(b.hub))
  t.ok(await registry.isAlive(again.hub))
  await fails(t, b.setLoad(1), ended)
  const usurper = await registry.register('b:1')
  await fails(t, again.renew(), ended, 'the address registered again')
  t.notOk(again.isHeld())
  await again.unregister()
  t.ok(await registry.isAlive(usurper.hub), 'its entry is not touched')
  await usurper.unregister()
  t.notOk(await registry.isAlive(usurper.hub))
  t.notOk(await registry.isAlive({ hostname: hubAddress('nobody:1'), czxid: 1n }))
  await fails(t, registry.register('nonsense'), { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' })
})

onEachBackend('another hub takes over when one is gone', async (t, group) => {
  const timer = new ManualTimer(1000)
  const a = await startHub(group.store, 'a:1', leases(timer))
  await a.manager.getOwner('x')
  const b = await startHub(await group.another(), 'b:1', leases(timer))
  t.strictSame(await b.manager.getOwner('x'), a.manager.self)
  timer.advance(100)
  const c = await startHub(await group.another(), 'c:1', leases(timer))
  t.strictSame(await c.manager.getOwner('x'), c.manager.self)
  t.notOk(a.manager.owns('x'))
})

onEachBackend('a renewal while another hub reads the lease', async (t, group) => {
  for (const question of ['isAlive', 'expel'] as const) {
    const timer = new ManualTimer(1000)
    const a = await startHub(group.store, `${question}:1`, leases(timer))
    await a.manager.getOwner('x')
    const slow = new SlowStore(await group.another())
    const b = await LeaseHubRegistry.open(slow, leases(timer))
    timer.milliseconds = 1098
    slow.halts.areOpen = false
    const answer = b[question](a.manager.self)
    const read = await standing(slow.halts, 'get', 'answer')
    timer.milliseconds = 1099
    await a.registration.renew()
    t.equal(a.registration.leaseEnd, 1199)
    timer.milliseconds = 1101
    read.go()
    slow.halts.open()
    t.equal(await answer, question === 'isAlive', 'the owner is alive')
    t.ok(a.manager.owns('x'))
    await a.manager.releaseTopic('x')
  }
})

onEachBackend('a renewal that is under way when the lease ends', async (t, group) => {
  for (const isApplied of [false, true]) {
    const timer = new ManualTimer(1000)
    const slow = new SlowStore(group.store)
    const a = await startHub(slow, `${isApplied}:1`, leases(timer))
    await a.manager.getOwner('x')
    await a.registration.setLoad(1)
    timer.milliseconds = 1099
    slow.halts.areOpen = false
    const renewal = a.registration.renew()
    const refused = fails(t, renewal, ended, `${isApplied ? 'acknowledged' : 'refused'} late`)
    const put = await standing(slow.halts, 'put', isApplied ? 'answer' : 'call')
    timer.milliseconds = 1100
    const b = await startHub(await group.another(), 'b:1', leases(timer))
    t.equal(await b.registry.expel(a.manager.self), !isApplied)
    t.notOk(a.manager.owns('x'), 'nothing is owned beyond the old end')
    put.go()
    slow.halts.open()
    await refused
    t.notOk(a.registration.isHeld())
    t.notOk(a.manager.owns('x'), 'and nothing comes back')
    t.equal(await b.registry.isAlive(a.manager.self), isApplied)
    await a.registration.unregister()
    t.ok(await b.registry.expel(a.manager.self))
    await b.manager.getOwner('x')
    await b.manager.releaseTopic('x')
    await b.registration.unregister()
  }
})

onEachBackend('a hub that was expelled cannot renew', async (t, group) => {
  const timer = new ManualTimer(1000)
  const a = await startHub(group.store, 'a:1', leases(timer))
  // The clock of the other hub is ahead of the allowed difference.
  const ahead = { ...leases(timer), now: () => timer.milliseconds + 100 }
  const b = await LeaseHubRegistry.open(await group.another(), ahead)
  t.ok(await b.expel(a.manager.self))
  t.ok(await b.expel(a.manager.self), 'once and for all')
  await fails(t, a.registration.renew(), ended)
  t.notOk(a.registration.isHeld())
  const careful = { ...ahead, clockSkewMillisecondsMax: 100 }
  const again = await startHub(group.store, 'a:1', leases(timer))
  const c = await LeaseHubRegistry.open(await group.another(), careful)
  t.notOk(await c.expel(again.manager.self), 'clocks may differ by so much')
  timer.milliseconds = 1100
  t.ok(await c.expel(again.manager.self))
  for (const options of [
    { leaseMilliseconds: 0 },
    { leaseMilliseconds: Number.NaN },
    { clockSkewMillisecondsMax: -1 },
    { hubListMillisecondsMax: Number.NaN },
  ]) {
    const opened = LeaseHubRegistry.open(group.store, { ...leases(timer), ...options })
    await fails(t, opened, { code: 'ERR_INVALID_ARGUMENT' })
  }
})

onEachBackend('a renewal does not wait behind load reports', async (t, group) => {
  const timer = new ManualTimer(1000)
  const slow = new SlowStore(group.store)
  const a = await startHub(slow, 'a:1', leases(timer))
  slow.halts.areOpen = false
  const first = a.registration.setLoad(1)
  const put = await standing(slow.halts, 'put', 'call')
  const reports = Array.from({ length: 4000 }, (_, i) => a.registration.setLoad(2 + i))
  timer.milliseconds = 1099
  const renewal = a.registration.renew()
  put.go()
  let puts = 0
  let settled = false
  void Promise.all([first, renewal, ...reports]).then(() => (settled = true))
  for (let turn = 0; !settled && turn < 10_000; turn++) {
    for (const halt of [...slow.halts.waiting]) {
      if (halt.operation === 'put' && halt.side === 'call') puts++
      halt.go()
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok(settled)
  t.equal(puts, 1, 'all that was asked for meanwhile is one write')
  t.equal(a.registration.leaseEnd, 1199)
  slow.halts.open()
  const b = await startHub(await group.another(), 'b:1', leases(timer))
  await b.registration.setLoad(4000)
  t.strictSame(await b.registry.chooseLeastLoaded(), b.manager.self, 'a has 4001')
})

async function ownTopics(t: Test, hub: Hub, count: number): Promise<string[]> {
  const topics = Array.from({ length: count }, (_, i) => `topic ${i}`)
  await Promise.all(topics.map((topic) => hub.manager.getOwner(topic)))
  t.equal(hub.manager.topicCount, count)
  return topics
}

for (const isTimer of [true, false]) {
  const who = isTimer ? 'the timer' : 'whoever asks'
  onEachBackend(`at its end the lease takes everything with it: ${who}`, async (t, group) => {
    const timer = new ManualTimer(1000)
    const a = await startHub(group.store, 'a:1', leases(timer))
    const topics = await ownTopics(t, a, 50)
    const ownership = a.manager.ownershipOf('topic 7')!
    const fence = await a.subscriptions.fence(ownership)
    await a.subscriptions.createSubscriptionData('topic 7', 's', state(1n), fence)
    timer.milliseconds = 1050
    await a.registration.renew()
    timer.goOff()
    timer.advance(99)
    t.equal(a.manager.topicCount, 50)
    t.equal(a.events.length, 50)
    timer.milliseconds += 1
    if (isTimer) timer.goOff()
    else t.notOk(a.manager.owns('topic 0'))
    await new Promise((resolve) => setImmediate(resolve))
    t.strictSame(a.events.slice(50).sort(), topics.map((topic) => `-${topic}`).sort())
    t.equal(timer.size, 0)
    t.equal(a.manager.topicCount, 0)
    t.notOk(ownership.isHeld())
    t.notOk(a.manager.owns('topic 7'))
    await fails(t, a.manager.getOwner('topic 7'), ended)
    await fails(t, a.manager.getOwner('another'), ended)
    const { subscriptions } = a
    for (const refused of [
      subscriptions.updateSubscriptionData('topic 7', 's', state(2n), Version.ANY, fence),
      subscriptions.createSubscriptionData('topic 7', 'new', state(2n), fence),
      subscriptions.deleteSubscriptionData('topic 7', 's', Version.ANY, fence),
      subscriptions.fence(ownership),
    ]) {
      await fails(t, refused, notResponsible)
    }
    await a.manager.releaseTopic('topic 7')
    t.equal(a.events.length, 100, 'every topic was lost once')
    t.strictSame(
      (await subscriptions.readSubscriptionData('topic 7', 's'))?.value,
      state(1n),
      'nothing was written',
    )
  })
}

onEachBackend('a lease that ends during an acquisition', async (t, group) => {
  const timer = new ManualTimer(1000)
  const a = await startHub(group.store, 'a:1', leases(timer))
  a.manager.addTopicOwnershipChangeListener({
    acquiredTopic: () => timer.advance(100),
    lostTopic: () => undefined,
  })
  await fails(t, a.manager.getOwner('x'), ended)
  t.strictSame(a.events, ['+x', '-x'])
  t.notOk(a.manager.owns('x'))
})

onEachBackend('writes of an earlier owner are refused, however late', async (t, group) => {
  const timer = new ManualTimer(1000)
  const slow = new SlowStore(group.store)
  const a = await startHub(slow, 'a:1', leases(timer))
  await a.manager.getOwner('x')
  const right = a.manager.ownershipOf('x')!
  const fence = await a.subscriptions.fence(right)
  const first = await a.subscriptions.createSubscriptionData('x', 's', state(1n), fence)
  const version = await a.subscriptions.updateSubscriptionData('x', 's', state(2n), first, fence)
  // These leave in time, and stand on their way.
  slow.halts.areOpen = false
  const late = [
    a.subscriptions.updateSubscriptionData('x', 's', state(9n), version, fence),
    a.subscriptions.updateSubscriptionData('x', 's', state(9n), Version.ANY, fence),
    a.subscriptions.replaceSubscriptionData('x', 's', {}, version, fence),
    a.subscriptions.createSubscriptionData('x', 'new', state(9n), fence),
    a.subscriptions.deleteSubscriptionData('x', 's', version, fence),
    a.subscriptions.fence(right),
  ].map((promise) => fails(t, promise, notResponsible))
  timer.advance(100)
  const b = await startHub(await group.another(), 'b:1', leases(timer))
  t.strictSame(await b.manager.getOwner('x'), b.manager.self)
  const taken = b.manager.ownershipOf('x')!
  t.equal(taken.token.compare(right.token), 'AFTER')
  const held = await b.subscriptions.fence(taken)
  const found = await b.subscriptions.readSubscriptions('x')
  t.equal(found.length, 1, 'the fence is no subscription')
  slow.halts.open()
  await Promise.all(late)
  const after = await b.subscriptions.readSubscriptions('x')
  t.strictSame(after, found, 'nothing changed')
  const next = b.subscriptions.updateSubscriptionData('x', 's', state(3n), found[0].version, held)
  t.equal((await next).compare(version), 'AFTER')
  const wrong = { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' }
  await fails(t, b.subscriptions.createSubscriptionData('y', 's', {}, held), wrong)
  const again = await b.subscriptions.fence(taken)
  await fails(t, b.subscriptions.createSubscriptionData('x', 'z', {}, held), notResponsible)
  await b.subscriptions.createSubscriptionData('x', 'z', {}, again)
  await fails(t, b.subscriptions.createSubscriptionData('x', 'z', {}, again), {
    code: 'ERR_HEDWIG_SUBSCRIPTION_STATE_EXISTS',
  })
  await fails(t, b.subscriptions.updateSubscriptionData('x', 'z', {}, version, again), {
    code: 'ERR_HEDWIG_BAD_VERSION',
  })
  const absent = b.subscriptions.deleteSubscriptionData('x', 'absent', version, again)
  await fails(t, absent, { code: 'ERR_HEDWIG_NO_SUBSCRIPTION_STATE' })
  const unissued = new LongVersion(2n ** 62n)
  const foreign = b.subscriptions.updateSubscriptionData('x', 'z', {}, unissued, again)
  await fails(t, foreign, { code: 'ERR_HEDWIG_BAD_VERSION' })
  await b.subscriptions.deleteSubscriptionData('x', 'z', Version.ANY, again)
})

onEachBackend('an address that registers again leaves its old topics alone', async (t, group) => {
  const timer = new ManualTimer(1000)
  const before = await startHub(group.store, 'a:1', leases(timer))
  await before.manager.getOwner('x')
  timer.milliseconds = 1050
  const now = await startHub(await group.another(), 'a:1', leases(timer))
  await fails(t, now.manager.getOwner('x'), ended, 'the other may still serve it')
  t.ok(before.manager.owns('x'))
  t.strictSame(await now.manager.getOwner('y'), now.manager.self)
  timer.milliseconds = 1099
  t.ok(await now.registry.isAlive(before.manager.self))
  timer.milliseconds = 1100
  t.strictSame(await now.manager.getOwner('x'), now.manager.self)
  t.notOk(before.manager.owns('x'))
})

onEachBackend('elections do not read all hubs each', async (t, group) => {
  const timer = new ManualTimer(1000)
  const faulty = new FaultyStore(group.store)
  const opened: string[] = []
  faulty.before = ({ operation, table }) => {
    if (operation === 'open') opened.push(table)
  }
  const a = await startHub(faulty, 'a:1', leases(timer))
  await ownTopics(t, a, 100)
  t.strictSame(opened, ['hubs'], 'the list is read once')
  const b = await startHub(await group.another(), 'b:1', leases(timer))
  t.strictSame(await a.manager.getOwner('before'), a.manager.self)
  timer.milliseconds += 10
  const owners = await Promise.all(
    Array.from({ length: 200 }, (_, i) => a.manager.getOwner(`more ${i}`)),
  )
  t.equal(opened.length, 2, 'and again when it is too old')
  const toB = owners.filter(({ hostname }) => hostname === b.manager.self.hostname).length
  t.ok(toB >= 100 && toB <= 151, `${toB} of 200 went to the hub that had none`)
  await b.registration.unregister()
  t.strictSame(await a.manager.getOwner('confirmed'), a.manager.self, 'b is still in the list')
  await a.registration.unregister()
  const registry = await LeaseHubRegistry.open(group.store, leases(timer))
  t.equal(await registry.chooseLeastLoaded(), undefined)
  const c = await startHub(await group.another(), 'c:1', leases(timer))
  t.strictSame(await registry.chooseLeastLoaded(), c.manager.self, 'no hub: the list is read')
})

onEachBackend('a write to the registry that fails ends no lease', async (t, { store }) => {
  const timer = new ManualTimer(1000)
  const faulty = new FaultyStore(store)
  const a = await startHub(faulty, 'a:1', leases(timer))
  const slow = new SlowStore(store)
  timer.milliseconds = 1050
  faulty.before = ({ operation, table }) => {
    if (operation !== 'put' || table !== 'hubs') return
    throw new CellarError(MetastoreErrorCode.operationFailure, 'planted')
  }
  await fails(t, a.registration.renew(), { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' })
  t.ok(a.registration.isHeld())
  faulty.before = () => undefined
  await a.registration.renew()
  t.equal(a.registration.leaseEnd, 1150)
  // Applied, but the answer is lost: the version is another one now.
  const hubs = await slow.createTable('hubs')
  const row = await hubs.get(a.manager.self.hostname)
  faulty.before = ({ operation, table }) => {
    if (operation !== 'put' || table !== 'hubs') return
    faulty.before = () => undefined
    throw new CellarError(MetastoreErrorCode.serviceDown, 'planted')
  }
  const lost = fails(t, a.registration.renew(), ended)
  await hubs.put(a.manager.self.hostname, row.value, row.version)
  await lost
  timer.milliseconds = 1100
  await a.registration.renew()
  t.equal(a.registration.leaseEnd, 1200)
  t.ok(a.registration.isHeld())
})

onEachBackend('a renewal beside the end of a registration', async (t, { store }) => {
  const timer = new ManualTimer(1000)
  const registry = await LeaseHubRegistry.open(store, leases(timer))
  const registration = await registry.register('a:1')
  const calls = [registration.renew(), registration.setLoad(3), registration.unregister()]
  const late = [registration.renew(), registration.setLoad(4), registration.unregister()]
  const outcomes = await Promise.allSettled([...calls, ...late])
  const codes = outcomes.map((each) => (each.status === 'rejected' ? codeOf(each.reason) : 'OK'))
  const refused = ended.code
  t.strictSame(codes, [refused, refused, 'OK', refused, refused, 'OK'])
  t.equal(registration.leaseEnd, 1100)
  t.equal(await registry.isAlive(registration.hub), false)
})
