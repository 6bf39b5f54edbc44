/**
 * The suite finds what it is for: each defect that is planted into a store fails its case.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { runMetadataSuite, type SuiteTest } from '../../suites/metadata/suite.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import {
  metadataStoreOf,
  type CachingStore,
  type CellarMetadataStore,
  type GetResult,
  type MetadataStore,
  type Notification,
  type Stat,
} from '../../../src/entries/metastore-pulsar.js'
import { withMembers } from '../../helpers/planted.js'

/** Members of a handle to replace. */
type Defect = (store: CellarMetadataStore) => Partial<CachingStore>

const faultsOf = (store: MetadataStore): CellarMetadataStore['faults'] =>
  (store as CellarMetadataStore).faults

/** Runs cases of the suite and returns the names of those that failed. */
async function failures(only: readonly string[], defect: Defect): Promise<Set<string>> {
  const failed = new Set<string>()
  const recorder = (caseName: string): SuiteTest => ({
    test: async (name, { skip }, body) => {
      if (skip !== undefined) return
      const [, tried] = /^Metadata \[planted\]: (.*)/.exec(name)!
      try {
        await body(recorder(tried))
      } catch {
        failed.add(tried)
      }
    },
    equal: (found, wanted) => found === wanted || failed.add(caseName),
    comment: () => undefined,
  })
  await runMetadataSuite(recorder(''), {
    name: 'planted',
    only,
    caseMilliseconds: 2_000,
    create: async () => {
      const database = await openMemoryDatabase()
      return {
        open: async (configuration) => {
          const store = await metadataStoreOf(database, {
            onListenerError: () => undefined,
            ...configuration,
          })
          return withMembers(store as CachingStore, defect(store))
        },
        expireSession: async (store) => faultsOf(store).expireSession(),
        disconnect: async (store) => faultsOf(store).disconnect(),
        reconnect: (store) => faultsOf(store).reconnect(),
        dispose: () => database.close(),
      }
    },
  })
  return failed
}

const resultWith = (change: Partial<Stat>) => (found: GetResult | undefined) =>
  found === undefined ? undefined : { ...found, stat: { ...found.stat, ...change } }

/** By what is wrong: the case that has to find it, and the defect. */
const defects: Readonly<Record<string, readonly [string, Defect]>> = {
  'a put expects nothing': [
    'a failed put changes nothing',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected === -1 ? expected : undefined, options),
    }),
  ],
  'a creation replaces': [
    'of two deletes at once one succeeds',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected === -1 ? undefined : expected, options),
    }),
  ],
  'a delete expects nothing': [
    'a delete with another version changes nothing',
    (store) => ({ delete: (path) => store.delete(path) }),
  ],
  'implied parents are not listed': [
    'children of the root and of implied parents',
    (store) => ({
      getChildren: async (path) => {
        const names = await store.getChildren(path)
        const prefix = path === '/' ? '/' : `${path}/`
        const there = await Promise.all(names.map((name) => store.exists(prefix + name)))
        return names.filter((_, i) => there[i])
      },
    }),
  ],
  'a recursive delete leaves grandchildren': [
    'a recursive delete leaves what is beside',
    (store) => ({
      deleteRecursive: async (path) => {
        for (const name of await store.getChildren(path)) {
          await store.deleteIfExists(`${path}/${name}`).catch(() => undefined)
        }
        await store.deleteIfExists(path).catch(() => undefined)
      },
    }),
  ],
  'events come twice': [
    'events: a creation',
    (store) => ({
      registerListener: (listener) => {
        const ends = [store.registerListener(listener), store.registerListener(listener)]
        return () => ends.forEach((end) => end())
      },
    }),
  ],
  'parents hear nothing of their children': [
    'events: children of a record come and go',
    (store) => ({
      registerListener: (listener) =>
        store.registerListener((event: Notification) =>
          event.type === 'ChildrenChanged' ? undefined : listener(event),
        ),
    }),
  ],
  'listeners cannot be taken back': [
    'a listener that was taken back hears nothing',
    (store) => ({
      registerListener: (listener) => {
        store.registerListener(listener)
        return () => undefined
      },
    }),
  ],
  'versions begin with one': [
    'a path that only has descendants',
    (store) => ({
      put: async (path, value, expected, options) => {
        const stat = await store.put(path, value, expected, options)
        return { ...stat, version: stat.version + 1 }
      },
    }),
  ],
  'ephemeral records are persistent': [
    'closing one handle keeps the other, and ends its session',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected, { ...options, ephemeral: false }),
    }),
  ],
  'every record is of this session': [
    'a lock is acquired, listed and read',
    (store) => ({
      get: async (path) => resultWith({ createdBySelf: true })(await store.get(path)),
    }),
  ],
  'tokens do not grow': [
    'the second participant follows, then leads',
    (store) => ({
      get: async (path) => resultWith({ creationSequence: 1 })(await store.get(path)),
      put: (path, value, expected, options) =>
        store
          .put(path, value, expected, options)
          .then((stat) => ({ ...stat, creationSequence: 1 })),
    }),
  ],
  'a batch is a row of writes': [
    'a batch is applied whole or not at all',
    (store) => ({
      batch: async (operations) => {
        const stats: (Stat | undefined)[] = []
        for (const each of operations) stats.push((await store.batch([each]))[0])
        return stats
      },
    }),
  ],
  'numbers are not padded': [
    'ten sequential puts at once',
    (store) => ({
      put: async (path, value, expected, options) => {
        if (options?.sequential !== true) return store.put(path, value, expected, options)
        const number = (await store.getChildren(path.slice(0, path.lastIndexOf('/')))).length
        return store.put(path + String(number), value, expected, { ephemeral: options.ephemeral })
      },
    }),
  ],
  'sequences tell nothing': [
    'a subscription to a sequence',
    () => ({ subscribeSequence: async () => ({ close: () => undefined }) }),
  ],
  'the upper bound of an index is exclusive': [
    'both bounds of a scan by index are inclusive, a point is exact',
    (store) => ({
      scanByIndex: ((scan: Parameters<MetadataStore['scanByIndex']>[0]) =>
        store.scanByIndex({
          ...scan,
          to: scan.to === undefined ? undefined : scan.to.slice(0, -1),
        })) as MetadataStore['scanByIndex'],
    }),
  ],
  'plain puts drop indexes': [
    'index entries follow updates and deletes',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected, { secondaryIndexes: {}, ...options }),
    }),
  ],
  'caches are told nothing': [
    'a put past the cache is seen at once',
    () => ({ registerCache: () => () => undefined }),
  ],
  'the loss of a session is not told': [
    'a session that ends',
    (store) => ({
      registerSessionListener: (listener) =>
        store.registerSessionListener((event) =>
          event === 'SessionLost' ? undefined : listener(event),
        ),
    }),
  ],
  'a closed handle answers': [
    'a closed handle refuses',
    () => ({ close: () => Promise.resolve() }),
  ],
  'the feed leaves a commit out': [
    'the feed gives each commit once, from any sequence',
    (store) => ({
      subscribe: async function* (options) {
        let seen = 0
        for await (const commit of store.subscribe(options)) if (++seen !== 2) yield commit
      },
    }),
  ],
  'a lost connection answers': [
    'a store that cannot be reached is an error of the call',
    (store) => ({
      exists: async (path) => (await store.exists(path).catch(() => false)) && true,
    }),
  ],
}

const wanted = Object.values(defects).map(([name]) => name)

void t.test('a store without defects passes these cases', async (t) => {
  t.same([...(await failures(wanted, () => ({})))], [])
})

void t.test('each planted defect fails its case', async (t) => {
  // Cases wait more than they compute, so the runs go side by side.
  const runs = Object.entries(defects).map(async ([what, [name, defect]]) => {
    t.same([...(await failures([name], defect))], [name], what)
  })
  await Promise.all(runs)
})
