/** Hedwig's metadata managers, case by case (4.3 of the specification), on each backend. */
import { CellarError } from '../../../src/api/index.js'
import {
  createMetadataManagerFactory,
  FactoryLayout,
  LongVersion,
  HedwigErrorCode,
  MetastoreErrorCode,
  MsMetadataManagerFactory,
  SubscriptionDataManager,
  TopicOwnershipManager,
  TopicPersistenceManager,
  Value,
  Version,
  type HubInfoData,
  type LedgerRanges,
  type MetadataManagerFactory,
  type MetaStore,
  type MetastoreScannableTable,
  type SubscriptionData,
  type TopicName,
} from '../../../src/systems/metastore/index.js'
import {
  countNumberedCases,
  fails,
  FaultyStore,
  onEachBackend,
} from '../../helpers/metastore/metastores.js'

const hub = (czxid: bigint): HubInfoData => ({ hostname: '127.0.0.1:8008:-1', czxid })
const state = (seq: bigint): SubscriptionData => ({ state: { msgId: { localComponent: seq } } })

interface Managers {
  readonly owners: TopicOwnershipManager
  readonly ledgers: TopicPersistenceManager
  readonly subscriptions: SubscriptionDataManager
}

async function managersOf(store: MetaStore): Promise<Managers> {
  const factory = await createMetadataManagerFactory({ store, metastoreMaxEntriesPerScan: 3 })
  return {
    owners: await factory.newTopicOwnershipManager(),
    ledgers: await factory.newTopicPersistenceManager(),
    subscriptions: await factory.newSubscriptionDataManager(),
  }
}

onEachBackend('74, 75, 76, 77, 78, 79, 80: the owner of a topic', async (t, { store }) => {
  const { owners } = await managersOf(store)
  const topic = 'testOwnerInfo'
  t.equal(await owners.readOwnerInfo(topic), null)
  const first = await owners.writeOwnerInfo(topic, hub(999n), Version.NEW)
  const read = await owners.readOwnerInfo(topic)
  t.strictSame(read?.value, hub(999n))
  t.equal(read?.version.compare(first), 'CONCURRENTLY')
  await fails(t, owners.writeOwnerInfo(topic, hub(999n), Version.NEW), {
    code: 'ERR_HEDWIG_TOPIC_OWNER_INFO_EXISTS',
    returnCode: 526,
  })
  const second = await owners.writeOwnerInfo(topic, hub(1000n), first)
  t.equal(second.compare(first), 'AFTER')
  await fails(t, owners.writeOwnerInfo(topic, hub(1n), first), { code: 'ERR_HEDWIG_BAD_VERSION' })
  await fails(t, owners.deleteOwnerInfo(topic, first), { code: 'ERR_HEDWIG_BAD_VERSION' })
  const again = await owners.readOwnerInfo(topic)
  t.strictSame(again?.value, hub(1000n))
  t.equal(again?.version.compare(second), 'CONCURRENTLY')
  await owners.deleteOwnerInfo(topic, second)
  t.equal(await owners.readOwnerInfo(topic), null)
  for (const refused of [
    owners.deleteOwnerInfo(topic, Version.ANY),
    owners.writeOwnerInfo(topic, hub(1n), second),
    owners.writeOwnerInfo(topic, hub(1n), Version.ANY),
  ]) {
    await fails(t, refused, { code: 'ERR_HEDWIG_NO_TOPIC_OWNER_INFO', returnCode: 525 })
  }
})

onEachBackend('85, 86, 87: the ledgers of a topic', async (t, { store }) => {
  const { ledgers } = await managersOf(store)
  const topic = 'testPersistenceInfo'
  const ranges: LedgerRanges = {
    ranges: [{ ledgerId: 1n, endSeqIdIncluded: { localComponent: 9n } }, { ledgerId: 2n }],
  }
  t.equal(await ledgers.readTopicPersistenceInfo(topic), null)
  const first = await ledgers.writeTopicPersistenceInfo(topic, {}, Version.NEW)
  const empty = await ledgers.readTopicPersistenceInfo(topic)
  t.strictSame(empty?.value, {}, 'no ledgers at all are not "absent"')
  await fails(t, ledgers.writeTopicPersistenceInfo(topic, ranges, Version.NEW), {
    code: 'ERR_HEDWIG_TOPIC_PERSISTENCE_INFO_EXISTS',
    returnCode: 522,
  })
  const second = await ledgers.writeTopicPersistenceInfo(topic, ranges, first)
  t.equal(second.compare(first), 'AFTER')
  await fails(t, ledgers.writeTopicPersistenceInfo(topic, {}, first), {
    code: 'ERR_HEDWIG_BAD_VERSION',
  })
  await fails(t, ledgers.deleteTopicPersistenceInfo(topic, first), {
    code: 'ERR_HEDWIG_BAD_VERSION',
  })
  const read = await ledgers.readTopicPersistenceInfo(topic)
  t.strictSame(read?.value, ranges)
  t.equal(read?.version.compare(second), 'CONCURRENTLY')
  await ledgers.deleteTopicPersistenceInfo(topic, second)
  t.equal(await ledgers.readTopicPersistenceInfo(topic), null)
  for (const refused of [
    ledgers.deleteTopicPersistenceInfo(topic, Version.ANY),
    ledgers.writeTopicPersistenceInfo(topic, {}, second),
  ]) {
    await fails(t, refused, { code: 'ERR_HEDWIG_NO_TOPIC_PERSISTENCE_INFO', returnCode: 521 })
  }
})

onEachBackend('88, 89, 90, 91, 92, 93, 94, 95, 96: a subscription', async (t, { store }) => {
  const { subscriptions } = await managersOf(store)
  const topic = 'testSubscriptionData'
  const name = 'mysub'
  t.equal(await subscriptions.readSubscriptionData(topic, name), null)
  t.equal((await subscriptions.readSubscriptions(topic)).length, 0)
  t.ok(subscriptions.isPartialUpdateSupported())
  for (const refused of [
    subscriptions.updateSubscriptionData(topic, name, {}, Version.ANY),
    subscriptions.replaceSubscriptionData(topic, name, {}, Version.ANY),
    subscriptions.deleteSubscriptionData(topic, name, Version.ANY),
  ]) {
    await fails(t, refused, { code: 'ERR_HEDWIG_NO_SUBSCRIPTION_STATE', returnCode: 523 })
  }
  const first = await subscriptions.createSubscriptionData(topic, name, state(10n))
  await fails(t, subscriptions.createSubscriptionData(topic, name, state(11n)), {
    code: 'ERR_HEDWIG_SUBSCRIPTION_STATE_EXISTS',
    returnCode: 524,
  })
  const all = await subscriptions.readSubscriptions(topic)
  t.strictSame(
    all.map(({ subscriber }) => subscriber.toString()),
    [name],
  )
  t.strictSame(all[0].value, state(10n))
  t.equal(all[0].version.compare(first), 'CONCURRENTLY')
  const read = await subscriptions.readSubscriptionData(topic, name)
  const second = await subscriptions.updateSubscriptionData(topic, name, state(99n), read!.version)
  t.equal(second.compare(first), 'AFTER')
  t.strictSame((await subscriptions.readSubscriptionData(topic, name))?.value, state(99n))
  const updated = await subscriptions.readSubscriptions(topic)
  t.equal(updated.length, 1)
  t.equal(updated[0].version.compare(second), 'CONCURRENTLY')
  for (const refused of [
    subscriptions.updateSubscriptionData(topic, name, state(1n), first),
    subscriptions.replaceSubscriptionData(topic, name, state(1n), first),
    subscriptions.deleteSubscriptionData(topic, name, first),
  ]) {
    await fails(t, refused, { code: 'ERR_HEDWIG_BAD_VERSION', returnCode: 520 })
  }
  t.strictSame((await subscriptions.readSubscriptionData(topic, name))?.value, state(99n))
  await subscriptions.deleteSubscriptionData(topic, name, second)
  t.equal((await subscriptions.readSubscriptions(topic)).length, 0)
})

onEachBackend('97: a topic without subscriptions, beside others', async (t, { store }) => {
  const { subscriptions } = await managersOf(store)
  for (const other of ['b', 'd']) {
    for (const name of ['x', 'y']) {
      await subscriptions.createSubscriptionData(other, name, state(1n))
    }
  }
  for (const topic of ['a', 'c', 'e', '', 'b\u0000', 'b\u0001', '\u{10ffff}', '\uffff']) {
    t.equal((await subscriptions.readSubscriptions(topic)).length, 0, JSON.stringify(topic))
  }
})

onEachBackend('98: topics and subscribers with separators in them', async (t, { store }) => {
  const { subscriptions } = await managersOf(store)
  const latin = Buffer.from([0x61, 0xff])
  const topics: TopicName[] = ['a', 'ab', 'a\u0001b', 'b', 'a\u0002', 'a\u0002b', 'a\u0000', '']
  topics.push('a\u0002xff', 'a\ufffd', 'ä', '\u{1f600}', latin, Buffer.from([0x61, 0xfe]))
  const names = ['', 'c', 'b\u0001c', 'c\u0001', 'c\u0002', '\u0000', '\uffff', '\u{10ffff}', 'ä']
  for (const [at, topic] of topics.entries()) {
    for (const name of names) {
      await subscriptions.createSubscriptionData(topic, name, state(BigInt(at)))
    }
  }
  for (const [at, topic] of topics.entries()) {
    const all = await subscriptions.readSubscriptions(topic)
    const found = all.map(({ subscriber }) => subscriber.toString())
    t.strictSame(found.sort(), [...names].sort(), String(topic))
    for (const { value } of all) t.strictSame(value, state(BigInt(at)))
  }
  const bytes = await subscriptions.readSubscriptions(Buffer.from('\u{1f600}'))
  t.equal(bytes.length, names.length, 'text and its UTF-8 bytes are one topic')
})

onEachBackend('subscribers are bytes, in the order of their bytes', async (t, { store }) => {
  const { subscriptions } = await managersOf(store)
  const ids = [
    Buffer.alloc(0),
    ...Array.from({ length: 256 }, (_, byte) => Buffer.from([byte])),
    ...[0x00, 0x01, 0x02, 0x7f, 0x80, 0xc3, 0xff].map((byte) => Buffer.from([0xc3, byte])),
    ...['ä', '\ufffd', '\uffff', '\u{1f600}', 'e\u0301', 'é'].map((text) => Buffer.from(text)),
    Buffer.from('c080', 'hex'),
    Buffer.from('eda080', 'hex'),
  ]
  for (const [at, id] of ids.entries()) {
    const data = state(BigInt(at))
    const copy = new Uint8Array(id)
    const created = subscriptions.createSubscriptionData('topic', copy, data)
    copy.fill(0x21)
    await created
    t.strictSame((await subscriptions.readSubscriptionData('topic', id))?.value, data)
  }
  const found = await subscriptions.readSubscriptions('topic')
  const hex = (all: readonly Buffer[]): string[] => all.map((id) => id.toString('hex'))
  t.strictSame(
    hex(found.map(({ subscriber }) => subscriber)),
    hex([...ids].sort((a, b) => a.compare(b))),
  )
  for (const { subscriber, value } of found) {
    t.ok(ids[Number(value.state!.msgId.localComponent)].equals(subscriber))
  }
  const text = await subscriptions.readSubscriptionData('topic', 'ä')
  const bytes = await subscriptions.readSubscriptionData('topic', Buffer.from('ä'))
  t.strictSame(text?.value, bytes?.value, 'a string is its UTF-8 bytes')
  const invalid = { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' }
  await fails(t, subscriptions.createSubscriptionData('topic', '\ud800', {}), invalid)
  await fails(t, subscriptions.createSubscriptionData('topic', 7 as never, {}), invalid)
})

onEachBackend('100, 101: update is partial, replace is not', async (t, { store }) => {
  const { subscriptions } = await managersOf(store)
  const preferences = { messageBound: 5, messageFilter: 'none' }
  const full = { ...state(1n), preferences }
  let version = await subscriptions.createSubscriptionData('t', 's', full)
  const read = async (): Promise<SubscriptionData | undefined> =>
    (await subscriptions.readSubscriptionData('t', 's'))?.value
  version = await subscriptions.updateSubscriptionData('t', 's', state(2n), version)
  t.strictSame(await read(), { ...state(2n), preferences })
  const change = { preferences: { messageWindowSize: 7 } }
  version = await subscriptions.updateSubscriptionData('t', 's', change, version)
  t.strictSame(await read(), { ...state(2n), ...change })
  version = await subscriptions.updateSubscriptionData('t', 's', {}, version)
  t.strictSame(await read(), { ...state(2n), ...change })
  version = await subscriptions.replaceSubscriptionData('t', 's', state(3n), version)
  t.strictSame(await read(), state(3n))
  await subscriptions.replaceSubscriptionData('t', 's', {}, version)
  t.strictSame(await read(), {}, 'a subscription without parts is still one')
  t.equal((await subscriptions.readSubscriptions('t')).length, 1)
  for (const change of ['updateSubscriptionData', 'replaceSubscriptionData'] as const) {
    for (const name of ['s', 'absent']) {
      await fails(t, subscriptions[change]('t', name, state(9n), Version.NEW), {
        code: 'ERR_HEDWIG_BAD_VERSION',
      })
    }
  }
  t.equal(await subscriptions.readSubscriptionData('t', 'absent'), null, 'NEW creates nothing')
})

onEachBackend('103: records that cannot be read', async (t, { store }) => {
  const { owners, ledgers, subscriptions } = await managersOf(store)
  const put = async (table: string, key: string, field: string, data: string): Promise<void> => {
    const target: MetastoreScannableTable = await store.createScannableTable(table)
    await target.put(key, new Value({ [field]: data }), Version.NEW)
  }
  for (const [topic, data] of [
    ['junk', '\u0000\u0001'],
    ['half', 'hostname: "a:1"'],
    ['bare', 'nobody'],
  ]) {
    await put('owner', topic, 'owner', data)
    const read = await owners.readOwnerInfo(topic)
    t.equal(read?.value, null)
    await owners.writeOwnerInfo(topic, hub(1n), read!.version)
    t.strictSame((await owners.readOwnerInfo(topic))?.value, hub(1n))
  }
  await put('owner', 'other', 'novel', 'x')
  t.equal((await owners.readOwnerInfo('other'))?.value, null)
  await put('persist', 'other', 'novel', 'x')
  t.equal(await ledgers.readTopicPersistenceInfo('other'), null)
  for (const [topic, data] of [
    ['junk', '\u0000\u0001'],
    ['half', 'ranges { startSeqIdIncluded: 1 }'],
  ]) {
    await put('persist', topic, 'prst', data)
    await fails(t, ledgers.readTopicPersistenceInfo(topic), {
      code: 'ERR_HEDWIG_UNEXPECTED_CONDITION',
      returnCode: 600,
    })
    await put('sub', `${topic}\u0001good`, 'sub_state', 'msgId { localComponent: 1 }')
    await put('sub', `${topic}\u0001bad`, 'sub_state', data)
    for (const refused of [
      subscriptions.readSubscriptionData(topic, 'bad'),
      subscriptions.readSubscriptions(topic),
    ]) {
      await fails(t, refused, { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' })
    }
    t.strictSame((await subscriptions.readSubscriptionData(topic, 'good'))?.value, state(1n))
  }
})

const extremes: SubscriptionData = {
  state: {
    msgId: {
      localComponent: 2n ** 64n - 1n,
      remoteComponents: [
        { region: Buffer.from('\0"\\\'\xff\xfe', 'latin1'), seqId: 2n ** 63n },
        { region: Buffer.alloc(0), seqId: 0n },
      ],
    },
    messageBound: 2 ** 32 - 1,
  },
  preferences: { options: {}, messageFilter: '' },
}

onEachBackend('104: extreme values come back', async (t, { store }) => {
  for (const form of ['text', 'binary'] as const) {
    const subscriptions = await SubscriptionDataManager.open(store, form)
    await subscriptions.createSubscriptionData(form, 's', extremes)
    t.strictSame((await subscriptions.readSubscriptionData(form, 's'))?.value, extremes)
    const ledgers = await TopicPersistenceManager.open(store, form)
    const ranges = {
      ranges: [
        {
          ledgerId: 2n ** 64n - 1n,
          endSeqIdIncluded: extremes.state!.msgId,
          startSeqIdIncluded: 0n,
        },
      ],
    }
    await ledgers.writeTopicPersistenceInfo(form, ranges, Version.NEW)
    t.strictSame((await ledgers.readTopicPersistenceInfo(form))?.value, ranges)
  }
})

onEachBackend('fields of newer writers survive reading and writing', async (t, { store }) => {
  const { subscriptions } = await managersOf(store)
  const table = await store.createScannableTable('sub')
  const stored = 'msgId {\n  localComponent: 1\n  epoch: 7\n}\nlease: "x"\n'
  const value = new Value({ sub_state: stored, sub_lease: 'kept' })
  await table.put('t\u0001s', value, Version.NEW)
  const read = await subscriptions.readSubscriptionData('t', 's')
  const changed = { state: { ...read!.value.state!, messageBound: 3 } }
  await subscriptions.updateSubscriptionData('t', 's', changed, read!.version)
  const row = await table.get('t\u0001s')
  t.equal(
    row.value.getField('sub_state')?.toString(),
    stored.replace('lease', 'messageBound: 3\nlease'),
  )
  t.equal(row.value.getField('sub_lease')?.toString(), 'kept')
})

onEachBackend('106: format empties the three tables and nothing else', async (t, { store }) => {
  const factory = await createMetadataManagerFactory({ store, metastoreMaxEntriesPerScan: 3 })
  const { owners, ledgers, subscriptions } = await managersOf(store)
  for (let i = 0; i < 10; i++) {
    await owners.writeOwnerInfo(`t${i}`, hub(1n), Version.NEW)
    await subscriptions.createSubscriptionData(`t${i}`, 's', state(1n))
    if (i % 2 === 0) await ledgers.writeTopicPersistenceInfo(`t${i}`, {}, Version.NEW)
  }
  const other = await store.createTable('other')
  await other.put('k', new Value({ a: 'b' }), Version.NEW)
  const topics: string[] = []
  for await (const topic of factory.getTopics()) topics.push(topic.toString())
  t.strictSame(topics.sort(), ['t0', 't2', 't4', 't6', 't8'], 'topics are those with ledgers')
  await factory.format()
  for (const name of ['owner', 'sub', 'persist']) {
    t.notOk((await (await store.createTable(name)).openCursor()).hasMoreEntries(), name)
  }
  t.equal((await other.get('k')).value.getField('a')?.toString(), 'b')
  const again = await createMetadataManagerFactory({ store })
  t.equal(again.getCurrentVersion(), 1, 'the layout is there')
})

onEachBackend('a failed read of topics is no end', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  const factory = await createMetadataManagerFactory({
    store: faulty,
    metastoreMaxEntriesPerScan: 2,
  })
  const ledgers = await factory.newTopicPersistenceManager()
  for (let i = 0; i < 5; i++) await ledgers.writeTopicPersistenceInfo(`t${i}`, {}, Version.NEW)
  let reads = 0
  faulty.before = ({ operation }) => {
    if (operation === 'read' && ++reads === 2) throw new Error('planted')
  }
  const read = async (): Promise<void> => {
    for await (const topic of factory.getTopics()) t.ok(topic)
  }
  await fails(t, read(), { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' })
  t.equal(reads, 2)
})

onEachBackend('what is no topic, record or version is refused', async (t, { store }) => {
  const { owners, ledgers, subscriptions } = await managersOf(store)
  const invalid = { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' }
  const foreign = { compare: () => 'CONCURRENTLY', toString: () => 'x' } as unknown as Version
  const nothing = null as unknown as Version
  for (const topic of [null, 7, undefined, '\ud800'] as unknown as string[]) {
    await fails(t, owners.readOwnerInfo(topic), invalid)
    await fails(t, subscriptions.readSubscriptions(topic), invalid)
  }
  await fails(t, subscriptions.readSubscriptionData('t', null as unknown as string), invalid)
  await fails(t, owners.readOwnerInfo('x'.repeat(40_000)), invalid)
  await subscriptions.createSubscriptionData('t', 's', state(1n))
  for (const version of [foreign, nothing]) {
    await fails(t, owners.writeOwnerInfo('t', hub(1n), version), invalid)
    await fails(t, owners.deleteOwnerInfo('t', version), invalid)
    await fails(t, ledgers.writeTopicPersistenceInfo('t', {}, version), invalid)
    await fails(t, subscriptions.updateSubscriptionData('t', 's', {}, version), invalid)
    await fails(t, subscriptions.deleteSubscriptionData('t', 's', version), invalid)
  }
  const wrong = [{ hostname: 'x', czxid: 1n }, { hostname: 'x:1', czxid: -1n }, null]
  for (const owner of wrong as HubInfoData[]) {
    await fails(t, owners.writeOwnerInfo('t', owner, Version.NEW), invalid)
  }
  const half = { state: {} } as SubscriptionData
  await fails(t, subscriptions.createSubscriptionData('t', 'new', half), invalid)
  t.equal((await subscriptions.readSubscriptions('t')).length, 1, 'nothing was changed')
  t.equal(await owners.readOwnerInfo('t'), null)
  await fails(t, owners.writeOwnerInfo('t', hub(1n), new LongVersion(1n)), {
    code: 'ERR_HEDWIG_NO_TOPIC_OWNER_INFO',
  })
})

onEachBackend(
  'a store that is down is SERVICE_DOWN, others are UNEXPECTED',
  async (t, { store }) => {
    const faulty = new FaultyStore(store)
    const { owners, subscriptions } = await managersOf(faulty)
    for (const [code, status] of [
      [MetastoreErrorCode.serviceDown, HedwigErrorCode.serviceDown],
      [MetastoreErrorCode.operationFailure, HedwigErrorCode.unexpectedCondition],
    ] as const) {
      faulty.before = () => {
        throw new CellarError(code, 'planted')
      }
      await fails(t, owners.readOwnerInfo('t'), { code: status })
      await fails(t, owners.writeOwnerInfo('t', hub(1n), Version.NEW), { code: status })
      await fails(t, owners.deleteOwnerInfo('t', Version.ANY), { code: status })
      await fails(t, subscriptions.readSubscriptions('t'), { code: status })
    }
  },
)

class OtherFactory extends MsMetadataManagerFactory {}
const factories: Record<string, new () => MetadataManagerFactory> = { OtherFactory }

onEachBackend('113, 114: many create the layout at once', async (t, group) => {
  const { store } = group
  const create = async (managerImpl: string, region: string): Promise<unknown> =>
    createMetadataManagerFactory({ store: await group.another(), managerImpl, region, factories })
  const same = Array.from({ length: 50 }, () => create('OtherFactory', 'one'))
  t.equal((await Promise.all(same)).length, 50)
  const mixed = Array.from({ length: 50 }, (_, i) =>
    create(i % 2 === 0 ? 'OtherFactory' : 'MsMetadataManagerFactory', 'two'),
  )
  const settled = await Promise.allSettled(mixed)
  t.equal(settled.filter(({ status }) => status === 'fulfilled').length, 25)
  for (const outcome of settled) {
    if (outcome.status === 'rejected')
      t.match(outcome.reason, { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' })
  }
  const unset = await createMetadataManagerFactory({ store, region: 'one', factories })
  t.ok(unset instanceof OtherFactory, 'without a name the layout decides')
  await fails(t, createMetadataManagerFactory({ store, region: 'one' }), {
    message: /OtherFactory/,
  })
})

onEachBackend('115: the layout record', async (t, { store }) => {
  const layout = await FactoryLayout.open(store, 'r')
  t.equal(await layout.read(), undefined)
  const meta = { managerImpl: 'Some', managerVersion: 7 }
  t.strictSame(await layout.create(meta), meta)
  t.strictSame(await layout.create({ managerImpl: 'Late', managerVersion: 1 }), meta)
  t.strictSame(await layout.read(), meta)
  class Some extends MsMetadataManagerFactory {}
  await fails(
    t,
    createMetadataManagerFactory({ store, region: 'r', factories: { Some } }),
    { message: /version 7/ },
    'the stored version is what the factory has to take',
  )
  const table = await store.createTable('layout')
  await table.put('METADATA/r', new Value({ layout: 'managerImpl: 5' }), Version.ANY)
  await fails(t, layout.read(), { code: 'ERR_HEDWIG_UNEXPECTED_CONDITION' })
  await fails(t, createMetadataManagerFactory({ store, region: 'r' }), {
    code: 'ERR_HEDWIG_UNEXPECTED_CONDITION',
  })
})

countNumberedCases()
