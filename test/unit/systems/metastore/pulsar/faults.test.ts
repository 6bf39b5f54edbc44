/** Full disks, sessions that end at the wrong moment, listeners that misbehave, and caches. */
import { CellarError } from '../../../../../src/api/index.js'
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import { FaultyFileSystem } from '../../../../doubles/testing.js'
import {
  hasCode,
  jsonSerde,
  LeaderElection,
  LockManager,
  MetadataCache,
  MetadataErrorCode,
  MetadataTableView,
  metadataStoreOf,
  openMetadataStore,
  textSerde,
  type CachingStore,
  type CellarMetadataStore,
  type Notification,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { lengthOf } from '../../../../helpers/length.js'
import { ManualTimer } from '../../../../helpers/manual-timer.js'
import { withMembers } from '../../../../helpers/planted.js'

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Rounds of the full disk: the write that fails first. */
const writesMax = lengthOf('CELLAR_METADATA_FAULTS', 6, 30)

void t.test('a full disk fails writes, and takes back nothing that was acknowledged', async (t) => {
  for (let failAt = 1; failAt <= writesMax; failAt++) {
    const inner = new MemoryFileSystem()
    const fileSystem = new FaultyFileSystem(inner)
    const database = await Database.open('/database', { fileSystem, executor: 'inline' })
    const store = await metadataStoreOf(database)
    const events: Notification[] = []
    store.registerListener((event) => events.push(event))
    await store.put('/before', 'kept')
    const only = ({ kind }: { readonly kind: string }): boolean => kind === 'write'
    fileSystem.arm({ failAt, persistent: true, errno: 'ENOSPC', only })
    const known = new Map<string, string>([['/before', 'kept']])
    const refused: string[] = []
    for (let i = 0; i < writesMax + 2; i++) {
      const paths = [`/a/${i}`, `/b/${i}`]
      try {
        await store.batch(paths.map((put) => ({ put, value: String(i) })))
        for (const path of paths) known.set(path, String(i))
      } catch (error) {
        t.match((error as CellarError).code, /^ERR_METADATA_/, `named: ${String(error)}`)
        refused.push(...paths)
      }
    }
    t.ok(refused.length > 0, `from write ${failAt} on there is no room`)
    await turns()
    const told = events.filter(({ type }) => type === 'Created').map(({ path }) => path)
    t.same(told.sort(), [...known.keys()].sort(), 'told of what was acknowledged, and only that')
    await store.close().catch(() => undefined)
    await database.close().catch(() => undefined)
    fileSystem.disarm()
    const again = await Database.open('/database', { fileSystem: inner, executor: 'inline' })
    const reopened = await metadataStoreOf(again)
    for (const [path, value] of known) {
      t.equal((await reopened.get(path))?.value.toString(), value, `${path} is there`)
    }
    for (let i = 0; i < writesMax + 2; i++) {
      const both = [await reopened.exists(`/a/${i}`), await reopened.exists(`/b/${i}`)]
      t.equal(both[0], both[1], `batch ${i} is whole`)
    }
    t.ok(await reopened.put('/after', 'x'), 'there is room again')
    await reopened.close()
    await again.close()
  }
})

void t.test('a session that is lost in the middle of an acquire', async (t) => {
  for (const moment of ['before', 'after'] as const) {
    const database = await openMemoryDatabase()
    const store = await metadataStoreOf(database)
    const other = await metadataStoreOf(database)
    let isLosing = true
    const losing = withMembers(store as CachingStore, {
      put: async (path, value, expected, options) => {
        const isLost = isLosing && path === '/lock'
        if (isLost) isLosing = false
        if (isLost && moment === 'before') store.faults.expireSession()
        const stat = await store.put(path, value, expected, options)
        if (isLost && moment === 'after') {
          store.faults.expireSession()
          await turns()
        }
        return stat
      },
    })
    const manager = new LockManager(losing, textSerde)
    const outcome = await manager.acquireLock('/lock', 'mine').then(
      (lock) => lock,
      (error: unknown) => error,
    )
    await turns()
    const stored = await other.get('/lock')
    if (outcome instanceof CellarError) {
      t.equal(outcome.code, MetadataErrorCode.sessionLost, `${moment}: a named error`)
      t.equal(stored, undefined, 'nothing was written')
    } else {
      const lock = outcome as Awaited<ReturnType<typeof manager.acquireLock>>
      const isHeld = lock.state === 'Valid' && !lock.isSuspect
      t.equal(isHeld, stored?.stat.creationSequence === lock.token, `${moment}: held as stored`)
    }
    const taking = new LockManager(other, textSerde).acquireLock('/lock', 'theirs')
    const isTaken = await taking.then(
      () => true,
      (error: unknown) => !hasCode(error, 'lockBusy'),
    )
    t.equal(isTaken, stored === undefined, 'another gets the lock exactly if it is free')
    await manager.close().catch(() => undefined)
    await store.close()
    await other.close()
    await database.close()
  }
})

void t.test('listeners of every kind that throw or never return are contained', async (t) => {
  const errors: unknown[] = []
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database, { onListenerError: (error) => errors.push(error) })
  const fails = (): never => {
    throw new Error('thrown')
  }
  const never = (): Promise<never> => new Promise(() => undefined)
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  const view = new MetadataTableView<number>(store, jsonSerde(), {
    prefix: '/view',
    onChange: fails,
    onExisting: fails,
  })
  await store.put('/view/old', '1')
  await view.start().catch(() => undefined)
  store.registerListener(fails)
  store.registerListener(never)
  store.registerListener(() => Promise.reject(new Error('rejected')))
  store.registerSessionListener(fails)
  store.registerCache({ changed: fails, reset: () => undefined })
  store.registerCache({ changed: never, reset: () => undefined })
  await store.subscribeSequence('/s', fails)
  const election = new LeaderElection(store, textSerde, '/leader', fails)
  const scan = store.scanChildren('/view', { onNext: never })
  void scan
  t.equal(await election.elect('me'), 'Leading', 'an election')
  t.equal((await store.put('/view/new', '2')).version, 0, 'a put')
  await store.put('/s', '', undefined, { sequenceKeysDeltas: [1] })
  const heard: string[] = []
  store.registerListener(({ path }) => heard.push(path))
  await store.put('/view/late', '3')
  store.faults.expireSession()
  await turns(40)
  t.ok(heard.includes('/view/late'), 'other listeners hear')
  t.equal(view.get('late'), 3, 'the view goes on')
  t.ok(errors.length >= 4, `${errors.length} errors were handed to the handler`)
  t.equal(election.state, 'Leading', 'the election goes on')
  await election.dispose()
  view.close()
  await store.close()
  await database.close()
  process.off('warning', onWarning)
})

void t.test('a cache is never older than a notification that was delivered', async (t) => {
  const database = await openMemoryDatabase()
  const writer = await metadataStoreOf(database)
  const reader = await metadataStoreOf(database)
  let slow: Promise<void> = Promise.resolve()
  // Reads that take long, so loads race changes.
  const slowReader = withMembers(reader as CachingStore, {
    get: async (path) => {
      const found = await reader.get(path)
      await slow
      return found
    },
  })
  const cache = new MetadataCache<number>(slowReader, jsonSerde())
  const paths = Array.from({ length: 5 }, (_, i) => `/c/${i}`)
  const delivered = new Map<string, number>()
  let checked = 0
  const wrong: string[] = []
  reader.registerListener(({ path, type }) => {
    if (type === 'ChildrenChanged') return
    const seen = (delivered.get(path) ?? 0) + 1
    delivered.set(path, seen)
    const known = cache.getIfCached(path)
    if (typeof known === 'number' && known < seen) wrong.push(`${path}: ${known} after ${seen}`)
    void cache.get(path).then((value) => {
      checked++
      if (value! < seen) wrong.push(`${path}: read ${value} after ${seen}`)
    })
  })
  for (let round = 1; round <= 40; round++) {
    slow = turns(round % 7)
    for (const path of paths) {
      if (round % 3 === 0) cache.invalidate(path)
      void cache.get(path).catch(() => undefined)
    }
    await Promise.all(paths.map((path) => writer.put(path, String(round))))
    await turns(round % 4)
  }
  await turns(40)
  t.same(wrong, [], 'no cache was behind')
  t.ok(checked >= 150, `${checked} reads after notifications`)
  cache.close()
  await reader.close()
  await writer.close()
  await database.close()
})

void t.test('a session that cannot be ended for lack of room is ended later', async (t) => {
  const database = await openMemoryDatabase()
  let isFull = false
  const full = withMembers(database, {
    atomic: (batch) =>
      isFull ? Promise.reject(new Error('no space left')) : database.atomic(batch),
  })
  const clock = new ManualTimer()
  const dying: CellarMetadataStore = await metadataStoreOf(full, { clock })
  const store = await metadataStoreOf(full, { clock })
  await dying.put('/e', '', -1, { ephemeral: true })
  isFull = true
  await t.rejects(dying.close(), { code: MetadataErrorCode.storeFailure })
  await t.rejects(store.put('/x', ''), { code: MetadataErrorCode.storeFailure })
  isFull = false
  t.equal((await store.put('/x', '')).version, 0, 'the store goes on')
  t.ok(await store.exists('/e'), 'the record of the dead session waits')
  clock.advance(1_000)
  await turns()
  t.notOk(await store.exists('/e'), 'and goes when there is room')
  await store.close()
  await database.close()
})

void t.test('a handle that is closed while it gets a new session leaves none', async (t) => {
  const database = await openMemoryDatabase()
  const other = await metadataStoreOf(database)
  for (const ticks of [0, 1, 2, 5, 20, 100]) {
    const store = await metadataStoreOf(database)
    const told: string[] = []
    store.registerSessionListener((event) => told.push(event))
    store.faults.expireSession()
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    await store.close()
    const atClose = told.length
    await turns()
    t.same(told.slice(atClose), [], `closed after ${ticks} microtasks: no event follows`)
    t.equal(other.metrics().sessions, 1, 'the session of the other handle is left')
  }
  await other.close()
  await database.close()
})

void t.test('an open that a synchronizer refuses leaves no database open', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const openDatabase = (): Promise<Database> => {
    return Database.open('/database', { fileSystem, executor: 'inline' })
  }
  const synchronizer = {
    clusterName: 'east',
    notify: async () => undefined,
    registerSyncListener: () => {
      throw new Error('no topic')
    },
  }
  await t.rejects(openMetadataStore('cellar:/refused', { openDatabase, synchronizer }), /no topic/)
  const database = await openDatabase()
  await database.close()
})
