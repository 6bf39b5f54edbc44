/**
 * The console and the routes of a database: who may see them, and what they show.
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { metadataStoreOf } from '../../../src/systems/metastore/pulsar/index.js'
import { MessagingService } from '../../../src/systems/messaging/index.js'
import {
  CellarServer,
  consolePage,
  databaseRoutes,
  engineMetrics,
} from '../../../src/server/index.js'
import { RemoteDatabase } from '../../../src/server/database/client.js'
import { toJson } from '../../../src/server/database/json.js'
import { viewOf } from '../../../src/server/database/views.js'

const token = 'token-of-the-console'

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function open(t: Test): Promise<{ database: Database; url: string }> {
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    slowOperationMilliseconds: 0,
  })
  const table = await database.createTable('orders', {
    families: { f: { versions: 3 }, 'g-x': {} },
  })
  for (let i = 0; i < 20; i++) {
    await table.put({ row: `order-${i}`, cells: { 'f:sum': String(i), 'g-x:é': Buffer.of(0xff) } })
  }
  await table.put({ row: Buffer.of(0, 0xfe), cells: { 'f:sum': 'x' }, timestamp: 2n ** 60n })
  const engine = engineMetrics(() => database)
  const told = async (directory: string, options: object): Promise<object> => {
    // The signal of a client that leaves has no form in an answer.
    return { directory, ...options, signal: undefined }
  }
  const routes = databaseRoutes(database, { verify: told, inspect: told })
  const console = consolePage(database, [engine, routes])
  const server = await CellarServer.start([engine, routes, console], { port: 0, token })
  t.teardown(async () => {
    await server.close()
    await database.close()
  })
  return { database, url: server.url }
}

void t.test('a server answers as the directory does', async (t) => {
  const { database, url } = await open(t)
  const [here, there] = [viewOf(database), new RemoteDatabase(url, token)]
  t.strictSame(await there.tables(), await here.tables())
  t.strictSame(await there.describe('orders'), JSON.parse(toJson(await here.describe('orders'))))
  t.equal((await there.statistics()).lastSequence, database.statistics().lastSequence)
  t.strictSame(await there.row('orders', 'order-7', {}), await here.row('orders', 'order-7', {}))
  t.equal(await there.row('orders', 'none', {}), undefined)
  for (const words of [
    {},
    { columns: ['g-x'], limit: '3' },
    { from: 'order-1', to: 'order-12', reversed: false },
    { reversed: true, versions: 'all', raw: true },
    { prefix: '\\x00' },
    { filter: "PrefixFilter('order-1')" },
    { timeRange: `0:${2n ** 59n}`, versions: '2' },
  ]) {
    const rows = await all(there.rows('orders', words))
    t.strictSame(rows, await all(here.rows('orders', words)), JSON.stringify(words))
    t.equal(await there.count('orders', words), await here.count('orders', words))
  }
  t.strictSame(await there.verify('1000'), { directory: '/d', bytesPerSecondMax: 1000 })
  t.strictSame(await there.inspect('7'), { directory: '/d', file: 7 })
  t.match(await there.compact({ table: 'orders' }), { table: 'orders', bytesBefore: 0 })
  t.match(await there.compact({ minor: true }), { table: null, bytesAfter: Number })
})

void t.test('wrong requests are refused as in the directory', async (t) => {
  const { url } = await open(t)
  const there = new RemoteDatabase(url, token)
  const rows = (table: string, words: object): Promise<unknown> => {
    return all(there.rows(table, words))
  }
  await t.rejects(there.describe('nothing'), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(rows('nothing', {}), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(rows('orders', { columns: ['h'] }), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  await t.rejects(rows('orders', { limit: 'x' }), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(there.count('orders', { filter: 'No(' }), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(there.verify('-1'), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(there.inspect('x'), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(there.compact({ table: 'nothing' }), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(there.compact({ family: 'f' }), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(there.backup('name', {}), { code: 'ERR_UNSUPPORTED' })
  await t.rejects(new RemoteDatabase(url, 'wrong-token').tables(), { code: 'ERR_UNAUTHORIZED' })
  await t.rejects(new RemoteDatabase('http://127.0.0.1:1', token).tables(), { code: 'ERR_SERVER' })
  const headers = { authorization: `Bearer ${token}` }
  const wrong = await fetch(`${url}/database/tables/orders/rows?columns=x`, { headers })
  t.equal(wrong.status, 400)
})

void t.test('the console shows what goes on, to administrators', async (t) => {
  const { database, url } = await open(t)
  const page = await fetch(`${url}/console`)
  t.match(page.headers.get('content-security-policy'), "default-src 'none'")
  t.match(await page.text(), /Cellar console/)
  t.equal((await fetch(`${url}/console/state`)).status, 401)
  const state = async (): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${url}/console/state`, { headers })
    t.equal(answer.status, 200)
    return (await answer.json()) as Record<string, unknown>
  }
  t.match(await state(), { directory: '/d', slow: [], health: { status: 'ok' }, locks: [] })
  await database.table('orders').get({ row: 'order-1', columns: ['f'] })
  t.match((await state())['slow'], [{ table: 'orders', family: 'f', row: 'order-1', kind: 'get' }])
})

void t.test('the console knows topics and locks', async (t) => {
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const messaging = await MessagingService.open(database)
  const topic = { namespace: 'n', topic: 't' }
  await messaging.createTopic(topic)
  await messaging.publish(topic, { messages: ['a', 'b'] })
  const store = await metadataStoreOf(database)
  await store.put('/lock', '', -1, { ephemeral: true })
  await store.put('/record', '', -1)
  const console = consolePage(database, [], { messaging: () => messaging })
  const server = await CellarServer.start([console], { port: 0 })
  t.teardown(async () => {
    await server.close()
    await store.close()
    await messaging.close()
    await database.close()
  })
  const answer = await fetch(`${server.url}/console/state`)
  t.equal(answer.status, 200)
  t.match(await answer.json(), {
    topics: [{ namespace: 'n', topic: 't', messagesPublished: 2, consumers: [] }],
    locks: [{ path: '/lock', session: store.sessionId }],
  })
})
