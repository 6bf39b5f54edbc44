/**
 * Random histories of messaging under power cuts: publishers, transactions over messages and a
 * table, rollbacks and retries, with a crash image at every operation of the file system. Behind
 * each crash a small model says what must hold. CELLAR_SEED repeats the history.
 *
 * - Order: ids ascend, messages of one publisher are in the order in which it sent them.
 * - No loss: what was acknowledged before the crash is there, with the same id.
 * - Atomicity: of a transaction the messages of both topics and the row are there, or none of it.
 * - Visibility: what was rolled back or never committed is not seen by a transaction.
 * - No duplicate: the request of a producer that was under way is there once when it is sent again.
 */
import t, { type Test } from 'tap'
import { ManualClock } from '../../../src/base/clock.js'
import { seededRandom, type Random } from '../../../src/base/random.js'
import { MemoryFileSystem } from '../../../src/fs/memory-fs.js'
import { crashPolicies } from '../../../src/fs/power-cut.js'
import { Database } from '../../../src/index.js'
import { MessagePublisher, MessagingService, type Message } from '../../../src/messaging/index.js'
import {
  TransactionalTable,
  transactionalFamily,
  TransactionContext,
  TransactionManager,
} from '../../../src/transactions/index.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)
const steps = Number(process.env['CELLAR_HISTORY_STEPS'] ?? 60)
const imagesMax = Number(process.env['CELLAR_HISTORY_IMAGES'] ?? 60)
const topics = ['a', 'b'].map((topic) => ({ namespace: 'n', topic }))

/** What the program knows at the moment of a crash. */
interface Known {
  /** Text to id of messages that were acknowledged. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Transactions that were committed, and those that were given up. */
  readonly committed: ReadonlySet<string>
  readonly abandoned: ReadonlySet<string>
  /** The last request of the producer, maybe under way. */
  readonly request: { readonly sequence: number; readonly text: string }
}

async function openAll(fileSystem: MemoryFileSystem, clock: ManualClock) {
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const families = { f: transactionalFamily() }
  if (!database.hasTable('orders')) await database.createTable('orders', { families })
  const durability = 'FSYNC_WAL'
  const manager = await TransactionManager.open(database, {
    clock,
    durability,
    sweepMilliseconds: 0,
  })
  const service = await MessagingService.open(database, { clock, durability })
  for (const topic of topics) {
    await service.createTopic(topic).catch((error: { code?: string }) => {
      if (error.code !== 'ERR_TOPIC_EXISTS') throw error
    })
  }
  const close = async (): Promise<void> => {
    await service.close()
    await manager.close()
    await database.close()
  }
  return { database, manager, service, close }
}

type Opened = Awaited<ReturnType<typeof openAll>>

class History {
  readonly #opened: Opened
  readonly #random: Random
  readonly #clock: ManualClock
  acknowledged = new Map<string, string>()
  committed = new Set<string>()
  abandoned = new Set<string>()
  request = { sequence: 0, text: '' }

  constructor(opened: Opened, random: Random, clock: ManualClock) {
    this.#opened = opened
    this.#random = random
    this.#clock = clock
  }

  get known(): Known {
    return {
      acknowledged: new Map(this.acknowledged),
      committed: new Set(this.committed),
      abandoned: new Set(this.abandoned),
      request: this.request,
    }
  }

  async run(): Promise<void> {
    for (let i = 0; i < steps; i++) {
      this.#clock.milliseconds += Math.floor(this.#random() * 4) - 1
      const kind = Math.floor(this.#random() * 4)
      if (kind === 0) await Promise.all([this.#plain(`p${i}`, 0), this.#plain(`q${i}`, 1)])
      else if (kind === 1) await this.#producer(i)
      else if (kind === 2) await this.#transaction(`x${i}`)
      else await this.#rolledBack(`r${i}`)
    }
  }

  async #plain(text: string, topic: number): Promise<void> {
    await this.#opened.service.publish(topics[topic], { messages: [text] })
    await this.#note(topic, [text])
  }

  async #producer(sequence: number): Promise<void> {
    this.request = { sequence, text: `d${sequence}` }
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
    this.committed.add(name)
  }

  async #rolledBack(name: string): Promise<void> {
    const { manager, service } = this.#opened
    this.abandoned.add(name)
    const transaction = await manager.startShort()
    const { writePointer } = transaction
    const request = { messages: [`${name} a`], transactionWritePointer: writePointer }
    const response = await service.publish(topics[0], request)
    if (this.#random() < 0.5) await service.rollback(topics[0], response!)
    else await service.rollbackTransaction(topics[0], writePointer)
    await manager.abort(transaction)
  }

  async #note(topic: number, texts: readonly string[]): Promise<void> {
    const found = await this.#opened.service.poll(topics[topic], { limit: 100_000 })
    for (const text of texts) {
      const message = found.find(({ payload }) => payload.toString() === text)
      if (message === undefined) throw new Error(`${text} is not there`)
      this.acknowledged.set(text, message.id.toString('hex'))
    }
  }
}

async function check(t: Test, image: MemoryFileSystem, clock: ManualClock, known: Known) {
  const opened = await openAll(image, clock)
  const { database, manager, service } = opened
  const { sequence, text } = known.request
  const request = { messages: [text], producer: { id: 'producer', sequence } }
  if (text !== '') await service.publish(topics[0], request)
  clock.milliseconds += 3_600_000
  await manager.cleanUp()
  const transaction = await manager.startShort()
  const table = new TransactionalTable(database, 'orders')
  table.startTx(transaction)
  const rows = new Set<string>()
  for await (const row of await table.scan()) rows.add(row.row!.toString())
  const seen: Set<string>[] = []
  for (const topic of topics) {
    const all = await service.poll(topic, { limit: 100_000 })
    ascend(t, all)
    for (const [text, id] of known.acknowledged) {
      const found = all.filter(({ payload }) => payload.toString() === text)
      if (found.length === 0 && (text[0] === 'q') === (topic.topic === 'b'))
        t.fail(`${text} is lost`)
      for (const message of found) if (message.id.toString('hex') !== id) t.fail(`${text} moved`)
    }
    const visible = await service.poll(topic, { limit: 100_000, transaction })
    const texts = visible.map(({ payload }) => payload.toString())
    if (new Set(texts).size !== texts.length) t.fail(`twice in ${topic.topic}`)
    seen.push(new Set(texts))
  }
  for (const name of known.abandoned) if (seen[0].has(`${name} a`)) t.fail(`${name} is seen`)
  for (const name of known.committed) if (!rows.has(name)) t.fail(`${name} is lost`)
  for (const name of new Set([...rows, ...known.committed])) {
    if (!seen[0].has(`${name} a`) || !seen[1].has(`${name} b`)) t.fail(`${name} is not whole`)
  }
  const names = [...seen[0]].filter((each) => each.startsWith('x'))
  for (const name of names) if (!rows.has(name.slice(0, -2))) t.fail(`${name} without its row`)
  if (text !== '' && !seen[0].has(text)) t.fail(`${text} was sent again and is not there`)
  await opened.close()
}

function ascend(t: Test, messages: readonly Message[]): void {
  let last = ''
  let number = -1
  for (const { id, payload } of messages) {
    if (id.toString('hex') <= last) t.fail('ids ascend')
    last = id.toString('hex')
    const text = payload.toString()
    if (!text.startsWith('p') && !text.startsWith('q')) continue
    if (Number(text.slice(1)) <= number) t.fail('the messages of a publisher keep their order')
    number = Number(text.slice(1))
  }
}

void t.test('a crash at any operation of the file system', async (t) => {
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed)
  const clock = new ManualClock(1_489_707_864_000)
  const fileSystem = new MemoryFileSystem()
  const opened = await openAll(fileSystem, clock)
  const history = new History(opened, random, clock)
  const images: { image: MemoryFileSystem; known: Known; time: number }[] = []
  let seen = 0
  fileSystem.beforeOperation = () => {
    // A sample of all operations, each as likely as the others.
    seen++
    const at = images.length < imagesMax ? images.length : Math.floor(random() * seen)
    if (at >= imagesMax) return
    const policy = crashPolicies[seen % crashPolicies.length]
    const image = fileSystem.crash(policy, random)
    images[at] = { image, known: history.known, time: clock.milliseconds }
  }
  await history.run()
  delete fileSystem.beforeOperation
  await opened.close()
  for (const { image, known, time } of images) {
    await check(t, image, new ManualClock(time - 1000), known)
  }
  t.ok(images.length > 0, `${images.length} of ${seen} crashes`)
})
