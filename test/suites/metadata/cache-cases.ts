/** Caches. */
import { CellarError } from '../../../src/api/index.js'
import {
  jsonSerde,
  MetadataCache,
  MetadataErrorCode,
  type CachingStore,
} from '../../../src/entries/metastore-pulsar.js'
import { eventually, outcome, pause } from '../kit.js'
import { joined, type MetadataCase } from './case.js'

interface Item {
  a: string
  n: number
}

const cacheOf = (store: CachingStore): MetadataCache<Item> => new MetadataCache(store, jsonSerde())

const shown = (value: Item | null | undefined): string =>
  value === undefined ? 'none' : value === null ? 'absent' : `${value.a}${value.n}`

/** See the file header. */
export const cacheCases: readonly MetadataCase[] = [
  {
    name: 'an empty cache',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = cacheOf(store)
      t.equal(cache.getIfCached(k), undefined, 'unknown')
      t.equal(await cache.get(k), undefined, 'absent')
      t.equal(cache.getIfCached(k), null, 'known to be absent')
      t.equal(await outcome(cache.delete(k)), MetadataErrorCode.notFound, 'delete')
      t.equal(await outcome(cache.delete(`${k}/x/y`)), MetadataErrorCode.notFound, 'nested')
      cache.close()
    },
  },
  {
    name: 'three handles see what each other adds and deletes',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const caches = [cacheOf(await open()), cacheOf(await open()), cacheOf(await open())]
      const all = async (): Promise<string> =>
        joined(await Promise.all(caches.map(async (cache) => shown(await cache.get(k)))))
      t.equal(await all(), 'none,none,none', 'at first')
      for (const [adds, deletes] of [
        [0, 1],
        [2, 0],
      ]) {
        await caches[adds].create(k, { a: 'v', n: adds })
        const value = `v${adds}`
        const wanted = joined([value, value, value])
        t.equal(await eventually(all, wanted), wanted, 'added')
        const cached = joined(caches.map((cache) => shown(cache.getIfCached(k))))
        t.equal(cached, wanted, 'and cached')
        await caches[deletes].delete(k)
        t.equal(await eventually(all, 'none,none,none'), 'none,none,none', 'deleted')
      }
    },
  },
  {
    name: 'values that are maps',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = new MetadataCache<Readonly<Record<string, string>>>(store, jsonSerde())
      t.equal(await cache.get(k), undefined, 'absent')
      await cache.create(k, { a: '1', b: '2' })
      t.equal(JSON.stringify(await cache.get(k)), '{"a":"1","b":"2"}', 'round trip')
      t.equal(cache.getIfCached(k)?.b, '2', 'cached')
      await cache.delete(k)
      t.equal(await cache.get(k), undefined, 'deleted')
      t.equal(cache.getIfCached(k), null, 'and known to be')
      cache.close()
    },
  },
  {
    name: 'create, change and delete',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = cacheOf(store)
      await cache.create(k, { a: 'v', n: 1 })
      t.equal(shown(cache.getIfCached(k)), 'v1', 'cached when it resolves')
      const again = cache.create(k, { a: 'v', n: 2 })
      t.equal(await outcome(again), MetadataErrorCode.alreadyExists, 'a second time')
      const changed = await cache.readModifyUpdateOrCreate(k, () => ({ a: 'v', n: 2 }))
      t.equal(shown(changed), 'v2', 'the new value')
      t.equal(shown(await cache.get(k)), 'v2', 'is read')
      await cache.delete(k)
      t.equal(shown(await cache.get(k)), 'none', 'deleted')
      const missing = cache.readModifyUpdate(k, (value) => value)
      t.equal(await outcome(missing), MetadataErrorCode.notFound, 'nothing to change')
      cache.close()
    },
  },
  {
    name: 'a put past the cache is seen at once',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = cacheOf(store)
      t.equal(await cache.get(k), undefined, 'known to be absent')
      await store.put(k, JSON.stringify({ a: 'v', n: 1 }))
      t.equal(shown(await cache.get(k)), 'v1', 'after an insertion')
      await store.put(k, JSON.stringify({ a: 'v', n: 2 }))
      t.equal(shown(await cache.get(k)), 'v2', 'after an update')
      await store.put(k, 'no value')
      const unreadable = MetadataErrorCode.contentDeserialization
      t.equal(await outcome(cache.get(k)), unreadable, 'bytes that are no value')
      await store.put(k, JSON.stringify({ a: 'v', n: 3 }))
      t.equal(shown(await cache.get(k)), 'v3', 'not kept')
      cache.close()
    },
  },
  {
    name: 'an update of a map past the cache is seen at once',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = new MetadataCache<Readonly<Record<string, string>>>(store, jsonSerde())
      await cache.create(k, { a: '1' })
      t.equal((await cache.get(k))?.a, '1', 'the first')
      await store.put(k, JSON.stringify({ a: '2', b: '3' }))
      t.equal(JSON.stringify(await cache.get(k)), '{"a":"2","b":"3"}', 'the second')
      cache.close()
    },
  },
  {
    name: 'copies for readModifyUpdateOrCreate',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = cacheOf(store)
      const given: (Item | undefined)[] = []
      const created = await cache.readModifyUpdateOrCreate(k, (value) => {
        given.push(value)
        return { a: 'v', n: 1 }
      })
      t.equal(given[0], undefined, 'nothing to copy')
      const cached = await cache.get(k)
      for (let i = 0; i < 2; i++) {
        await outcome(
          cache.readModifyUpdateOrCreate(k, (value) => {
            given.push(value)
            value!.n = 99
            throw new CellarError(MetadataErrorCode.badVersion, k)
          }),
        )
      }
      t.equal(new Set([created, cached, given[1], given[2]]).size >= 3, true, 'different objects')
      t.equal(given[1] === given[2] || given[1] === cached, false, 'a copy for each call')
      t.equal(shown(await cache.get(k)), 'v1', 'the cached one is untouched')
      cache.close()
    },
  },
  {
    name: 'readers share an object, writers get copies',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = cacheOf(store)
      await cache.create(k, { a: 'v', n: 1 })
      const kept = await cache.get(k)
      t.equal(kept === (await cache.get(k)), true, 'one object')
      const seen: unknown[] = [kept]
      for (const modify of ['readModifyUpdate', 'readModifyUpdateOrCreate'] as const) {
        await outcome(
          cache[modify](k, (value: Item | undefined): Item => {
            seen.push(value)
            value!.n = 99
            throw new CellarError(MetadataErrorCode.badVersion, k)
          }),
        )
      }
      t.equal(new Set(seen).size, 3, 'three objects')
      t.equal(shown(await cache.get(k)), 'v1', 'the cached one is untouched')
      cache.close()
    },
  },
  {
    name: '20 handles increment one record at once',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const caches: MetadataCache<Item>[] = []
      for (let i = 0; i < 20; i++) caches.push(cacheOf(await open()))
      await caches[0].create(k, { a: '', n: 1 })
      const increments = caches.map((cache) =>
        outcome(cache.readModifyUpdate(k, ({ a, n }) => ({ a, n: n + 1 }))),
      )
      t.equal(joined([...new Set(await Promise.all(increments))]), 'OK', 'all succeed')
      const read = async (): Promise<string> => shown(await caches[0].get(k))
      t.equal(await eventually(read, '21'), '21', 'the sum')
    },
  },
  {
    name: 'conflicts that do not end are a timeout',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, JSON.stringify({ a: '', n: 1 }))
      const conflicting = Object.create(store, {
        put: {
          value: () => Promise.reject(new CellarError(MetadataErrorCode.badVersion, k)),
        },
        get: { value: store.get.bind(store) },
        registerCache: { value: store.registerCache.bind(store) },
        capabilities: { value: store.capabilities },
      }) as CachingStore
      const backoff = { initialMilliseconds: 5, maxMilliseconds: 20, stopMilliseconds: 200 }
      const cache = new MetadataCache<Item>(conflicting, jsonSerde(), { backoff })
      const timeout = MetadataErrorCode.timeout
      for (let i = 0; i < 3; i++) {
        const change = cache.readModifyUpdateOrCreate(k, () => ({ a: '', n: 2 }))
        t.equal(await outcome(change), timeout, `time ${i}`)
      }
      const once = new MetadataCache<Item>(conflicting, jsonSerde(), {
        backoff: { stopMilliseconds: 0 },
      })
      const change = once.readModifyUpdate(k, (value) => value)
      t.equal(await outcome(change), MetadataErrorCode.badVersion, 'without retry')
      cache.close()
      once.close()
    },
  },
  {
    name: 'a value is read again in the background',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, JSON.stringify({ a: 'v', n: 1 }))
      const reloaded: string[] = []
      const cache = new MetadataCache<Item>(store, jsonSerde(), {
        refreshAfterMilliseconds: 20,
        onReload: (path, result) => reloaded.push(`${path} ${shown(result?.value)}`),
      })
      await cache.get(k)
      await pause(40)
      await cache.get(k)
      t.equal(await eventually(() => reloaded[0] ?? '', `${k} v1`), `${k} v1`, 'told')
      cache.close()
    },
  },
  {
    name: '500 paths: absent, put, present',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      const cache = cacheOf(store)
      const one = async (i: number): Promise<string> => {
        await cache.get(`${k}/${i}`)
        await store.put(`${k}/${i}`, JSON.stringify({ a: 'v', n: i }))
        return shown(await cache.get(`${k}/${i}`))
      }
      const found = await Promise.all(Array.from({ length: 500 }, (_, i) => one(i)))
      t.equal(found.filter((value, i) => value !== `v${i}`).length, 0, 'all present')
      cache.close()
    },
  },
]
