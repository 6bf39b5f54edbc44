/** Cases of configuration, URLs, synchronizers and migrations. */
import { systemClock, CellarError } from '../../../src/api/index.js'
import {
  DualMetadataStore,
  MetadataCache,
  metadataCacheDefaults,
  MetadataErrorCode,
  MigrationCoordinator,
  migrationPath,
  openMetadataStore,
  participantsPath,
  registerMetadataStoreProvider,
  textSerde,
  withoutBackoff,
  type CachingStore,
  type MetadataEvent,
  type MetadataEventSynchronizer,
} from '../../../src/entries/metastore-pulsar.js'
import {
  isIgnoredEvent,
  SynchronizedMetadataStore,
} from '../../../src/systems/metastore/pulsar/clusters/synchronized-store.js'
import { eventually, outcome } from '../kit.js'
import { Events, joined, SessionEvents, textOf, type Fixture, type MetadataCase } from './case.js'

const { badVersion, connectionLost, illegalState, timeout } = MetadataErrorCode

/** A configuration whose file is a text. */
function fileOf(text: string): { configFilePath: string; readFile: () => Promise<string> } {
  return { configFilePath: '/metadata.json', readFile: async () => text }
}

/** Passes events on by hand. */
class Cluster implements MetadataEventSynchronizer {
  readonly clusterName = 'middle'
  readonly published: MetadataEvent[] = []
  listener: ((event: MetadataEvent) => Promise<void>) | undefined = undefined

  async notify(event: MetadataEvent): Promise<void> {
    this.published.push(event)
  }

  registerSyncListener(listener: (event: MetadataEvent) => Promise<void>): () => void {
    this.listener = listener
    return () => (this.listener = undefined)
  }
}

const fails = (error: unknown): void => {
  throw error
}

/** A source with a handle that follows its migration, and a target in memory. */
async function dualOf({ open, fresh }: Fixture) {
  const source = await open()
  await source.deleteRecursive('/pulsar')
  const url = `memory:migration${fresh().slice(1)}-${source.sessionTimeoutMilliseconds}`
  // Somebody who keeps the database in memory.
  const target = await openMetadataStore(url)
  const openTarget = (asked: string): Promise<CachingStore> => openMetadataStore(asked)
  const dual = await DualMetadataStore.open(await open(), openTarget, fails)
  const coordinator = new MigrationCoordinator(source, url, { openTarget })
  const close = async (): Promise<void> => {
    await dual.close()
    await target.close()
    await source.deleteRecursive('/pulsar')
  }
  return { source, url, target, openTarget, dual, coordinator, close }
}

/** See the file header. */
export const configurationCases: readonly MetadataCase[] = [
  {
    name: 'settings of a file count more than others, for every session',
    run: async (t, { space, open }) => {
      const configuration = {
        ...fileOf('{ "sessionTimeoutMilliseconds": 8000 }'),
        sessionTimeoutMilliseconds: 9000,
      }
      const store = await open(configuration)
      t.equal(store.sessionTimeoutMilliseconds, 8000, 'the one of the file')
      const events = new SessionEvents(store)
      if (space.expireSession !== undefined) {
        await space.expireSession(store)
        await eventually(() => String(events.list.includes('SessionReestablished')), 'true')
      }
      t.equal(store.sessionTimeoutMilliseconds, 8000, 'for the next session, too')
      for (const text of ['no JSON', '[]', '{ "unknown": 1 }', '{ "clock": 1 }']) {
        const opening = outcome(openMetadataStore('memory:local', fileOf(text)))
        t.equal(await opening, MetadataErrorCode.invalidArgument, text)
      }
    },
  },
  {
    name: 'events go on when the watch could not be set at first',
    needs: 'disconnect',
    run: async (t, { space, store, open, fresh }) => {
      const k = fresh()
      await store.put(k, '0')
      const flapping = await open()
      const events = new Events(flapping, k)
      const session = new SessionEvents(flapping)
      await space.disconnect!(flapping)
      await eventually(() => String(flapping.isConnected), 'false')
      for (let i = 0; i < 3; i++) {
        await space.reconnect!(flapping)
        await space.disconnect!(flapping)
      }
      await space.reconnect!(flapping)
      t.equal(await eventually(() => String(flapping.isConnected), 'true'), 'true', 'connected')
      await store.put(k, '1')
      t.equal(await events.after(1), `Modified ${k}`, 'one event')
      t.equal(session.list.at(-1), 'Reconnected', 'the session events')
      t.equal(session.list.includes('SessionLost'), false, 'no session was lost')
    },
  },
  {
    name: 'which events of other clusters are ignored',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, '0')
      const stat = await store.put(k, '1')
      const now = stat.modificationTimestamp
      const plain: MetadataEvent = {
        path: k,
        value: Buffer.from('2'),
        options: {},
        expectedVersion: stat.version,
        lastUpdatedTimestamp: now + 1,
        sourceCluster: 'middle',
      }
      const rows: readonly [string, Partial<MetadataEvent>, boolean][] = [
        ['newer, of the same cluster', {}, false],
        ['ephemeral', { options: { ephemeral: true } }, true],
        ['sequential', { options: { sequential: true } }, true],
        ['another version, same cluster', { expectedVersion: stat.version + 9 }, true],
        ['no version', { expectedVersion: undefined }, false],
        ['older', { lastUpdatedTimestamp: now - 1 }, true],
        ['no cluster', { sourceCluster: undefined }, true],
        ['at the same time, of the same cluster', { lastUpdatedTimestamp: now }, false],
        ['a lesser cluster', { lastUpdatedTimestamp: now, sourceCluster: 'early' }, true],
        ['a greater cluster', { lastUpdatedTimestamp: now, sourceCluster: 'north' }, false],
        ['another version of another cluster', { expectedVersion: 77, sourceCluster: 'a' }, false],
      ]
      for (const [title, change, wanted] of rows) {
        t.equal(isIgnoredEvent({ ...plain, ...change }, stat, 'middle'), wanted, title)
      }
      t.equal(isIgnoredEvent(plain, stat, undefined), true, 'this cluster has no name')
    },
  },
  {
    name: 'events of other clusters are applied, own writes are published',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const cluster = new Cluster()
      const store = await open()
      const synchronized = new SynchronizedMetadataStore(store, cluster, systemClock, fails)
      const seen = new Events(synchronized, k)
      const stat = await synchronized.put(k, 'local')
      t.equal(cluster.published[0].value?.toString(), 'local', 'published')
      const event: MetadataEvent = {
        path: k,
        value: Buffer.from('remote'),
        options: {},
        expectedVersion: 12,
        lastUpdatedTimestamp: stat.modificationTimestamp + 1000,
        sourceCluster: 'north',
      }
      await cluster.listener!(event)
      t.equal(await textOf(synchronized, k), 'remote', 'a newer one')
      const late = { ...event, value: Buffer.from('late'), lastUpdatedTimestamp: 1 }
      await cluster.listener!(late)
      t.equal(await textOf(synchronized, k), 'remote', 'not an older one')
      t.equal(cluster.published.length, 1, 'those of others are not published')
      t.equal(await seen.after(2), `Created ${k},Modified ${k}`, 'events of both')
      await cluster.listener!({
        ...event,
        value: undefined,
        lastUpdatedTimestamp: stat.modificationTimestamp + 9e6,
      })
      t.equal(await textOf(synchronized, k), 'none', 'deleted')
      await synchronized.put(`${k}/a/b`, '')
      await synchronized.deleteRecursive(k)
      const deleted = cluster.published.filter(({ value }) => value === undefined)
      const parents = store.capabilities.impliedParents ? '' : `,${k}/a,${k}`
      const paths = joined(deleted.map(({ path }) => path))
      t.equal(paths, `${k}/a/b${parents}`, 'a tree, record by record')
      const before = cluster.published.length
      const lock = `${k}-lock`
      await synchronized.put(lock, 'mine', -1, { ephemeral: true })
      await synchronized.delete(lock)
      await synchronized.put(lock, 'mine', -1, { ephemeral: true })
      await synchronized.batch([{ delete: lock }, { put: lock, value: 'again', ephemeral: true }])
      t.equal(cluster.published.length, before, 'records of sessions are not published')
      const later = stat.modificationTimestamp + 9e7
      await cluster.listener!({ ...event, path: lock, lastUpdatedTimestamp: later })
      const removal = { path: lock, value: undefined, lastUpdatedTimestamp: later }
      await cluster.listener!({ ...event, ...removal })
      t.equal(await textOf(synchronized, lock), 'again', 'nor changed by other clusters')
      await synchronized.close()
    },
  },
  {
    name: 'the settings of a cache when none are given',
    run: async (t) => {
      const { refreshAfterMilliseconds, expireAfterMilliseconds, backoff } = metadataCacheDefaults
      t.equal(refreshAfterMilliseconds, 300_000, 'read again after five minutes')
      t.equal(expireAfterMilliseconds, 600_000, 'dropped after ten')
      t.equal(backoff.initialMilliseconds, 5, 'the first wait')
      t.equal(backoff.maxMilliseconds, 3_000, 'the longest wait')
      t.equal(backoff.stopMilliseconds, 30_000, 'the last attempt')
    },
  },
  {
    name: 'without backoff a conflict is told at once, each time',
    run: async (t, { store, fresh }) => {
      const k = fresh()
      await store.put(k, 'a')
      const cache = new MetadataCache<string>(store, textSerde, { backoff: withoutBackoff })
      let calls = 0
      const conflict = async (): Promise<string> => {
        calls++
        await store.put(k, `other ${calls}`)
        return 'mine'
      }
      for (let i = 1; i <= 2; i++) {
        t.equal(await outcome(cache.readModifyUpdate(k, conflict)), badVersion, `time ${i}`)
        t.equal(calls, i, 'one attempt')
      }
      const written = await cache.readModifyUpdate(k, () => 'mine')
      t.equal(written, 'mine', 'without a conflict')
      cache.close()
    },
  },
  {
    name: 'what is stored beside the bytes comes back as it was',
    run: async (t, { store, open, fresh }) => {
      const k = fresh()
      const other = await open()
      let state = 20_240_607
      const random = (below: number): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return Math.floor((state / 2 ** 32) * below)
      }
      for (let i = 0; i < 12; i++) {
        const value = Buffer.from(Array.from({ length: random(300) }, () => random(256)))
        const ephemeral = random(2) === 1
        const path = `${k}/${i}`
        let stat = await store.put(path, value, -1, { ephemeral })
        for (let n = random(4); n > 0; n--) stat = await store.put(path, value, stat.version)
        await other.sync(path)
        const found = (await other.get(path))!
        t.equal(found.value.equals(value), true, `bytes ${i}`)
        // Creations by ZooKeeper do not always tell their times.
        const shown = ({ version, ephemeral, firstVersion, sequence }: typeof stat): string =>
          `${version} ${ephemeral} ${firstVersion} ${sequence}`
        t.equal(shown(found.stat), shown(stat), `stat ${i}`)
        t.equal(found.stat.createdBySelf, false, `owner ${i}`)
      }
    },
  },
  {
    name: 'a store that was opened with a file of settings keeps its records',
    needs: 'persistent',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const configuration = fileOf('{ "sessionTimeoutMilliseconds": 8000 }')
      const first = await open(configuration)
      await first.put(k, 'value', -1)
      t.equal(await outcome(first.put(k, 'x', 100)), badVersion, 'another version')
      await first.close()
      const found = (await (await open(configuration)).get(k))!
      t.equal(`${found.value.toString()} ${found.stat.version}`, 'value 0', 'after a reopen')
    },
  },
  {
    name: 'schemes of URLs, and stores of others',
    run: async (t, { open, fresh }) => {
      const k = fresh()
      const addresses: string[] = []
      const remove = registerMetadataStoreProvider('custom', async (address, configuration) => {
        addresses.push(address)
        return open(configuration)
      })
      const store = await openMetadataStore('custom:host:1/path', {
        sessionTimeoutMilliseconds: 8000,
      })
      t.equal(addresses.join(), 'host:1/path', 'without the scheme')
      await store.put(k, 'by the provider')
      t.equal(await textOf(store, k), 'by the provider', 'usable')
      remove()
      const unknown = MetadataErrorCode.invalidImplementation
      for (const url of ['custom:x', 'etcd:host', 'nothing', '', ':x', 'cellar:']) {
        t.equal(await outcome(openMetadataStore(url)), unknown, JSON.stringify(url))
      }
    },
  },
  {
    name: 'a store that cannot be reached is an error of the call',
    needs: 'disconnect',
    run: async (t, { space, open, fresh }) => {
      const k = fresh()
      const store = await open()
      await space.disconnect!(store)
      await eventually(() => String(store.isConnected), 'false')
      t.equal(await outcome(store.exists(k)), connectionLost, 'exists')
      t.equal(await outcome(store.put(k, '')), connectionLost, 'put')
      t.equal(await outcome(store.getChildren(k)), connectionLost, 'getChildren')
      await space.reconnect!(store)
      await eventually(() => String(store.isConnected), 'true')
      t.equal(await store.exists(k), false, 'nothing was written')
    },
  },
  {
    name: 'a migration to another store',
    run: async (t, fixture) => {
      const k = fixture.fresh()
      const { source, target, dual, coordinator, close } = await dualOf(fixture)
      const session = new SessionEvents(dual)
      for (let i = 0; i < 5; i++) await dual.put(`${k}/p`, `value ${i}`)
      await dual.put(`${k}/p/implied/child`, 'child')
      await dual.put(`${k}/e`, 'mine', -1, { ephemeral: true })
      t.equal(dual.phase, 'NOT_STARTED', 'before')
      t.equal(await textOf(source, `${k}/p`), 'value 4', 'writes go to the source')
      await coordinator.startMigration()
      t.equal(await eventually(() => dual.phase, 'COMPLETED'), 'COMPLETED', 'after')
      const moved = (await dual.get(`${k}/p`))!
      t.equal(`${moved.value.toString()} ${moved.stat.version}`, 'value 4 4', 'with its version')
      t.equal(await textOf(dual, `${k}/p/implied/child`), 'child', 'below an implied parent')
      t.equal(await textOf(dual, `${k}/e`), 'none', 'ephemeral records stay behind')
      t.equal((await dual.put(`${k}/p`, 'new', 4)).version, 5, 'the version goes on')
      t.equal(await textOf(target, `${k}/p`), 'new', 'writes go to the target')
      t.equal(await textOf(source, `${k}/p`), 'value 4', 'and no longer to the source')
      const told = 'SessionLost,SessionReestablished'
      t.equal(await eventually(() => joined(session.list), told), told, 'the session events')
      t.equal(await outcome(coordinator.startMigration()), illegalState, 'a second start')
      t.equal(await target.exists(migrationPath), false, 'the state is no record that moves')
      await close()
    },
  },
  {
    name: 'a migration that fails, and its second attempt',
    run: async (t, fixture) => {
      const k = fixture.fresh()
      const { source, url, openTarget, dual, coordinator, close } = await dualOf(fixture)
      const session = new SessionEvents(dual)
      await dual.put(k, 'kept')
      const failing = new MigrationCoordinator(source, url, {
        openTarget: async () => {
          t.equal(await eventually(() => dual.phase, 'COPYING'), 'COPYING', 'copying')
          t.equal(await outcome(dual.put(k, 'x')), illegalState, 'no writes')
          t.equal(await textOf(dual, k), 'kept', 'reads from the source')
          throw new CellarError(MetadataErrorCode.badVersion, k)
        },
      })
      t.equal(await outcome(failing.startMigration()), badVersion, 'the copy fails')
      t.equal(await eventually(() => dual.phase, 'FAILED'), 'FAILED', 'failed')
      t.equal(await outcome(dual.put(k, 'written')), 'OK', 'writes are allowed again')
      const told = 'SessionLost,SessionReestablished'
      t.equal(await eventually(() => joined(session.list), told), told, 'the session events')
      const stuck = await source.put(`${participantsPath}/stuck`, '', -1)
      const impatient = new MigrationCoordinator(source, url, {
        openTarget,
        preparationMilliseconds: 100,
      })
      t.equal(await outcome(impatient.startMigration()), timeout, 'somebody goes on writing')
      await source.delete(stuck.path)
      await eventually(() => dual.phase, 'FAILED')
      await coordinator.startMigration()
      t.equal(await eventually(() => dual.phase, 'COMPLETED'), 'COMPLETED', 'tried again')
      t.equal(await textOf(dual, k), 'written', 'the record')
      await close()
    },
  },
]
