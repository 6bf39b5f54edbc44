/**
 * The entry `cellardb/messaging` with values that no caller should give.
 *
 * @runs campaign
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import * as messaging from '../../../src/systems/messaging/index.js'
import { TransactionContext, TransactionManager } from '../../../src/systems/transactions/index.js'
import { checkEntry } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'
import { checkMembers } from './hostile-members.js'

t.setTimeout(1_800_000)

const id = { namespace: 'n', topic: 't' }

async function open(): Promise<LiveObjects> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
  const service = await messaging.MessagingService.open(database, { transactions: manager })
  await service.createTopic(id)
  await service.publish(id, { messages: ['a', 'b', 'c'] })
  const standby = await messaging.StandbyMessaging.start({
    open: async () => ({ messaging: service, close: async () => undefined }),
    retryMilliseconds: 0,
  })
  const participants = {
    publisher: new messaging.MessagePublisher(service),
    fetcher: new messaging.MessageFetcher(service),
    consumer: new messaging.MessageConsumer(service, id, 'c'),
  }
  const context = new TransactionContext(manager, Object.values(participants))
  await context.start()
  await participants.publisher.publish('n', 't', 'd')
  await participants.consumer.poll()
  const objects = {
    service,
    standby,
    'publisher in a transaction': participants.publisher,
    'fetcher in a transaction': participants.fetcher,
    'consumer in a transaction': participants.consumer,
    publisher: new messaging.MessagePublisher(service),
    fetcher: new messaging.MessageFetcher(service),
    consumer: new messaging.MessageConsumer(service, id, 'other'),
    admin: new messaging.MessagingAdmin(service, 'n'),
    builder: messaging.prepareFetch(service, id),
    iterator: await service.fetch(id),
  }
  const close = async (): Promise<void> => {
    await standby.stop()
    await service.close()
    await manager.close()
    await database.close()
  }
  return { objects, close }
}

void t.test('messaging', (t) =>
  checkEntry(t, {
    exports: messaging,
    open,
    except: { 'new MessagingService': 'is private; MessagingService.open checks what it gets' },
  }),
)

void t.test('options and other arguments of messaging', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
  const service = await messaging.MessagingService.open(database, {
    transactions: manager,
    waitMillisecondsMax: 5,
  })
  await service.createTopic(id)
  const transaction = await manager.startShort()
  const { writePointer: transactionWritePointer } = transaction
  const request = { messages: ['a', Buffer.from('b')], transactionWritePointer }
  const answer = await service.publish(id, request)
  const position = await service.end(id)
  await checkMembers(t, {
    service: {
      call: async (options: messaging.MessagingOptions) => {
        const opened = await messaging.MessagingService.open(database, options)
        try {
          await opened.createTopic(id).catch(() => undefined)
          await opened.publish(id, { messages: ['a'] })
        } finally {
          await opened.close()
        }
      },
      values: [
        {
          ...{ tablePrefix: 'other', clock: { now: () => Date.now() }, durability: 'ASYNC_WAL' },
          ...{ ttlSecondsDefault: 5, lifetimeMilliseconds: 5, transactions: undefined },
          ...{ pruneState: undefined, register: undefined, cacheBytesMax: 500 },
          ...{ requestMessagesMax: 5, waitersMax: 5 },
        },
      ],
    },
    topic: {
      call: (...given: [messaging.TopicId, messaging.TopicProperties]) =>
        service.updateTopic(...given),
      values: [id, { ttl: '5000', other: 'o' }],
    },
    publish: {
      call: (...given: [messaging.TopicId, messaging.PublishRequest]) => service.publish(...given),
      values: [id, { ...request, producer: { id: 'p', sequence: 1 } }],
    },
    store: {
      call: (...given: [messaging.TopicId, messaging.PublishRequest]) => service.store(...given),
      values: [id, request],
    },
    rollback: {
      call: (...given: [messaging.TopicId, messaging.PublishResponse]) =>
        service.rollback(...given),
      values: [id, answer],
    },
    poll: {
      call: (...given: [messaging.TopicId, messaging.FetchOptions]) => service.poll(...given),
      values: [
        id,
        {
          ...{ from: position.toString('hex'), inclusive: false, transaction, limit: 5 },
          ...{ waitMilliseconds: 1, signal: undefined },
        },
      ],
    },
    fetch: {
      call: async (...given: [messaging.TopicId, messaging.FetchOptions]) => {
        const iterator = await service.fetch(...given)
        await iterator.next()
        iterator.close()
      },
      values: [id, { time: 5, inclusive: true, transaction, limit: 5, signal: undefined }],
    },
    position: {
      call: (...given: [messaging.TopicId, string, Buffer, messaging.SetPositionOptions]) =>
        service.setPosition(...given),
      values: [id, 'c', position, { expected: undefined }],
    },
    'publish at a commit': {
      call: (...given: [bigint, messaging.CommitPublish[], []]) =>
        service.publishAtCommit(...given),
      values: [transactionWritePointer, [{ id, messages: ['a'] }], []],
    },
    'message id': {
      call: messaging.encodeMessageId,
      values: [messaging.decodeMessageId(position), Buffer.alloc(40), 5],
    },
    standby: {
      call: async (options: messaging.StandbyOptions) => {
        await (await messaging.StandbyMessaging.start(options)).stop()
      },
      values: [
        {
          open: async () => ({ messaging: service, close: async () => undefined }),
          retryMilliseconds: 0,
          changed: () => undefined,
        },
      ],
    },
    prunings: {
      call: messaging.messagingPruning,
      values: [{ rows: 'message', tables: ['t'], topics: () => [], state: undefined }],
    },
  })
  t.equal((await service.poll(id, { limit: 1 })).length, 1, 'the service goes on')
  await service.close()
  await manager.close()
  await database.close()
})
