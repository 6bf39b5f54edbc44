/**
 * Random histories of messaging and transactions, and a small model that says what must hold behind
 * a crash. The model knows what was acknowledged at the moment of the crash, and nothing else.
 *
 * - Order: ids ascend, messages of one publisher are in the order in which it sent them.
 * - No loss: what was acknowledged before the crash is there, with the same id.
 * - Atomicity: of a transaction the messages of both topics and the row are there, or none of it.
 * - Visibility: what was rolled back or never committed is not seen by a transaction.
 * - No duplicate: the request of a producer that was under way is there once when it is sent again.
 */
import type { ManualClock } from '../../../../src/base/clock.js'
import type { Random } from '../../../../src/base/random.js'
import type { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { Database, type DurabilityOption } from '../../../../src/entries/index.js'
import {
  MessagePublisher,
  MessagingService,
  type Message,
} from '../../../../src/systems/messaging/index.js'
import {
  TransactionalTable,
  transactionalFamily,
  TransactionContext,
  TransactionManager,
} from '../../../../src/systems/transactions/index.js'

const topics = ['a', 'b'].map((topic) => ({ namespace: 'n', topic }))
const everything = { limit: 100_000 }

/** What the program knows at the moment of a crash. */
export interface Known {
  /** Text to id of messages that were acknowledged. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Transactions that were committed, and those that were given up. */
  readonly committed: ReadonlySet<string>
  readonly abandoned: ReadonlySet<string>
  /** The last request of the producer, maybe under way. */
  readonly request: { readonly sequence: number; readonly text: string }
}

/** A database with everything over it. */
export interface Opened {
  readonly database: Database
  readonly manager: TransactionManager
  readonly service: MessagingService
  close(): Promise<void>
}

/** Plants a defect into a database. */
export type Plant = (database: Database) => Database

/** Opens everything; what stands on the database gets it with the planted defect. */
export async function openAll(
  fileSystem: SimulatedDisk,
  clock: ManualClock,
  durability: DurabilityOption,
  plant: Plant = (database) => database,
): Promise<Opened> {
  const own = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const families = { f: transactionalFamily() }
  if (!own.hasTable('orders')) await own.createTable('orders', { families })
  const database = plant(own)
  const options = { clock, durability }
  const manager = await TransactionManager.open(database, { ...options, sweepMilliseconds: 0 })
  const service = await MessagingService.open(database, options)
  for (const topic of topics) {
    await service.createTopic(topic).catch((error: { code?: string }) => {
      if (error.code !== 'ERR_TOPIC_EXISTS') throw error
    })
  }
  const close = async (): Promise<void> => {
    await service.close()
    await manager.close()
    await own.close()
  }
  return { database, manager, service, close }
}

/** Does random things, and notes what was acknowledged. */
export class History {
  readonly #opened: Opened
  readonly #random: Random
  readonly #clock: ManualClock
  readonly #acknowledged = new Map<string, string>()
  readonly #committed = new Set<string>()
  readonly #abandoned = new Set<string>()
  #request = { sequence: 0, text: '' }

  constructor(opened: Opened, random: Random, clock: ManualClock) {
    this.#opened = opened
    this.#random = random
    this.#clock = clock
  }

  get known(): Known {
    return {
      acknowledged: new Map(this.#acknowledged),
      committed: new Set(this.#committed),
      abandoned: new Set(this.#abandoned),
      request: this.#request,
    }
  }

  async run(steps: number): Promise<void> {
    for (let i = 1; i <= steps; i++) {
      this.#clock.milliseconds += Math.floor(this.#random() * 4) - 1
      const kind = Math.floor(this.#random() * 5)
      if (kind === 0) await Promise.all([this.#plain(`p${i}`, 0), this.#plain(`q${i}`, 1)])
      else if (kind === 1) await this.#producer(i)
      else if (kind === 2) await this.#transaction(`x${i}`)
      else if (kind === 3) await this.#stored(`s${i}`)
      else await this.#rolledBack(`r${i}`)
    }
  }

  async #plain(text: string, topic: number): Promise<void> {
    const messages = [`${text} 1`, `${text} 2`]
    await this.#opened.service.publish(topics[topic], { messages })
    await this.#note(topic, messages)
  }

  async #producer(sequence: number): Promise<void> {
    this.#request = { sequence, text: `d${sequence}` }
    const producer = { id: 'producer', sequence }
    await this.#opened.service.publish(topics[0], { messages: [`d${sequence}`], producer })
    await this.#note(0, [`d${sequence}`])
  }

  async #transaction(name: string): Promise<void> {
    const { database, manager, service } = this.#opened
    const table = new TransactionalTable(database, 'orders')
    const publisher = new MessagePublisher(service)
    const context = new TransactionContext(manager, [table, publisher])
    await context.start()
    await table.put({ row: name, cells: { 'f:q': name } })
    await publisher.publish('n', 'a', `${name} a`)
    await publisher.publish('n', 'b', `${name} b`)
    await context.finish()
    this.#committed.add(name)
  }

  /** Payloads that an empty publish of the same transaction makes readable. */
  async #stored(name: string): Promise<void> {
    const { manager, service } = this.#opened
    const transaction = await manager.startShort()
    const { writePointer: transactionWritePointer } = transaction
    for (const text of [`${name} a`, `${name} b`]) {
      await service.store(topics[0], { messages: [text], transactionWritePointer })
    }
    await service.publish(topics[0], { messages: [], transactionWritePointer })
    await manager.commit(transaction)
    this.#committed.add(name)
  }

  async #rolledBack(name: string): Promise<void> {
    const { manager, service } = this.#opened
    this.#abandoned.add(name)
    const transaction = await manager.startShort()
    const { writePointer } = transaction
    const request = { messages: [`${name} a`], transactionWritePointer: writePointer }
    const response = await service.publish(topics[0], request)
    if (this.#random() < 0.5) await service.rollback(topics[0], response!)
    else await service.rollbackTransaction(topics[0], writePointer)
    await manager.abort(transaction)
  }

  async #note(topic: number, texts: readonly string[]): Promise<void> {
    const found = await this.#opened.service.poll(topics[topic], everything)
    for (const text of texts) {
      const message = found.find(({ payload }) => payload.toString() === text)
      if (message === undefined) throw new Error(`${text} is not there`)
      this.#acknowledged.set(text, message.id.toString('hex'))
    }
  }
}

/** What is wrong with everything that was found behind a crash; nothing is wrong with none. */
export async function complaintsOf(
  { database, manager, service }: Opened,
  clock: ManualClock,
  known: Known,
): Promise<string[]> {
  const complaints: string[] = []
  const { sequence, text } = known.request
  const request = { messages: [text], producer: { id: 'producer', sequence } }
  if (text !== '') await service.publish(topics[0], request)
  // Whatever ran at the crash has timed out.
  clock.milliseconds += 3_600_000
  await manager.cleanUp()
  const transaction = await manager.startShort()
  const table = new TransactionalTable(database, 'orders')
  table.startTx(transaction)
  const rows = new Set<string>()
  for await (const row of await table.scan()) rows.add(row.row!.toString())
  const seen: Set<string>[] = []
  for (const [i, topic] of topics.entries()) {
    const all = await service.poll(topic, everything)
    complaints.push(...orderOf(all))
    for (const [text, id] of known.acknowledged) {
      const found = all.filter(({ payload }) => payload.toString() === text)
      if (found.length === 0 && (text[0] === 'q') === (i === 1)) complaints.push(`${text} is lost`)
      if (found.some((message) => message.id.toString('hex') !== id)) {
        complaints.push(`${text} moved`)
      }
    }
    const visible = await service.poll(topic, { ...everything, transaction })
    const texts = visible.map(({ payload }) => payload.toString())
    if (new Set(texts).size !== texts.length) complaints.push(`twice in ${topic.topic}`)
    seen.push(new Set(texts))
  }
  complaints.push(...transactionsOf(known, rows, seen))
  if (text !== '' && !seen[0].has(text)) complaints.push(`${text} was sent again and is not there`)
  return complaints
}

/** Whether each transaction is there as a whole, or not at all. */
function transactionsOf(
  { abandoned, committed }: Known,
  rows: ReadonlySet<string>,
  [first, second]: readonly ReadonlySet<string>[],
): string[] {
  const complaints: string[] = []
  for (const name of abandoned) if (first.has(`${name} a`)) complaints.push(`${name} is seen`)
  const names = new Set([...rows, ...committed])
  for (const text of [...first, ...second]) {
    if (text[0] === 'x' || text[0] === 's') names.add(text.slice(0, -2))
  }
  for (const name of names) {
    const hasRow = name[0] === 's' || rows.has(name)
    const others = name[0] === 's' ? first : second
    if (hasRow && first.has(`${name} a`) && others.has(`${name} b`)) continue
    complaints.push(committed.has(name) ? `${name} is lost` : `${name} is not whole`)
  }
  return complaints
}

function orderOf(messages: readonly Message[]): string[] {
  const complaints: string[] = []
  let last = ''
  const numbers = new Map<string, number>()
  for (const { id, payload } of messages) {
    if (id.toString('hex') <= last) complaints.push('ids do not ascend')
    last = id.toString('hex')
    const text = payload.toString()
    const kind = text[0]
    if (kind !== 'p' && kind !== 'q') continue
    const [number, part] = text.slice(1).split(' ').map(Number)
    const place = 2 * number + part
    if (place <= (numbers.get(kind) ?? 0)) complaints.push(`${text} is behind a later message`)
    numbers.set(kind, place)
  }
  return complaints
}
