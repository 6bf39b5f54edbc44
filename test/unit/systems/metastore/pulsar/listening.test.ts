/** Views, caches and listeners beside slow work, failing reads, lost sessions and many keys. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import {
  jsonSerde,
  MetadataCache,
  MetadataErrorCode,
  metadataStoreOf,
  MetadataTableView,
  type CachingStore,
  type GetResult,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { withMembers } from '../../../../helpers/planted.js'

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

void t.test('slow listeners leave the event loop its turns', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const other = await metadataStoreOf(database)
  let calls = 0
  const busy = (): void => {
    calls++
    for (const end = performance.now() + 4; performance.now() < end;);
  }
  for (let i = 0; i < 5; i++) {
    store.registerListener(busy)
    other.registerListener(busy)
  }
  let most = 0
  let isDone = false
  const count = (before: number): void => {
    most = Math.max(most, calls - before)
    if (!isDone) setImmediate(count, calls)
  }
  setImmediate(count, 0)
  await Promise.all(Array.from({ length: 10 }, (_, i) => store.put(`/a-${i}`, '')))
  while (calls < 100) await turns(1)
  isDone = true
  t.equal(calls, 100, 'all were called')
  t.ok(most <= 10, `${most} calls of 4 ms in one turn`)
  await store.close()
  await other.close()
  await database.close()
})

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

void t.test('a view forgets the keys that were removed', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const view = new MetadataTableView<number>(store, jsonSerde(), { prefix: '/v' })
  await view.start()
  await store.put('/v/stays', '1')
  const { value, stat } = (await store.get('/v/stays'))!
  const churn = (from: number, to: number): void => {
    for (let i = from; i < to; i++) {
      const path = `/v/${'k'.repeat(80)}${i}`
      const record: GetResult = { value, stat: { ...stat, path, sequence: 1_000 + 2 * i } }
      void view.changed(path, record, record.stat.sequence)
      void view.changed(path, undefined, record.stat.sequence + 1)
    }
  }
  churn(0, 1_000)
  collect()
  const before = process.memoryUsage().heapUsed
  churn(1_000, 101_000)
  collect()
  const grown = (process.memoryUsage().heapUsed - before) / 1e6
  t.ok(grown < 5, `${grown.toFixed(1)} MB more behind 100,000 keys`)
  t.same(view.entries(), [['stays', 1]])
  view.close()
  await store.close()
  await database.close()
})

void t.test('a view keeps a removal that is told beside an older load', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  await store.put('/v/a', '1')
  let read = (): void => undefined
  const slow = withMembers(store as CachingStore, {
    get: async (path) => {
      const found = await store.get(path)
      await new Promise<void>((resolve) => (read = resolve))
      return found
    },
  })
  const view = new MetadataTableView<number>(slow, jsonSerde(), { prefix: '/v' })
  const starting = view.start()
  await turns()
  await store.delete('/v/a')
  await turns()
  read()
  await starting
  t.same(view.entries(), [], 'the load does not bring the value back')
  await t.rejects(view.start(), { code: MetadataErrorCode.illegalState })
  view.close()
  await store.close()
  await database.close()
})

void t.test('a view that is emptied with its session is filled again', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  await store.put('/v/a', '1')
  let outdated = 0
  const view = new MetadataTableView<number>(store, jsonSerde(), {
    prefix: '/v',
    clearsWhenOutdated: true,
    onOutdated: () => outdated++,
  })
  await view.start()
  store.faults.expireSession()
  await turns(40)
  t.equal(outdated, 1)
  t.same(view.entries(), [['a', 1]])
  view.close()
  await store.close()
  await database.close()
})

void t.test('a put of a cache succeeds although the value cannot be read again', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  let fails = true
  const failing = withMembers(store as CachingStore, {
    get: (path) => (fails ? Promise.reject(new Error('no connection')) : store.get(path)),
  })
  const cache = new MetadataCache<number>(failing, jsonSerde())
  await cache.put('/a', 1)
  await cache.create('/b', 2)
  fails = false
  t.equal(await cache.get('/a'), 1)
  t.equal(await cache.get('/b'), 2)
  cache.close()
  const { alreadyClosed } = MetadataErrorCode
  t.throws(() => cache.getIfCached('/a'), { code: alreadyClosed })
  const calls: readonly (() => Promise<unknown>)[] = [
    () => cache.get('/a'),
    () => cache.exists('/a'),
    () => cache.getChildren('/'),
    () => cache.refresh('/a'),
    () => cache.put('/a', 3),
  ]
  for (const call of calls) await t.rejects(call(), { code: alreadyClosed })
  t.equal(cache.bytes, 0, 'nothing is kept')
  await store.close()
  await database.close()
})

void t.test('a listener that changes its event changes it for no other', async (t) => {
  const database = await openMemoryDatabase()
  const errors: unknown[] = []
  const onListenerError = (error: unknown): void => void errors.push(error)
  const store = await metadataStoreOf(database, { onListenerError })
  store.registerListener((event) => Object.assign(event, { path: '/other', type: 'Deleted' }))
  const events: unknown[] = []
  store.registerListener((event) => events.push(event))
  await store.put('/a', '')
  await turns()
  t.strictSame(events[0], { type: 'Created', path: '/a' })
  t.ok(errors[0] instanceof TypeError, 'the handler has the error of the listener')
  await store.close()
  await database.close()
})
