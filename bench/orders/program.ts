/**
 * The program of the orders demonstration: a producer and two consumers over one database. All that
 * they do is in transactions over tables and messages, so they may be killed at any moment.
 */
import { Database } from '../../src/index.js'
import { MessageFetcher, MessagePublisher, MessagingService } from '../../src/messaging/index.js'
import {
  runTransaction,
  TransactionalTable,
  transactionalFamily,
  TransactionManager,
} from '../../src/transactions/index.js'

const topic = { namespace: 'shop', topic: 'orders' }
/** The consumers; each has its own position and its own results. */
export const consumers = ['revenue', 'shipping'] as const
const ordersPerTransaction = 5
const messagesPerTransaction = 20

/** An open shop. */
export interface Shop {
  readonly database: Database
  readonly manager: TransactionManager
  readonly messaging: MessagingService
  close(): Promise<void>
}

/** Opens the database of a directory, and makes what is missing. */
export async function openShop(directory: string): Promise<Shop> {
  const database = await Database.open(directory)
  for (const name of ['orders', 'results']) {
    if (database.hasTable(name)) continue
    await database.createTable(name, { families: { f: transactionalFamily() } })
  }
  const durability = 'FSYNC_WAL'
  const manager = await TransactionManager.open(database, {
    durability,
    timeoutMilliseconds: 2000,
    sweepMilliseconds: 500,
  })
  const messaging = await MessagingService.open(database, {
    durability,
    transactions: manager,
    register: (coprocessor) => database.registerCoprocessor(coprocessor),
  })
  if ((await messaging.listTopics(topic.namespace)).length === 0) await messaging.createTopic(topic)
  const close = async (): Promise<void> => {
    await messaging.close()
    await manager.close()
    await database.close()
  }
  return { database, manager, messaging, close }
}

/** The amount of an order: any rule that both sides can compute. */
export function amountOf(order: number): number {
  return (order * 7919) % 1000
}

/** Writes the next orders, and a message for each, in one transaction. Returns the last order. */
export async function produce({ database, manager, messaging }: Shop): Promise<number> {
  const orders = new TransactionalTable(database, 'orders')
  const publisher = new MessagePublisher(messaging)
  return runTransaction(manager, [orders, publisher], async () => {
    const counter = (await orders.get({ row: 'last' })).value('f:number')
    let order = Number(counter ?? 0)
    for (let i = 0; i < ordersPerTransaction; i++) {
      order++
      const amount = String(amountOf(order))
      const row = `order ${String(order).padStart(9, '0')}`
      await orders.put({ row, cells: { 'f:amount': amount } })
      await publisher.publish(topic.namespace, topic.topic, JSON.stringify({ order, amount }))
    }
    await orders.put({ row: 'last', cells: { 'f:number': String(order) } })
    return order
  })
}

/** Results of a consumer. */
export interface Consumed {
  readonly position: string | null
  readonly orders: number
  readonly amount: number
}

/** Reads the next messages, and writes results and position in one transaction. */
export async function consume(shop: Shop, consumer: string): Promise<number> {
  const { database, manager, messaging } = shop
  const results = new TransactionalTable(database, 'results')
  const fetcher = new MessageFetcher(messaging)
  return runTransaction(manager, [results, fetcher], async () => {
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
    const cells = { 'f:position': position ?? '', 'f:orders': `${orders}`, 'f:amount': `${amount}` }
    if (orders > before.orders) await results.put({ row: consumer, cells })
    return orders - before.orders
  })
}

/** What a consumer has done so far. Within a transaction. */
export async function consumed(results: TransactionalTable, consumer: string): Promise<Consumed> {
  const row = await results.get({ row: consumer })
  const text = (column: string): string => row.value(column)?.toString('utf8') ?? ''
  const position = text('f:position')
  return {
    position: position === '' ? null : position,
    orders: Number(text('f:orders')),
    amount: Number(text('f:amount')),
  }
}

/** What table, messages and results say at the end. */
export interface Totals {
  readonly orders: number
  readonly amount: number
  readonly messages: number
  readonly messagesAmount: number
  readonly consumed: readonly Consumed[]
}

/** Reads everything in one transaction. */
export async function totals({ database, manager, messaging }: Shop): Promise<Totals> {
  const orders = new TransactionalTable(database, 'orders')
  const results = new TransactionalTable(database, 'results')
  return runTransaction(manager, [orders, results], async (transaction) => {
    const sum = { orders: 0, amount: 0, messages: 0, messagesAmount: 0 }
    for await (const row of await orders.scan({ prefix: 'order ' })) {
      sum.orders++
      sum.amount += Number(row.value('f:amount')?.toString('utf8'))
    }
    for await (const { payload } of await messaging.fetch(topic, { transaction })) {
      sum.messages++
      sum.messagesAmount += Number((JSON.parse(payload.toString()) as { amount: string }).amount)
    }
    const done: Consumed[] = []
    for (const consumer of consumers) done.push(await consumed(results, consumer))
    return { ...sum, consumed: done }
  })
}
