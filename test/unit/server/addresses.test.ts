/**
 * Addresses of the server: where it listens, and what a request may name.
 *
 * @runs long
 */
import dns from 'node:dns'
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import {
  CellarServer,
  consolePage,
  databaseRoutes,
  MessagingClient,
  messagingRoutes,
  repositoryRoutes,
  transactionRoutes,
} from '../../../src/server/index.js'
import { RemoteDatabase } from '../../../src/server/database/client.js'
import { MessagingService } from '../../../src/systems/messaging/index.js'

const id = { namespace: 'n', topic: 't' }

async function open(t: Test) {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  await database.createTable('t', { families: { f: {} } })
  const messaging = await MessagingService.open(database)
  await messaging.createTopic(id)
  const verbs = { verify: async () => ({}), inspect: async () => ({}) }
  const systems = [databaseRoutes(database, verbs), messagingRoutes(messaging)]
  const server = await CellarServer.start(systems, { port: 0 })
  t.teardown(async () => {
    await server.close()
    await messaging.close()
    await database.close()
  })
  return { database, messaging, server }
}

void t.test('localhost is one address, under all limits of the server', async (t) => {
  // As on a machine whose localhost has both addresses.
  const { lookup } = dns
  const both = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  const known = (name: string, options: object, done: (error: null, all: object) => void): void => {
    const isAsked = name === 'localhost' && 'all' in options
    if (isAsked) process.nextTick(done, null, both)
    else Reflect.apply(lookup, dns, [name, options, done])
  }
  t.teardown(() => (dns.lookup = lookup))
  dns.lookup = known as typeof lookup
  const server = await CellarServer.start([], { host: 'localhost', port: 0 })
  t.teardown(() => server.close())
  const { hostname, port } = new URL(server.url)
  t.equal(hostname, '127.0.0.1')
  const socket = connect(Number(port), '::1')
  socket.once('connect', () => socket.destroy(new Error('another server listens')))
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  t.ok(['ECONNREFUSED', 'EADDRNOTAVAIL', 'ENETUNREACH'].includes(error.code!), error.message)
  t.equal((await fetch(`${server.url}/health`)).status, 200)
})

void t.test('an address that cannot be read is refused with a stable code', async (t) => {
  const { database, server } = await open(t)
  await database.table('t').put({ row: '%ff', cells: { 'f:c': 'v' } })
  for (const path of [
    '/tables/%ff',
    '/tables/%zz/rows/a',
    '/tables/t/rows?prefix=%ff',
    '/tables/t/rows?prefix=%',
    '/tables/t/rows?limit=1&limit=2',
    '/tables/t/count?reversed=no',
    '/verify?bytesPerSecnd=1',
    '/inspect?fiel=1',
    '/tables?limit=1',
    '/tables/t?columns=f',
  ]) {
    const answer = await fetch(`${server.url}/database${path}`)
    t.equal(answer.status, 400, path)
    t.match(await answer.json(), { code: 'ERR_INVALID_ARGUMENT', message: /./ }, path)
  }
  const compacted = await fetch(`${server.url}/database/compact?table=t`, { method: 'POST' })
  t.equal(compacted.status, 400, 'the body says what is compacted')
  const wait = await fetch(`${server.url}/v3/namespaces/n/topics/t/poll?wait=soon`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' },
  })
  t.equal(((await wait.json()) as { code: string }).code, 'ERR_INVALID_ARGUMENT')
  const rows = await fetch(`${server.url}/database/tables/t/rows?prefix=%25ff`)
  t.match(await rows.text(), '"row":"%ff"')
})

void t.test('the clients reach names that look like parts of a path', async (t) => {
  const { database, messaging, server } = await open(t)
  const names = ['.', '..', 'a/b', '%2e', '%2E%2E', 'a?b', '#', '\0', 'ä', '+ ']
  const remote = new RemoteDatabase(server.url, undefined)
  const client = new MessagingClient({ url: server.url })
  await messaging.publish(id, { messages: ['m'] })
  const end = await messaging.end(id)
  for (const name of names) {
    await database.table('t').put({ row: name, cells: { 'f:c': name } })
    t.equal((await remote.row('t', name, {}))?.row, name)
    await client.setPosition(id, name, end)
    t.strictSame(await messaging.getPosition(id, name), end, name)
  }
  for (const table of ['.', '..']) {
    await t.rejects(remote.describe(table), { code: 'ERR_TABLE_NOT_FOUND' })
  }
})

void t.test('each operation of a whole server has its own id', async (t) => {
  const { messaging } = await open(t)
  const none = () => undefined
  const verbs = { verify: async () => ({}), inspect: async () => ({}) }
  const systems = [messagingRoutes(messaging), transactionRoutes(none), repositoryRoutes(none)]
  const others = [databaseRoutes(none, verbs), consolePage(none)]
  const server = await CellarServer.start([...systems, ...others], { port: 0 })
  t.teardown(() => server.close())
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId?: string; responses: object }>>
  }
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  const ids = operations.flatMap(({ operationId }) => operationId ?? [])
  t.ok(ids.length > 150)
  t.strictSame([...new Set(ids)], ids)
  t.ok('501' in paths['/database/backups/{name}']['post'].responses)
})
