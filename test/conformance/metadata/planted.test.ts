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

/** Runs cases of the suite and returns the numbers of those that failed. */
async function failures(only: readonly string[], defect: Defect): Promise<Set<string>> {
  const failed = new Set<string>()
  const recorder = (number: string): SuiteTest => ({
    test: async (name, { skip }, body) => {
      if (skip !== undefined) return
      const [, number] = /^Metadata (\w+ \w+)/.exec(name)!
      try {
        await body(recorder(number))
      } catch {
        failed.add(number)
      }
    },
    equal: (found, wanted) => found === wanted || failed.add(number),
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
    'case 7',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected === -1 ? expected : undefined, options),
    }),
  ],
  'a creation replaces': [
    'case 25',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected === -1 ? undefined : expected, options),
    }),
  ],
  'a delete expects nothing': ['case 14', (store) => ({ delete: (path) => store.delete(path) })],
  'implied parents are not listed': [
    'case 26',
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
    'case 20',
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
    'case 16',
    (store) => ({
      registerListener: (listener) => {
        const ends = [store.registerListener(listener), store.registerListener(listener)]
        return () => ends.forEach((end) => end())
      },
    }),
  ],
  'parents hear nothing of their children': [
    'case 19',
    (store) => ({
      registerListener: (listener) =>
        store.registerListener((event: Notification) =>
          event.type === 'ChildrenChanged' ? undefined : listener(event),
        ),
    }),
  ],
  'listeners cannot be taken back': [
    'ours 5',
    (store) => ({
      registerListener: (listener) => {
        store.registerListener(listener)
        return () => undefined
      },
    }),
  ],
  'versions begin with one': [
    'ours 6',
    (store) => ({
      put: async (path, value, expected, options) => {
        const stat = await store.put(path, value, expected, options)
        return { ...stat, version: stat.version + 1 }
      },
    }),
  ],
  'ephemeral records are persistent': [
    'case 127',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected, { ...options, ephemeral: false }),
    }),
  ],
  'every record is of this session': [
    'case 89',
    (store) => ({
      get: async (path) => resultWith({ createdBySelf: true })(await store.get(path)),
    }),
  ],
  'tokens do not grow': [
    'case 101',
    (store) => ({
      get: async (path) => resultWith({ creationSequence: 1 })(await store.get(path)),
      put: (path, value, expected, options) =>
        store
          .put(path, value, expected, options)
          .then((stat) => ({ ...stat, creationSequence: 1 })),
    }),
  ],
  'a batch is a row of writes': [
    'ours 1',
    (store) => ({
      batch: async (operations) => {
        const stats: (Stat | undefined)[] = []
        for (const each of operations) stats.push((await store.batch([each]))[0])
        return stats
      },
    }),
  ],
  'numbers are not padded': [
    'case 64',
    (store) => ({
      put: async (path, value, expected, options) => {
        if (options?.sequential !== true) return store.put(path, value, expected, options)
        const number = (await store.getChildren(path.slice(0, path.lastIndexOf('/')))).length
        return store.put(path + String(number), value, expected, { ephemeral: options.ephemeral })
      },
    }),
  ],
  'sequences tell nothing': [
    'case 41',
    () => ({ subscribeSequence: async () => ({ close: () => undefined }) }),
  ],
  'the upper bound of an index is exclusive': [
    'case 55',
    (store) => ({
      scanByIndex: ((scan: Parameters<MetadataStore['scanByIndex']>[0]) =>
        store.scanByIndex({
          ...scan,
          to: scan.to === undefined ? undefined : scan.to.slice(0, -1),
        })) as MetadataStore['scanByIndex'],
    }),
  ],
  'plain puts drop indexes': [
    'case 56',
    (store) => ({
      put: (path, value, expected, options) =>
        store.put(path, value, expected, { secondaryIndexes: {}, ...options }),
    }),
  ],
  'caches are told nothing': ['case 73', () => ({ registerCache: () => () => undefined })],
  'the loss of a session is not told': [
    'case 119',
    (store) => ({
      registerSessionListener: (listener) =>
        store.registerSessionListener((event) =>
          event === 'SessionLost' ? undefined : listener(event),
        ),
    }),
  ],
  'a closed handle answers': ['case 49', () => ({ close: () => Promise.resolve() })],
  'the feed leaves a commit out': [
    'ours 3',
    (store) => ({
      subscribe: async function* (options) {
        let seen = 0
        for await (const commit of store.subscribe(options)) if (++seen !== 2) yield commit
      },
    }),
  ],
  'a lost connection answers': [
    'case 129',
    (store) => ({
      exists: async (path) => (await store.exists(path).catch(() => false)) && true,
    }),
  ],
}

const wanted = Object.values(defects).map(([number]) => number)

void t.test('a store without defects passes these cases', async (t) => {
  t.same([...(await failures(wanted, () => ({})))], [])
})

void t.test('each planted defect fails its case', async (t) => {
  // Cases wait more than they compute, so the runs go side by side.
  const runs = Object.entries(defects).map(async ([name, [number, defect]]) => {
    t.same([...(await failures([number], defect))], [number], name)
  })
  await Promise.all(runs)
})
