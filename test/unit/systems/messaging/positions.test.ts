/** Positions of consumers, in process and over HTTP, and consumers that store them. */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  MessageConsumer,
  MessagingService,
  type Message,
} from '../../../../src/systems/messaging/index.js'
import { CellarServer, MessagingClient, messagingRoutes } from '../../../../src/server/index.js'
import {
  runTransaction,
  TransactionContext,
  TransactionalTable,
  transactionalFamily,
  TransactionManager,
} from '../../../../src/systems/transactions/index.js'

const topic = { namespace: 'n', topic: 't' }
const texts = (messages: readonly Message[]): string[] =>
  messages.map(({ payload }) => payload.toString())

async function open() {
  const clock = new ManualClock(1_489_707_864_000)
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const manager = await TransactionManager.open(database, { clock, sweepMilliseconds: 0 })
  const service = await MessagingService.open(database, {
    clock,
    transactions: manager,
    register: (coprocessor) => database.registerCoprocessor(coprocessor),
  })
  await service.createTopic(topic)
  const server = await CellarServer.start([messagingRoutes(service)], { port: 0 })
  const client = new MessagingClient({ url: server.url })
  const close = async (): Promise<void> => {
    await server.close()
    await service.close()
    await manager.close()
    await database.close()
  }
  return { service, client, database, manager, clock, close }
}

for (const kind of ['service', 'client'] as const) {
  void t.test(`positions by the ${kind}`, async (t) => {
    const opened = await open()
    const { service, clock, close } = opened
    const messaging = opened[kind]
    t.strictSame(await messaging.listNamespaces(), ['n'])
    t.equal(await messaging.getPosition(topic, 'mails'), undefined)
    const before = await messaging.end(topic)
    await service.publish(topic, { messages: ['a', 'b'] })
    const behind = { from: before, inclusive: false }
    t.strictSame(texts(await messaging.poll(topic, behind)), ['a', 'b'], 'only what is new')
    const end = await messaging.end(topic)
    t.strictSame(await messaging.poll(topic, { from: end, inclusive: false }), [])
    const [a, b] = await messaging.poll(topic)
    clock.milliseconds += 7000
    await service.publish(topic, { messages: ['c'] })
    await messaging.setPosition(topic, 'mails', a.id, { expected: null })
    await messaging.setPosition(topic, 'a/b c', b.id)
    t.strictSame(await messaging.getPosition(topic, 'mails'), a.id)
    const changed = { code: 'ERR_POSITION_CHANGED' }
    await t.rejects(messaging.setPosition(topic, 'mails', b.id, { expected: null }), changed)
    await t.rejects(messaging.setPosition(topic, 'mails', b.id, { expected: b.id }), changed)
    await messaging.setPosition(topic, 'mails', b.id.toString('hex'), { expected: a.id })
    t.strictSame(await messaging.listPositions(topic), [
      { consumer: 'a/b c', id: b.id, lagMilliseconds: 7000 },
      { consumer: 'mails', id: b.id, lagMilliseconds: 7000 },
    ])
    await messaging.setPosition(topic, 'mails', await messaging.end(topic))
    await messaging.deletePosition(topic, 'a/b c')
    const [mails, ...others] = await messaging.listPositions(topic)
    t.equal(mails.lagMilliseconds, 0)
    t.strictSame(others, [])
    const refused = { code: 'ERR_INVALID_ARGUMENT' }
    await t.rejects(messaging.setPosition(topic, 'x', '00'), refused)
    await t.rejects(messaging.setPosition(topic, 'x'.repeat(257), a.id), refused)
    await t.rejects(messaging.setPosition(topic, 'x', a.id, { expect: 1 } as never), refused)
    const missing = { ...topic, topic: 'none' }
    await t.rejects(messaging.end(missing), { code: 'ERR_TOPIC_NOT_FOUND' })
    await t.rejects(messaging.listPositions(missing), { code: 'ERR_TOPIC_NOT_FOUND' })
    await close()
  })
}

void t.test('a consumer goes on where it was, and another process of it is noticed', async (t) => {
  const { service, close } = await open()
  await service.publish(topic, { messages: ['a', 'b', 'c', 'd'] })
  const first = new MessageConsumer(service, topic, 'mails')
  t.strictSame(texts(await first.poll({ limit: 2 })), ['a', 'b'])
  await first.commit()
  t.strictSame(texts(await first.poll({ limit: 1 })), ['c'])
  const second = new MessageConsumer(service, topic, 'mails')
  t.strictSame(texts(await second.poll()), ['c', 'd'], 'behind what was committed')
  await second.commit()
  await t.rejects(first.commit(), { code: 'ERR_POSITION_CHANGED' })
  first.reset()
  t.strictSame(await first.poll(), [])
  await close()
})

void t.test('calls of a consumer at once come one after the other', async (t) => {
  const { service, close } = await open()
  await service.publish(topic, { messages: ['a', 'b', 'c', 'd', 'e'] })
  const consumer = new MessageConsumer(service, topic, 'mails')
  const polls = await Promise.all([3, 1].map((limit) => consumer.poll({ limit })))
  t.strictSame(polls.map(texts), [['a', 'b', 'c'], ['d']])
  const commits = [consumer.commit(), consumer.poll(), consumer.commit(), consumer.commit()]
  await Promise.all(commits)
  t.strictSame(await service.getPosition(topic, 'mails'), polls[1][0].id, 'read at the calls')
  const waits = consumer.poll({ waitMilliseconds: 60_000 })
  consumer.reset()
  t.strictSame(texts(await consumer.poll()), ['e'], 'a reset waits for no earlier poll')
  await service.publish(topic, { messages: ['f'] })
  await t.rejects(waits, { code: 'ERR_TRANSACTION_STATE' })
  await close()
})

void t.test('within a transaction only its commit moves the position', async (t) => {
  const { service, manager, close } = await open()
  await service.publish(topic, { messages: ['a'] })
  const consumer = new MessageConsumer(service, topic, 'mails')
  const refused = { code: 'ERR_TRANSACTION_STATE' }
  const work = async (): Promise<void> => {
    await consumer.poll()
    await t.rejects(consumer.commit(), refused)
    throw new Error('broken')
  }
  await t.rejects(runTransaction(manager, [consumer], work), /broken/)
  t.equal(await service.getPosition(topic, 'mails'), undefined)
  t.strictSame(texts(await consumer.poll()), ['a'], 'read again')
  await consumer.commit()
  await close()
})

void t.test('results and position of a transaction are stored together', async (t) => {
  const { service, database, manager, close } = await open()
  await database.createTable('sums', { families: { f: transactionalFamily() } })
  await service.publish(topic, { messages: ['a', 'b', 'c'] })
  const process = async (fails: boolean): Promise<string[]> => {
    const consumer = new MessageConsumer(service, topic, 'sums')
    const table = new TransactionalTable(database, 'sums')
    let done: string[] = []
    await runTransaction(manager, [consumer, table], async () => {
      done = texts(await consumer.poll({ limit: 2 }))
      for (const row of done) await table.put({ row, cells: { 'f:q': 'done' } })
      if (fails) throw new Error('broken')
    })
    return done
  }
  await t.rejects(process(true))
  t.equal(await service.getPosition(topic, 'sums'), undefined, 'nothing is done')
  t.strictSame(await process(false), ['a', 'b'])
  t.strictSame(await process(false), ['c'])
  t.strictSame(await process(false), [])
  const consumers = [1, 2].map(() => new MessageConsumer(service, topic, 'sums'))
  await service.publish(topic, { messages: ['d'] })
  let attempts = 0
  const done = await Promise.all(
    consumers.map((consumer) => {
      return runTransaction(manager, [consumer], async () => {
        attempts++
        return texts(await consumer.poll())
      })
    }),
  )
  t.strictSame(done.flat(), ['d'], 'one of them commits, the other one tries again')
  t.equal(attempts, 3)
  await close()
})

void t.test('positions go with the generation of their topic', async (t) => {
  const { service, database, close } = await open()
  await service.publish(topic, { messages: ['a'] })
  await service.setPosition(topic, 'mails', await service.end(topic))
  await service.deleteTopic(topic)
  await service.createTopic(topic)
  t.equal(await service.getPosition(topic, 'mails'), undefined)
  await service.setPosition(topic, 'new', await service.end(topic))
  await database.flush()
  await database.compact('tms.consumer')
  t.equal((await database.table('tms.consumer').scan().nextBatch(9)).length, 1)
  t.equal((await service.listPositions(topic)).length, 1)
  await close()
})

void t.test('a poll that outlives its transaction moves no position', async (t) => {
  const { service, manager, close } = await open()
  const consumer = new MessageConsumer(service, topic, 'mails')
  const read = (): Promise<string[]> =>
    runTransaction(manager, [consumer], async () => texts(await consumer.poll()))
  let late: Promise<unknown> = Promise.resolve()
  const refused = { code: 'ERR_TRANSACTION_STATE' }
  const startLate = (): void => {
    late = t.rejects(consumer.poll({ waitMilliseconds: 60_000 }), refused)
  }
  await runTransaction(manager, [consumer], startLate)
  await runTransaction(manager, [consumer], async () => {
    await service.publish(topic, { messages: ['a'] })
    await late
  })
  t.strictSame(await read(), ['a'], 'of a transaction that began during the poll')
  const context = new TransactionContext(manager, [consumer])
  await context.start()
  startLate()
  const commitTx = async (): Promise<boolean> => {
    await t.rejects(consumer.poll(), refused, 'no poll while the transaction ends')
    await service.publish(topic, { messages: ['b'] })
    await late
    return true
  }
  Object.defineProperty(consumer, 'commitTx', { value: commitTx, configurable: true })
  await context.finish()
  Reflect.deleteProperty(consumer, 'commitTx')
  t.strictSame(await read(), ['b'], 'of the transaction that commits')
  await runTransaction(manager, [consumer], startLate)
  consumer.reset()
  await service.publish(topic, { messages: ['c'] })
  await late
  t.strictSame(texts(await consumer.poll()), ['c'], 'outside of transactions')
  await close()
})
