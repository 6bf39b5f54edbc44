/**
 * What the cache of newest messages may not change: readers see the same with it and without.
 * CELLAR_SEED repeats the random histories.
 *
 * @runs long
 */
import type { AtomicBatch } from '../../../../src/api/index.js'
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { seededRandom } from '../../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { MessagingService } from '../../../../src/systems/messaging/index.js'
import { TransactionManager, type Transaction } from '../../../../src/systems/transactions/index.js'
import { lengthOf } from '../../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)
const rounds = lengthOf('CELLAR_CACHE_ROUNDS', 5, 300)
const topic = { namespace: 'n', topic: 't' }
const cacheAgeMillisecondsMax = 5000
const start = 1_489_707_864_000

async function open(cacheBytesMax: number) {
  const clock = new ManualClock(start)
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const manager = await TransactionManager.open(database, { clock, sweepMilliseconds: 0 })
  const service = await MessagingService.open(database, {
    clock,
    transactions: manager,
    register: (coprocessor) => database.registerCoprocessor(coprocessor),
    cacheBytesMax,
    cacheAgeMillisecondsMax,
  })
  await service.createTopic(topic)
  /** Marks what invalid transactions have published, and forgets these transactions. */
  const prune = async (): Promise<void> => {
    await database.flush()
    await database.compact('tms.message')
    await manager.truncateInvalid(manager.snapshot().invalid)
  }
  /** What a new transaction sees from a time on; the cache serves starts that it reaches. */
  const poll = async (time: number): Promise<string> => {
    const transaction = await manager.startShort()
    const found = await service.poll(topic, { transaction, time })
    await manager.abort(transaction)
    return found.map(({ payload }) => payload.toString()).join(' ')
  }
  const close = async (): Promise<void> => {
    await service.close()
    await manager.close()
    await database.close()
  }
  return { clock, database, manager, service, prune, poll, close }
}

type Opened = Awaited<ReturnType<typeof open>>

async function publishIn({ manager, service }: Opened, text: string): Promise<Transaction> {
  const transaction = await manager.startShort()
  const { writePointer: transactionWritePointer } = transaction
  await service.publish(topic, { messages: [text], transactionWritePointer })
  return transaction
}

void t.test('messages older than the cache may be come from the table', async (t) => {
  const opened = await open(1 << 20)
  const { clock, manager, service, prune, poll, close } = opened
  const time = clock.now()
  const { transactionId } = await publishIn(opened, 'invalid')
  await service.publish(topic, { messages: ['plain'] })
  await manager.invalidate(transactionId)
  t.equal(await poll(time), 'plain', 'the reader knows that it is invalid')
  clock.milliseconds += cacheAgeMillisecondsMax + 1
  await prune()
  t.equal(await poll(time), 'plain', 'the table knows, and the cache does not')
  await close()
})

void t.test('a new generation of a topic begins with nothing', async (t) => {
  const { service, database, clock, poll, close } = await open(1 << 20)
  const time = clock.now()
  await service.publish(topic, { messages: ['of the first'] })
  t.equal(await poll(time), 'of the first')
  await service.deleteTopic(topic)
  await service.createTopic(topic)
  await service.publish(topic, { messages: ['of the second'] })
  t.equal(await poll(time), 'of the second')
  // A frame of the second is on its way while the third begins.
  const atomic = database.atomic.bind(database)
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  database.atomic = async (batch: AtomicBatch) => {
    if (batch.mutations.some(({ table }) => table === 'tms.message')) await gate
    return atomic(batch)
  }
  clock.milliseconds++
  const late = service.publish(topic, { messages: ['late'] })
  await new Promise(setImmediate)
  await service.deleteTopic(topic)
  await service.createTopic(topic)
  release()
  await late
  t.equal(await poll(time + 1), '')
  await close()
})

/** One random step, the same for all services; what transactional and plain readers see. */
async function step(
  opened: Opened,
  running: Transaction[],
  { choice, pick, text }: { choice: number; pick: number; text: string },
): Promise<string> {
  const { clock, manager, service, prune, poll } = opened
  const [own] = running.length === 0 ? [] : running.splice(pick % running.length, 1)
  if (choice < 0.25) await service.publish(topic, { messages: [text, `${text}'`] })
  else if (choice < 0.5) running.push(await publishIn(opened, text))
  else if (choice < 0.6 && own !== undefined) {
    await manager.canCommit(own, [])
    await manager.commit(own)
  } else if (choice < 0.68 && own !== undefined) await manager.invalidate(own.transactionId)
  else if (choice < 0.74 && own !== undefined) {
    await service.rollbackTransaction(topic, own.writePointer)
    await manager.abort(own)
  } else if (choice < 0.8) {
    await service.deleteTopic(topic)
    await service.createTopic(topic)
  } else if (choice < 0.9) {
    clock.milliseconds += cacheAgeMillisecondsMax + 1
    // Those that run are too old for the cache then, and end.
    for (const each of running.splice(0)) await manager.invalidate(each.transactionId)
    await prune()
  } else clock.milliseconds += pick % 2000
  if (own !== undefined && choice >= 0.74 && manager.isInProgress(own.transactionId)) {
    running.push(own)
  }
  const seen: string[] = []
  for (const time of [0, clock.now() - (pick % 4000), clock.now() - (pick % 20_000), start]) {
    const plain = (await service.poll(topic, { time })).map(({ payload }) => payload.toString())
    seen.push(`${await poll(time)} | ${plain.join(' ')}`)
  }
  return seen.join('; ')
}

void t.test('random histories are read alike with a cache of any size', async (t) => {
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed)
  for (let round = 0; round < rounds; round++) {
    const sizes = [0, 2000, 1 << 20]
    const all = await Promise.all(sizes.map(open))
    const running = all.map((): Transaction[] => [])
    const history: string[] = []
    for (let i = 0; i < 25; i++) {
      const drawn = { choice: random(), pick: Math.floor(random() * 1e6), text: `${round}.${i}` }
      history.push(drawn.choice.toFixed(2))
      const seen: string[] = []
      for (const [at, opened] of all.entries()) seen.push(await step(opened, running[at], drawn))
      if (seen.every((each) => each === seen[0])) continue
      t.strictSame(
        seen,
        sizes.map(() => seen[0]),
        `round ${round}: ${history.join(' ')}`,
      )
      return
    }
    for (const { close } of all) await close()
  }
  t.pass(`${rounds} histories`)
})
