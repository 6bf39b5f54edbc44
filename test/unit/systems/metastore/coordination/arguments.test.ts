/** Values that callers change behind a call, and locks that cannot be released at once. */
import t from 'tap'
import {
  jsonSerde,
  LeaderElection,
  LockManager,
  metadataStoreOf,
  MetadataTableView,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import { eventually } from '../../../../suites/kit.js'

interface Value {
  n: number
}

const serde = jsonSerde<Value>()

void t.test('a value counts as of the call', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const stored = async (path: string): Promise<string> =>
    (await store.get(path))?.value.toString() ?? 'none'
  const after = async <R>(value: Value, call: (value: Value) => Promise<R>): Promise<R> => {
    const result = call(value)
    value.n = 99
    return result
  }
  const locks = new LockManager(store, serde)
  const lock = await after({ n: 1 }, (value) => locks.acquireLock('/lock', value))
  t.equal(await stored('/lock'), '{"n":1}', 'a lock')
  await store.delete('/lock')
  await eventually(() => stored('/lock'), '{"n":1}')
  t.equal(await stored('/lock'), '{"n":1}', 'a lock that is taken again')
  await after({ n: 2 }, (value) => lock.updateValue(value))
  t.equal(await stored('/lock'), '{"n":2}', 'an update')
  const election = new LeaderElection(store, serde, '/leader')
  await after({ n: 3 }, (value) => election.elect(value))
  t.equal(await stored('/leader'), '{"n":3}', 'an election')
  await store.delete('/leader')
  await eventually(() => stored('/leader'), '{"n":3}')
  t.equal(await stored('/leader'), '{"n":3}', 'an election that is held again')
  const view = new MetadataTableView(store, serde, { prefix: '/view' })
  await view.start()
  await after({ n: 4 }, (value) => view.put('a', value))
  t.equal(await stored('/view/a'), '{"n":4}', 'a view')
  const cache = store.getMetadataCache(serde)
  await after({ n: 5 }, (value) => cache.put('/cache', value))
  t.equal(await stored('/cache'), '{"n":5}', 'a cache')
  await after({ n: 6 }, (value) => cache.create('/created', value))
  t.equal(await stored('/created'), '{"n":6}', 'a creation')
  await election.dispose()
  await locks.close()
  await store.close()
  await database.close()
})

void t.test('a manager or leader that closes while the store is away gives up later', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const other = await metadataStoreOf(database)
  const locks = new LockManager(store, serde, { retryMilliseconds: 5 })
  const options = { retryMilliseconds: 5 }
  const election = new LeaderElection(store, serde, '/leader', undefined, options)
  const lock = await locks.acquireLock('/lock', { n: 1 })
  await election.elect({ n: 1 })
  store.faults.disconnect()
  await locks.close()
  await election.dispose()
  t.equal(`${lock.state} ${election.state}`, 'Released NoLeader')
  t.same(await other.getChildren('/'), ['leader', 'lock'], 'the session still has the records')
  await store.faults.reconnect()
  const left = async (): Promise<string> => (await other.getChildren('/')).join()
  t.equal(await eventually(left, ''), '', 'both go when the store is back')
  await store.close()
  await other.close()
  await database.close()
})
