/** What flushes and compactions do. */
import assert from 'node:assert/strict'
import type { MessagingOptions, MessagingService } from '../../../src/systems/messaging/index.js'
import { tx, type Fixture, type MessagingCase } from './case.js'
import { serviceOf, t1 } from './message-fixture.js'

const everything = tx(2n ** 62n, 2n ** 62n, [], [])

/** Opens a service whose prunings are registered. */
async function pruned(fixture: Fixture, options: MessagingOptions = {}): Promise<MessagingService> {
  const jobs = fixture.suite.jobs!
  return serviceOf(fixture, {
    ...options,
    cacheBytesMax: 0,
    register: (coprocessor) => jobs.register(fixture.database, coprocessor),
  })
}

async function rows(fixture: Fixture, table: string): Promise<number> {
  let count = 0
  for await (const result of fixture.database.table(table).scan()) count += result.size > 0 ? 1 : 0
  return count
}

async function compact(fixture: Fixture): Promise<void> {
  const jobs = fixture.suite.jobs!
  await jobs.flush(fixture.database)
  for (const table of ['tms.message', 'tms.payload']) {
    await jobs.compact(fixture.database, table, true)
  }
}

/** Cases about cleanup. */
export const cleanupCases: readonly MessagingCase[] = [
  {
    name: 'a payload is there before its TTL, and gone behind it',
    needs: 'jobs',
    run: async (fixture) => {
      const service = await pruned(fixture)
      await service.createTopic(t1, { ttl: '3' })
      await service.store(t1, { messages: ['payload'], transactionWritePointer: 1n })
      await compact(fixture)
      assert.equal(await rows(fixture, 'tms.payload'), 1)
      fixture.clock.milliseconds += 3001
      await compact(fixture)
      assert.equal(await rows(fixture, 'tms.payload'), 0)
    },
  },
  {
    name: 'a message is there before its TTL, and gone behind it',
    needs: 'jobs',
    run: async (fixture) => {
      const service = await pruned(fixture)
      await service.createTopic(t1, { ttl: '3' })
      await service.publish(t1, { messages: ['message'], transactionWritePointer: 100n })
      await compact(fixture)
      assert.equal(await rows(fixture, 'tms.message'), 1)
      fixture.clock.milliseconds += 3001
      assert.deepEqual(await service.poll(t1), [])
      await compact(fixture)
      assert.equal(await rows(fixture, 'tms.message'), 0)
    },
  },
  {
    name: 'a compaction marks messages of invalid transactions, and drops ended generations',
    needs: 'jobs',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const service = await pruned(fixture, { transactions: manager })
      await service.createTopic(t1)
      const { transactionId } = await manager.startShort()
      const request = { messages: ['data'], transactionWritePointer: transactionId }
      await service.publish(t1, request)
      await manager.invalidate(transactionId)
      assert.equal((await service.poll(t1)).length, 1)
      assert.equal((await service.poll(t1, { transaction: everything })).length, 1)
      await compact(fixture)
      assert.equal((await service.poll(t1)).length, 1)
      assert.equal((await service.poll(t1, { transaction: everything })).length, 0)
      await service.deleteTopic(t1)
      await compact(fixture)
      assert.equal(await rows(fixture, 'tms.message'), 0)
    },
  },
]
