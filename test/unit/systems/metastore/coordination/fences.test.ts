/** Holders that do not know yet that they lost their lock: none of their calls hits a successor. */
import type { CellarError } from '../../../../../src/api/index.js'
import t, { type Test } from 'tap'
import {
  LeaderElection,
  LockManager,
  MetadataErrorCode,
  metadataStoreOf,
  textSerde,
  type CachingStore,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import { zookeeperMissing } from '../../../../../bench/metadata/zookeeper-server.js'
import { eventually, pause } from '../../../../suites/kit.js'
import { memoryBackend, zookeeperBackend } from '../../../../conformance/metadata/backends.js'
import { withMembers } from '../../../../helpers/planted.js'

/** A handle whose events never arrive, as in a process that was stopped. */
function deaf(store: CachingStore, to: 'records' | 'all' = 'all'): CachingStore {
  const none = (): (() => void) => () => undefined
  const registerSessionListener = to === 'all' ? none : undefined
  return withMembers(store, { registerListener: none, registerSessionListener })
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'OK',
    (error: unknown) => (error as CellarError).code,
  )

const { illegalState, lockBusy } = MetadataErrorCode

/** Another session puts its record in the place of one. */
async function replace(other: CachingStore, path: string): Promise<number> {
  const steps = [{ delete: path }, { put: path, value: 'other', ephemeral: true }]
  return (await other.batch(steps))[1]!.creationSequence
}

async function staleHolders(t: Test, one: CachingStore, other: CachingStore): Promise<void> {
  const owner = async (path: string): Promise<number | undefined> =>
    (await other.get(path))?.stat.creationSequence
  await t.test('a release leaves the record of the successor', async (t) => {
    const lock = await new LockManager(deaf(one), textSerde).acquireLock('/released', 'one')
    const successor = await replace(other, '/released')
    await lock.release()
    t.equal(await owner('/released'), successor)
  })
  await t.test('an update is no update of the successor, and ends the lock', async (t) => {
    const lock = await new LockManager(deaf(one), textSerde).acquireLock('/updated', 'one')
    const successor = await replace(other, '/updated')
    t.equal(await codeOf(lock.updateValue('late')), lockBusy)
    t.equal(lock.state, 'Released')
    t.not(lock.token, successor, 'no two holders with one token')
    t.equal((await other.get('/updated'))!.value.toString(), 'other')
  })
  await t.test('a leader that closes leaves the next one', async (t) => {
    const election = new LeaderElection(deaf(one), textSerde, '/leader', undefined)
    await election.elect('one')
    const successor = await replace(other, '/leader')
    await election.close()
    t.equal(await owner('/leader'), successor)
  })
  await t.test('an expectation of a creation takes every version of the record', async (t) => {
    const { creationSequence } = await one.put('/creation', 'a', -1)
    const { version } = await one.put('/creation', 'b', { creationSequence })
    t.equal(version, 1)
    const [, stat] = await one.batch([
      { check: '/creation', expected: { creationSequence } },
      { put: '/creation', value: 'c', expected: { creationSequence } },
      { put: '/creation', value: 'd', expected: { creationSequence } },
      { check: '/creation', expected: { creationSequence } },
    ])
    t.equal(stat!.version, 2)
    t.equal((await one.get('/creation'))!.value.toString(), 'd')
    const wrong = { creationSequence: creationSequence - 1 }
    const { badVersion } = MetadataErrorCode
    t.equal(await codeOf(one.put('/creation', 'x', wrong)), badVersion)
    t.equal(await codeOf(one.delete('/creation', wrong)), badVersion)
    t.equal(await codeOf(one.batch([{ delete: '/creation', expected: wrong }])), badVersion)
    t.equal(await codeOf(one.put('/nothing', 'x', { creationSequence })), badVersion)
    t.equal(await codeOf(one.delete('/creation', { creationSequence })), 'OK')
    const both = { sequence: 1, creationSequence } as { readonly sequence: number }
    t.equal(await codeOf(one.delete('/creation', both)), MetadataErrorCode.invalidArgument)
  })
  await t.test('an expectation counts as of the call', async (t) => {
    const { creationSequence } = await one.put('/reused', 'a', -1)
    const expected = { creationSequence }
    const writing = one.put('/reused', 'b', expected)
    expected.creationSequence = 1
    t.equal((await writing).version, 1)
  })
}

void t.test('stale holders in memory', async (t) => {
  const space = await memoryBackend.create()
  const [one, other] = [await space.open(), await space.open()]
  await staleHolders(t, one, other)
  await one.close()
  await other.close()
})

const skip = zookeeperMissing()

void t.test('stale holders on ZooKeeper', { skip }, async (t) => {
  const space = await zookeeperBackend.create()
  const [one, other] = [await space.open(), await space.open()]
  await staleHolders(t, one, other)
  await t.test('a write of an earlier session is not carried out in the next one', async (t) => {
    const stat = await one.put('/session', 'a', -1, { ephemeral: true })
    const { creationSequence } = stat
    const told: string[] = []
    one.registerSessionListener((event) => told.push(event))
    // The look-up of the creation is answered, then the session ends.
    const writing = codeOf(one.put('/session', 'late', { creationSequence }))
    const expiring = space.expireSession!(one)
    t.match(await writing, /SESSION_LOST|CONNECTION_LOST|BAD_VERSION|OK/)
    await expiring
    await eventually(() => String(told.includes('SessionReestablished')), 'true')
    const again = await codeOf(one.put('/session', 'late', { creationSequence }))
    t.not(again, 'OK', 'the record went with the session')
  })
  await one.close()
  await other.close()
  await space.dispose()
})

void t.test('a lock in doubt writes nothing before it was found again', async (t) => {
  const space = await memoryBackend.create()
  const store = await space.open()
  const lock = await new LockManager(store, textSerde).acquireLock('/doubt', 'one')
  await space.disconnect!(store)
  await eventually(() => String(lock.isSuspect), 'true')
  t.equal(await codeOf(lock.updateValue('late')), illegalState)
  await space.reconnect!(store)
  await eventually(() => String(lock.isSuspect), 'false')
  t.equal(await codeOf(lock.updateValue('in time')), 'OK')
  await store.close()
})

void t.test('a lock whose session was lost is taken again, or has ended', async (t) => {
  const space = await memoryBackend.create()
  const [store, other] = [await space.open(), await space.open()]
  // Deletions go unheard, as on a ZooKeeper.
  const manager = new LockManager(deaf(store, 'records'), textSerde)
  const kept = await manager.acquireLock('/kept', 'mine')
  const taken = await manager.acquireLock('/taken', 'mine')
  const { token } = kept
  let successor: Promise<unknown> | undefined
  other.registerListener(({ type, path }) => {
    if (type !== 'Deleted' || path !== '/taken') return
    successor ??= new LockManager(other, textSerde).acquireLock('/taken', 'theirs')
  })
  await space.expireSession!(store)
  t.equal(await eventually(() => String(kept.token > token), 'true'), 'true', 'a new token')
  t.equal(await eventually(() => String(kept.isSuspect), 'false'), 'false', 'held for sure')
  const { creationSequence } = (await other.get('/kept'))!.stat
  t.equal(creationSequence, kept.token, 'in the store, too')
  await eventually(() => String(successor !== undefined), 'true')
  // One of both has the lock, whoever was faster.
  const outcome = await codeOf(successor!)
  t.equal(await eventually(() => String(taken.isSuspect), 'false'), 'false')
  t.equal(taken.state, outcome === lockBusy ? 'Valid' : 'Released')
  await store.close()
  await other.close()
})

void t.test('a loss during the look at a lock leaves the lock in doubt', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  let isLosing = false
  const losing = withMembers(store as CachingStore, {
    get: async (path) => {
      const found = await store.get(path)
      if (!isLosing) return found
      isLosing = false
      store.faults.disconnect()
      await pause(5)
      return found
    },
  })
  const held = async (): Promise<[{ readonly isSuspect: boolean }, () => Promise<void>]> => {
    const lock = await new LockManager(losing, textSerde).acquireLock('/right', 'mine')
    return [lock, () => lock.release()]
  }
  const led = async (): Promise<[{ readonly isSuspect: boolean }, () => Promise<void>]> => {
    const election = new LeaderElection(losing, textSerde, '/leader')
    await election.elect('mine')
    return [election, () => election.dispose()]
  }
  for (const take of [held, led]) {
    const [holder, give] = await take()
    store.faults.disconnect()
    await eventually(() => String(holder.isSuspect), 'true')
    isLosing = true
    await store.faults.reconnect()
    await eventually(() => String(store.isConnected), 'false')
    await pause(20)
    t.equal(holder.isSuspect, true, 'in doubt')
    await store.faults.reconnect()
    t.equal(await eventually(() => String(holder.isSuspect), 'false'), 'false', 'held for sure')
    await give()
  }
  await store.close()
  await database.close()
})

void t.test('an acquire whose outcome is in doubt leaves no lock that nobody holds', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  let isLosing = true
  const losing = withMembers(store as CachingStore, {
    put: async (path, value, expected, options) => {
      const stat = await store.put(path, value, expected, options)
      if (!isLosing) return stat
      isLosing = false
      store.faults.disconnect()
      return store.put(path, value, expected, options)
    },
  })
  const manager = new LockManager(losing, textSerde, { retryMilliseconds: 5 })
  t.equal(await codeOf(manager.acquireLock('/right', 'one')), MetadataErrorCode.connectionLost)
  await store.faults.reconnect()
  const gone = async (): Promise<string> => String(await store.exists('/right'))
  t.equal(await eventually(gone, 'false'), 'false')
  await store.close()
  await database.close()
})

void t.test('the owner of a session that lives keeps the lock; a dead one loses it', async (t) => {
  const database = await openMemoryDatabase()
  const one = await metadataStoreOf(database)
  const other = await metadataStoreOf(database)
  const options = { ownerOf: (value: string) => value.split(' ')[0] }
  const lock = await new LockManager(one, textSerde, options).acquireLock('/right', 'me 1')
  const manager = new LockManager(other, textSerde, options)
  const before = other.sequence
  t.equal(await codeOf(manager.acquireLock('/right', 'me 2')), lockBusy, 'the session lives')
  t.equal(other.sequence, before, 'and nothing was written')
  t.equal(lock.state, 'Valid')
  t.equal(await other.isOwnerAlive('/right'), true)
  one.faults.kill()
  t.equal(await other.isOwnerAlive('/right'), false)
  const taken = await manager.acquireLock('/right', 'me 2')
  t.ok(taken.token > lock.token, 'taken over at once')
  t.equal(await other.isOwnerAlive('/nothing'), false)
  await other.put('/persistent', '')
  t.equal(await other.isOwnerAlive('/persistent'), false)
  await other.close()
  await database.close()
})
