/**
 * What runs beside the flows of the orders demonstration: flushes and compactions of single
 * families, transactions that are given up and leave their writes behind, the pruning of their
 * list, and an auditor that reads one state before and behind a job.
 */
import {
  pruneStatePlugin,
  runTransaction,
  TransactionalTable,
  TransactionPruningService,
} from '../../src/systems/transactions/index.js'
import {
  countOrders,
  inactiveMilliseconds,
  produce,
  rowOf,
  transactionalTables,
  type LocalShop,
  type Shop,
} from './program.js'
import { checkItem } from './stock.js'

/** Orders that no transaction ever committed have numbers from here on. */
const lostFrom = 900_000_000

/**
 * Writes an order in one family and gives the transaction up. The write is in a file before, so
 * that only a compaction of this family drops it.
 */
export async function giveUp({ database, manager }: LocalShop): Promise<number> {
  const orders = new TransactionalTable(database, 'orders', { bufferBytesMax: 0 })
  const transaction = await manager.startShort()
  orders.startTx(transaction)
  const row = rowOf(lostFrom + Number(transaction.transactionId % 1_000_000n))
  await orders.put({ row, cells: { 'f:amount': '1' } })
  await database.flush('orders')
  await manager.invalidate(transaction.transactionId)
  return 0
}

let turn = 0

/** A flush, or a compaction of one family, and the pruning of the list of invalid transactions. */
export async function job(shop: LocalShop): Promise<number> {
  const { database } = shop
  turn++
  const table = transactionalTables[turn % transactionalTables.length]
  if (turn % 4 === 0) await database.flush(table)
  else await database.compact(table, { family: turn % 3 === 0 ? 'f' : 'g' })
  return prune(shop)
}

function prune({ database, manager, pruneState }: LocalShop): Promise<number> {
  const tables = () => [...transactionalTables, 'tms.message'].map((name) => database.table(name))
  const plugins = [pruneStatePlugin(pruneState, tables)]
  return new TransactionPruningService({ manager, plugins }).run()
}

/**
 * Reads everything twice in one transaction, with a commit and jobs in between; the two must be the
 * same. The transaction that commits started before, so its writes are not seen. `compact` is the
 * job; a cluster has its own.
 */
export async function audit(
  shop: Shop,
  compact: (table: string) => Promise<void> = async () => undefined,
): Promise<number> {
  const { manager } = shop
  const producing = produce(shop)
  await runTransaction(manager, async (tx) => {
    const before = JSON.stringify(await countOrders(tx))
    await checkItem(tx)
    await producing
    for (const table of ['orders', 'stock']) await compact(table)
    const behind = JSON.stringify(await countOrders(tx))
    await checkItem(tx)
    if (before !== behind) throw new Error(`one transaction read ${before}, then ${behind}`)
  })
  return 0
}

/**
 * Prunes when nothing runs any more: first with the other family compacted only, so that what was
 * given up must stay on the list, then with all. Returns how many pointers are left on it.
 */
export async function pruneToEnd(shop: LocalShop): Promise<number> {
  const { database, manager } = shop
  await manager.cleanUp()
  await giveUp(shop)
  await new Promise((resolve) => setTimeout(resolve, inactiveMilliseconds))
  await manager.cleanUp()
  const tables = [...transactionalTables, 'tms.message']
  for (const table of transactionalTables) await database.compact(table, { family: 'g' })
  await database.compact('tms.message')
  await prune(shop)
  await runTransaction(manager, countOrders)
  for (const table of tables) await database.compact(table)
  await prune(shop)
  return manager.statistics().invalid
}
