/** Programs, and what goes wrong elsewhere. */
import assert from 'node:assert/strict'
import {
  decodeMessageId,
  encodeMessageId,
  MessageFetcher,
  MessagePublisher,
  type Message,
  type MessagingOptions,
  type MessagingService,
} from '../../../src/systems/messaging/index.js'
import {
  decodeTransaction,
  encodeTransaction,
  TransactionalTable,
  transactionalFamily,
  TransactionContext,
  transactionFromJson,
  transactionToJson,
} from '../../../src/systems/transactions/index.js'
import { failsWith } from '../../suites/kit.js'
import { tx, type Fixture, type MessagingCase } from './case.js'
import { defaultTopic, idOf, serviceOf, texts } from './message-fixture.js'

const t1 = defaultTopic('t1')
const everything = tx(2n ** 62n, 2n ** 62n, [], [])

async function withTopic(
  fixture: Fixture,
  options: MessagingOptions = {},
): Promise<MessagingService> {
  const service = await serviceOf(fixture, options)
  await service.createTopic(t1)
  return service
}

const programCases: readonly MessagingCase[] = [
  {
    name: 'messages of a program are readable when its transaction commits',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      const manager = await fixture.manager()
      const publisher = new MessagePublisher(service)
      const context = new TransactionContext(manager, [publisher])
      await context.start()
      await publisher.publish('default', 't1', 'message')
      assert.deepEqual(await service.poll(t1), [], 'while the program runs')
      await context.finish()
      assert.deepEqual(texts(await service.poll(t1)), ['message'])
      await failsWith('ERR_INVALID_ARGUMENT', () => publisher.publish('system', 't', 'x'))
      await context.start()
      await publisher.publish('default', 't1', 'aborted')
      await context.abort()
      assert.deepEqual(texts(await service.poll(t1)), ['message'])
    },
  },
  {
    name: 'a reader sees what was committed before its transaction began',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      const manager = await fixture.manager()
      await fixture.database.createTable('t', { families: { f: transactionalFamily() } })
      const publisher = new MessagePublisher(service)
      const table = new TransactionalTable(fixture.database, 't')
      const writing = new TransactionContext(manager, [publisher, table])
      const fetcher = new MessageFetcher(service)
      const reading = new TransactionContext(manager, [fetcher])
      const read = async (): Promise<string[]> => {
        const found: Message[] = []
        for await (const message of await fetcher.fetch('default', 't1', 10, null)) {
          found.push(message)
        }
        return texts(found)
      }
      await writing.start()
      await publisher.publish('default', 't1', 'message')
      await table.put({ row: 'r', cells: { 'f:q': 'value' } })
      await reading.start()
      assert.deepEqual(await read(), [])
      await writing.finish()
      assert.deepEqual(await read(), [], 'the same transaction')
      await reading.finish()
      await reading.start()
      assert.deepEqual(await read(), ['message'])
      await reading.finish()
    },
  },
]

const defectCases: readonly MessagingCase[] = [
  {
    name: 'behind the last payload of a row that is rolled back comes the next row',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      await service.store(t1, { messages: ['a', 'b'], transactionWritePointer: 1n })
      await service.store(t1, { messages: ['c', 'd'], transactionWritePointer: 2n })
      const first = await service.publish(t1, { messages: [], transactionWritePointer: 1n })
      await service.publish(t1, { messages: [], transactionWritePointer: 2n })
      const all = await service.poll(t1)
      assert.deepEqual(texts(all), ['a', 'b', 'c', 'd'])
      await service.rollback(t1, first!)
      for (const from of [all[0].id, all[1].id]) {
        const options = { from, inclusive: false, transaction: everything }
        assert.deepEqual(texts(await service.poll(t1, options)), ['c', 'd'])
      }
      const plain = await service.poll(t1, { from: all[1].id, inclusive: false, limit: 1 })
      assert.deepEqual(texts(plain), ['c'])
    },
  },
  {
    name: 'a row without payloads takes nothing from a limit',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      await service.publish(t1, { messages: [], transactionWritePointer: 1n })
      await service.publish(t1, { messages: ['a', 'b', 'c'] })
      assert.deepEqual(texts(await service.poll(t1, { limit: 3 })), ['a', 'b', 'c'])
      assert.deepEqual(texts(await service.poll(t1, { limit: 1 })), ['a'])
    },
  },
  {
    name: 'a clock that stands or steps back never gives an id twice',
    run: async (fixture) => {
      let service = await withTopic(fixture)
      await service.publish(t1, { messages: Array.from({ length: 65_536 }, String) })
      await service.publish(t1, { messages: ['next'] })
      fixture.clock.milliseconds -= 5000
      await service.publish(t1, { messages: ['back'] })
      await fixture.reopen()
      fixture.clock.milliseconds -= 5000
      service = await serviceOf(fixture)
      await service.publish(t1, { messages: ['reopened'] })
      const found = await service.poll(t1, { limit: 100_000 })
      assert.deepEqual(texts(found.slice(-3)), ['next', 'back', 'reopened'])
      assert.equal(new Set(found.map(idOf)).size, 65_539)
      const sorted = [...found].sort((a, b) => Buffer.compare(a.id, b.id))
      assert.deepEqual(sorted.map(idOf), found.map(idOf))
    },
  },
  {
    name: 'a rollback touches its range and its transaction only',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      const messages = Array.from({ length: 65_536 }, String)
      const response = await service.publish(t1, { messages, transactionWritePointer: 1n })
      await service.publish(t1, { messages: ['plain'] })
      await service.publish(t1, { messages: ['other'], transactionWritePointer: 2n })
      assert.equal(response?.rollbackRange.endSequenceId, 65_535)
      await service.rollback(t1, response)
      const seen = await service.poll(t1, { transaction: everything })
      assert.deepEqual(texts(seen), ['plain', 'other'])
      const range = { ...response.rollbackRange, endTimestamp: 2 ** 52 }
      await service.rollback(t1, { transactionWritePointer: 1n, rollbackRange: range })
      assert.deepEqual(texts(await service.poll(t1, { transaction: everything })), [
        'plain',
        'other',
      ])
    },
  },
  {
    name: 'messages of a publish whose answer was lost can be rolled back by their transaction',
    run: async (fixture) => {
      let service = await withTopic(fixture)
      const manager = await fixture.manager()
      const transaction = await manager.startShort()
      const { writePointer: transactionWritePointer } = transaction
      await service.publish(t1, { messages: ['lost'], transactionWritePointer })
      await fixture.reopen()
      service = await serviceOf(fixture)
      await service.rollbackTransaction(t1, transactionWritePointer)
      const again = await fixture.manager()
      await again.abort(transaction)
      const later = await again.startShort()
      assert.deepEqual(await service.poll(t1, { transaction: later }), [])
      assert.equal((await service.poll(t1)).length, 1)
    },
  },
  {
    name: 'a message is readable at exactly its TTL, and hidden behind it',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await service.createTopic(t1, { ttl: '3' })
      await service.publish(t1, { messages: ['old'] })
      const [old] = await service.poll(t1)
      fixture.clock.milliseconds += 3000
      await service.publish(t1, { messages: ['new'] })
      assert.deepEqual(texts(await service.poll(t1)), ['old', 'new'])
      fixture.clock.milliseconds += 1
      assert.deepEqual(texts(await service.poll(t1)), ['new'])
      assert.deepEqual(texts(await service.poll(t1, { from: old.id })), ['new'])
      assert.deepEqual(texts(await service.poll(t1, { time: 0 })), ['new'])
      await service.updateTopic(t1, { ttl: '2147483647' })
      assert.deepEqual(texts(await service.poll(t1)), ['old', 'new'], 'a TTL since before 1970')
    },
  },
  {
    name: 'sequence 40,000 comes behind 30,000',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      await service.publish(t1, { messages: Array.from({ length: 40_001 }, String) })
      const found = await service.poll(t1, { limit: 50_000 })
      const [low, high] = [found[30_000].id, found[40_000].id]
      assert.equal(decodeMessageId(high).sequenceId, 40_000)
      assert.ok(Buffer.compare(low, high) < 0)
      const behind = await service.poll(t1, { from: low, inclusive: false, limit: 50_000 })
      assert.equal(behind.length, 10_000)
    },
  },
  {
    name: 'ids around 1.49e18 and 2^53 + 1 are exact everywhere',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      for (const pointer of [2n ** 53n + 1n, 1_489_707_864_000_000_001n]) {
        const request = { messages: [`${pointer}`], transactionWritePointer: pointer }
        const response = await service.publish(t1, request)
        assert.equal(response?.transactionWritePointer, pointer)
        const reader = tx(pointer - 1n, pointer + 1n, [], [])
        const sees = tx(pointer, pointer + 1n, [], [])
        assert.equal(
          texts(await service.poll(t1, { transaction: reader })).includes(`${pointer}`),
          false,
        )
        assert.ok(texts(await service.poll(t1, { transaction: sees })).includes(`${pointer}`))
        const copy = decodeTransaction(encodeTransaction(sees))
        const json = JSON.parse(JSON.stringify(transactionToJson(copy))) as unknown
        assert.equal(transactionFromJson(json).readPointer, pointer)
      }
    },
  },
  {
    name: 'ids of another length are refused, and one of FF bytes is behind everything',
    run: async (fixture) => {
      const service = await withTopic(fixture)
      await service.publish(t1, { messages: ['a'] })
      for (const length of [0, 19, 21]) {
        const from = Buffer.alloc(length)
        await failsWith('ERR_INVALID_ARGUMENT', () => service.poll(t1, { from }))
      }
      assert.deepEqual(await service.poll(t1, { from: Buffer.alloc(20, 0xff) }), [])
      const short = Buffer.alloc(19)
      const parts = decodeMessageId((await service.poll(t1))[0].id)
      await failsWith('ERR_INVALID_ARGUMENT', () => encodeMessageId(parts, short))
    },
  },
]

/** Cases about cleanup, programs and defects. */
export const ownCases: readonly MessagingCase[] = [...programCases, ...defectCases]
