/**
 * Scans that fail half-way: a system gives the whole answer or an error with a code, never the part
 * that was read before.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { TableLevel } from '../../../src/entries/level.js'
import { MessagingService, type PublishResponse } from '../../../src/systems/messaging/index.js'
import { metadataStoreOf } from '../../../src/systems/metastore/pulsar/index.js'
import { TransactionManager } from '../../../src/systems/transactions/index.js'
import { withCutScans, type Cut } from '../../helpers/cells/cut-scans.js'

interface Opened {
  readonly database: Database
  readonly cut: Cut
}

async function open(): Promise<Opened> {
  const fileSystem = new MemoryFileSystem()
  const cut = { rows: Infinity, failures: 0 }
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  return { database: withCutScans(database, cut), cut }
}

/** The whole answer, or an error with a code if a scan has failed. */
async function checkCalls(
  t: Test,
  cut: Cut,
  calls: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<void> {
  for (const [name, call] of Object.entries(calls)) {
    cut.rows = Infinity
    const whole = await call()
    let failures = 0
    for (const rows of [0, 1, 2, 3, 4, 5, 7, 8, 9, 20]) {
      cut.rows = rows
      cut.failures = 0
      const what = `${name}, cut behind ${rows} rows`
      try {
        const answer = await call()
        t.equal(cut.failures, 0, `${what}: no error is passed over`)
        t.strictSame(answer, whole, what)
      } catch (error) {
        failures++
        t.ok(error instanceof Error && 'code' in error, `${what}: ${(error as Error).stack}`)
        t.ok(cut.failures > 0, what)
      }
    }
    cut.rows = Infinity
    t.ok(failures > 0, `${name} has scans that were cut`)
  }
}

async function listOf<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}

const count = 10

void t.test('a store of metadata answers no part of a scan as the whole', async (t) => {
  const { database, cut } = await open()
  const store = await metadataStoreOf(database)
  for (let i = 0; i < count; i++) {
    await store.put(`/a/${i}`, 'v', undefined, { secondaryIndexes: { i: String(i) } })
    await store.put(`/a/${i}/below`, 'v')
  }
  const told = async (): Promise<unknown> => {
    const seen: unknown[] = []
    let ends = 0
    const consumer = {
      onNext: (record: unknown) => void seen.push(record),
      onError: () => undefined,
      onCompleted: () => void ends++,
    }
    try {
      await store.scanChildren('/a', consumer)
    } finally {
      t.equal(ends, cut.failures === 0 ? 1 : 0, 'an end is told of a whole scan alone')
    }
    return seen
  }
  await checkCalls(t, cut, {
    getChildren: () => store.getChildren('/a'),
    getChildrenFromStore: () => store.getChildrenFromStore('/a'),
    scanByIndex: () => listOf(store.scanByIndex({ prefix: '/a', index: 'i' })),
    scanChildren: () => listOf(store.scanChildren('/a')),
    'scanChildren for a consumer': told,
  })
  for (const rows of [0, 1, 2, 3, 5, 9]) {
    cut.rows = rows
    await t.rejects(store.deleteRecursive('/a'), `deleteRecursive, cut behind ${rows} rows`)
    cut.rows = Infinity
    t.equal((await store.getChildren('/a')).length, count, 'nothing was deleted')
    for (let i = 0; i < count; i++) t.ok(await store.exists(`/a/${i}/below`), 'nor below')
    t.ok(await store.put('/other', 'v'), 'the store goes on')
  }
  await store.close()
  for (const rows of [0, 1, 2]) {
    cut.rows = rows
    cut.failures = 0
    const again = await metadataStoreOf(database).catch((error: unknown) => error)
    t.equal(again instanceof Error, cut.failures > 0, `an open that is cut behind ${rows} rows`)
    if (!(again instanceof Error)) await (again as typeof store).close()
  }
  cut.rows = Infinity
  const last = await metadataStoreOf(database)
  t.equal((await last.getChildren('/a')).length, count)
  await checkCalls(t, cut, {
    'the feed of an earlier process': async () => {
      const commits: unknown[] = []
      for await (const commit of last.subscribe({ fromSequence: 1 })) {
        commits.push(commit)
        if (commits.length === 2 * count) break
      }
      return commits
    },
  })
  await last.deleteRecursive('/a')
  t.same(await last.getChildren('/a'), [])
  await last.close()
  await database.close()
})

void t.test('messaging answers no part of a scan as the whole', async (t) => {
  const { database, cut } = await open()
  const id = { namespace: 'n', topic: 't' }
  const options = { cacheBytesMax: 0 }
  const service = await MessagingService.open(database, options)
  await service.createTopic(id)
  for (let i = 0; i < count; i++) await service.publish(id, { messages: [`message ${i}`] })
  const end = await service.end(id)
  for (let i = 0; i < count; i++) await service.setPosition(id, `consumer ${i}`, end)
  await checkCalls(t, cut, {
    listPositions: () => service.listPositions(id),
    poll: async () => (await service.poll(id)).map(({ payload }) => String(payload)),
    fetch: async () => {
      const messages = await listOf(await service.fetch(id))
      return messages.map(({ payload }) => String(payload))
    },
  })
  await service.close()
  await checkCalls(t, cut, {
    open: async () => {
      const opened = await MessagingService.open(database, options)
      const topics = [await opened.listTopics('n'), await opened.end(id)]
      await opened.close()
      return topics
    },
  })
  await database.close()
})

void t.test('a rollback that is cut says so, and marks all when it is repeated', async (t) => {
  for (const rows of [0, 1, 3, 7]) {
    const { database, cut } = await open()
    const id = { namespace: 'n', topic: 't' }
    const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
    const options = { cacheBytesMax: 0, transactions: manager }
    const service = await MessagingService.open(database, options)
    await service.createTopic(id)
    const transaction = await manager.startShort()
    const { writePointer: transactionWritePointer } = transaction
    const answers: PublishResponse[] = []
    for (let i = 0; i < count; i++) {
      const answer = await service.publish(id, { messages: ['m'], transactionWritePointer })
      answers.push(answer!)
    }
    const rollbackRange = { ...answers[0].rollbackRange }
    const { endTimestamp, endSequenceId } = answers[count - 1].rollbackRange
    Object.assign(rollbackRange, { endTimestamp, endSequenceId })
    const whole = { transactionWritePointer, rollbackRange }
    cut.rows = rows
    await t.rejects(service.rollback(id, whole), { code: 'ERR_IO' }, `behind ${rows} rows`)
    cut.rows = Infinity
    await service.rollback(id, whole)
    await manager.abort(transaction)
    const reader = await manager.startShort()
    t.same(await service.poll(id, { transaction: reader }), [], 'nothing of it is seen')
    await service.close()
    await manager.close()
    await database.close()
  }
})

void t.test('a manager of transactions forgets nothing by a scan that was cut', async (t) => {
  const { database, cut } = await open()
  const options = { sweepMilliseconds: 0 }
  const manager = await TransactionManager.open(database, options)
  for (let i = 0; i < count; i++) {
    const { transactionId } = await manager.startShort()
    if (i % 2 === 0) await manager.invalidate(transactionId)
  }
  await manager.persist()
  await manager.close()
  await checkCalls(t, cut, {
    open: async () => {
      const opened = await TransactionManager.open(database, options)
      const { invalid, inProgress } = opened.snapshot()
      await opened.close()
      return [invalid, inProgress]
    },
  })
  await database.close()
})

void t.test('a level answers no part of a scan as the whole', async (t) => {
  const { database, cut } = await open()
  const level = new TableLevel<string, string>(database)
  await level.open()
  for (let i = 0; i < count; i++) await level.put(`key ${i}`, 'v')
  await checkCalls(t, cut, {
    keys: () => level.keys().all(),
    entries: () => listOf(level.iterator()),
    'many at once': async () => {
      const iterator = level.iterator()
      const many: unknown[] = []
      for (;;) {
        const some = await iterator.nextv(6)
        if (some.length === 0) break
        many.push(...some)
      }
      await iterator.close()
      return many
    },
  })
  await level.close()
  await database.close()
})
