/**
 * The list of invalid transactions is pruned end to end: a table and a topic hold data of one, jobs
 * drop and mark it, the books say so, and the list gets shorter. Nothing comes to light again.
 */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { MessagingService } from '../../../../src/systems/messaging/index.js'
import {
  PruneState,
  pruneStatePlugin,
  TransactionalTable,
  transactionalFamily,
  TransactionManager,
  transactionProcessor,
  TransactionPruningService,
} from '../../../../src/systems/transactions/index.js'

const topic = { namespace: 'n', topic: 't' }
const lifetimeMilliseconds = 10_000
const graceMilliseconds = 4_000

async function open(fileSystem: MemoryFileSystem, clock: ManualClock) {
  const options = { fileSystem, clock, executor: 'inline', compactionEnabled: false } as const
  const database = await Database.open('/d', options)
  await database.ensureTable('orders', { families: { f: transactionalFamily() } })
  const table = await database.ensureTable('prune', { families: { d: {} } })
  const managing = { clock, sweepMilliseconds: 0, lifetimeMilliseconds }
  const manager = await TransactionManager.open(database, managing)
  const pruneState = await PruneState.open({ table, lifetimeMilliseconds, graceMilliseconds })
  const register = (each: Parameters<Database['registerCoprocessor']>[0]) =>
    database.registerCoprocessor(each)
  const transactions = () => manager.snapshot()
  await register(transactionProcessor({ tables: ['orders'], transactions, state: pruneState }))
  const service = await MessagingService.open(database, {
    clock,
    transactions: manager,
    pruneState,
    register,
  })
  const plugin = pruneStatePlugin(pruneState, () =>
    ['orders', 'tms.message'].map((name) => database.table(name)),
  )
  const pruning = new TransactionPruningService({ manager, plugins: [plugin], clock })
  const close = async (): Promise<void> => {
    await service.close()
    await manager.close()
    await pruneState.settled()
    await database.close()
  }
  return { database, manager, service, pruning, close }
}

type Opened = Awaited<ReturnType<typeof open>>

/** What a new transaction sees: rows, then messages. */
async function seen({ database, manager, service }: Opened): Promise<string[]> {
  const transaction = await manager.startShort()
  const orders = new TransactionalTable(database, 'orders')
  orders.startTx(transaction)
  const found: string[] = []
  for await (const row of await orders.scan()) found.push(row.row!.toString())
  for (const { payload } of await service.poll(topic, { transaction })) {
    found.push(payload.toString())
  }
  await manager.abort(transaction)
  return found
}

/** Writes a row and a message with a transaction that is still running. */
async function write({ database, manager, service }: Opened, name: string) {
  const transaction = await manager.startShort()
  const orders = new TransactionalTable(database, 'orders')
  orders.startTx(transaction)
  await orders.put({ row: `row ${name}`, cells: { 'f:q': name } })
  // A read takes the writes of its transaction to the table.
  await orders.get({ row: 'row' })
  const { writePointer: transactionWritePointer } = transaction
  await service.publish(topic, { messages: [`message ${name}`], transactionWritePointer })
  return transaction
}

async function compact({ database }: Opened): Promise<void> {
  await database.flush()
  for (const table of ['orders', 'tms.message']) await database.compact(table, { major: true })
}

void t.test('an invalid transaction leaves the list when nothing of it is left', async (t) => {
  const clock = new ManualClock(1_489_707_864_000)
  const fileSystem = new MemoryFileSystem()
  let opened = await open(fileSystem, clock)
  await opened.service.createTopic(topic)
  const old = await opened.manager.startLong()
  const lost = await write(opened, 'lost')
  const kept = await write(opened, 'kept')
  await opened.manager.commit(kept)
  await opened.manager.invalidate(lost.transactionId)
  const wanted = ['row kept', 'message kept']
  t.strictSame(await seen(opened), wanted)

  clock.milliseconds += lifetimeMilliseconds + graceMilliseconds + 1000
  t.equal(await opened.pruning.run(), 0, 'no table was compacted')
  await compact(opened)
  await compact(opened)
  t.equal(await opened.pruning.run(), 0, 'an older transaction bounds what is visible')
  await opened.manager.commit(old)

  clock.milliseconds += 1000
  await opened.manager.commit(await write(opened, 'later'))
  await compact(opened)
  t.equal(await opened.pruning.run(), 1)
  t.equal(opened.manager.statistics().invalid, 0)

  const all = ['row kept', 'row later']
  const messages = ['message kept', 'message later']
  t.strictSame(await seen(opened), [...all, ...messages])
  const raw = opened.database.table('orders').scan({ raw: true, versions: 'all' })
  for await (const { row } of raw) t.not(row?.toString(), 'row lost', 'its cell is gone')
  const { payload } = (await opened.service.poll(topic))[0]
  t.equal(payload.toString(), 'message lost', 'without a transaction it is still shown')
  await opened.close()

  opened = await open(fileSystem, clock)
  t.equal(opened.manager.statistics().invalid, 0)
  t.strictSame(await seen(opened), [...all, ...messages])
  await opened.close()
})

void t.test('a listener that throws ends neither the process nor the runs', async (t) => {
  const failure = new Error('of the listener')
  let runs = 0
  const errors: unknown[] = []
  const onError = (error: unknown): void => {
    errors.push((error as Error).message)
    throw failure
  }
  const fetchPruneUpperBound = (): bigint => {
    runs++
    throw new Error('of the plugin')
  }
  const manager = { lifetimeMilliseconds, pruneInvalid: () => Promise.reject(failure) }
  const plugins = [{ fetchPruneUpperBound }]
  const service = new TransactionPruningService({ manager, plugins, onError })
  service.start(1)
  while (runs < 2) await new Promise((resolve) => setTimeout(resolve, 1))
  await service.stop()
  t.equal(errors[0], 'of the plugin')
  const database = await Database.open('/p', { fileSystem: new MemoryFileSystem() })
  const table = await database.createTable('s', { families: { d: {} } })
  const state = await PruneState.open({ table, onError })
  await database.close()
  state.noteEmpty({ table: 't', family: 'f' }, 1)
  await state.settled()
  t.match(errors.at(-1), /closed/)
})
