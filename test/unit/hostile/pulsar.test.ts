/**
 * The entry `cellardb/metastore/pulsar` with values that no caller should give: see
 * hostile-calls.ts.
 *
 * @runs campaign
 */
import t from 'tap'
import * as pulsar from '../../../src/entries/metastore-pulsar.js'
import { checkEntry, isCellarError, isOfCalledClass } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'

t.setTimeout(1_800_000)

function isOfPulsar(error: unknown): boolean {
  return isCellarError(error) || isOfCalledClass(error)
}

/** Paths of records, among them one that the stores here have. */
const plausible = ['/a', '/a/b', '/path', pulsar.textSerde]

/** Methods that subclasses alone call, of each store. */
const ofSubclasses = Object.fromEntries(
  ['store', 'dual', 'synchronized'].flatMap((store) =>
    ['attach', 'childRecords', 'end', 'indexRecords', 'newestOfSequence', 'write'].map((method) => [
      `${store}.${method}`,
      'is protected',
    ]),
  ),
)

const ofUsers = {
  'cache.changed': 'is called by the store, with the records that it has',
  'view.changed': 'is called by the store, with the records that it has',
  'serde of JSON.deserialize': 'throws anything for bytes that are no value, and readers expect it',
}

/** Nobody reads what the listeners of these calls throw. */
const ignore = (): void => undefined
const quiet = { onListenerError: ignore }

let opened = 0

async function openStores(): Promise<LiveObjects> {
  const store = await pulsar.openMetadataStore(`memory:hostile-${++opened}`, quiet)
  const target = await pulsar.openMetadataStore(`memory:hostile-${++opened}`, quiet)
  await store.put('/a', 'v')
  await store.put('/a/b', 'v')
  const openTarget = (): Promise<pulsar.CachingStore> => Promise.resolve(target)
  const synchronizer: pulsar.MetadataEventSynchronizer = {
    clusterName: 'c',
    notify: () => Promise.resolve(),
    registerSyncListener: () => () => undefined,
  }
  const objects = {
    store,
    dual: await pulsar.DualMetadataStore.open(store, openTarget, ignore),
    synchronized: await pulsar.openMetadataStore(`memory:hostile-${++opened}`, {
      synchronizer,
      ...quiet,
    }),
    coordinator: new pulsar.MigrationCoordinator(store, 'memory:target', { openTarget }),
  }
  return { objects, close: () => Promise.all([store.close(), target.close()]) }
}

async function openUsers(): Promise<LiveObjects> {
  const store = await pulsar.openMetadataStore(`memory:hostile-${++opened}`, quiet)
  const service = new pulsar.CoordinationService(store)
  const locks = service.getLockManager(pulsar.textSerde)
  const cache = new pulsar.MetadataCache(store, pulsar.textSerde)
  await cache.create('/cached', 'v')
  const ledgers = new pulsar.ManagedLedgerStore(store)
  await ledgers.getManagedLedgerInfo('t/n/persistent/topic', true)
  const resources = new pulsar.PulsarResources(store, store)
  const view = new pulsar.MetadataTableView(store, pulsar.textSerde, { prefix: '/view' })
  await view.start()
  const objects = {
    cache,
    service,
    locks,
    lock: await locks.acquireLock('/lock', 'v'),
    election: service.getLeaderElection(pulsar.textSerde, '/leader'),
    view,
    resources,
    tenants: resources.tenants,
    ledgers,
    'serde of JSON': pulsar.jsonSerde(),
    'serde of texts': pulsar.textSerde,
  }
  return { objects, close: () => store.close() }
}

void t.test('stores', (t) =>
  checkEntry(
    t,
    {
      exports: pulsar,
      open: openStores,
      plausible,
      except: {
        ...ofSubclasses,
        'new DualMetadataStore': 'is private; DualMetadataStore.open checks what it gets',
        'new CellarMetadataStore': 'is private; openMetadataStore checks what it gets',
        'CellarMetadataStore.open': 'is internal; openMetadataStore checks what it gets',
        'new ZooKeeperMetadataStore': 'is private; openMetadataStore checks what it gets',
        'ZooKeeperMetadataStore.open': 'takes the parts of a URL that openMetadataStore checked',
      },
    },
    isOfPulsar,
  ),
)
void t.test('users of a store', (t) =>
  checkEntry(t, { exports: {}, open: openUsers, plausible, except: ofUsers }, isOfPulsar),
)
