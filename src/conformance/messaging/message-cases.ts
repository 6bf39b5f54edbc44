/** Cases 11 to 62: publishing, storing, fetching and rolling back. */
import assert from 'node:assert/strict'
import {
  decodeMessageId,
  encodeMessageId,
  prepareFetch,
  type Message,
  type MessagingService,
  type PublishResponse,
} from '../../messaging/index.js'
import { failsWith, SuiteClock, tx, type Fixture, type MessagingCase } from './case.js'
import { defaultTopic, idOf, serviceOf, texts } from './message-fixture.js'

const t1 = defaultTopic('t1')
const t2 = defaultTopic('t2')

/** A service with a topic, at time 0. */
async function atZero(fixture: Fixture): Promise<MessagingService> {
  fixture.clock.milliseconds = 0
  const service = await serviceOf(fixture)
  await service.createTopic(t1)
  await service.createTopic(t2)
  return service
}

function id(publishTimestamp: number, sequenceId: number): Buffer {
  const none = { payloadWriteTimestamp: 0, payloadSequenceId: 0 }
  return encodeMessageId({ publishTimestamp, sequenceId, ...none })
}

/** 150 messages of one millisecond, of the transactions 100, 101 and 102. */
async function three(service: MessagingService): Promise<Map<bigint, PublishResponse>> {
  const responses = new Map<bigint, PublishResponse>()
  for (const transactionWritePointer of [100n, 101n, 102n]) {
    const messages = Array.from({ length: 50 }, (_, i) => `${transactionWritePointer} ${i}`)
    const response = await service.publish(t1, { messages, transactionWritePointer })
    responses.set(transactionWritePointer, response!)
    await service.publish(t2, { messages: messages.map((m) => `t2 ${m}`), transactionWritePointer })
  }
  return responses
}

function pointersOf(messages: readonly Message[]): string[] {
  return [...new Set(texts(messages).map((text) => text.split(' ')[0]))]
}

const singleCases: readonly MessagingCase[] = [
  {
    number: 11,
    name: 'a fetch behind the only message returns nothing',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await service.publish(t1, { messages: ['data'], transactionWritePointer: 123n })
      const options = { from: id(0, 0), inclusive: false, limit: 50 }
      assert.deepEqual(await service.poll(t1, options), [])
    },
  },
  {
    number: 13,
    name: 'a fetch by time returns the message of that time, exclusively the one behind it',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await service.publish(t1, { messages: ['data'], transactionWritePointer: 123n })
      assert.deepEqual(texts(await service.poll(t1, { time: 0 })), ['data'])
      assert.deepEqual(await service.poll(t1, { time: 0, inclusive: false }), [])
    },
  },
  {
    number: 14,
    name: 'a message that was rolled back is still there without a transaction',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const request = { messages: ['data'], transactionWritePointer: 123n }
      const response = await service.publish(t1, request)
      const zero = { startTimestamp: 0, startSequenceId: 0, endTimestamp: 0, endSequenceId: 0 }
      assert.deepEqual(response, { transactionWritePointer: 123n, rollbackRange: zero })
      await service.rollback(t1, response)
      assert.deepEqual(texts(await service.poll(t1, { from: id(0, 0) })), ['data'])
      const transaction = tx(200n, 200n, [], [])
      assert.deepEqual(await service.poll(t1, { transaction }), [])
    },
  },
  {
    number: 25,
    name: 'a message is never null',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const messages = [null] as unknown as string[]
      await failsWith('ERR_INVALID_ARGUMENT', () => service.publish(t1, { messages }))
      await failsWith('ERR_INVALID_ARGUMENT', () => service.publish(t1, { messages: [] }))
      await service.publish(t1, { messages: [''] })
      assert.deepEqual(texts(await service.poll(t1)), [''])
    },
  },
  {
    number: 26,
    name: 'an empty publish of a transaction is one row that stands for its payloads',
    run: async (fixture) => {
      const service = await atZero(fixture)
      fixture.clock.milliseconds = 1
      const request = { messages: [], transactionWritePointer: 2n }
      const response = await service.publish(t1, request)
      const range = { startTimestamp: 1, startSequenceId: 0, endTimestamp: 1, endSequenceId: 0 }
      assert.deepEqual(response?.rollbackRange, range)
      assert.deepEqual(await service.poll(t1), [])
    },
  },
  {
    number: 31,
    name: 'a payload is read under its pointer only',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await service.store(t1, { messages: ['own'], transactionWritePointer: 123n })
      await service.store(t1, { messages: ['other'], transactionWritePointer: 124n })
      await service.publish(t1, { messages: [], transactionWritePointer: 123n })
      assert.deepEqual(texts(await service.poll(t1)), ['own'])
    },
  },
  {
    number: 32,
    name: 'payloads of three transactions and two topics',
    run: async (fixture) => {
      const service = await atZero(fixture)
      for (const topic of [t1, t2]) {
        for (const transactionWritePointer of [100n, 101n, 102n]) {
          const messages = Array.from({ length: 50 }, (_, i) => {
            return `${transactionWritePointer} ${topic.topic} ${i}`
          })
          await service.store(topic, { messages, transactionWritePointer })
        }
      }
      for (const [pointer, limit, found] of [
        [100n, 50, 50],
        [101n, 1, 1],
        [102n, 60, 50],
      ] as const) {
        await service.publish(t1, { messages: [], transactionWritePointer: pointer })
        const all = await service.poll(t1)
        const own = texts(all).filter((text) => text.startsWith(`${pointer} t1`))
        assert.equal(own.length, 50)
        const from = all.at(-50)!.id
        assert.equal((await service.poll(t1, { from, limit })).length, found)
      }
    },
  },
]

const threeCases: readonly MessagingCase[] = [
  {
    number: 16,
    name: 'without a transaction all messages are read',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      assert.equal((await service.poll(t1, { time: 0 })).length, 150)
    },
  },
  {
    number: 17,
    name: 'a limit counts messages',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      assert.equal((await service.poll(t1, { limit: 85 })).length, 85)
    },
  },
  {
    number: 18,
    name: 'a transaction that sees everything',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      assert.equal((await service.poll(t1, { transaction: tx(200n, 200n, [], []) })).length, 150)
    },
  },
  {
    number: 19,
    name: 'messages of an invalid transaction are passed over',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      const found = await service.poll(t1, { transaction: tx(200n, 200n, [101n], []) })
      assert.equal(found.length, 100)
      assert.deepEqual(pointersOf(found), ['100', '102'])
    },
  },
  {
    number: 20,
    name: 'at a message of a running transaction the reader holds',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      const transaction = tx(100n, 100n, [], [101n])
      const iterator = await service.fetch(t1, { transaction })
      const found: Message[] = []
      for await (const message of iterator) found.push(message)
      assert.equal(found.length, 50)
      assert.deepEqual(pointersOf(found), ['100'])
      assert.equal(iterator.isHeld, true)
    },
  },
  {
    number: 21,
    name: 'a limit below the place where the reader holds',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      const transaction = tx(100n, 100n, [], [101n])
      assert.equal((await service.poll(t1, { transaction, limit: 10 })).length, 10)
    },
  },
  {
    number: 22,
    name: 'another topic has its own messages',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      const found = await service.poll(t2)
      assert.equal(found.length, 150)
      assert.ok(texts(found).every((text) => text.startsWith('t2 ')))
    },
  },
  {
    number: 23,
    name: 'a rollback takes nothing from readers without a transaction',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const responses = await three(service)
      await service.rollback(t1, responses.get(101n)!)
      assert.equal((await service.poll(t1)).length, 150)
    },
  },
  {
    number: 24,
    name: 'two rollbacks leave the third transaction, and another topic as it was',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const responses = await three(service)
      await service.rollback(t1, responses.get(101n)!)
      await service.rollback(t1, responses.get(100n)!)
      const transaction = tx(200n, 200n, [], [])
      const check = async (reader: MessagingService): Promise<void> => {
        const found = await reader.poll(t1, { transaction })
        assert.deepEqual([found.length, ...pointersOf(found)], [50, '102'])
        assert.equal((await reader.poll(t2, { transaction })).length, 150)
      }
      await check(service)
      await fixture.reopen()
      await check(await serviceOf(fixture))
    },
  },
]

/** Messages with a topic, as `[time, sequence]`. */
async function places(service: MessagingService, topic = t1): Promise<[number, number][]> {
  const found: [number, number][] = []
  for await (const { id } of await service.fetch(topic)) {
    const { publishTimestamp, sequenceId } = decodeMessageId(id)
    found.push([publishTimestamp, sequenceId])
  }
  return found
}

const writerCases: readonly MessagingCase[] = [
  {
    number: 34,
    name: 'a batch has one time, the next batch the next',
    run: async (fixture) => {
      await atZero(fixture)
      // The database may ask its clock too, so the service gets one of its own.
      const clock = new SuiteClock()
      const service = await serviceOf(fixture, { clock })
      clock.step = 1
      await service.publish(t1, { messages: ['1', '2', '3'] })
      await service.publish(t2, { messages: ['a', 'b', 'c'] })
      clock.step = 0
      assert.deepEqual(texts(await service.poll(t1)), ['1', '2', '3'])
      const first = await places(service)
      assert.deepEqual(
        first.map(([time, sequence]) => [time - first[0][0], sequence]),
        [
          [0, 0],
          [0, 1],
          [0, 2],
        ],
      )
      const second = await places(service, t2)
      assert.deepEqual(
        second.map(([time]) => time - first[0][0]),
        [1, 1, 1],
      )
    },
  },
  {
    number: 35,
    name: 'message 65,537 of a request gets the next millisecond',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const messages = Array.from({ length: 65_537 }, (_, i) => String(i))
      await service.publish(t1, { messages })
      const found = await places(service)
      assert.equal(found.length, 65_537)
      assert.deepEqual(found[40_000], [0, 40_000])
      assert.deepEqual(found[65_535], [0, 65_535])
      assert.deepEqual(found[65_536], [1, 0])
    },
  },
  {
    number: 37,
    name: 'twenty publishers at once: every message once, ids ascend',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const publisher = async (name: number): Promise<void> => {
        for (let request = 0; request < 20; request++) {
          const messages = Array.from({ length: 200 }, (_, i) => `${name} ${request} ${i}`)
          await service.publish(t1, { messages })
          fixture.clock.milliseconds += 1
        }
      }
      await Promise.all(Array.from({ length: 20 }, (_, name) => publisher(name)))
      const found = await service.poll(t1, { limit: 100_000 })
      assert.equal(new Set(texts(found)).size, 80_000)
      for (let i = 1; i < found.length; i++) {
        if (Buffer.compare(found[i - 1].id, found[i].id) >= 0) assert.fail(`id ${i} ascends`)
      }
    },
  },
]

async function basicPubSub(
  fixture: Fixture,
): Promise<{ service: MessagingService; ids: Message[] }> {
  const service = await atZero(fixture)
  fixture.clock.milliseconds = 10
  assert.equal(await service.publish(t1, { messages: ['m0', 'm1'] }), undefined)
  const response = await service.publish(t1, { messages: ['m2'], transactionWritePointer: 1n })
  await service.rollback(t1, response!)
  return { service, ids: await service.poll(t1) }
}

const held = tx(3n, 3n, [], [2n])

const serviceCases: readonly MessagingCase[] = [
  {
    number: 38,
    name: 'a transaction that is too old publishes nothing',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await service.publish(t1, { messages: ['a', 'b'], transactionWritePointer: 1n })
      const transactionWritePointer = -(2n ** 63n) + 1n
      await failsWith('ERR_TRANSACTION_TOO_OLD', () => {
        return service.publish(t1, { messages: ['c'], transactionWritePointer })
      })
      assert.deepEqual(texts(await service.poll(t1)), ['a', 'b'])
      await service.rollbackTransaction(t1, 1n)
      assert.deepEqual(await service.poll(t1, { transaction: tx(9n, 9n, [], []) }), [])
      await service.deleteTopic(t1)
    },
  },
  {
    number: 43,
    name: 'ten generations, each with its own messages',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      for (let round = 0; round < 10; round++) {
        await service.createTopic(t1)
        const messages = [`m${round} 1`, `m${round} 2`]
        assert.equal(await service.publish(t1, { messages }), undefined)
        assert.deepEqual(texts(await service.poll(t1)), messages)
        await service.deleteTopic(t1)
      }
    },
  },
  {
    number: 44,
    name: 'a missing topic takes and gives no messages',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await failsWith('ERR_TOPIC_NOT_FOUND', () => service.publish(t1, { messages: ['a'] }))
      await failsWith('ERR_TOPIC_NOT_FOUND', () => service.fetch(t1))
      await failsWith('ERR_TOPIC_NOT_FOUND', () => service.poll(t1))
      await failsWith('ERR_TOPIC_NOT_FOUND', () => prepareFetch(service, t1).fetch())
    },
  },
  {
    number: 46,
    name: 'a message that was rolled back is seen without a transaction only',
    run: async (fixture) => {
      const { service } = await basicPubSub(fixture)
      assert.deepEqual(texts(await service.poll(t1)), ['m0', 'm1', 'm2'])
      const found = await service.poll(t1, { time: 0, transaction: held })
      assert.deepEqual(texts(found), ['m0', 'm1'])
    },
  },
  {
    number: 47,
    name: 'a fetch goes on behind a message',
    run: async (fixture) => {
      const { service, ids } = await basicPubSub(fixture)
      const after = (from: Buffer): Promise<Message[]> =>
        service.poll(t1, { from, inclusive: false })
      assert.deepEqual(texts(await after(ids[1].id)), ['m2'])
      assert.deepEqual(texts(await after(ids[2].id)), [])
      assert.deepEqual(texts(await service.poll(t1, { from: idOf(ids[2]) })), ['m2'])
    },
  },
  {
    number: 49,
    name: 'messages of a running transaction are seen without a transaction',
    run: async (fixture) => {
      const { service, ids } = await basicPubSub(fixture)
      await service.publish(t1, { messages: ['m3'], transactionWritePointer: 2n })
      await service.publish(t1, { messages: ['m4'] })
      const found = await service.poll(t1, { from: ids[1].id, inclusive: false })
      assert.deepEqual(texts(found), ['m2', 'm3', 'm4'])
    },
  },
  {
    number: 50,
    name: 'a reader holds even before a plain message',
    run: async (fixture) => {
      const { service, ids } = await basicPubSub(fixture)
      await service.publish(t1, { messages: ['m3'], transactionWritePointer: 2n })
      await service.publish(t1, { messages: ['m4'] })
      const from = ids[1].id
      assert.deepEqual(await service.poll(t1, { from, inclusive: false, transaction: held }), [])
    },
  },
  {
    number: 61,
    name: 'payloads of a second transaction are read behind those of the first',
    run: async (fixture) => {
      const service = await atZero(fixture)
      fixture.clock.milliseconds = 10
      const payloads = (from: number, to: number): string[] =>
        Array.from({ length: to - from }, (_, i) => `payload ${from + i}`)
      for (let i = 0; i < 10; i++) {
        const messages = payloads(2 * i, 2 * i + 2)
        await service.store(t1, { messages, transactionWritePointer: 1n })
        fixture.clock.milliseconds += i % 3
      }
      assert.deepEqual(await service.poll(t1), [])
      await service.publish(t1, { messages: [], transactionWritePointer: 1n })
      const first = await service.poll(t1)
      assert.deepEqual(texts(first), payloads(0, 20))
      for (let i = 0; i < 20; i++) {
        const from = first[i].id
        const rest = await service.poll(t1, { from, inclusive: false })
        assert.deepEqual(texts(rest), payloads(i + 1, 20))
        assert.deepEqual(texts(await service.poll(t1, { from, limit: 1 })), [`payload ${i}`])
      }
      await service.store(t1, { messages: payloads(20, 22), transactionWritePointer: 2n })
      await service.publish(t1, { messages: [], transactionWritePointer: 2n })
      assert.equal((await service.poll(t1)).length, 22)
      const behind = await service.poll(t1, { from: first[19].id, inclusive: false })
      assert.deepEqual(texts(behind), payloads(20, 22))
    },
  },
  {
    number: 62,
    name: 'a request may be used again',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const request = { messages: ['m1', 'm2'] }
      await service.publish(t1, request)
      await service.publish(t1, request)
      assert.deepEqual(texts(await service.poll(t1)), ['m1', 'm2', 'm1', 'm2'])
    },
  },
]

/** Cases about messages. */
export const messageCases: readonly MessagingCase[] = [
  ...singleCases,
  ...threeCases,
  ...writerCases,
  ...serviceCases,
]
