/**
 * A commit is one frame: whatever write of the log a crash comes behind, all of a transaction is
 * there or nothing, and what is not committed is not seen. CELLAR_SEED repeats the history.
 *
 * @runs long
 */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { seededRandom } from '../../../../src/base/random.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { crashPolicies } from '../../../doubles/power-cut.js'
import { Database } from '../../../../src/entries/index.js'
import {
  runTransaction,
  TransactionalTable,
  transactionalFamily,
  TransactionContext,
  TransactionManager,
} from '../../../../src/systems/transactions/index.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)
const accounts = 8
const total = 100 * accounts

async function openAll(fileSystem: SimulatedDisk, clock: ManualClock) {
  const database = await Database.open('/database', { fileSystem, clock, executor: 'inline' })
  if (!database.hasTable('accounts')) {
    await database.createTable('accounts', { families: { f: transactionalFamily() } })
  }
  const manager = await TransactionManager.open(database, {
    clock,
    sweepMilliseconds: 0,
    durability: 'FSYNC_WAL',
  })
  return { database, manager }
}

async function balances(table: TransactionalTable): Promise<number[]> {
  const found: number[] = []
  for await (const row of await table.scan()) found.push(Number(row.value('f:balance')))
  return found
}

void t.test('the sum of accounts is the same behind every crash', async (t) => {
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed)
  const fileSystem = new SimulatedDisk()
  const clock = new ManualClock(1_489_707_864_000)
  const { database, manager } = await openAll(fileSystem, clock)
  const first = new TransactionalTable(database, 'accounts')
  await runTransaction(manager, [first], async () => {
    for (let i = 0; i < accounts; i++)
      await first.put({ row: `${i}`, cells: { 'f:balance': '100' } })
  })
  let acknowledged = 0
  const images: { image: SimulatedDisk; acknowledged: number }[] = []
  const cut = (): void => {
    const policy = crashPolicies[images.length % crashPolicies.length]
    images.push({ image: fileSystem.crash(policy, random), acknowledged })
  }
  for (let i = 0; i < 60; i++) {
    clock.milliseconds += 1
    const [from, to] = [Math.floor(random() * accounts), Math.floor(random() * accounts)]
    const table = new TransactionalTable(database, 'accounts', { bufferBytesMax: i % 2 ? 1 : 1e6 })
    const context = new TransactionContext(manager, [table])
    await context.start()
    const read = async (row: number): Promise<number> =>
      Number((await table.get({ row: `${row}` })).value('f:balance'))
    const write = (row: number, amount: number): Promise<void> =>
      table.put({ row: `${row}`, cells: { 'f:balance': String(amount) } })
    await write(from, (await read(from)) - 1)
    cut()
    await write(to, (await read(to)) + 1)
    await table.put({ row: 'count', cells: { 'f:balance': String(0) } })
    await table.put({ row: `history ${i}`, cells: { 'f:balance': '0' } })
    if (i % 5 === 4) await context.abort()
    else {
      const finishing = context.finish()
      cut()
      await finishing
      acknowledged++
    }
    cut()
  }
  await manager.close()
  await database.close()
  for (const { image, acknowledged } of images) {
    const opened = await openAll(image, clock)
    const table = new TransactionalTable(opened.database, 'accounts')
    await runTransaction(opened.manager, [table], async () => {
      const found = await balances(table)
      const sum = found.reduce((a, b) => a + b, 0)
      if (sum !== total) t.fail(`the sum is ${sum}`)
      const histories = found.length - accounts - (acknowledged > 0 || found.length > 8 ? 1 : 0)
      if (histories !== acknowledged && histories !== acknowledged + 1) {
        t.fail(`${histories} transactions of ${acknowledged}`)
      }
    })
    await opened.manager.close()
    await opened.database.close()
  }
  t.pass(`${images.length} crashes`)
})

void t.test('a table without a log loses no rollback and no write of a client', async (t) => {
  for (const durability of ['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const) {
    const fileSystem = new SimulatedDisk()
    const clock = new ManualClock(1_489_707_864_000)
    const first = await Database.open('/database', { fileSystem, clock, executor: 'inline' })
    await first.createTable('accounts', { durability, families: { f: transactionalFamily() } })
    const manager = await TransactionManager.open(first, { clock, sweepMilliseconds: 0 })
    const undone = new TransactionalTable(first, 'accounts', { bufferBytesMax: 0 })
    const context = new TransactionContext(manager, [undone])
    await context.start()
    await undone.put({ row: 'undone', cells: { 'f:balance': '1' } })
    await context.abort()
    // As a context does it with a manager in another process, whose log is another one.
    const remote = new TransactionalTable(first, 'accounts')
    const transaction = await manager.startShort()
    remote.startTx(transaction)
    await remote.put({ row: 'remote', cells: { 'f:balance': '2' } })
    await manager.canCommit(transaction, remote.getTxChanges())
    await remote.commitTx(true)
    await manager.commit(transaction)
    const opened = await openAll(fileSystem.kill(), clock)
    const table = new TransactionalTable(opened.database, 'accounts')
    await runTransaction(opened.manager, [table], async () => {
      t.strictSame(await balances(table), [2], durability)
    })
    await opened.manager.close()
    await opened.database.close()
    await manager.close()
    await first.close()
  }
})
