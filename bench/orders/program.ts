/**
 * The program of the orders demonstration: a producer and two consumers over one database. All that
 * they do is in transactions over tables and messages, so they may be killed at any moment.
 *
 * Orders have an amount in the family `f` and a status in `g`. Later orders cancel earlier ones by
 * deleting their rows, and everything is read by the names of its columns.
 */
import { Database, type BackendDatabase } from '../../src/entries/index.js'
import {
  MessageFetcher,
  MessagePublisher,
  MessagingService,
} from '../../src/systems/messaging/index.js'
import {
  PruneState,
  runTransaction,
  transactionalFamily,
  TransactionManager,
  transactionProcessor,
  type TransactionalTable,
  type TransactionScope,
} from '../../src/systems/transactions/index.js'

const topic = { namespace: 'shop', topic: 'orders' }
/** The consumers; each has its own position and its own results. */
export const consumers = ['revenue', 'shipping'] as const
/** Tables of which transactions are pruned. */
export const transactionalTables = ['orders', 'results', 'stock'] as const
const ordersPerTransaction = 5
const messagesPerTransaction = 20
/** An order cancels the one that is so many before it, if that is one of those to cancel. */
const cancelledBehind = 8
/** How long a transaction may write, and what the pruning waits beyond it. Short, to be seen. */
const lifetimeMilliseconds = 1500
const graceMilliseconds = 500
/** After this time a transaction that was given up has written for the last time, with a margin. */
export const inactiveMilliseconds = lifetimeMilliseconds + graceMilliseconds + 100

/** An open shop. */
export interface Shop {
  readonly manager: TransactionManager
  readonly messaging: MessagingService
  close(): Promise<void>
}

/** A shop in a directory, with the jobs that prune transactions. */
export interface LocalShop extends Shop {
  readonly database: Database
  readonly pruneState: PruneState
}

const family = transactionalFamily()
const durability = 'FSYNC_WAL'

async function makeTables(database: BackendDatabase): Promise<void> {
  for (const name of transactionalTables) {
    await database.admin.ensureTable(name, { families: { f: family, g: family } })
  }
}

async function makeTopic(messaging: MessagingService): Promise<void> {
  if ((await messaging.listTopics(topic.namespace)).length === 0) await messaging.createTopic(topic)
}

/** Opens the database of a directory, and makes what is missing. */
export async function openShop(directory: string): Promise<LocalShop> {
  const database = await Database.open(directory)
  await makeTables(database)
  const table = await database.ensureTable('prune', { families: { d: {} } })
  const pruneState = await PruneState.open({ table, lifetimeMilliseconds, graceMilliseconds })
  const manager = await TransactionManager.open(database, {
    durability,
    timeoutMilliseconds: 1500,
    sweepMilliseconds: 250,
    lifetimeMilliseconds,
  })
  const transactions = () => manager.snapshot()
  await database.registerCoprocessor(
    transactionProcessor({ tables: transactionalTables, transactions, state: pruneState }),
  )
  const messaging = await MessagingService.open(database, {
    durability,
    transactions: manager,
    pruneState,
    register: (coprocessor) => database.registerCoprocessor(coprocessor),
  })
  await makeTopic(messaging)
  const close = async (): Promise<void> => {
    await messaging.close()
    await manager.close()
    await pruneState.settled()
    await database.close()
  }
  return { database, manager, messaging, pruneState, close }
}

/** Opens a shop on any database with atomic batches. There are no jobs, so nothing is pruned. */
export async function openShopOn(database: BackendDatabase): Promise<Shop> {
  await makeTables(database)
  const manager = await TransactionManager.open(database, { durability })
  const messaging = await MessagingService.open(database, { durability, transactions: manager })
  await makeTopic(messaging)
  const close = async (): Promise<void> => {
    await messaging.close()
    await manager.close()
  }
  return { manager, messaging, close }
}

/** The amount of an order: any rule that both sides can compute. */
export function amountOf(order: number): number {
  return (order * 7919) % 1000
}

/** Whether a later order cancels this one. */
function isCancelled(order: number, last: number): boolean {
  return order % 3 === 1 && order + cancelledBehind <= last
}

/** The row of an order. */
export function rowOf(order: number): string {
  return `order ${String(order).padStart(9, '0')}`
}

/** Writes the next orders, and a message for each, in one transaction. Returns the last order. */
export async function produce({ manager, messaging }: Shop): Promise<number> {
  return runTransaction(manager, async (tx) => {
    const orders = tx.table('orders')
    const publisher = await tx.add(new MessagePublisher(messaging))
    const last = await orders.get({ row: 'last', columns: ['f:number'] })
    let order = Number(last.value('f:number') ?? 0)
    for (let i = 0; i < ordersPerTransaction; i++) {
      order++
      const amount = String(amountOf(order))
      await orders.put({ row: rowOf(order), cells: { 'f:amount': amount, 'g:status': 'new' } })
      const earlier = order - cancelledBehind
      if (earlier > 0 && isCancelled(earlier, order)) await cancel(orders, earlier)
      await publisher.publish(topic.namespace, topic.topic, JSON.stringify({ order, amount }))
    }
    await orders.put({ row: 'last', cells: { 'f:number': String(order) } })
    return order
  })
}

/** By the row or by its families: both must go. */
async function cancel(orders: TransactionalTable, order: number): Promise<void> {
  const row = rowOf(order)
  await orders.delete(order % 2 === 0 ? { row } : { row, families: ['f', 'g'] })
}

/** Results of a consumer. */
export interface Consumed {
  readonly position: string | null
  readonly orders: number
  readonly amount: number
}

/** Reads the next messages, and writes results and position in one transaction. */
export async function consume({ manager, messaging }: Shop, consumer: string): Promise<number> {
  return runTransaction(manager, async (tx) => {
    const results = tx.table('results')
    const fetcher = await tx.add(new MessageFetcher(messaging))
    const before = await consumed(results, consumer)
    let { position, orders, amount } = before
    const { namespace, topic: name } = topic
    const messages = await fetcher.fetch(namespace, name, messagesPerTransaction, position)
    for await (const { id, payload } of messages) {
      const order = JSON.parse(payload.toString('utf8')) as { order: number; amount: string }
      if (order.order !== orders + 1) throw new Error(`order ${order.order} behind ${orders}`)
      position = id.toString('hex')
      orders++
      amount += Number(order.amount)
    }
    const cells = { 'f:position': position ?? '', 'f:orders': `${orders}`, 'g:amount': `${amount}` }
    if (orders > before.orders) await results.put({ row: consumer, cells })
    return orders - before.orders
  })
}

/** What a consumer has done so far. Within a transaction. */
export async function consumed(results: TransactionalTable, consumer: string): Promise<Consumed> {
  const columns = ['f:position', 'f:orders', 'g:amount']
  const row = await results.get({ row: consumer, columns })
  const text = (column: string): string => row.value(column)?.toString('utf8') ?? ''
  const position = text('f:position')
  return {
    position: position === '' ? null : position,
    orders: Number(text('f:orders')),
    amount: Number(text('g:amount')),
  }
}

/** What the table of orders says in one transaction. */
export interface OrderCount {
  /** All orders so far, cancelled ones too. */
  readonly last: number
  /** Orders that are there, and the sum of their amounts. */
  readonly present: number
  readonly amount: number
}

/** Reads the orders by the names of their columns, and throws if a cancelled one is there. */
export async function countOrders(tx: TransactionScope): Promise<OrderCount> {
  const orders = tx.table('orders')
  const row = await orders.get({ row: 'last', columns: ['f:number'] })
  const last = Number(row.value('f:number') ?? 0)
  let present = 0
  let amount = 0
  const columns = ['f:amount', 'g:status']
  for await (const each of await orders.scan({ prefix: 'order ', columns })) {
    const order = Number(each.row!.toString().slice('order '.length))
    if (isCancelled(order, last)) throw new Error(`order ${order} was cancelled and is there`)
    if (each.size !== columns.length) throw new Error(`order ${order} is there in part`)
    if (each.value('f:amount')?.toString() !== String(amountOf(order))) {
      throw new Error(`order ${order} has another amount`)
    }
    present++
    amount += amountOf(order)
  }
  let expected = 0
  for (let order = 1; order <= last; order++) if (!isCancelled(order, last)) expected++
  if (present !== expected) throw new Error(`${present} orders of ${expected} are there`)
  return { last, present, amount }
}

/** What messages and results say at the end. */
export interface Totals extends OrderCount {
  readonly messages: number
  readonly messagesAmount: number
  readonly consumed: readonly Consumed[]
}

/** Reads everything in one transaction. */
export async function totals({ manager, messaging }: Shop): Promise<Totals> {
  return runTransaction(manager, async (tx) => {
    const { transaction } = tx
    const sum = { messages: 0, messagesAmount: 0 }
    for await (const { payload } of await messaging.fetch(topic, { transaction })) {
      sum.messages++
      sum.messagesAmount += Number((JSON.parse(payload.toString()) as { amount: string }).amount)
    }
    const done: Consumed[] = []
    for (const consumer of consumers) done.push(await consumed(tx.table('results'), consumer))
    return { ...(await countOrders(tx)), ...sum, consumed: done }
  })
}
