/**
 * Transactions over HTTP: the manager is behind a server, the tables are in other databases.
 *
 * @runs long
 */
import t from 'tap'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { Database } from '../../../src/entries/index.js'
import { MessagePublisher, MessagingService } from '../../../src/systems/messaging/index.js'
import {
  CellarServer,
  MessagingClient,
  messagingRoutes,
  TransactionClient,
  transactionRoutes,
  type TransactionClientOptions,
} from '../../../src/server/index.js'
import {
  runTransaction,
  TransactionalTable,
  transactionalFamily,
  TransactionContext,
  TransactionManager,
  transactionProcessor,
  type TransactionManagerOptions,
} from '../../../src/systems/transactions/index.js'

const token = 'token-of-the-test'
const conflict = { code: 'ERR_TRANSACTION_CONFLICT' }

/** A server with the manager, and clients with databases of their own. */
async function open(options: TransactionManagerOptions = {}) {
  const fileSystem = new SimulatedDisk()
  const openServer = async (files: SimulatedDisk, port = 0) => {
    const database = await Database.open('/d', { fileSystem: files, executor: 'inline' })
    const manager = await TransactionManager.open(database, { sweepMilliseconds: 0, ...options })
    const messaging = await MessagingService.open(database, { transactions: manager })
    const systems = [transactionRoutes(manager), messagingRoutes(messaging)]
    const server = await CellarServer.start(systems, { token, port })
    const close = async (): Promise<void> => {
      await server.close()
      await messaging.close()
      await manager.close()
      await database.close()
    }
    return { manager, messaging, server, close }
  }
  let served = await openServer(fileSystem)
  const databases: Database[] = []
  const client = async (more: Partial<TransactionClientOptions> = {}) => {
    const own = new SimulatedDisk()
    const database = await Database.open('/own', { fileSystem: own, executor: 'inline' })
    await database.createTable('t', { families: { f: transactionalFamily() } })
    databases.push(database)
    const { url } = served.server
    return new TransactionClient({ url, token, database, ...more })
  }
  return {
    client,
    get served() {
      return served
    },
    /** The machine of the server loses its power, and starts again at the same address. */
    restart: async () => {
      const killed = fileSystem.crash('dropUnsynced', () => 0)
      const port = Number(new URL(served.server.url).port)
      await served.close()
      served = await openServer(killed, port)
    },
    close: async () => {
      for (const database of databases) await database.close()
      await served.close()
    },
  }
}

async function shown(client: TransactionClient, row = 'r'): Promise<string | undefined> {
  return runTransaction(client, async (tx) => {
    return (await tx.table('t').get({ row })).value('f:q')?.toString()
  })
}

const put = (client: TransactionClient, value: string) =>
  runTransaction(client, async (tx) => {
    await tx.table('t').put({ row: 'r', cells: { 'f:q': value } })
  })

void t.test('a client runs transactions over its own database', async (t) => {
  const opened = await open()
  const [one, other] = [await opened.client(), await opened.client()]
  await put(one, '1')
  t.equal(await shown(one), '1')
  t.equal(await shown(other), undefined)
  const failure = runTransaction(one, async (tx) => {
    const table = tx.table('t')
    await table.put({ row: 'r', cells: { 'f:q': '2' } })
    await tx.checkpoint()
    await table.put({ row: 'r', cells: { 'f:q': '3' } })
    const read = { row: 'r', visibilityLevel: 'SNAPSHOT_EXCLUDE_CURRENT' } as const
    t.equal((await table.get(read)).value('f:q')?.toString(), '2')
    throw new Error('given up')
  })
  await t.rejects(failure, /given up/)
  t.equal(await shown(one), '1')
  await runTransaction(one, (tx) => tx.table('t').put({ row: 'r', cells: { 'f:q': '4' } }), {
    type: 'LONG',
    client: 'the long one',
  })
  t.equal(await shown(one), '4')
  const { manager } = opened.served
  t.match(manager.statistics(), { inProgress: 0, invalid: 0, aborted: 1 })
  await opened.close()
})

void t.test('clients conflict with each other, and are told about what', async (t) => {
  const opened = await open()
  const [one, other] = [await opened.client(), await opened.client()]
  const contexts = [one, other].map((client) => {
    return new TransactionContext(client, [new TransactionalTable(client.database!, 't')])
  })
  for (const context of contexts) await context.start({ client: 'me' })
  for (const [i, client] of [one, other].entries()) {
    const { transactionId } = contexts[i].current!
    const key = Buffer.from([0, 255, 128])
    const outcome = client.canCommit(contexts[i].current!, [key, 'text'])
    if (i === 1) {
      const detail = { transactionId, key: '00ff80', otherClient: 'me' }
      await t.rejects(outcome, { ...conflict, details: detail })
    } else {
      await outcome
      await client.commit(contexts[i].current!)
    }
  }
  const missing = contexts[0].current!
  t.equal(await one.state(missing.transactionId), 'ended')
  await t.rejects(one.commit(missing), { code: 'ERR_TRANSACTION_NOT_IN_PROGRESS' })
  t.equal(await one.invalidate(missing.transactionId), false)
  t.equal(await one.invalidate(contexts[1].current!.transactionId), true)
  t.equal(await one.state(contexts[1].current!.transactionId), 'invalid')
  t.equal(await one.state(2n ** 63n - 1n), 'unknown')
  const running = await one.startShort({ timeoutMilliseconds: 5000 })
  t.equal(await one.state(running.transactionId), 'running')
  const snapshot = await one.snapshot()
  t.strictSame([...snapshot.inProgress], [running.transactionId])
  t.strictSame([...snapshot.invalid], [contexts[1].current!.transactionId])
  t.equal(snapshot.visibilityUpperBound, running.visibilityUpperBound)
  await one.abort(running)
  await opened.close()
})

void t.test('messages and rows of another process: both or neither', async (t) => {
  const opened = await open()
  const client = await opened.client()
  const messaging = new MessagingClient({ url: opened.served.server.url, token })
  const topic = { namespace: 'n', topic: 't' }
  await messaging.createTopic(topic)
  const publish = (text: string, fails: boolean) =>
    runTransaction(client, async (tx) => {
      const publisher = await tx.add(new MessagePublisher(messaging))
      await publisher.publish('n', 't', text)
      await tx.table('t').put({ row: 'r', cells: { 'f:q': text } })
      if (fails) throw new Error('given up')
    })
  await publish('kept', false)
  await t.rejects(publish('given up', true), /given up/)
  const transaction = await client.startShort()
  const messages = await messaging.poll(topic, { transaction })
  t.strictSame(
    messages.map(({ payload }) => payload.toString()),
    ['kept'],
  )
  t.equal(await shown(client), 'kept')
  await opened.close()
})

void t.test('jobs of another process ask for a snapshot', async (t) => {
  const opened = await open()
  const client = await opened.client()
  const database = client.database as Database
  let snapshot = await client.snapshot()
  await database.registerCoprocessor(
    transactionProcessor({ tables: ['t'], transactions: () => snapshot }),
  )
  await put(client, '1')
  await put(client, '2')
  await database.compact('t')
  const versions = async (): Promise<number> =>
    (await database.table('t').get({ row: 'r', versions: 'all' })).size
  t.equal(await versions(), 2, 'an old snapshot drops less')
  snapshot = await client.snapshot()
  await database.compact('t')
  t.equal(await versions(), 1)
  t.equal(await shown(client), '2')
  await opened.close()
})

void t.test('a commit whose answer is lost is committed once', async (t) => {
  const opened = await open()
  for (const loses of ['request', 'answer'] as const) {
    let lost = 0
    const client = await opened.client({
      fetch: async (url, request) => {
        const isLost = url.endsWith('/commit') && lost++ === 0
        if (isLost && loses === 'request') throw new Error('the request is lost')
        const answer = await fetch(url, request)
        if (isLost) throw new Error('the answer is lost')
        return answer
      },
    })
    await put(client, loses)
    t.ok(lost > 0)
    t.equal(await shown(client), loses)
  }
  t.equal(opened.served.manager.statistics().inProgress, 0)
  await opened.close()
})

void t.test(
  'a commit of which nobody knows is neither rolled back nor seen too early',
  async (t) => {
    const opened = await open()
    let isDown = false
    const client = await opened.client({
      outcomeMilliseconds: 200,
      fetch: (url, request) => {
        isDown ||= url.endsWith('/commit')
        if (isDown) return Promise.reject(new Error('down'))
        return fetch(url, request)
      },
    })
    const { database } = client
    const unknown = { code: 'ERR_TRANSACTION_OUTCOME_UNKNOWN' }
    const table = new TransactionalTable(database!, 't')
    const work = () => table.put({ row: 'r', cells: { 'f:q': 'maybe' } })
    await t.rejects(runTransaction(client, [table], work), unknown)
    t.equal((await database!.table('t').get({ row: 'r' })).size, 1, 'its write stays')
    const well = new TransactionClient({ url: opened.served.server.url, token, database })
    t.equal(await shown(well), undefined, 'it still runs')
    const { manager } = opened.served
    const [running] = manager.snapshot().running
    t.equal(await manager.invalidate(running.id), true)
    t.equal(await shown(well), undefined, 'and is invalid')
    await runTransaction(well, [table], () => undefined)
    await opened.close()
  },
)

void t.test('a server that fails knows every transaction that it has answered', async (t) => {
  const opened = await open({ durability: 'FSYNC_WAL' })
  const client = await opened.client()
  const table = new TransactionalTable(client.database!, 't', { bufferBytesMax: 0 })
  const context = new TransactionContext(client, [table])
  await context.start()
  await table.put({ row: 'r', cells: { 'f:q': 'before' } })
  await context.checkpoint()
  await table.put({ row: 's', cells: { 'f:q': 'before' } })
  await opened.restart()
  t.equal(await shown(client), undefined, 'it still runs')
  t.equal(await shown(client, 's'), undefined, 'its checkpoint too')
  await put(client, 'other')
  await t.rejects(context.finish(), conflict)
  t.equal(await shown(client), 'other')
  t.equal(await shown(client, 's'), undefined)
  await opened.close()
})

void t.test(
  'bodies are described, and a bad one is refused by the name of its field',
  async (t) => {
    const opened = await open()
    const { url } = opened.served.server
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const { paths } = (await (await fetch(`${url}/openapi.json`, { headers })).json()) as {
      paths: Record<string, { post?: { requestBody: { content: object } } }>
    }
    const bodies = Object.entries(paths)
      .filter(([path]) => path.startsWith('/v1/transactions'))
      .flatMap(([path, { post }]) => {
        const { content } = post?.requestBody ?? {}
        return post === undefined ? [] : [[path.slice('/v1/transactions'.length), content]]
      })
    const body = (properties: object, required: string[] = []): object => {
      const schema = { type: 'object', properties, required, additionalProperties: false }
      return { 'application/json': { schema } }
    }
    const type = { type: 'string', enum: ['SHORT', 'LONG'], default: 'SHORT' }
    const change = { type: 'string', contentEncoding: 'base64' }
    const pointer = { type: 'string', description: 'a 64-bit number in decimal digits' }
    const timeoutMilliseconds = { type: 'integer', minimum: 1 }
    t.strictSame(Object.fromEntries(bodies), {
      '': body({ timeoutMilliseconds, client: { type: 'string' }, type }),
      '/{id}/can-commit': body({ changes: { type: 'array', items: change } }, ['changes']),
      '/{id}/commit': body({}),
      '/{id}/abort': body({ type, checkpointWritePointers: { type: 'array', items: pointer } }),
      '/{id}/invalidate': body({}),
      '/{id}/checkpoint': body({}),
    })
    const refusals: [string, unknown, string][] = [
      ['', { type: 'short' }, 'type'],
      ['', { client: 5 }, 'client'],
      ['', { timeoutMilliseconds: 0 }, 'timeoutMilliseconds'],
      ['', { timeout: 5 }, 'timeout'],
      ['/1/can-commit', {}, 'changes'],
      ['/1/can-commit', { changes: ['AAAA', '?'] }, 'changes[1]'],
      ['/1/commit', { writes: [] }, 'writes'],
      ['/1/abort', { checkpointWritePointers: ['x'] }, 'checkpointWritePointers[0]'],
    ]
    for (const [path, json, field] of refusals) {
      const request = { method: 'POST', headers, body: JSON.stringify(json) }
      const answer = await fetch(`${url}/v1/transactions${path}`, request)
      const { code, message } = (await answer.json()) as { code: string; message: string }
      t.strictSame([answer.status, code], [400, 'ERR_INVALID_ARGUMENT'])
      t.ok(message.includes(field), message)
    }
    await opened.close()
  },
)

void t.test('what is no request is refused', async (t) => {
  const opened = await open()
  const { url } = opened.served.server
  const ask = async (path: string, body?: string, authorization = `Bearer ${token}`) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const init = body === undefined ? { headers } : { method: 'POST', headers, body }
    const answer = await fetch(`${url}/v1/transactions${path}`, init)
    const json = (await answer.json()) as { code?: string }
    return [answer.status, json.code]
  }
  const invalid = [400, 'ERR_INVALID_ARGUMENT']
  t.strictSame((await ask('', '{}', 'Bearer wrong'))[0], 401)
  for (const body of ['{', '[]', 'null', '{"typ":"SHORT"}', '{"type":"short"}', '{"client":5}']) {
    t.strictSame(await ask('', body), invalid, body)
  }
  t.strictSame(await ask('', '{"timeoutMilliseconds":0}'), invalid)
  t.strictSame(await ask('', '{"type":"LONG","timeoutMilliseconds":5}'), invalid)
  for (const id of ['x', '1.5', '99999999999999999999', '-'])
    t.strictSame(await ask(`/${id}`), invalid)
  t.strictSame(await ask('/1/commit', '{"writes":[]}'), invalid)
  t.strictSame(await ask('/1/commit', '{}'), [409, 'ERR_TRANSACTION_NOT_IN_PROGRESS'])
  for (const changes of ['5', '[5]', '["?"]', '["Y"]', '["YQ="]']) {
    t.strictSame(await ask('/1/can-commit', `{"changes":${changes}}`), invalid)
  }
  t.strictSame(await ask('/1/abort', '{"checkpointWritePointers":["x"]}'), invalid)
  t.equal((await ask(''))[0], 200)
  const health = (await (await fetch(`${url}/health`)).json()) as object
  t.match(health, { systems: { transactions: 'ok' } })
  const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  t.match(await metrics.text(), /cellar_transactions_running 0/)
  t.throws(() => new TransactionClient({ url, tokn: '' } as never), {
    code: 'ERR_INVALID_ARGUMENT',
  })
  const client = await opened.client()
  await opened.served.manager.close()
  await t.rejects(client.startShort(), { code: 'ERR_TRANSACTIONS_UNAVAILABLE' })
  t.equal((await fetch(`${url}/health`)).status, 503)
  await opened.close()
})

void t.test('a body of another type is refused by the handler of the server', async (t) => {
  const opened = await open()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
  const url = `${opened.served.server.url}/v1/transactions`
  const answer = await fetch(url, { method: 'POST', headers, body: '{}' })
  t.strictSame(
    [answer.status, await answer.json()],
    [415, { code: 'ERR_MEDIA_TYPE', message: "bodies of the type 'text/plain' are not taken" }],
  )
  await opened.close()
})
