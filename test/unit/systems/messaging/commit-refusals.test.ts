/** Messages that cannot be published end their own transaction, and no other. */
import type { AtomicBatch } from '../../../../src/api/index.js'
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  MessagePublisher,
  MessagingService,
  type MessagingOptions,
} from '../../../../src/systems/messaging/index.js'
import {
  runTransaction,
  TransactionalTable,
  transactionalFamily,
  TransactionManager,
} from '../../../../src/systems/transactions/index.js'

const topic = { namespace: 'n', topic: 't' }
const hour = 3_600_000

async function open(options: MessagingOptions = {}) {
  const clock = new ManualClock(1_489_707_864_000)
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  await database.createTable('data', { families: { f: transactionalFamily() } })
  const manager = await TransactionManager.open(database, { clock, sweepMilliseconds: 0 })
  const service = await MessagingService.open(database, { clock, ...options })
  await service.createTopic(topic)
  const table = new TransactionalTable(database, 'data')
  const publisher = new MessagePublisher(service)
  /** Puts a row and publishes to a topic, in one transaction. */
  const run = async (row: string, name: string, before?: () => unknown): Promise<void> => {
    await runTransaction(manager, [table, publisher], async () => {
      await table.put({ row, cells: { 'f:q': row } })
      await publisher.publish('n', name, 'a message')
      await before?.()
    })
  }
  const rows = async (): Promise<string[]> => {
    const found: string[] = []
    await runTransaction(manager, [table], async () => {
      for await (const result of await table.scan({})) found.push(String(result.row))
    })
    return found
  }
  const close = async (): Promise<void> => {
    await service.close()
    await manager.close()
    await database.close()
  }
  return { database, service, manager, clock, run, rows, close }
}

type Opened = Awaited<ReturnType<typeof open>>

interface Refusal {
  readonly title: string
  readonly code: string
  readonly options?: MessagingOptions
  /** The transaction that cannot publish. */
  readonly fail: (opened: Opened) => Promise<void>
  /** Whether the service takes messages afterwards. */
  readonly isOver?: boolean
}

/** Holds frames with messages back until the function that is returned is called. */
function hold(database: Database): () => void {
  const atomic = database.atomic.bind(database)
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  database.atomic = async (batch: AtomicBatch) => {
    if (batch.mutations.some(({ table }) => table === 'tms.message')) await gate
    return atomic(batch)
  }
  return release
}

const refusals: readonly Refusal[] = [
  {
    title: 'to a topic that does not exist',
    code: 'ERR_TOPIC_NOT_FOUND',
    fail: ({ run }) => run('bad', 'typo'),
  },
  {
    title: 'to a topic that is no name',
    code: 'ERR_INVALID_ARGUMENT',
    fail: ({ run }) => run('bad', 'no name'),
  },
  {
    title: 'that are too large',
    code: 'ERR_REQUEST_TOO_LARGE',
    options: { messageBytesMax: 8 },
    fail: async ({ run, service }) => {
      await service.publish(topic, { messages: ['short'] })
      await run('bad', 't')
    },
  },
  {
    title: 'of a transaction that is too old',
    code: 'ERR_TRANSACTION_TOO_OLD',
    options: { lifetimeMilliseconds: hour },
    fail: ({ run, clock }) => run('bad', 't', () => (clock.milliseconds += hour + 1)),
  },
  {
    title: 'while too much waits',
    code: 'ERR_MESSAGING_BUSY',
    options: { queueBytesMax: 0 },
    fail: async ({ run, service, database }) => {
      let waiting: Promise<unknown> | undefined
      let release: (() => void) | undefined
      try {
        await run('bad', 't', () => {
          release = hold(database)
          waiting = service.publish(topic, { messages: ['waits'] })
        })
      } finally {
        release?.()
        await waiting
      }
    },
  },
  {
    title: 'to a topic that is deleted while the commit waits',
    code: 'ERR_TOPIC_NOT_FOUND',
    fail: async ({ run, service, database }) => {
      await service.createTopic({ ...topic, topic: 'gone' })
      let waiting: Promise<unknown> | undefined
      try {
        await run('bad', 'gone', () => {
          const release = hold(database)
          waiting = service.publish(topic, { messages: ['waits'] })
          setTimeout(() => {
            void service.deleteTopic({ ...topic, topic: 'gone' }).then(release)
          }, 5)
        })
      } finally {
        await waiting
      }
    },
  },
  {
    title: 'to messaging that is closed',
    code: 'ERR_MESSAGING_UNAVAILABLE',
    fail: ({ run, service }) => run('bad', 't', () => service.close()),
    isOver: true,
  },
]

for (const { title, code, options, fail, isOver = false } of refusals) {
  void t.test(`messages ${title} fail their transaction alone`, async (t) => {
    const opened = await open(options)
    const { manager, database, run, rows, close } = opened
    await t.rejects(fail(opened), { code })
    t.equal(manager.statistics().inProgress, 0, 'the transaction has ended')
    t.equal(manager.statistics().invalid, 0, 'and was rolled back')
    t.strictSame(await rows(), [])
    const others = isOver || options?.messageBytesMax !== undefined ? [] : ['good']
    if (others.length > 0) await run('good', 't')
    await runTransaction(manager, [], () => undefined)
    t.strictSame(await rows(), others, 'other transactions go on')
    t.equal((await database.table('data').get({ row: 'bad' })).isEmpty, true)
    await close()
  })
}

void t.test('a commit whose outcome is not known ends the manager', async (t) => {
  const { manager, service, database, close } = await open()
  const transaction = await manager.startShort()
  database.atomic = async () => {
    throw new Error('the disk is gone')
  }
  const carry = service.publishAtCommit.bind(service, transaction.writePointer, [
    { id: topic, messages: ['a'] },
  ])
  await t.rejects(manager.commit(transaction, { carry }), {
    code: 'ERR_TRANSACTION_OUTCOME_UNKNOWN',
    cause: { message: 'the disk is gone' },
  })
  await t.rejects(manager.startShort(), { code: 'ERR_TRANSACTIONS_UNAVAILABLE' })
  await close()
})

void t.test('an observer that throws after a batch makes no message appear twice', async (t) => {
  const { clock, database, service, close } = await open()
  const observer = {
    postBatchMutate() {
      throw new Error('after the batch')
    },
  }
  const registered = await database.registerCoprocessor({ name: 'late', observer })
  const publishes = ['a', 'b'].map((message) => service.publish(topic, { messages: [message] }))
  const outcomes = await Promise.allSettled(publishes)
  t.same(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  registered.remove()
  await service.close()
  const again = await MessagingService.open(database, { clock })
  const messages: string[] = []
  for await (const { payload } of await again.fetch(topic)) messages.push(payload.toString())
  t.same(messages, ['a', 'b'], 'each is there once')
  await again.close()
  await close()
})
