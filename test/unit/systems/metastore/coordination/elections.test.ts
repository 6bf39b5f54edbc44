/** Elections that fail, that are asked for twice, and that wait. */
import type { CellarError } from '../../../../../src/api/index.js'
import t from 'tap'
import {
  CoordinationService,
  LeaderElection,
  MetadataErrorCode,
  metadataStoreOf,
  openMetadataStore,
  textSerde,
  type CachingStore,
  type CellarMetadataStore,
  type MetadataSerde,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import { eventually, pause } from '../../../../suites/kit.js'
import {
  ZooKeeperServer,
  zookeeperMissing,
} from '../../../../../bench/metadata/zookeeper-server.js'
import { ManualTimer } from '../../../../helpers/manual-timer.js'
import { withMembers } from '../../../../helpers/planted.js'

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (value) => String(value),
    (error: unknown) => (error as CellarError).code ?? String(error),
  )

async function opened(): Promise<[CellarMetadataStore, CellarMetadataStore, () => Promise<void>]> {
  const database = await openMemoryDatabase()
  const one = await metadataStoreOf(database)
  const other = await metadataStoreOf(database)
  return [
    one,
    other,
    async () => {
      await one.close()
      await other.close()
      await database.close()
    },
  ]
}

const { alreadyClosed, contentDeserialization, illegalState, invalidArgument, invalidPath } =
  MetadataErrorCode

/** Refuses the texts `unreadable` and `unwritable`. */
const picky: MetadataSerde<string> = {
  serialize: (path, value) => {
    if (value === 'unwritable') throw new Error('cannot be written')
    return textSerde.serialize(path, value)
  },
  deserialize: (path, bytes, stat) => {
    const text = textSerde.deserialize(path, bytes, stat)
    if (text === 'unreadable') throw new Error('cannot be read')
    return text
  },
}

void t.test('elect rejects with errors that do not pass, and close is quick', async (t) => {
  const [store, other, close] = await opened()
  await other.put('/garbage', 'unreadable', -1, { ephemeral: true })
  const cases: readonly [string, string, string][] = [
    ['/garbage', 'me', contentDeserialization],
    ['/free', 'unwritable', 'Error: cannot be written'],
    ['no path', 'me', invalidPath],
    ['/large', 'x'.repeat(11 * 1024 * 1024), invalidArgument],
  ]
  for (const [path, value, code] of cases) {
    const election = new LeaderElection(store, picky, path)
    t.equal(await codeOf(election.elect(value)), code, path)
    t.equal(election.state, 'NoLeader')
    const started = performance.now()
    await election.dispose()
    t.ok(performance.now() - started < 1_000, 'closed at once')
  }
  const election = new LeaderElection(store, picky, '/garbage')
  t.equal(await codeOf(election.elect('me')), contentDeserialization)
  await other.delete('/garbage')
  await pause(20)
  t.equal(await store.exists('/garbage'), false, 'it takes no part after the error')
  t.equal(await election.elect('me'), 'Leading', 'until it is asked again')
  await close()
})

void t.test(
  'a follower goes on when the record becomes unreadable, and close is quick',
  async (t) => {
    const [store, other, close] = await opened()
    const { version } = await other.put('/leader', 'other', -1, { ephemeral: true })
    const options = { readTimeoutMilliseconds: 50 }
    const election = new LeaderElection(store, picky, '/leader', undefined, options)
    t.equal(await election.elect('me'), 'Following')
    await other.put('/leader', 'unreadable', version)
    await pause(20)
    t.equal(await codeOf(election.getLeaderValue()), MetadataErrorCode.timeout)
    await other.delete('/leader')
    t.equal(await eventually(() => election.state, 'Leading'), 'Leading')
    const started = performance.now()
    await election.dispose()
    t.ok(performance.now() - started < 1_000)
    await close()
  },
)

void t.test('close ends the wait of an election that cannot be held', async (t) => {
  const [store, , close] = await opened()
  const election = new LeaderElection(store, textSerde, '/leader')
  store.faults.disconnect()
  const electing = codeOf(election.elect('me'))
  await pause(10)
  const started = performance.now()
  await election.close()
  t.ok(performance.now() - started < 1_000, 'at once')
  t.equal(await electing, alreadyClosed, 'and the call is answered')
  await store.faults.reconnect()
  t.equal(await election.elect('me'), 'Leading', 'it may be elected again')
  await election.dispose()
  t.equal(await codeOf(election.elect('me')), alreadyClosed, 'but not after dispose')
  await close()
})

void t.test('a leader whose session was lost leads again, with another token', async (t) => {
  const [store, other, close] = await opened()
  const election = new LeaderElection(store, textSerde, '/leader')
  await election.elect('me')
  const before = election.token!
  store.faults.expireSession()
  t.equal(await eventually(() => String((election.token ?? 0) > before), 'true'), 'true')
  t.equal((await other.get('/leader'))!.stat.creationSequence, election.token)
  t.equal(election.isSuspect, false)
  // The record of another session comes in unheard: only the session events tell of it.
  store.faults.disconnect()
  await other.batch([
    { delete: '/leader' },
    { put: '/leader', value: 'other', expected: -1, ephemeral: true },
  ])
  await store.faults.reconnect()
  t.equal(await eventually(() => election.state, 'Following'), 'Following')
  await close()
})

void t.test('elect behind a close that is under way takes part when it has ended', async (t) => {
  const [store, , close] = await opened()
  const election = new LeaderElection(store, textSerde, '/leader')
  await election.elect('first')
  const before = election.token!
  const closing = election.close()
  const electing = election.elect('second')
  await closing
  t.equal(await electing, 'Leading')
  t.ok(election.token! > before, 'in another term')
  t.equal((await store.get('/leader'))!.value.toString(), 'second')
  const disposing = election.dispose()
  t.equal(await codeOf(election.elect('third')), alreadyClosed)
  await disposing
  t.equal(await store.exists('/leader'), false)
  await close()
})

void t.test('a handle is one participant of a path', async (t) => {
  const [store, other, close] = await opened()
  const service = new CoordinationService(store)
  const told: string[] = []
  const first = service.getLeaderElection(textSerde, '/leader', (state) => told.push(`1 ${state}`))
  const again = service.getLeaderElection(textSerde, '/leader', (state) => told.push(`2 ${state}`))
  t.equal(again, first, 'one object')
  t.throws(() => new LeaderElection(store, textSerde, '/leader'), { code: illegalState })
  t.equal(await first.elect('me'), 'Leading')
  await pause(1)
  t.same(told, ['1 Leading', '2 Leading'], 'both listeners are told')
  const theirs = new LeaderElection(other, textSerde, '/leader')
  t.equal(await theirs.elect('them'), 'Following', 'another handle is another participant')
  await first.dispose()
  const later = new LeaderElection(store, textSerde, '/leader')
  t.equal(later.state, 'NoLeader', 'after dispose there may be another object')
  await later.dispose()
  await theirs.dispose()
  await service.close()
  await close()
})

void t.test('getLeaderValue keeps nothing when it has answered', async (t) => {
  const [store, , close] = await opened()
  const clock = new ManualTimer()
  const election = new LeaderElection(store, textSerde, '/leader', undefined, { clock })
  await election.elect('me')
  for (let i = 0; i < 100; i++) t.equal(await election.getLeaderValue(), 'me')
  await pause(1)
  t.equal(clock.size, 0, 'no timer is left')
  await election.dispose()
  await close()
})

void t.test('an election whose outcome is in doubt leaves no leader behind', async (t) => {
  const [store, , close] = await opened()
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
  const options = { retryMilliseconds: 20 }
  const election = new LeaderElection(losing, textSerde, '/leader', undefined, options)
  const electing = codeOf(election.elect('me'))
  await eventually(() => String(store.isConnected), 'false')
  await election.close()
  t.equal(await electing, alreadyClosed)
  await store.faults.reconnect()
  const gone = async (): Promise<string> => String(await store.exists('/leader'))
  t.equal(await eventually(gone, 'false'), 'false')
  await election.dispose()
  await close()
})

void t.test('listeners of an election that throw or reject are told of', async (t) => {
  const database = await openMemoryDatabase()
  const errors: unknown[] = []
  const store = await metadataStoreOf(database, { onListenerError: (error) => errors.push(error) })
  const election = new LeaderElection(store, textSerde, '/leader', () => {
    throw new Error('thrown')
  })
  election.registerListener(() => Promise.reject(new Error('rejected')))
  t.equal(await election.elect('me'), 'Leading')
  await pause(5)
  t.same(errors.map(String).sort(), ['Error: rejected', 'Error: thrown'])
  await election.dispose()
  await store.close()
  await database.close()
})

const skip = zookeeperMissing()

void t.test('a value that ZooKeeper would refuse is an error of the call', { skip }, async (t) => {
  const server = await ZooKeeperServer.start()
  const store = await openMetadataStore(`zk:127.0.0.1:${server.port}/a/b`, {
    sessionTimeoutMilliseconds: 10_000,
  })
  const told: string[] = []
  store.registerSessionListener((event) => told.push(event))
  const large = 'x'.repeat(2 * 1024 * 1024)
  const election = new LeaderElection(store, textSerde, '/leader')
  t.equal(await codeOf(election.elect(large)), invalidArgument)
  t.equal(await codeOf(store.put('/large', large)), invalidArgument)
  t.equal(await election.elect('small'), 'Leading')
  t.same(told, [], 'the connection stays')
  await election.dispose()
  await store.close()
  await server.remove()
})

void t.test(
  'each close of the coordination service waits for the release of its locks',
  async (t) => {
    const [one, other, end] = await opened()
    const service = new CoordinationService(one)
    await service.getLockManager(textSerde).acquireLock('/lock', 'mine')
    const first = service.close()
    await service.close()
    t.notOk(await other.exists('/lock'), 'the second call has waited')
    await first
    t.throws(() => service.getLockManager(textSerde), { code: alreadyClosed })
    await end()
  },
)
