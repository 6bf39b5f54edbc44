/**
 * Cases 28, 29, 77 and 79: messages in several files, by time, and rows that another program wrote.
 * A partition of CDAP is the file of one flush here.
 */
import assert from 'node:assert/strict'
import {
  decodeMessageId,
  encodeMessageId,
  type MessagingService,
} from '../../../src/systems/messaging/index.js'
import { encodePointer } from '../../../src/systems/messaging/store/rows.js'
import { encodeMessageRow, encodePayloadRow } from './rows.js'
import { encodeTopicProperties, topicPrefix } from '../../../src/systems/messaging/topics/topic.js'
import { tx, type Fixture, type MessagingCase } from './case.js'
import { defaultTopic, serviceOf, texts } from './message-fixture.js'

const t1 = defaultTopic('t1')

/** A service that reads from files, because nothing is cached, with a topic at time 0. */
async function withoutCache(fixture: Fixture, ttlSeconds = 10): Promise<MessagingService> {
  fixture.clock.milliseconds = 0
  const { jobs } = fixture.suite
  const service = await serviceOf(fixture, {
    cacheBytesMax: 0,
    ...(jobs === undefined
      ? {}
      : { register: (coprocessor) => jobs.register(fixture.database, coprocessor) }),
  })
  await service.createTopic(t1, { ttl: String(ttlSeconds) })
  return service
}

/** Publishes at times, each into a file of its own. */
async function partitions(
  fixture: Fixture,
  service: MessagingService,
  times: readonly number[],
): Promise<void> {
  for (const time of times) {
    fixture.clock.milliseconds = time
    await service.publish(t1, { messages: [`at ${time}`] })
    await fixture.suite.jobs?.flush(fixture.database)
  }
}

/** Times of the rows that are stored. */
async function stored(fixture: Fixture): Promise<number[]> {
  const times: number[] = []
  for await (const { row } of fixture.database.table('tms.message').scan()) {
    times.push(Number(row!.readBigInt64BE(row!.length - 10)))
  }
  return times
}

/** Removes what is older than a time; how many files' messages went. */
async function prune(fixture: Fixture, time: number): Promise<number> {
  const before = (await stored(fixture)).length
  fixture.clock.milliseconds = time + 10_000
  await fixture.suite.jobs!.compact(fixture.database, 'tms.message', true)
  return before - (await stored(fixture)).length
}

/** Times of the messages from a time to another, both inclusive. */
async function between(service: MessagingService, from: number, to: number): Promise<number[]> {
  const times: number[] = []
  for await (const { id } of await service.fetch(t1, { time: from })) {
    const { publishTimestamp } = decodeMessageId(id)
    if (publishTimestamp > to) break
    times.push(publishTimestamp)
  }
  return times
}

/** Cases about files and about rows of others. */
export const layoutCases: readonly MessagingCase[] = [
  {
    name: 'a fetch goes through a hundred files of ten seconds',
    run: async (fixture) => {
      const service = await withoutCache(fixture, 1000)
      const times = Array.from({ length: 100 }, (_, i) => 1000 * i)
      for (let at = 0; at < times.length; at += 10) {
        for (const time of times.slice(at, at + 10)) {
          fixture.clock.milliseconds = time
          await service.publish(t1, { messages: [`at ${time}`] })
        }
        await fixture.suite.jobs?.flush(fixture.database)
      }
      const none = { payloadWriteTimestamp: 0, payloadSequenceId: 0 }
      const from = encodeMessageId({ publishTimestamp: 0, sequenceId: 0, ...none })
      assert.deepEqual(
        texts(await service.poll(t1, { from, limit: 100 })),
        times.map((time) => `at ${time}`),
      )
    },
  },
  {
    name: 'rows as CDAP writes them are read, and later ids lie behind theirs',
    run: async (fixture) => {
      fixture.clock.milliseconds = 900
      const { database } = fixture
      for (const name of ['tms.meta', 'tms.message', 'tms.payload']) {
        await database.createTable(name, { families: { d: {} } })
      }
      const meta = encodeTopicProperties({ ttl: '10', generation: '1' })
      await database.table('tms.meta').put({ row: topicPrefix(t1), cells: { 'd:m': meta } })
      const id = { id: t1, generation: 1 }
      const message = (publishTimestamp: number, cells: Record<string, Buffer | string>) =>
        database.table('tms.message').put({
          row: encodeMessageRow({ ...id, publishTimestamp, sequenceId: 0 }),
          cells,
          timestamp: 1,
        })
      await message(1000, { 'd:p': 'plain' })
      await message(1001, { 'd:p': 'of a transaction', 'd:t': encodePointer(5n) })
      await message(1002, { 'd:t': encodePointer(6n) })
      const place = { writePointer: 6n, writeTimestamp: 1003, sequenceId: 0 }
      const row = encodePayloadRow({ ...id, ...place })
      await database.table('tms.payload').put({ row, cells: { 'd:c': 'stored' }, timestamp: 1 })
      const service = await serviceOf(fixture)
      const wanted = ['plain', 'of a transaction', 'stored']
      assert.deepEqual(texts(await service.poll(t1)), wanted)
      const transaction = tx(9n, 9n, [5n], [])
      assert.deepEqual(texts(await service.poll(t1, { transaction })), ['plain', 'stored'])
      await service.publish(t1, { messages: ['new'] })
      assert.deepEqual(texts(await service.poll(t1)), [...wanted, 'new'])
      const [{ id: last }] = (await service.poll(t1)).slice(-1)
      assert.ok(decodeMessageId(last).publishTimestamp > 1003, 'the clock was behind')
    },
  },
  {
    name: 'a file of messages goes when its last message is too old',
    needs: 'jobs',
    run: async (fixture) => {
      const service = await withoutCache(fixture)
      await partitions(fixture, service, [999, 1999, 2999])
      assert.equal(await prune(fixture, 1000), 1)
      assert.equal(await prune(fixture, 1001), 0)
      assert.equal(await prune(fixture, 3000), 2)
      assert.deepEqual(await stored(fixture), [])
    },
  },
  {
    name: 'a range of time is read from its files',
    needs: 'jobs',
    run: async (fixture) => {
      const service = await withoutCache(fixture)
      await partitions(fixture, service, [0, 999, 1000, 1999, 2000, 4999, 5000, 7999])
      assert.deepEqual(await between(service, 1800, 8000), [1999, 2000, 4999, 5000, 7999])
      assert.deepEqual(await between(service, 1000, 4999), [1000, 1999, 2000, 4999])
      assert.deepEqual(await between(service, 1000, 1000), [1000])
      await prune(fixture, 1000)
      assert.deepEqual(await between(service, 0, 10_000), [1000, 1999, 2000, 4999, 5000, 7999])
    },
  },
]
