/** Messages of transactions and of none, payloads, rollbacks. */
import assert from 'node:assert/strict'
import {
  encodeMessageId,
  type Message,
  type MessagingService,
  type PublishResponse,
} from '../../../src/systems/messaging/index.js'
import { failsWith } from '../../suites/kit.js'
import { tx, type MessagingCase } from './case.js'
import { atZero, serviceOf, t1, t2, texts } from './message-fixture.js'

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
    name: 'a fetch behind the only message returns nothing',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await service.publish(t1, { messages: ['data'], transactionWritePointer: 123n })
      const options = { from: id(0, 0), inclusive: false, limit: 50 }
      assert.deepEqual(await service.poll(t1, options), [])
    },
  },
  {
    name: 'a fetch by time returns the message of that time, exclusively the one behind it',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await service.publish(t1, { messages: ['data'], transactionWritePointer: 123n })
      assert.deepEqual(texts(await service.poll(t1, { time: 0 })), ['data'])
      assert.deepEqual(await service.poll(t1, { time: 0, inclusive: false }), [])
    },
  },
  {
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
    name: 'without a transaction all messages are read',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      assert.equal((await service.poll(t1, { time: 0 })).length, 150)
    },
  },
  {
    name: 'a limit counts messages',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      assert.equal((await service.poll(t1, { limit: 85 })).length, 85)
    },
  },
  {
    name: 'a transaction that sees everything',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      assert.equal((await service.poll(t1, { transaction: tx(200n, 200n, [], []) })).length, 150)
    },
  },
  {
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
    name: 'a limit below the place where the reader holds',
    run: async (fixture) => {
      const service = await atZero(fixture)
      await three(service)
      const transaction = tx(100n, 100n, [], [101n])
      assert.equal((await service.poll(t1, { transaction, limit: 10 })).length, 10)
    },
  },
  {
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
    name: 'a rollback takes nothing from readers without a transaction',
    run: async (fixture) => {
      const service = await atZero(fixture)
      const responses = await three(service)
      await service.rollback(t1, responses.get(101n)!)
      assert.equal((await service.poll(t1)).length, 150)
    },
  },
  {
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

/** Cases about messages. */
export const messageCases: readonly MessagingCase[] = [...singleCases, ...threeCases]
