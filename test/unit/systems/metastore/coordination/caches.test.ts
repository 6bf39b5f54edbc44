/** Caches of a handle: coherent, with the stat for their serde, and closed with the handle. */
import t from 'tap'
import {
  CoordinationService,
  LockManager,
  MetadataCache,
  metadataStoreOf,
  MetadataTableView,
  textSerde,
  type CacheSink,
  type CachingStore,
  type MetadataSerde,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import { eventually, turns } from '../../../../suites/kit.js'

/** Values that know the version of their record. */
const versioned: MetadataSerde<{ readonly text: string; readonly version: number }> = {
  serialize: (_path, { text }) => Buffer.from(text),
  deserialize: (_path, bytes, { version }) => ({ text: bytes.toString(), version }),
}

void t.test('a cache of a handle hears its changes, and is closed with it', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const other = await metadataStoreOf(database)
  const cache = store.getMetadataCache(versioned)
  await cache.put('/a', { text: 'first', version: 0 })
  t.same(await cache.get('/a'), { text: 'first', version: 0 })
  const { version } = await other.put('/a', 'second')
  const read = async (): Promise<string> => JSON.stringify(await cache.get('/a'))
  const wanted = JSON.stringify({ text: 'second', version })
  t.equal(await eventually(read, wanted), wanted, 'the serde gets the stat')
  await cache.readModifyUpdate('/a', (before) => {
    t.equal(before.version, version, 'of the copy, too')
    return { text: 'third', version: 0 }
  })
  t.equal((await cache.get('/a'))!.version, version + 1)
  t.throws(() => store.getMetadataCache(textSerde, { refresh: 1 } as object), {
    code: 'ERR_METADATA_INVALID_ARGUMENT',
  })
  const view = new MetadataTableView(store, textSerde, { prefix: '/view' })
  await view.start()
  await store.close()
  await t.rejects(cache.get('/a'), { code: 'ERR_METADATA_ALREADY_CLOSED' })
  t.throws(() => view.get('x'), { code: 'ERR_METADATA_ALREADY_CLOSED' })
  await other.close()
  await database.close()
})

void t.test('owners are recognised by a serde that needs the stat', async (t) => {
  const database = await openMemoryDatabase()
  const one = await metadataStoreOf(database)
  const other = await metadataStoreOf(database)
  const ownerOf = ({ text }: { readonly text: string }): string => text
  const value = { text: 'me', version: 0 }
  const lock = await new LockManager(one, versioned, { ownerOf }).acquireLock('/right', value)
  one.faults.kill()
  const taken = await new LockManager(other, versioned, { ownerOf }).acquireLock('/right', value)
  t.ok(taken.token > lock.token)
  await other.close()
  await database.close()
})

void t.test('a view keeps a record that comes back while the view is refilled', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const other = await metadataStoreOf(database)
  await other.put('/view/key', 'first')
  const view = new MetadataTableView(store, textSerde, { prefix: '/view' })
  await view.start()
  store.faults.disconnect()
  await other.delete('/view/key')
  const get = store.get.bind(store)
  let reads = 0
  store.get = async (path, options) => {
    const found = await get(path, options)
    if (reads++ === 0) await other.put('/view/key', 'second')
    return found
  }
  await store.faults.reconnect()
  t.equal(await eventually(() => String(reads > 0), 'true'), 'true')
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(view.get('key'), 'second')
  await store.close()
  await other.close()
  await database.close()
})

void t.test('a change right after a load is loaded, too', async (t) => {
  for (let ticks = 0; ticks < 12; ticks++) {
    let newest = 'old'
    let sink: CacheSink | undefined
    const answers: (() => void)[] = []
    const nothing = (): (() => void) => () => undefined
    const store = {
      registerCache: (cache: CacheSink) => {
        sink = cache
        return nothing()
      },
      registerListener: nothing,
      registerSessionListener: nothing,
      put: nothing,
      delete: nothing,
      // As on a ZooKeeper, whose events have no records.
      get: (path: string) => {
        const stat = { path, sequence: newest === 'old' ? 1 : 2 }
        const result = { value: Buffer.from(newest), stat }
        return new Promise((resolve) => answers.push(() => resolve(result)))
      },
    }
    const cache = new MetadataCache(store as unknown as CachingStore, textSerde)
    const first = cache.get('/a')
    answers.shift()!()
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    newest = 'new'
    const told = sink!.changed('/a', 'unknown', 2)
    const second = cache.get('/a')
    await turns(1)
    for (const answer of answers) answer()
    await told
    t.equal(cache.getIfCached('/a'), 'new', `told after ${ticks} microtasks`)
    t.equal(await second, 'new', `asked after ${ticks} microtasks`)
    await first
  }
})

void t.test('a service does not keep what was closed by itself', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const service = new CoordinationService(store)
  for (let i = 0; i < 100; i++) {
    const manager = service.getLockManager(textSerde)
    const lock = await manager.acquireLock('/lock', 'x')
    const election = service.getLeaderElection(textSerde, `/leader/${i}`)
    await election.elect('x')
    await Promise.all([manager.close(), election.dispose()])
    t.equal(lock.state, 'Released')
  }
  t.equal(service.openCount, 0)
  const manager = service.getLockManager(textSerde)
  const election = service.getLeaderElection(textSerde, '/leader')
  await election.elect('x')
  await election.close()
  await election.elect('x')
  await manager.acquireLock('/lock', 'x')
  t.equal(service.openCount, 2, 'an election that was closed can take part again')
  await service.close()
  t.equal(service.openCount, 0)
  t.equal(await store.exists('/leader'), false)
  t.equal(await store.exists('/lock'), false)
  await store.close()
  await database.close()
})
