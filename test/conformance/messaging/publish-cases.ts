/** The order of publishes, and the service as programs use it. */
import assert from 'node:assert/strict'
import {
  decodeMessageId,
  prepareFetch,
  type Message,
  type MessagingService,
} from '../../../src/systems/messaging/index.js'
import { failsWith, SuiteClock } from '../../suites/kit.js'
import { tx, type Fixture, type MessagingCase } from './case.js'
import { atZero, idOf, serviceOf, texts, t1, t2 } from './message-fixture.js'

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
    name: 'a batch has one time, the next batch the next',
    run: async (fixture) => {
      await (await atZero(fixture)).close()
      // The database may ask its clock too, so the service gets one of its own.
      const clock = new SuiteClock(1_489_707_864_000)
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
    name: 'a message that was rolled back is seen without a transaction only',
    run: async (fixture) => {
      const { service } = await basicPubSub(fixture)
      assert.deepEqual(texts(await service.poll(t1)), ['m0', 'm1', 'm2'])
      const found = await service.poll(t1, { time: 0, transaction: held })
      assert.deepEqual(texts(found), ['m0', 'm1'])
    },
  },
  {
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

/** Cases about publishing. */
export const publishCases: readonly MessagingCase[] = [...writerCases, ...serviceCases]
