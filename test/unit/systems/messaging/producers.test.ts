/** Producers: the first outcome of each sequence, and what refusals, failures and time change. */
import t from 'tap'
import { Result } from '../../../../src/api/index.js'
import { ManualClock } from '../../../../src/base/clock.js'
import {
  CellarError,
  Database,
  ErrorCode,
  MemoryFileSystem,
  type AtomicBatch,
} from '../../../../src/entries/index.js'
import { MessagingService, type MessagingOptions } from '../../../../src/systems/messaging/index.js'
import { Producers } from '../../../../src/systems/messaging/live/producers.js'
import type { ServiceParts } from '../../../../src/systems/messaging/live/topic-registry.js'
import type { TopicState } from '../../../../src/systems/messaging/live/topic-state.js'

const topic = { namespace: 'n', topic: 't' }
const start = 1_489_707_864_000
const pointer = BigInt(start) * 1_000_000n

async function open(options: MessagingOptions = {}, fileSystem = new MemoryFileSystem(), at = 0) {
  const clock = new ManualClock(start + at)
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const register: MessagingOptions['register'] = (each) => database.registerCoprocessor(each)
  const service = await MessagingService.open(database, { clock, register, ...options })
  await service.createTopic(topic, { ttl: '100' }).catch(() => undefined)
  const publish = (sequence: number, text = String(sequence), id = 'p') =>
    service.publish(topic, { messages: [text], producer: { id, sequence } })
  const texts = async (): Promise<string> =>
    (await service.poll(topic)).map(({ payload }) => payload.toString()).join(' ')
  const close = async (): Promise<void> => {
    await service.close()
    await database.close()
  }
  return { service, database, clock, fileSystem, publish, texts, close }
}

/** Lets `before` look at each frame with messages. */
function onFrames(database: Database, before: (batch: AtomicBatch) => Promise<void> | void): void {
  const atomic = database.atomic.bind(database)
  database.atomic = async (batch: AtomicBatch) => {
    if (batch.mutations.some(({ table }) => table === 'tms.message')) await before(batch)
    return atomic(batch)
  }
}

interface PutCells {
  readonly cells: Record<string, Buffer>
}

/** Refuses frames with a message of this text, as the database refuses a table that is gone. */
function refuse(database: Database, text: string): void {
  onFrames(database, ({ mutations }) => {
    for (const { put } of mutations.flatMap((row) => row.mutations as { put?: PutCells }[])) {
      const values = Object.values(put?.cells ?? {})
      if (!values.some((value) => value.includes(text))) continue
      throw new CellarError(ErrorCode.tableNotFound, 'refused')
    }
  })
}

void t.test('a sequence that was refused may be sent again, and is tried again', async (t) => {
  const { database, publish, texts, service, close } = await open({ queueBytesMax: 0 })
  const first = await publish(1)
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  onFrames(database, () => gate)
  const waits = service.publish(topic, { messages: ['waits'] })
  for (const sequence of [2, 3, 2]) {
    await t.rejects(publish(sequence), { code: 'ERR_MESSAGING_BUSY' })
  }
  t.strictSame(await publish(1), first, 'what was written is answered as it was')
  release()
  await waits
  const second = await publish(2)
  await publish(3)
  t.strictSame(await publish(2), second)
  t.strictSame(await publish(1), first)
  t.equal(await texts(), '1 waits 2 3')
  await close()
})

void t.test('a request does not overtake one of its producer that was refused', async (t) => {
  const { database, publish, texts, close } = await open()
  refuse(database, 'bad')
  const [one, two, three, other] = await Promise.allSettled([
    publish(1),
    publish(2, 'bad'),
    publish(3),
    publish(3, 'other', 'q'),
  ])
  t.equal(one.status, 'fulfilled')
  t.match(two, { reason: { code: 'ERR_TABLE_NOT_FOUND' } })
  t.match(three, { reason: { code: 'ERR_MESSAGING_BUSY' } })
  t.equal(other.status, 'fulfilled', 'another producer does')
  t.equal(await texts(), '1 other')
  await publish(2, 'again')
  await publish(3)
  t.equal(await texts(), '1 other again 3')
  await close()
})

void t.test(
  'the outcome of a transactional request has its pointer behind a restart',
  async (t) => {
    const first = await open()
    const request = {
      messages: ['a'],
      transactionWritePointer: pointer,
      producer: { id: 'p', sequence: 1 },
    }
    const response = await first.service.publish(topic, request)
    t.equal(response?.transactionWritePointer, pointer)
    await first.close()
    const again = await open({}, first.fileSystem)
    t.strictSame(await again.service.publish(topic, request), response)
    t.equal(await again.texts(), 'a')
    await again.close()
  },
)

void t.test('requests that were under way together have outcomes of their own', async (t) => {
  const first = await open()
  const sequences = [1, 2, 3, 4, 5, 6]
  const both = await Promise.all([...sequences, ...sequences].map((each) => first.publish(each)))
  t.strictSame(both.slice(0, 6), both.slice(6), 'sent twice at once')
  t.equal(await first.texts(), '1 2 3 4 5 6')
  await first.close()
  const again = await open({}, first.fileSystem)
  for (const sequence of [2, 3, 4, 5, 6]) {
    t.strictSame(await again.publish(sequence), both[sequence - 1])
  }
  await t.rejects(again.publish(1), { code: 'ERR_PRODUCER_SEQUENCE' }, 'too long ago')
  t.equal(await again.texts(), '1 2 3 4 5 6')
  await again.close()
})

void t.test('a producer is as it was at the call', async (t) => {
  const { service, texts, publish, close } = await open()
  const producer = { id: 'p', sequence: 1 }
  const published = service.publish(topic, { messages: ['a'], producer })
  producer.sequence = 9
  producer.id = 'q'
  await published
  await publish(1, 'not again')
  await publish(2, 'b')
  t.equal(await texts(), 'a b')
  await close()
})

void t.test('a read of a producer that fails is no outcome', async (t) => {
  const { database, publish, texts, close } = await open()
  const table = database.table.bind(database)
  database.table = (name: string) => {
    if (name === 'tms.producer') throw new CellarError(ErrorCode.io, 'a bad sector')
    return table(name)
  }
  await t.rejects(publish(1), { code: 'ERR_IO' })
  database.table = table
  await publish(1)
  t.equal(await texts(), '1')
  await close()
})

void t.test('producers go with their topic, and when their messages have expired', async (t) => {
  const { service, database, clock, publish, fileSystem, close } = await open()
  const other = { ...topic, topic: 'other' }
  await service.createTopic(other)
  const producer = { id: 'of a topic that ends', sequence: 1 }
  await service.publish(other, { messages: ['a'], producer })
  await publish(1, 'expires', 'old')
  clock.milliseconds += 60_000
  await publish(1, 'stays', 'young')
  clock.milliseconds += 60_000
  await service.deleteTopic(other)
  await database.flush()
  await database.compact('tms.producer')
  const rows = async (): Promise<string[]> => {
    const scanner = database.table('tms.producer').scan()
    const results = await scanner.nextBatch(10)
    scanner.close()
    return results.map(({ row }) => row!.toString('latin1').slice(8))
  }
  t.strictSame(await rows(), ['young'])
  t.equal((await publish(0, 'begins anew', 'old'))?.rollbackRange.startTimestamp, clock.now())
  await close()
  const again = await open({}, fileSystem, 170_000)
  await again.publish(0, 'expired and not removed', 'young')
  t.equal(await again.texts(), 'begins anew expired and not removed')
  await again.close()
})

void t.test('prunings end with the service', async (t) => {
  const { service, database, clock, publish, close } = await open()
  await publish(1)
  await service.close()
  clock.milliseconds += 1_000_000
  await database.flush()
  await database.compact('tms.message')
  const result = await database.table('tms.message').scan().nextBatch(10)
  t.equal(result.length, 1, 'another service may prune it, with what it knows')
  await close()
})

void t.test(
  'a producer that leaves memory before its request is entered is read again',
  async (t) => {
    const service = { get: async () => Result.of([]) }
    const database = { table: () => service } as unknown as Database
    const rows = { named: (id: string) => Buffer.from(id) }
    const topic = { name: 'n:t', rows, generation: 1, ttlMilliseconds: 0 } as unknown as TopicState
    const settings = { clock: { now: () => 0 } }
    const parts = { database, tables: { producer: 'p' }, settings } as unknown as ServiceParts
    const producers = new Producers()
    for (let id = 0; id < 10_000; id++)
      await producers.with(parts, topic, String(id), () => undefined)
    const never = new Promise<never>(() => undefined)
    const request = producers.with(parts, topic, '0', (state) => void state.publish(1, () => never))
    // More than are kept in memory: those without requests go, the first one among them.
    await Promise.all([request, producers.with(parts, topic, 'new', () => undefined)])
    t.ok(producers.size < 6000, `${producers.size} are left`)
    const isKnown = await producers.with(parts, topic, '0', (state) => {
      return state.find({ id: '0', sequence: 1 }) !== undefined
    })
    t.ok(isKnown, 'the request that is under way is known')
    const late = producers.with(parts, topic, 'late', () => undefined)
    Object.assign(topic, { generation: 2 })
    await t.rejects(late, { code: 'ERR_TOPIC_NOT_FOUND' })
  },
)

void t.test('a producer that is still being read when the service closes', async (t) => {
  const { service, database, publish, close } = await open()
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  const table = database.table.bind(database)
  database.table = (name) => {
    const opened = table(name)
    if (name !== 'tms.producer') return opened
    return Object.assign(Object.create(opened) as typeof opened, {
      get: () => gate.then(() => Result.of([])),
    })
  }
  const refused = t.rejects(publish(1), { code: 'ERR_MESSAGING_UNAVAILABLE' })
  await service.close()
  release()
  await refused
  database.table = table
  t.strictSame(await table('tms.message').scan().all(), [])
  await close()
})

void t.test('callers that change an outcome or an id change neither row nor topic', async (t) => {
  const { service, publish, close } = await open()
  const change = (object: object): void => void Reflect.set(object, 'topic', 'other')
  const outcome = (await publish(1))!
  const first = { ...outcome.rollbackRange }
  Object.assign(outcome.rollbackRange, { startTimestamp: -1, endSequenceId: 1 << 20 })
  t.strictSame((await publish(1))!.rollbackRange, first)
  await t.resolves(publish(2), 'the row with both outcomes can be written')
  for (const id of await service.listAllTopics()) change(id)
  for (const { id } of await service.scanTopics()) change(id)
  for (const { id } of service.topicCounters()) change(id)
  t.strictSame(await service.listTopics('n'), ['t'])
  await close()
})
