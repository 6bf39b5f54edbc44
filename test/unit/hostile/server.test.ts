/**
 * The entry `cellardb/server` with values that no caller should give: see hostile-calls.ts.
 *
 * @runs campaign
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { MessagingService } from '../../../src/systems/messaging/index.js'
import * as server from '../../../src/server/index.js'
import { TransactionManager } from '../../../src/systems/transactions/index.js'
import { hostileValues } from '../table/arguments/hostile-values.js'
import { checkEntry, isCellarError } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'
import { checkMembers } from './hostile-members.js'

const id = { namespace: 'n', topic: 't' }

interface Opened extends LiveObjects {
  readonly url: string
  readonly manager: TransactionManager
  readonly messaging: MessagingService
}

async function openServer(): Promise<Opened> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
  const messaging = await MessagingService.open(database, { transactions: manager })
  await messaging.createTopic(id)
  await messaging.publish(id, { messages: ['a', 'b', 'c'] })
  let memory: server.RequestMemory | undefined
  const systems: server.ServerSystem[] = [
    server.messagingRoutes(messaging),
    server.transactionRoutes(manager),
    server.engineMetrics(() => database),
    {
      name: 'own',
      register: (_app, context) => void (memory = context.memory),
    },
  ]
  const started = await server.CellarServer.start(systems, { port: 0, closeMilliseconds: 50 })
  const { url } = started
  const client = new server.MessagingClient({ url })
  const close = async (): Promise<void> => {
    await started.close()
    await messaging.close()
    await manager.close()
    await database.close()
  }
  const iterator = await client.fetch(id)
  const objects = {
    server: started,
    client,
    'client in Avro': new server.MessagingClient({ url, encoding: 'avro' }),
    iterator,
    transactions: new server.TransactionClient({ url }),
    memory: memory!,
    lease: memory!.take(5)!,
    system: systems[0],
  }
  return { objects, close, url, manager, messaging }
}

void t.test('the server', (t) =>
  checkEntry(t, {
    exports: server,
    open: openServer,
    plausible: [id],
    except: {
      'new CellarServer': 'is private; CellarServer.start checks what it gets',
      'CellarServer.start': 'is called below, where the servers are ended that have started',
      'system.register': 'is called by the server, with a scope of fastify',
    },
  }),
)

void t.test('a server starts with no hostile value in the place of an argument', async (t) => {
  for (const { name, make } of hostileValues) {
    const lists: unknown[][] = [[make()], [make(), make()], [[make()]], [[], make()]]
    for (const values of lists) {
      try {
        const [systems, options = { port: 0 }] = values
        const started = await server.CellarServer.start(systems as never, options as never)
        await started.close()
      } catch (error) {
        if (!isCellarError(error)) t.fail(`${name}: ${(error as Error).stack}`)
      }
    }
    t.pass(name)
  }
})

void t.test('options and other arguments of the server and its clients', async (t) => {
  const opened = await openServer()
  const { url, manager, messaging } = opened
  const clients = {
    json: new server.MessagingClient({ url }),
    avro: new server.MessagingClient({ url, encoding: 'avro' }),
  }
  const client = new server.TransactionClient({ url })
  const transaction = await manager.startShort()
  const { writePointer: transactionWritePointer } = transaction
  const answer = await messaging.publish(id, { messages: ['d'], transactionWritePointer })
  const system = server.engineMetrics(() => undefined)
  const rule = {
    ...{ repository: 'r', table: 't', read: { fields: ['{n}a'], except: ['{n}*'] } },
    ...{ write: true, delete: false },
  }
  const flags = { administrator: false, changeSchema: false, changeTables: false, search: ['i'] }
  const start = async (...values: Parameters<typeof server.CellarServer.start>): Promise<void> => {
    const started = await server.CellarServer.start(...values)
    await started.close()
  }
  const options = {
    ...{ host: '127.0.0.1', port: 0, hosts: ['a'], token: 'a-secret-token' },
    principals: [{ name: 'p', token: 'another-token', ...flags, rules: [rule] }],
    ...{ requestBytesMax: 5, decompressedBytesMax: 5, memoryBytesMax: 5, connectionsMax: 5 },
    ...{ bodyMilliseconds: 5, stallMilliseconds: 5, closeMilliseconds: 5 },
  }
  const answerOf = (text: string, fields: object = {}): object => ({
    ...{ ok: true, status: 200, statusText: 'OK', body: null },
    arrayBuffer: async () => new TextEncoder().encode(text).buffer,
    ...fields,
  })
  await checkMembers(t, {
    systems: {
      call: (given: server.ServerSystem) => start([given], { port: 0, closeMilliseconds: 5 }),
      values: [
        {
          ...{ name: 'own', register: () => undefined, mediaTypes: ['a/b'] },
          ...{ metrics: () => '', health: undefined, sharedPrefix: '/own' },
          ...{ publicPaths: ['/own'], close: () => undefined },
        },
      ],
    },
    options: {
      call: (given: server.ServerOptions) => start([system], given),
      values: [options],
    },
    'options of a messaging client': {
      call: (given: server.MessagingClientOptions) => new server.MessagingClient(given).end(id),
      values: [{ url, token: 'token', encoding: 'json', gzip: false, fetch: undefined }],
    },
    'options of a transaction client': {
      call: (given: server.TransactionClientOptions) =>
        new server.TransactionClient(given).state(1n),
      values: [
        {
          ...{ url, token: 'token', database: undefined, fetch: undefined },
          ...{ requestMilliseconds: 500, outcomeMilliseconds: 5 },
        },
      ],
    },
    'routes of messaging': {
      call: (given: server.MessagingRoutesOptions) => server.messagingRoutes(messaging, given),
      values: [{ chunkBytes: 5 }],
    },
    'routes of a repository': {
      call: (given: server.RepositoryRoutesOptions) =>
        server.repositoryRoutes(() => undefined, given),
      values: [{ indexes: () => undefined, maintenance: () => undefined, blobBytesMax: 5 }],
    },
    ...Object.fromEntries(
      Object.entries(clients).flatMap(([form, client]) =>
        Object.entries({
          publish: {
            call: client.publish.bind(client),
            values: [
              id,
              { messages: ['a', Buffer.from('b')], producer: { id: 'p', sequence: Date.now() } },
            ],
          },
          store: {
            call: client.store.bind(client),
            values: [id, { messages: ['a'], transactionWritePointer }],
          },
          rollback: { call: client.rollback.bind(client), values: [id, answer] },
          topic: { call: client.updateTopic.bind(client), values: [id, { ttl: '50', other: 'a' }] },
          poll: {
            call: client.poll.bind(client),
            values: [id, { time: 5, inclusive: true, limit: 1, transaction, waitMilliseconds: 0 }],
          },
          position: {
            call: client.setPosition.bind(client),
            values: [id, 'c', Buffer.alloc(20), { expected: undefined }],
          },
        }).map(([name, call]) => [`${name} in ${form}`, call]),
      ),
    ),
    start: {
      call: client.startShort.bind(client),
      values: [{ timeoutMilliseconds: 5, client: 'c' }],
    },
    'long start': { call: client.startLong.bind(client), values: [{ client: 'c' }] },
    changes: {
      call: async (changes: string[]) => client.canCommit(await client.startShort(), changes),
      values: [['a', Buffer.from('b')]],
    },
    commit: {
      call: async (options: object) => client.commit(await client.startShort(), options),
      values: [{ writes: [], carry: undefined }],
    },
    'an answer to a messaging client': {
      call: (given: object) => {
        const fetch = (async () => given) as never
        return new server.MessagingClient({ url, fetch }).listNamespaces()
      },
      values: [answerOf('["a"]')],
    },
    'an answer to a transaction client': {
      call: (given: object) => {
        const fetch = (async () => given) as never
        return new server.TransactionClient({ url, fetch }).state(1n)
      },
      values: [answerOf('{"state":"ended"}')],
    },
  })
  await opened.close()
})

void t.test('what an answer says is checked, and a nonsense answer ends in a code', async (t) => {
  const url = 'http://127.0.0.1:1'
  const texts = ['', 'null', '5', '[', '[null]', '{}', '{"id":5}', '<html>', '[{"id":5}]', '"a"']
  const noise = [...texts, '{"transaction":{}}', '{"state":"odd"}', '[{"id":"00","payload":5}]']
  for (const text of noise) {
    for (const ok of [true, false]) {
      const bytes = new TextEncoder().encode(text)
      const fetch = (async () => ({
        ...{ ok, status: ok ? 200 : 500, statusText: 'text' },
        body: new Blob([bytes]).stream(),
        arrayBuffer: async () => bytes.slice().buffer,
      })) as never
      const transaction = { transactionId: '5', readPointer: '5' }
      const { transactionFromJson } = await import('../../../src/systems/transactions/index.js')
      const started = transactionFromJson(transaction)
      const transactions = new server.TransactionClient({ url, fetch })
      const calls: (() => Promise<unknown>)[] = [
        () => transactions.startShort(),
        () => transactions.state(5n),
        () => transactions.invalidate(5n),
        () => transactions.checkpoint(started),
        () => transactions.snapshot(),
      ]
      for (const encoding of ['json', 'avro'] as const) {
        const client = new server.MessagingClient({ url, fetch, encoding })
        calls.push(
          () => client.getTopic(id),
          () => client.listTopics('n'),
          () => client.listNamespaces(),
          () => client.end(id),
          () => client.getPosition(id, 'c'),
          () => client.listPositions(id),
          () => client.publish(id, { messages: [] }),
          () => client.poll(id),
        )
      }
      for (const call of calls) {
        await call().catch((error: unknown) => {
          const { code } = error as { code?: unknown }
          const isOfServer = isCellarError(error) && code !== 'ERR_INVALID_ARGUMENT'
          if (!isOfServer) t.fail(`${String(call)} of ${text}: ${(error as Error).stack}`)
        })
      }
    }
  }
  t.pass('all')
})

void t.test('what a fetch function rejects with is told as the cause', async (t) => {
  for (const { name, make } of hostileValues) {
    const fetch = () => Promise.reject(make())
    const url = 'http://127.0.0.1:1'
    const options = { url, fetch, outcomeMilliseconds: 1 }
    const messaging = new server.MessagingClient({ url, fetch }).end(id)
    await t.rejects(messaging, { code: 'ERR_MESSAGING_UNAVAILABLE' }, name)
    const state = new server.TransactionClient(options).state(5n)
    await t.rejects(state, { code: 'ERR_TRANSACTIONS_UNAVAILABLE' }, name)
  }
})

void t.test(
  'a server that cannot start says so with a code, and leaves nothing open',
  async (t) => {
    const first = await server.CellarServer.start([], { port: 0 })
    const port = Number(new URL(first.url).port)
    const isTaken = { code: 'ERR_SERVER_START', cause: { code: 'EADDRINUSE' } }
    await t.rejects(server.CellarServer.start([], { port }), isTaken)
    await first.close()
    const failing = (register: () => unknown) => [{ name: 'own', register }]
    const isFailed = { code: 'ERR_SERVER_START', cause: { message: 'not here' } }
    const throwing = failing(() => {
      throw new Error('not here')
    })
    const rejecting = failing(() => Promise.reject(new Error('not here')))
    await t.rejects(server.CellarServer.start(throwing, { port }), isFailed)
    await t.rejects(server.CellarServer.start(rejecting, { port }), isFailed)
    const again = await server.CellarServer.start([], { port })
    await again.close()
  },
)

void t.test('a server ends although a system throws when it is closed', async (t) => {
  const close = (): void => {
    throw new Error('not closed')
  }
  const system = { name: 'own', register: () => undefined, close }
  const started = await server.CellarServer.start([system], { port: 0 })
  const { url } = started
  await t.rejects(started.close(), { message: 'not closed' })
  await t.rejects(fetch(`${url}/health`))
})
