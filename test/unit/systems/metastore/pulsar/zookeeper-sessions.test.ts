/**
 * Sessions of ZooKeeper: a server that is away for long, and one that ends them.
 *
 * @runs alone
 */
import type { CellarError } from '../../../../../src/api/index.js'
import t from 'tap'
import {
  LockManager,
  MetadataErrorCode,
  openMetadataStore,
  textSerde,
  type CachingStore,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { eventually, pause } from '../../../../suites/kit.js'
import { joined } from '../../../../suites/metadata/case.js'
import {
  ZooKeeperServer,
  zookeeperMissing,
} from '../../../../../bench/metadata/zookeeper-server.js'
import { zookeeperBackend } from '../../../../conformance/metadata/backends.js'

const skip = zookeeperMissing()
const sessionTimeoutMilliseconds = 3_000

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'OK',
    (error: unknown) => (error as CellarError).code,
  )

function sessionEvents(store: CachingStore): string[] {
  const told: string[] = []
  store.registerSessionListener((event) => told.push(event))
  return told
}

const lostAndBack = 'ConnectionLost,SessionLost,Reconnected,SessionReestablished'

void t.test('a server that is away for longer than the timeout', { skip }, async (t) => {
  const server = await ZooKeeperServer.start()
  const url = `zk:127.0.0.1:${server.port}`
  const store = await openMetadataStore(url, { sessionTimeoutMilliseconds })
  const told = sessionEvents(store)
  const lock = await new LockManager(store, textSerde).acquireLock('/right', 'mine')
  const { token } = lock
  await server.stop()
  t.equal(
    await eventually(() => joined(told), 'ConnectionLost,SessionLost'),
    'ConnectionLost,SessionLost',
    'the session may be lost',
  )
  t.equal(lock.isSuspect, true)
  await pause(sessionTimeoutMilliseconds)
  t.equal(lock.state, 'Valid', 'only the server knows')
  await server.run()
  t.equal(await eventually(() => joined(told), lostAndBack), lostAndBack, 'the session is back')
  t.equal(await eventually(() => String(lock.isSuspect), 'false'), 'false')
  t.equal(`${lock.state} ${lock.token === token}`, 'Valid true', 'the lock of before')
  const other = await openMetadataStore(url, { sessionTimeoutMilliseconds })
  const taking = new LockManager(other, textSerde).acquireLock('/right', 'theirs')
  t.equal(await codeOf(taking), MetadataErrorCode.lockBusy, 'nobody else gets the lock')
  await lock.updateValue('still mine')
  await store.close()
  await other.close()
  await server.remove()
})

void t.test('a session that has expired at the server is lost', { skip }, async (t) => {
  const space = await zookeeperBackend.create()
  const configuration = { sessionTimeoutMilliseconds }
  const store = await space.open(configuration)
  const other = await space.open(configuration)
  const told = sessionEvents(store)
  const lock = await new LockManager(store, textSerde).acquireLock('/right', 'mine')
  await space.disconnect!(store)
  const taken = async (): Promise<string> =>
    codeOf(new LockManager(other, textSerde).acquireLock('/right', 'theirs'))
  t.equal(await eventually(taken, 'OK', 30_000), 'OK', 'another takes the lock')
  await space.reconnect!(store)
  t.equal(await eventually(() => joined(told), lostAndBack), lostAndBack)
  await lock.expired
  t.equal(lock.state, 'Released', 'the lock is lost')
  t.equal((await store.get('/right'))!.value.toString(), 'theirs')
  await store.close()
  await other.close()
  await space.dispose()
})

void t.test('the loss of a session comes before its deletions', { skip }, async (t) => {
  const server = await ZooKeeperServer.start()
  const url = `zk:127.0.0.1:${server.port}`
  const other = await openMetadataStore(url, { sessionTimeoutMilliseconds })
  for (let round = 0; round < 3; round++) {
    // A handle that does not say that it lives: the server tells it of the end while it listens.
    const after = (milliseconds: number, action: () => void): (() => void) => {
      if (milliseconds < 200) setTimeout(action, milliseconds)
      return () => undefined
    }
    const clock = { now: () => Date.now(), after }
    const store = await openMetadataStore(url, { sessionTimeoutMilliseconds, clock })
    const told = sessionEvents(store)
    store.registerListener(({ type, path }) => {
      if (type !== 'Created' && path.startsWith('/e')) told.push(type)
    })
    await store.put(`/e/${round}/a`, '', -1, { ephemeral: true })
    await store.put(`/e/${round}/b`, '', -1, { ephemeral: true })
    const isGone = async (): Promise<string> => joined(await other.getChildren(`/e/${round}`))
    t.equal(await eventually(isGone, '', 30_000), '', 'the server has ended the session')
    await eventually(() => String(told.includes('SessionReestablished')), 'true')
    const loss = told.indexOf('SessionLost')
    const deleted = told.indexOf('Deleted')
    t.ok(loss >= 0 && (deleted < 0 || loss < deleted), joined(told))
    await store.close()
  }
  await other.close()
  await server.remove()
})

void t.test('deletions of records of a session that lives are told', { skip }, async (t) => {
  const space = await zookeeperBackend.create()
  const store = await space.open()
  const other = await space.open()
  const told: string[] = []
  store.registerListener(({ type, path }) => told.push(`${type} ${path}`))
  await store.put('/e', '', -1, { ephemeral: true })
  await other.delete('/e')
  await other.put('/f', '')
  const wanted = 'Created /e,Deleted /e,Created /f'
  t.equal(await eventually(() => joined(told), wanted), wanted, 'in their order')
  await store.close()
  await other.close()
  await space.dispose()
})

void t.test('what ZooKeeper cannot compare or store is an error by name', { skip }, async (t) => {
  const server = await ZooKeeperServer.start()
  const store = await openMetadataStore(`zk:127.0.0.1:${server.port}/two/levels`, {
    sessionTimeoutMilliseconds: 10_000,
  })
  const { badVersion } = MetadataErrorCode
  await store.put('/a', '')
  for (const expected of [2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
    t.equal(await codeOf(store.put('/a', '', expected)), badVersion)
    t.equal(await codeOf(store.delete('/a', expected)), badVersion)
    t.equal(await codeOf(store.batch([{ check: '/a', expected }])), badVersion)
  }
  t.equal(await codeOf(store.put('/a', '', 2 ** 31 - 1)), badVersion)
  t.same(await store.getChildren('/'), ['a'], 'a root below two absent levels')
  await store.close()
  await server.remove()
})
