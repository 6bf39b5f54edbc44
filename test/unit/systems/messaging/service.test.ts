/** The service beyond its numbered cases: waiting, retries, limits, order under concurrency. */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  decodeMessageId,
  MessagingService,
  type Message,
  type MessagingOptions,
} from '../../../../src/systems/messaging/index.js'

const topic = { namespace: 'n', topic: 't' }

async function open(options: MessagingOptions = {}, fileSystem = new MemoryFileSystem()) {
  const clock = new ManualClock(1_489_707_864_000)
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const service = await MessagingService.open(database, { clock, ...options })
  const close = async (): Promise<void> => {
    await service.close()
    await database.close()
  }
  return { service, database, clock, close, fileSystem }
}

const texts = (messages: readonly Message[]): string[] =>
  messages.map(({ payload }) => payload.toString())

void t.test('a reader waits for the next message, and no longer than it said', async (t) => {
  const { service, close } = await open()
  await service.createTopic(topic)
  const waiting = service.poll(topic, { waitMilliseconds: 60_000 })
  t.equal(service.statistics().waiting === 1 || service.statistics().waiting === 0, true)
  await service.publish(topic, { messages: ['first'] })
  t.strictSame(texts(await waiting), ['first'])
  const [first] = await service.poll(topic)
  const behind = { from: first.id, inclusive: false }
  t.strictSame(await service.poll(topic, { ...behind, waitMilliseconds: 1 }), [])
  const stop = new AbortController()
  const aborted = service.poll(topic, { ...behind, waitMilliseconds: 60_000, signal: stop.signal })
  stop.abort()
  t.strictSame(await aborted, [])
  const deleted = service.poll(topic, { ...behind, waitMilliseconds: 60_000 })
  await new Promise(setImmediate)
  t.equal(service.statistics().waiting, 1)
  await service.deleteTopic(topic)
  await t.rejects(deleted, { code: 'ERR_TOPIC_NOT_FOUND' })
  await close()
})

void t.test('a producer that sends a request again gets its first outcome', async (t) => {
  const { service, close, fileSystem } = await open()
  await service.createTopic(topic)
  const request = { messages: ['a', 'b'], producer: { id: 'p', sequence: 7 } }
  const both = await Promise.all([service.publish(topic, request), service.publish(topic, request)])
  t.strictSame(both[0], both[1])
  t.strictSame(texts(await service.poll(topic)), ['a', 'b'])
  await close()
  const again = await open({}, fileSystem)
  t.strictSame(await again.service.publish(topic, request), both[0], 'behind a restart')
  t.strictSame(texts(await again.service.poll(topic)), ['a', 'b'])
  await t.rejects(
    again.service.publish(topic, { messages: ['c'], producer: { id: 'p', sequence: 6 } }),
    { code: 'ERR_PRODUCER_SEQUENCE' },
  )
  await again.service.publish(topic, { messages: ['c'], producer: { id: 'p', sequence: 9 } })
  await again.service.publish(topic, { messages: ['d'], producer: { id: 'other', sequence: 0 } })
  t.strictSame(texts(await again.service.poll(topic)), ['a', 'b', 'c', 'd'])
  await again.close()
})

void t.test('limits refuse a request and change nothing', async (t) => {
  const limits = { messageBytesMax: 10, requestMessagesMax: 3, requestBytesMax: 200, topicsMax: 1 }
  const { service, close } = await open(limits)
  await service.createTopic(topic)
  for (const messages of [['x'.repeat(11)], ['1', '2', '3', '4']]) {
    await t.rejects(service.publish(topic, { messages }), { code: 'ERR_REQUEST_TOO_LARGE' })
  }
  await t.rejects(service.createTopic({ ...topic, topic: 'u' }), { code: 'ERR_REQUEST_TOO_LARGE' })
  const bad = { code: 'ERR_INVALID_ARGUMENT' }
  await t.rejects(service.publish(topic, { messages: ['x'], transactionWritePointer: 0n }), bad)
  await t.rejects(service.poll(topic, { limit: 0 }), bad)
  await t.rejects(service.poll(topic, { time: -1 }), bad)
  await t.rejects(service.poll(topic, { time: 1, from: '00' }), bad)
  await t.rejects(service.store(topic, { messages: ['x'] }), bad)
  await t.rejects(service.poll(topic, { from: 'zz' }), bad)
  await t.rejects(MessagingService.open({} as Database, { cacheBytes: 1 } as MessagingOptions), bad)
  t.strictSame(await service.poll(topic), [])
  await close()
  await t.rejects(service.poll(topic), { code: 'ERR_MESSAGING_UNAVAILABLE' })
})

void t.test('requests that come together share a frame, and keep their order', async (t) => {
  const { service, database, close } = await open({ durability: 'FSYNC_WAL' })
  await service.createTopic(topic)
  let frames = 0
  const atomic = database.atomic.bind(database)
  database.atomic = (batch) => {
    frames++
    return atomic(batch)
  }
  const publishes = Array.from({ length: 64 }, (_, i) =>
    service.publish(topic, { messages: [`${i} a`, `${i} b`] }),
  )
  await Promise.all(publishes)
  t.equal(frames, 1)
  const found = await service.poll(topic)
  t.strictSame(texts(found), Array.from({ length: 64 }, (_, i) => [`${i} a`, `${i} b`]).flat())
  const sequences = found.map(({ id }) => decodeMessageId(id).sequenceId)
  t.strictSame(
    sequences,
    sequences.map((_, i) => i),
  )
  await close()
})

void t.test('what is not in memory any more comes from the table', async (t) => {
  const { service, clock, close } = await open({ cacheBytesMax: 40_000 })
  await service.createTopic(topic)
  const wanted = Array.from({ length: 600 }, (_, i) => `message ${i}`)
  for (const message of wanted) {
    clock.milliseconds += 1
    await service.publish(topic, { messages: [message] })
  }
  t.ok(service.topicStatistics(topic).cacheEntries < 200)
  const found: Message[] = []
  for await (const message of await service.fetch(topic)) found.push(message)
  t.strictSame(texts(found), wanted)
  for (const at of [0, 1, 300, 599]) {
    const from = found[at].id
    t.strictSame(texts(await service.poll(topic, { from, limit: 2 })), wanted.slice(at, at + 2))
  }
  const { cacheHits, cacheMisses, messagesPublished } = service.topicStatistics(topic)
  t.ok(cacheHits > 0 && cacheMisses > 0)
  t.equal(messagesPublished, 600)
  await close()
})

void t.test('one service is open for the tables of a database', async (t) => {
  const { service, database, clock, close } = await open()
  const second = MessagingService.open(database)
  await t.rejects(second, { code: 'ERR_MESSAGING_UNAVAILABLE', message: /tms\.\*/ })
  const other = await MessagingService.open(database, { tablePrefix: 'other' })
  await service.createTopic(topic)
  await service.publish(topic, { messages: ['first'] })
  await service.close()
  const broken = { register: () => Promise.reject(new Error('not registered')) }
  await t.rejects(MessagingService.open(database, broken), { message: 'not registered' })
  const again = await MessagingService.open(database, { clock })
  await service.close()
  await t.rejects(MessagingService.open(database), { code: 'ERR_MESSAGING_UNAVAILABLE' })
  await again.publish(topic, { messages: ['second'] })
  t.strictSame(texts(await again.poll(topic)), ['first', 'second'])
  await again.close()
  await other.close()
  await close()
})

void t.test('an open that fails leaves no pruning behind', async (t) => {
  const { service, database, close } = await open()
  await service.close()
  let left = 0
  let calls = 0
  const register: MessagingOptions['register'] = async (coprocessor) => {
    if (++calls === 3) throw new Error('not registered')
    const registration = await database.registerCoprocessor(coprocessor)
    left++
    return { ...registration, remove: () => (left--, registration.remove()) }
  }
  await t.rejects(MessagingService.open(database, { register }), { message: 'not registered' })
  t.equal(left, 0)
  await close()
})

void t.test('changes of topics are as durable as messages', async (t) => {
  const fileSystem = new SimulatedDisk()
  const options = { fileSystem, executor: 'inline' } as const
  const database = await Database.open('/power', options)
  const service = await MessagingService.open(database, { durability: 'FSYNC_WAL' })
  const topics = async (): Promise<string[]> => {
    const image = fileSystem.crash('dropUnsynced', () => 0)
    const found = await Database.open('/power', { ...options, fileSystem: image })
    const opened = await MessagingService.open(found)
    const ttls = (await opened.listTopics('n')).map(async (name) => {
      const id = { namespace: 'n', topic: name }
      const messages = texts(await opened.poll(id))
      return `${name}: ${(await opened.getTopic(id))['ttl']}, ${messages.join()}`
    })
    const shown = await Promise.all(ttls)
    await opened.close()
    await found.close()
    return shown
  }
  await service.createTopic(topic)
  t.strictSame(await topics(), ['t: 604800, '])
  await service.updateTopic(topic, { ttl: '60' })
  t.strictSame(await topics(), ['t: 60, '])
  await service.publish(topic, { messages: ['a'] })
  t.strictSame(await topics(), ['t: 60, a'])
  await service.deleteTopic(topic)
  t.strictSame(await topics(), [])
  await service.createTopic(topic)
  t.strictSame(await topics(), ['t: 604800, '], 'without the messages of before')
  await service.close()
  await database.close()
})

void t.test('the end of a wait makes no other reader look again', async (t) => {
  const { service, close } = await open()
  await service.createTopic(topic)
  const readers = 200
  await Promise.all(
    Array.from({ length: readers }, (_, i) => service.poll(topic, { waitMilliseconds: 20 + i })),
  )
  const { fetches } = service.topicStatistics(topic)
  t.ok(fetches <= 5 * readers, `${fetches} looks of ${readers} readers`)
  await close()
})

void t.test('calls of one iterator at once each get messages of their own', async (t) => {
  for (const cacheBytesMax of [0, 1 << 20]) {
    const { service, close } = await open({ cacheBytesMax })
    await service.createTopic(topic)
    const all = Array.from({ length: 600 }, (_, i) => String(i))
    await service.publish(topic, { messages: all })
    const iterator = await service.fetch(topic)
    const found: string[] = []
    while (found.length < all.length) {
      const [first, batch, ...others] = await Promise.all([
        iterator.next(),
        iterator.nextBatch(2),
        iterator.next(),
        iterator.next(),
      ])
      for (const { value } of [first, ...others]) if (value) found.push(...texts([value]))
      found.push(...texts(batch))
      if (first.done === true) break
    }
    const inOrder = found.map(Number).sort((a, b) => a - b)
    t.strictSame(inOrder.map(String), all)
    t.strictSame(await iterator.next(), { done: true, value: undefined })
    await close()
  }
})

void t.test('a topic whose metadata CDAP wrote changes as others do', async (t) => {
  const { service, database, clock, close } = await open()
  await service.close()
  const stored = '{"10":"ten","9":"x\\u003dy","generation":"1","ttl":"10"}'
  const row = { row: 'n:t:', cells: { 'd:m': stored }, timestamp: 1 }
  await database.table('tms.meta').put(row)
  const again = await MessagingService.open(database, { clock })
  const properties = { 9: 'x=y', 10: 'ten', generation: '1', ttl: '10' }
  t.strictSame(await again.getTopic(topic), properties)
  await again.updateTopic(topic, { ttl: '20' })
  t.strictSame(await again.getTopic(topic), { generation: '1', ttl: '20' })
  await database.table('tms.meta').put(row)
  const refused = { code: 'ERR_MESSAGING_UNAVAILABLE', message: /elsewhere/ }
  await t.rejects(again.deleteTopic(topic), refused, 'a change of another program')
  await again.close()
  await close()
})

void t.test('a rollback writes nothing into a later generation of its topic', async (t) => {
  const { service, database, close } = await open({ cacheBytesMax: 0 })
  await service.createTopic(topic)
  const rows = Array.from({ length: 300 }, () => Buffer.alloc(33_000))
  const messages = [...rows, 'a', 'b', 'c']
  const request = { messages, transactionWritePointer: 1_489_707_864_000_000_000n }
  const { transactionWritePointer, rollbackRange } = (await service.publish(topic, request))!
  await database.flush()
  // It ends inside of a row, so messages are written again.
  const endSequenceId = rollbackRange.endSequenceId - 1
  const rolledBack = service.rollback(topic, {
    transactionWritePointer,
    rollbackRange: { ...rollbackRange, endSequenceId },
  })
  await service.deleteTopic(topic)
  await service.createTopic(topic)
  await rolledBack
  t.strictSame(texts(await service.poll(topic)), [])
  const generations = new Set<number>()
  for await (const { row } of database.table('tms.message').scan()) {
    generations.add(row!.readUInt32BE('n:t:'.length))
  }
  t.strictSame([...generations], [1])
  await close()
})
