/** Topics, their properties and generations. */
import assert from 'node:assert/strict'
import { type Messaging } from '../../../src/systems/messaging/index.js'
import { isOlderGeneration } from '../../../src/systems/messaging/prune-job/prune-hook.js'
import { failsWith } from '../../suites/kit.js'
import { type MessagingCase } from './case.js'
import { defaultTopic, serviceOf, texts } from './message-fixture.js'

const notFound = 'ERR_TOPIC_NOT_FOUND'
const badArgument = 'ERR_INVALID_ARGUMENT'
const t1 = defaultTopic('t1')
const t2 = defaultTopic('t2')
const t3 = { namespace: 'system', topic: 't3' }

async function threeTopics(service: Messaging): Promise<void> {
  await service.createTopic(t1, { ttl: '10' })
  await service.createTopic(t2, { ttl: '20' })
  await service.createTopic(t3, { ttl: '30' })
}

/** Cases about topics. */
export const topicCases: readonly MessagingCase[] = [
  {
    name: 'an empty store has no topics',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      assert.deepEqual(await service.listAllTopics(), [])
      assert.deepEqual(await service.listTopics('default'), [])
      await failsWith(notFound, () => service.getTopic(t1))
    },
  },
  {
    name: 'topics are listed by namespace and all together',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await threeTopics(service)
      assert.deepEqual(await service.listTopics('default'), ['t1', 't2'])
      assert.equal((await service.listAllTopics()).length, 3)
      assert.deepEqual(await service.getTopic(t2), { ttl: '20', generation: '1' })
      await fixture.reopen()
      const again = await serviceOf(fixture)
      assert.deepEqual(await again.getTopic(t2), { ttl: '20', generation: '1' })
    },
  },
  {
    name: 'fifty generations of one topic',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      for (let round = 1; round <= 50; round++) {
        await service.createTopic(t1, { ttl: '1' })
        assert.deepEqual(await service.getTopic(t1), { ttl: '1', generation: String(round) })
        await service.deleteTopic(t1)
        await failsWith(notFound, () => service.getTopic(t1))
      }
    },
  },
  {
    name: 'a missing topic cannot be updated',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await failsWith(notFound, () => service.updateTopic(t1, { ttl: '5' }))
    },
  },
  {
    name: 'a topic is deleted once',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await service.createTopic(t1)
      await failsWith('ERR_TOPIC_EXISTS', () => service.createTopic(t1))
      await service.deleteTopic(t1)
      await failsWith(notFound, () => service.getTopic(t1))
      await failsWith(notFound, () => service.deleteTopic(t1))
    },
  },
  {
    name: 'deleted topics are scanned with negative generations',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await service.createTopic(t1)
      await service.createTopic(t3)
      await service.deleteTopic(t1)
      assert.equal((await service.scanTopics()).length, 2)
      assert.equal((await service.listAllTopics()).length, 1)
      assert.deepEqual(await service.listTopics('default'), [])
      await service.deleteTopic(t3)
      const generations = (await service.scanTopics()).map(({ generation }) => generation)
      assert.deepEqual(generations, [-1, -1])
    },
  },
  {
    name: 'which generations have ended',
    run: async () => {
      const pairs = [
        [3, 5],
        [3, -3],
        [6, 5],
        [6, 6],
        [6, -5],
      ] as const
      const ended = pairs.map(([data, current]) => isOlderGeneration(data, current))
      assert.deepEqual(ended, [true, true, false, false, false])
    },
  },
  {
    name: 'properties are validated and replaced',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await service.createTopic(t1, { ttl: '10', other: 'kept', generation: '7' })
      const created = await service.getTopic(t1)
      assert.deepEqual(created, { ttl: '10', other: 'kept', generation: '1' })
      await service.updateTopic(t1, { ttl: '5' })
      assert.deepEqual(await service.getTopic(t1), { ttl: '5', generation: '1' })
      await service.updateTopic(t1, {})
      assert.equal((await service.getTopic(t1))['ttl'], '604800')
      for (const ttl of ['xyz', '0', '-1', '', '1.5', '2147483648']) {
        await failsWith(badArgument, () => service.createTopic(t2, { ttl }))
      }
      await failsWith(badArgument, () => service.createTopic(t2, { generation: '0' }))
      await service.createTopic(t2, { ttl: '5' })
    },
  },
  {
    name: 'topics are listed in order, and bad names are refused',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      await service.createTopic(t2)
      await service.createTopic(t1)
      assert.deepEqual(await service.listTopics('default'), ['t1', 't2'])
      for (const topic of ['', 'a b', 'a:b', 'ä', 'a/b']) {
        await failsWith(badArgument, () => service.createTopic(defaultTopic(topic)))
      }
      await failsWith(badArgument, () => service.createTopic({ namespace: 'a-b', topic: 't' }))
      await service.deleteTopic(t1)
      await service.deleteTopic(t2)
      await failsWith(notFound, () => service.deleteTopic(t1))
      await failsWith(notFound, () => service.updateTopic(t1, {}))
      assert.deepEqual(await service.listTopics('default'), [])
    },
  },
  {
    name: 'topics whose names begin alike do not mix',
    run: async (fixture) => {
      const service = await serviceOf(fixture)
      const names = ['a', 'a-b', 'ab', 'a1']
      for (const topic of names) {
        await service.createTopic(defaultTopic(topic))
        await service.publish(defaultTopic(topic), { messages: [topic] })
      }
      await service.createTopic({ namespace: 'default1', topic: 'other' })
      for (const topic of names) {
        assert.deepEqual(texts(await service.poll(defaultTopic(topic))), [topic])
      }
      assert.deepEqual(await service.listTopics('default'), ['a-b', 'a1', 'a', 'ab'])
    },
  },
]
