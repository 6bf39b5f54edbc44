/** What the manager keeps over a stop and start, and what ends while a commit is being written. */
import t from 'tap'
import { hasCode } from '../../../../src/api/index.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { CellarError, Database } from '../../../../src/entries/index.js'
import { MessagingService } from '../../../../src/systems/messaging/index.js'
import {
  PruneState,
  runTransaction,
  TransactionalTable,
  transactionalFamily,
  TransactionErrorCode,
  TransactionManager,
  type Transaction,
  type TransactionManagerOptions,
  type TransactionParticipant,
} from '../../../../src/systems/transactions/index.js'

const options: TransactionManagerOptions = { sweepMilliseconds: 0 }

async function open(fileSystem = new SimulatedDisk()) {
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await TransactionManager.open(database, options)
  const reopen = async () => {
    await manager.close()
    await database.close()
    return open(fileSystem)
  }
  return { database, manager, reopen }
}

async function commit(manager: TransactionManager, transaction: Transaction, key: string) {
  await manager.canCommit(transaction, [key])
  await manager.commit(transaction)
}

/** Rows of change sets in the table of state. */
async function storedSets(database: Database): Promise<number> {
  let count = 0
  for await (const { size } of database.table('tx.state').scan({ prefix: 'c' })) {
    if (size > 0) count++
  }
  return count
}

void t.test('a change set that was forgotten stays forgotten', async (t) => {
  const first = await open()
  await first.manager.startLong()
  await commit(first.manager, await first.manager.startShort(), 'key')
  const later = await first.manager.startShort()
  const second = await first.reopen()
  t.equal(second.manager.statistics().committedSets, 0)
  t.equal(await storedSets(second.database), 0)
  await commit(second.manager, later, 'key')
  await second.manager.close()
  await second.database.close()
})

void t.test(
  'after a kill, a commit before the start of a transaction is no conflict',
  async (t) => {
    const fileSystem = new SimulatedDisk()
    const first = await open(fileSystem)
    await first.manager.startLong()
    const holder = await first.manager.startShort()
    await commit(first.manager, await first.manager.startShort(), 'key')
    const later = await first.manager.startShort()
    await commit(first.manager, await first.manager.startShort(), 'other')
    const second = await open(fileSystem.kill())
    await t.rejects(commit(second.manager, holder, 'key'), { code: 'ERR_TRANSACTION_CONFLICT' })
    await commit(second.manager, later, 'key')
    await second.manager.abort(holder)
    await commit(second.manager, await second.manager.startShort(), 'key')
    await second.manager.close()
    t.equal(await storedSets(second.database), 0, 'all sets are forgotten in the end')
    await second.database.close()
    await first.manager.close()
    await first.database.close()
  },
)

void t.test('a transaction that starts while a commit is written conflicts with it', async (t) => {
  const fileSystem = new SimulatedDisk()
  const first = await open(fileSystem)
  const { database, manager } = first
  const writing = await manager.startShort()
  await manager.canCommit(writing, ['key'])
  let go = (): void => undefined
  const gate = new Promise<void>((resolve) => (go = resolve))
  const committing = manager.commit(writing, {
    carry: async (mutations) => {
      await gate
      await database.atomic({ mutations })
    },
  })
  const during = await manager.startShort()
  t.equal(await manager.invalidate(writing.transactionId), false, 'it cannot be invalidated')
  await manager.abort(writing)
  t.equal(manager.isInProgress(writing.transactionId), true, 'nor aborted')
  await t.rejects(manager.commit(writing), { code: 'ERR_TRANSACTION_NOT_IN_PROGRESS' })
  go()
  await committing
  const behind = await manager.startShort()
  // A commit is in the log behind all starts before it.
  await commit(manager, await manager.startShort(), 'other')
  const conflict = { code: 'ERR_TRANSACTION_CONFLICT' }
  await t.rejects(manager.canCommit(during, ['key']), conflict)
  const second = await open(fileSystem.kill())
  await t.rejects(second.manager.canCommit(during, ['key']), conflict, 'after a kill too')
  await second.manager.canCommit(behind, ['key'])
  t.equal(second.manager.snapshot().invalid.length, 0)
  await second.manager.close()
  await second.database.close()
  await manager.abort(during)
  await manager.abort(behind)
  await manager.commit(await manager.startShort())
  await manager.close()
  t.equal(await storedSets(database), 0, 'its row goes, whatever its pointer was')
  await database.close()
})

void t.test('a clean-up leaves a transaction whose commit is being written', async (t) => {
  let now = 1_489_707_864_000
  const fileSystem = new SimulatedDisk()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const clock = { now: () => now }
  const manager = await TransactionManager.open(database, { ...options, clock })
  const writing = await manager.startShort({ timeoutMilliseconds: 10 })
  const committing = manager.commit(writing, {
    carry: async (mutations) => {
      now += 1000
      t.equal(await manager.cleanUp(), 0)
      await database.atomic({ mutations })
    },
  })
  await committing
  t.equal(manager.snapshot().invalid.length, 0)
  t.ok((await manager.startShort()).isVisible(writing.transactionId))
  await manager.close()
  await database.close()
})

void t.test(
  'a commit that is refused leaves the rows of forgotten change sets to the next',
  async (t) => {
    const { database, manager } = await open()
    await commit(manager, await manager.startShort(), 'key')
    t.equal(await storedSets(database), 1, 'its row goes with the next commit')
    const refused = await manager.startShort()
    const mutations = [{ put: { cells: { 'nope:q': 'x' } } }]
    const writes = [{ table: 'tx.state', row: 'r', mutations }]
    await t.rejects(manager.commit(refused, { writes }), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
    await manager.commit(refused)
    t.equal(await storedSets(database), 0)
    await manager.close()
    await database.close()
  },
)

void t.test('a table of state has one manager', async (t) => {
  const { database, manager } = await open()
  const again = (): Promise<TransactionManager> => TransactionManager.open(database, options)
  await t.rejects(again(), { code: 'ERR_TRANSACTION_STATE' })
  const both = await Promise.allSettled([
    TransactionManager.open(database, { ...options, table: 'other' }),
    TransactionManager.open(database, { ...options, table: 'other' }),
  ])
  t.strictSame(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  const { writePointer } = manager
  await manager.close()
  const next = await again()
  t.ok((await next.startShort()).transactionId > writePointer)
  await next.close()
  await database.close()
})

void t.test('errors of transactions and messaging are CellarErrors', async (t) => {
  const { database, manager } = await open()
  await manager.close()
  const error: unknown = await manager.startShort().catch((error: unknown) => error)
  t.ok(hasCode(error, TransactionErrorCode.unavailable))
  t.equal(hasCode(new CellarError('ERR_CLOSED', ''), TransactionErrorCode.unavailable), false)
  const service = await MessagingService.open(database)
  const missing = service.getTopic({ namespace: 'n', topic: 't' })
  t.ok((await missing.catch((error: unknown) => error)) instanceof CellarError)
  await service.close()
  await database.close()
})

void t.test('a service that is closed leaves no coprocessors', async (t) => {
  const { database, manager } = await open()
  const live = new Set<object>()
  const pruneState = await PruneState.open()
  const store = { table: 'tms.message', family: 'd' }
  for (let round = 0; round < 2; round++) {
    const service = await MessagingService.open(database, {
      transactions: manager,
      pruneState,
      register: async (coprocessor) => {
        const registration = await database.registerCoprocessor(coprocessor)
        live.add(registration)
        return {
          remove: () => {
            live.delete(registration)
            registration.remove()
          },
        }
      },
    })
    t.ok(live.size > 0)
    const epoch = pruneState.epoch(store)
    await service.close()
    t.equal(live.size, 0)
    t.equal(pruneState.epoch(store), epoch + 1, 'what is flushed now is not marked')
  }
  await manager.close()
  await database.close()
})

void t.test('no message has a write pointer that was not handed out', async (t) => {
  const { database, manager } = await open()
  const topic = { namespace: 'n', topic: 't' }
  for (const known of [{}, { transactions: manager }]) {
    const service = await MessagingService.open(database, known)
    if ((await service.listTopics('n')).length === 0) await service.createTopic(topic)
    const publish = (transactionWritePointer: bigint) =>
      service.publish(topic, { messages: ['m'], transactionWritePointer })
    await t.rejects(publish(2n ** 63n - 1n), { code: 'ERR_INVALID_ARGUMENT' })
    await publish((await manager.startShort()).writePointer)
    await service.close()
  }
  const { writePointer } = await manager.startShort()
  t.throws(() => manager.checkLifetime(writePointer + 1n), {
    code: 'ERR_TRANSACTION_NOT_IN_PROGRESS',
  })
  await manager.close()
  await database.close()
})

void t.test('a frame of which nobody knows is not rolled back by its context', async (t) => {
  const fileSystem = new SimulatedDisk()
  const { database, manager } = await open(fileSystem)
  await database.createTable('t', { families: { f: transactionalFamily() } })
  const table = new TransactionalTable(database, 't', { bufferBytesMax: 0 })
  const carrier: TransactionParticipant = {
    name: 'carrier',
    startTx: () => undefined,
    getTxChanges: () => [],
    commitTx: () => true,
    commitCarrier: () => async (mutations) => {
      await database.atomic({ mutations })
      throw new Error('of the carrier, behind the frame')
    },
    rollbackTx: () => true,
  }
  const work = () => table.put({ row: 'r', cells: { 'f:q': 'value' } })
  const unknown = { code: 'ERR_TRANSACTION_OUTCOME_UNKNOWN' }
  await t.rejects(runTransaction(manager, [table, carrier], work), unknown)
  await t.rejects(manager.startShort(), { code: 'ERR_TRANSACTIONS_UNAVAILABLE' })
  await manager.close()
  const next = await TransactionManager.open(database, options)
  await runTransaction(next, [table], async () => {
    t.equal((await table.get({ row: 'r' })).value('f:q')?.toString(), 'value', 'it was committed')
  })
  await next.close()
  await database.close()
})

void t.test('each close of the manager waits for the writes', async (t) => {
  const { database, manager } = await open()
  await commit(manager, await manager.startShort(), 'key')
  const starting = manager.startShort()
  const first = manager.close()
  await manager.close()
  const next = await TransactionManager.open(database, options)
  await Promise.all([first, starting])
  await t.rejects(manager.startShort(), { code: TransactionErrorCode.unavailable })
  await next.close()
  await database.close()
})
