/** Requests that are not understood as a whole are refused, in process and over HTTP. */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  MessageConsumer,
  messagingPruning,
  MessagingService,
  StandbyMessaging,
  type Leadership,
  type Messaging,
} from '../../../../src/systems/messaging/index.js'
import { CellarServer, MessagingClient, messagingRoutes } from '../../../../src/server/index.js'
import { TransactionManager } from '../../../../src/systems/transactions/index.js'

const topic = { namespace: 'n', topic: 't' }
const pointerMax = 2n ** 63n - 1n

async function open(withManager = true) {
  const clock = new ManualClock(1_489_707_864_000)
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const manager = await TransactionManager.open(database, { clock, sweepMilliseconds: 0 })
  const transactions = withManager ? manager : undefined
  const service = await MessagingService.open(database, { clock, transactions })
  await service.createTopic(topic)
  const server = await CellarServer.start([messagingRoutes(service)], { port: 0 })
  const client = new MessagingClient({ url: server.url })
  const close = async (): Promise<void> => {
    await server.close()
    await service.close()
    await manager.close()
    await database.close()
  }
  return { service, client, server, manager, clock, close }
}

/** The messages that a transaction sees. */
async function seen(messaging: Messaging, manager: TransactionManager): Promise<string[]> {
  const transaction = await manager.startShort()
  const found = await messaging.poll(topic, { transaction })
  await manager.abort(transaction)
  return found.map(({ payload }) => payload.toString())
}

void t.test('fields and options that nobody knows are refused', async (t) => {
  const { service, client, server, close } = await open()
  const publishes = [
    { messages: ['a'], transactionWritePoint: 1n },
    { messages: ['a'], producers: { id: 'p', sequence: 1 } },
    { messages: ['a'], producer: { id: 'p', sequence: 1, epoch: 2 } },
  ]
  const fetches = [{ limt: 1 }, { from: '00', wait: 5 }, { from: 'x', time: 1 }]
  for (const messaging of [service, client]) {
    for (const request of publishes) {
      await t.rejects(messaging.publish(topic, request), { code: 'ERR_INVALID_ARGUMENT' })
      const stored = { transactionWritePointer: 1n, ...request }
      await t.rejects(messaging.store(topic, stored), { code: 'ERR_INVALID_ARGUMENT' })
    }
    for (const options of fetches) {
      await t.rejects(messaging.poll(topic, options), { code: 'ERR_INVALID_ARGUMENT' })
      await t.rejects(messaging.fetch(topic, options), { code: 'ERR_INVALID_ARGUMENT' })
    }
  }
  const range = '"startTimestamp":"1","startSequenceId":0,"endTimestamp":"1","endSequenceId":0'
  for (const [path, body] of [
    ['publish', '{"messages":["YQ=="],"transactionWritePoint":"1"}'],
    ['store', '{"messages":["YQ=="],"transactionWritePointer":"1","x":1}'],
    ['poll', '{"limt":1}'],
    ['rollback', `{"transactionWritePointer":"1","rollbackRange":{${range},"x":1}}`],
    ['rollback', `{"transactionWritePointer":"1","rollbackRange":{${range}},"x":1}`],
  ]) {
    const answer = await fetch(`${server.url}/v3/namespaces/n/topics/t/${path}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    t.equal(answer.status, 400, body)
  }
  t.strictSame(await service.poll(topic), [])
  const refused = { code: 'ERR_INVALID_ARGUMENT' }
  const opens = async (): Promise<never> => Promise.reject(new Error('not opened'))
  t.throws(() => messagingRoutes(service, { chunkByte: 1 } as never), refused)
  t.throws(() => messagingRoutes(service, { chunkBytes: 0 }), refused)
  await t.rejects(StandbyMessaging.start({ open: opens, retry: 1 } as never), refused)
  const topics = (): never[] => []
  const pruning = { rows: 'message', tables: ['t'], topics, onErrors: topics } as never
  t.throws(() => messagingPruning(pruning), refused)
  await close()
})

for (const withManager of [true, false]) {
  const title = withManager ? 'that the manager has not handed out' : 'from the future'
  void t.test(`a write pointer ${title} is refused`, async (t) => {
    const { service, client, manager, clock, close } = await open(withManager)
    const ahead = BigInt(clock.now() + 3_600_000) * 1_000_000n
    for (const transactionWritePointer of [pointerMax, ahead]) {
      for (const messaging of [service, client]) {
        const request = { messages: ['bad'], transactionWritePointer }
        await t.rejects(messaging.publish(topic, request), { code: 'ERR_INVALID_ARGUMENT' })
        await t.rejects(messaging.store(topic, request), { code: 'ERR_INVALID_ARGUMENT' })
      }
    }
    const writer = await manager.startShort()
    const { writePointer: transactionWritePointer } = writer
    await service.publish(topic, { messages: ['good'], transactionWritePointer })
    await manager.canCommit(writer, [])
    await manager.commit(writer)
    await service.publish(topic, { messages: ['plain'] })
    t.strictSame(await seen(service, manager), ['good', 'plain'], 'nobody holds')
    await close()
  })
}

void t.test('texts that UTF-8 cannot hold are refused', async (t) => {
  const { service, client, close } = await open()
  const refused = { code: 'ERR_INVALID_ARGUMENT', message: /lone surrogate/ }
  const producer = { id: 'p\ud800', sequence: 1 }
  const end = await service.end(topic)
  for (const messaging of [service, client]) {
    await t.rejects(messaging.publish(topic, { messages: ['a'], producer }), refused)
    await t.rejects(messaging.publish(topic, { messages: ['a', 'b\udc00'] }), refused)
    await t.rejects(messaging.setPosition(topic, 'c\ud800', end), refused)
    await t.rejects(messaging.getPosition(topic, 'c\ud800'), refused)
  }
  t.throws(() => new MessageConsumer(service, topic, 'c\ud800'), refused)
  const known = { id: 'p\u{1f600}', sequence: 1 }
  await service.publish(topic, { messages: ['\u{1f600}'], producer: known })
  const [{ payload }] = await service.poll(topic)
  t.equal(payload.toString(), '\u{1f600}')
  await close()
})

void t.test('the arguments of a fetch are those of the call', async (t) => {
  const { service, close } = await open()
  await service.publish(topic, { messages: ['a', 'b'] })
  const [first] = await service.poll(topic)
  const from = first.id
  const options = { from, inclusive: false, waitMilliseconds: 1000, limit: 5 }
  const polled = service.poll(topic, options)
  from.fill(0)
  options.limit = 1
  t.equal((await polled).length, 1)
  const [last] = (await service.poll(topic)).slice(-1)
  const later = { from: last.id, inclusive: false, waitMilliseconds: 5000 }
  const waiting = service.poll(topic, later)
  await new Promise(setImmediate)
  later.from.fill(0)
  later.inclusive = true
  await service.publish(topic, { messages: ['c'] })
  t.strictSame(
    (await waiting).map(({ payload }) => payload.toString()),
    ['c'],
  )
  await close()
})

void t.test('a listener that throws or rejects does not keep a standby from leading', async (t) => {
  for (const changed of [
    () => {
      throw new Error('a bad listener')
    },
    async () => Promise.reject(new Error('a bad listener')),
  ]) {
    const { service, close } = await open()
    const open2 = async () => ({ messaging: service, close: async () => undefined })
    const standby = await StandbyMessaging.start({ open: open2, changed, retryMilliseconds: 0 })
    t.equal(standby.isLeader, true)
    await standby.stop()
    await close()
  }
})

void t.test('a standby that could not start tries no more; one that resigns does', async (t) => {
  const { service, close } = await open()
  let attempts = 0
  let isBroken = true
  const opens = async (): Promise<Leadership> => {
    attempts++
    if (isBroken) throw new Error('no disk')
    return { messaging: service, close: () => Promise.reject(new Error('not closed')) }
  }
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))
  const options = { open: opens, retryMilliseconds: 1 }
  await t.rejects(StandbyMessaging.start(options), { message: 'no disk' })
  isBroken = false
  await pause()
  t.equal(attempts, 1)
  const standby = await StandbyMessaging.start(options)
  await t.rejects(standby.resign(), { message: 'not closed' })
  t.equal(standby.isLeader, false)
  while (!standby.isLeader) await pause()
  t.equal(attempts, 3)
  await t.rejects(standby.stop(), { message: 'not closed' })
  await close()
})

void t.test('a rollback of what was rolled back does not show it again', async (t) => {
  const { service, client, manager, close } = await open()
  const transaction = await manager.startShort()
  const { writePointer } = transaction
  const request = { messages: ['a'], transactionWritePointer: writePointer }
  const response = (await service.publish(topic, request))!
  await service.rollback(topic, response)
  await manager.abort(transaction)
  const refused = { code: 'ERR_INVALID_ARGUMENT' }
  const negative = { ...response, transactionWritePointer: -writePointer }
  await t.rejects(service.rollback(topic, negative), refused)
  await t.rejects(client.rollback(topic, negative), refused)
  await t.rejects(service.rollbackTransaction(topic, -writePointer), refused)
  t.strictSame(await seen(service, manager), [])
  await close()
})

void t.test('an expected position without bytes is refused', async (t) => {
  const { service, client, server, close } = await open()
  const end = await service.end(topic)
  const refused = { code: 'ERR_INVALID_ARGUMENT' }
  for (const expected of ['', 0, false] as never[]) {
    await t.rejects(service.setPosition(topic, 'mails', end, { expected }), refused)
    await t.rejects(client.setPosition(topic, 'mails', end, { expected }), refused)
  }
  const path = '/v3/namespaces/n/topics/t/positions/mails'
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ id: end.toString('hex'), expected: '' })
  t.equal((await fetch(`${server.url}${path}`, { method: 'PUT', headers, body })).status, 400)
  t.equal(await service.getPosition(topic, 'mails'), undefined)
  await close()
})
