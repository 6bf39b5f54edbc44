/**
 * Clusters that write the same records at nearly the same time, with a lag between them: when all
 * events have arrived, in whatever order, all clusters have the same records.
 *
 * CELLAR_SEED: the first seed. CELLAR_CLUSTER_HISTORIES: how many.
 *
 * @runs campaign
 */
import t from 'tap'
import { openMemoryDatabase } from '../../src/entries/memory.js'
import {
  MetadataErrorCode,
  metadataStoreOf,
  type MetadataEvent,
  type MetadataEventSynchronizer,
} from '../../src/entries/metastore-pulsar.js'
import { SynchronizedMetadataStore } from '../../src/systems/metastore/pulsar/clusters/synchronized-store.js'
import { stampsPath } from '../../src/systems/metastore/pulsar/clusters/stamps.js'
import { lengthOf } from '../helpers/length.js'
import { ManualTimer } from '../helpers/manual-timer.js'

function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Events on their way to a cluster. */
class Link implements MetadataEventSynchronizer {
  readonly clusterName: string
  readonly waiting: MetadataEvent[] = []
  others: readonly Link[] = []
  /** How many of the next publications fail. */
  failures = 0
  published = 0
  #listener: ((event: MetadataEvent) => Promise<void>) | undefined = undefined

  constructor(clusterName: string) {
    this.clusterName = clusterName
  }

  async notify(event: MetadataEvent): Promise<void> {
    if (this.failures-- > 0) throw new Error('out of reach')
    this.published++
    // Everybody hears everything, the writer included.
    for (const link of [...this.others, this]) link.waiting.push(event)
  }

  registerSyncListener(listener: (event: MetadataEvent) => Promise<void>): () => void {
    this.#listener = listener
    return () => (this.#listener = undefined)
  }

  async deliver(at: number): Promise<void> {
    const [event] = this.waiting.splice(at, 1)
    await this.#listener!(event)
  }
}

async function cluster(name: string, skew: number, clock: ManualTimer) {
  const database = await openMemoryDatabase()
  const link = new Link(name)
  const own = { now: () => clock.now() + skew, after: clock.after }
  const store = new SynchronizedMetadataStore(
    await metadataStoreOf(database, { clock: own }),
    link,
    own,
    (error) => t.fail(String(error)),
  )
  return { database, link, store }
}

const paths = ['/a', '/b', '/c/d', '/c/e', '/f']
const refusals: readonly unknown[] = [MetadataErrorCode.badVersion, MetadataErrorCode.notFound]
const firstSeed = Number(process.env.CELLAR_SEED ?? 1)
const rounds = lengthOf('CELLAR_CLUSTER_HISTORIES', 12, 300)

void t.test(`clusters become alike, from seed ${firstSeed} on`, async (t) => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const random = randomOf(seed)
    const clock = new ManualTimer(1e12)
    const clusters = await Promise.all(
      ['east', 'north', 'west'].map((name, i) => cluster(name, i * random(60) - 30, clock)),
    )
    const links = clusters.map(({ link }) => link)
    for (const link of links) link.others = links.filter((each) => each !== link)
    let committed = 0
    for (let step = 0; step < 120; step++) {
      const { store, link } = clusters[random(clusters.length)]
      const path = paths[random(paths.length)]
      const choice = random(10)
      if (choice < 4) {
        const expected = random(4) === 0 ? random(3) - 1 : undefined
        const write =
          choice === 3 ? store.delete(path) : store.put(path, `${seed} ${step}`, expected)
        await write.then(
          () => committed++,
          (error: { code?: unknown }) => t.ok(refusals.includes(error.code), 'a refusal'),
        )
      } else if (choice < 8 && link.waiting.length > 0) {
        await link.deliver(random(3) === 0 ? random(link.waiting.length) : 0)
      } else clock.milliseconds += random(40)
    }
    for (const link of links) while (link.waiting.length > 0) await link.deliver(0)
    const published = links.reduce((sum, link) => sum + link.published, 0)
    t.equal(published, committed, `seed ${seed}: exactly what was committed is published`)
    const contents = await Promise.all(
      clusters.map(({ store }) =>
        Promise.all(paths.map(async (path) => (await store.get(path))?.value.toString())),
      ),
    )
    t.same(contents[1], contents[0], `seed ${seed}: north is as east`)
    t.same(contents[2], contents[0], `seed ${seed}: west is as east`)
    for (const { store, database } of clusters) {
      await store.close()
      await database.close()
    }
  }
  t.comment(`${rounds} histories`)
})

void t.test('an event of an implausible time does not block later writes', async (t) => {
  const clock = new ManualTimer(1e12)
  const east = await cluster('east', 0, clock)
  const north = await cluster('north', 0, clock)
  east.link.others = [north.link]
  const event = (value: string, lastUpdatedTimestamp: number): MetadataEvent => {
    const rest = { options: {}, expectedVersion: undefined, sourceCluster: 'west' }
    return { path: '/a', value: Buffer.from(value), lastUpdatedTimestamp, ...rest }
  }
  const refusal = { code: MetadataErrorCode.invalidArgument }
  for (const { store } of [east, north]) {
    for (const time of [Number.MAX_SAFE_INTEGER, 2 ** 52, Date.UTC(2200, 0, 1) + 1]) {
      await t.rejects(store.applyEvent(event('broken', time)), refusal, `time ${time}`)
    }
    t.equal(await store.get('/a'), undefined, 'nothing is written')
    await store.applyEvent(event('last', Date.UTC(2200, 0, 1)))
  }
  await east.store.put('/a', 'own')
  await north.link.deliver(0)
  t.equal((await north.store.get('/a'))?.value.toString(), 'own', 'the write after the last time')
  for (const { store, database } of [east, north]) {
    await store.close()
    await database.close()
  }
})

void t.test('nothing but the store itself writes stamps', async (t) => {
  const clock = new ManualTimer(1e12)
  const { database, link, store } = await cluster('east', 0, clock)
  await store.put('/a', 'first')
  const path = `${stampsPath}/a`
  const refusal = { code: MetadataErrorCode.invalidArgument }
  const rest = { options: {}, expectedVersion: undefined, sourceCluster: 'west' }
  const late = { path, lastUpdatedTimestamp: 2e12, ...rest }
  await t.rejects(store.applyEvent({ ...late, value: Buffer.from('damage') }), refusal)
  await t.rejects(store.applyEvent({ ...late, value: undefined }), refusal)
  await t.rejects(store.put(path, 'damage'), refusal)
  await t.rejects(store.put(stampsPath, '', undefined, { sequential: true }), refusal)
  await t.rejects(store.delete(path), refusal)
  await t.rejects(store.batch([{ put: '/b', value: '' }, { delete: path }]), refusal)
  await t.rejects(store.deleteRecursive(stampsPath), refusal)
  t.equal(await store.exists('/b'), false)
  t.equal(link.published, 1)
  await store.put('/a', 'second')
  await store.deleteRecursive('/')
  t.equal(await store.exists('/a'), false)
  await store.close()
  await database.close()
})

void t.test('only commits are published, and until they are', async (t) => {
  const clock = new ManualTimer(1e12)
  const { database, link, store } = await cluster('east', 0, clock)
  await t.rejects(store.put('/a', 'x', 7), { code: MetadataErrorCode.badVersion })
  await t.rejects(store.delete('/a'), { code: MetadataErrorCode.notFound })
  await t.rejects(store.put('no path', ''), { code: MetadataErrorCode.invalidPath })
  await t.rejects(
    store.batch([
      { put: '/b', value: '' },
      { check: '/a', expected: 3 },
    ]),
  )
  t.equal(link.published, 0, 'no refusal')
  link.failures = 2
  const writing = store.put('/a', 'value')
  for (let i = 0; i < 400 && link.published === 0; i++) {
    clock.advance(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await writing
  t.equal(link.published, 1, 'again until it is there')
  await store.batch([{ put: '/c/d', value: '1' }, { put: '/c/d', value: '2' }, { delete: '/a' }])
  t.same(
    link.waiting.slice(1).map(({ path, value }) => `${path} ${String(value)}`),
    ['/c/d 2', '/a undefined'],
    'what a batch has left',
  )
  await store.put('/s', '', undefined, { sequenceKeysDeltas: [2] })
  t.equal(link.waiting.at(-1)!.path, '/s-00000000000000000002', 'with its number')
  await store.put('/e', '', -1, { ephemeral: true })
  t.equal(link.published, 4, 'ephemeral records stay in their cluster')
  await store.close()
  await t.rejects(store.put('/a', 'late'))
  t.equal(link.published, 4, 'nothing behind the end')
  await database.close()
})

void t.test('the record tells whether a write stays in its cluster', async (t) => {
  const clock = new ManualTimer(1e12)
  const { database, link, store } = await cluster('east', 0, clock)
  const published = (): string[] =>
    link.waiting.splice(0).map(({ path, value }) => `${path} ${String(value)}`)
  await store.put('/e', '1', -1, { ephemeral: true })
  await store.put('/e', '2')
  await store.batch([{ put: '/e', value: '3' }, { delete: '/e' }])
  t.same(published(), [], 'a put of an ephemeral record keeps it ephemeral')
  await store.put('/p', '1')
  await store.put('/p', '2', undefined, { ephemeral: true })
  t.same(published(), ['/p 1', '/p 2'], 'a put of a persistent record keeps it persistent')
  await store.batch([{ delete: '/p' }, { put: '/p', value: '3', ephemeral: true }])
  t.same(published(), ['/p undefined'], 'a session takes the path')
  await store.batch([{ delete: '/p' }, { put: '/p', value: '4' }])
  t.same(published(), ['/p 4'], 'and gives it back')
  await store.close()
  await database.close()
})

void t.test('a record above the stamps does not hold up a recursive delete', async (t) => {
  const clock = new ManualTimer(1e12)
  const { database, store } = await cluster('east', 0, clock)
  await store.put('/pulsar', '')
  await store.put('/pulsar/other', '')
  await store.put('/z', '')
  let outcome: unknown
  store.deleteRecursive('/').then(
    () => (outcome = 'resolved'),
    (error: { code?: unknown }) => (outcome = error.code),
  )
  for (let i = 0; i < 400 && outcome === undefined; i++) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.equal(outcome, MetadataErrorCode.notEmpty)
  t.equal(await store.exists('/z'), false)
  t.equal(await store.exists('/pulsar/other'), false)
  await store.close()
  await database.close()
})
