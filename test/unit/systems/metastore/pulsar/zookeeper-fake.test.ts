/**
 * Sessions and creations of ZooKeeper, against a server that does as a test wants.
 *
 * @runs alone
 */
import type { CellarError } from '../../../../../src/api/index.js'
import t from 'tap'
import {
  MetadataErrorCode,
  openMetadataStore,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { OpCode, ZkError } from '../../../../../src/systems/metastore/zookeeper/protocol.js'
import { FakeZooKeeper } from '../../../../helpers/metastore/fake-zookeeper.js'
import { eventually, pause } from '../../../../suites/kit.js'
import { joined } from '../../../../suites/metadata/case.js'

const sessionTimeoutMilliseconds = 300

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'OK',
    (error: unknown) => (error as CellarError).code,
  )

/** ZooKeeper's number of a deletion. */
const deleted = 2

void t.test('a client comes back with its session, however long the server was away', async (t) => {
  const server = await FakeZooKeeper.start(t, sessionTimeoutMilliseconds)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds })
  const told: string[] = []
  store.registerSessionListener((event) => told.push(event))
  server.leave()
  const lost = 'ConnectionLost,SessionLost'
  t.equal(await eventually(() => joined(told), lost), lost, 'the session may be lost')
  await pause(sessionTimeoutMilliseconds)
  server.comeBack()
  const back = `${lost},Reconnected,SessionReestablished`
  t.equal(await eventually(() => joined(told), back), back)
  t.same(server.asked, [0n, 7n], 'the session of before')
  server.hasExpired = true
  server.leave()
  server.comeBack()
  const again = `${back},ConnectionLost,SessionLost,Reconnected,SessionReestablished`
  t.equal(await eventually(() => joined(told), again), again, 'a session that has expired')
  t.same(server.asked, [0n, 7n, 7n, 0n], 'is left for a new one')
  await store.close()
})

void t.test('a connection that comes back in time tells of no loss', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 10_000 })
  const told: string[] = []
  store.registerSessionListener((event) => told.push(event))
  server.leave()
  await eventually(() => joined(told), 'ConnectionLost')
  server.comeBack()
  const wanted = 'ConnectionLost,Reconnected'
  t.equal(await eventually(() => joined(told), wanted), wanted)
  await store.close()
})

void t.test('the creation is looked up, and nothing is sent for another one', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 10_000 })
  const found = { czxid: 5, version: 3, owner: 7n }
  server.answer = ({ code }) => (code === OpCode.exists || code === OpCode.setData ? found : 0)
  const changes = (): number =>
    server.requests.filter(({ code, path }) => path === '/a' && code !== OpCode.exists).length
  const wrong = { creationSequence: 4 }
  const { badVersion } = MetadataErrorCode
  t.equal(await codeOf(store.put('/a', 'late', wrong)), badVersion)
  t.equal(await codeOf(store.delete('/a', wrong)), badVersion)
  t.equal(await codeOf(store.batch([{ delete: '/a', expected: wrong }])), badVersion)
  t.equal(changes(), 0, 'nothing was sent')
  t.equal(await codeOf(store.put('/a', 'in time', { creationSequence: 5 })), 'OK')
  t.equal(changes(), 1)
  // Another record takes the place between the look-up and the write.
  server.answer = ({ code }) => (code === OpCode.setData ? { ...found, czxid: 6 } : found)
  t.equal(await codeOf(store.put('/a', 'late', { creationSequence: 5 })), badVersion)
  let writes = 0
  server.answer = ({ code }) => {
    if (code !== OpCode.setData) return found
    return ++writes < 3 ? ZkError.badVersion : found
  }
  t.equal(await codeOf(store.put('/a', 'x', { creationSequence: 5 })), 'OK', 'tried again')
  t.equal(writes, 3)
  server.answer = () => 0
  await store.close()
})

void t.test('the end of an own record waits until the session is known to live', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 10_000 })
  const told: string[] = []
  store.registerSessionListener((event) => told.push(event))
  store.registerListener(({ type, path }) => told.push(`${type} ${path}`))
  server.answer = ({ code }) => (code === OpCode.setData ? { owner: 7n } : 0)
  await store.put('/own', '', 0)
  server.hasExpired = true
  server.answer = ({ code }) => {
    // The server ends the session, and says so by cutting the connection.
    if (code === OpCode.exists) server.leave()
    return 0
  }
  server.tell(deleted, '/own')
  server.tell(deleted, '/other')
  await eventually(() => joined(told), 'ConnectionLost')
  server.answer = () => 0
  server.comeBack()
  const wanted =
    'ConnectionLost,SessionLost,Deleted /own,Deleted /other,Reconnected,SessionReestablished'
  t.equal(await eventually(() => joined(told), wanted), wanted)
  await store.close()
})
