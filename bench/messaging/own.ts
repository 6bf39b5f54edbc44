/** Workloads that the peers do not have: transactions, invalid transactions, topics, TTL. */
import { Database, MemoryFileSystem } from '../../src/entries/index.js'
import { MessagePublisher, MessagingService } from '../../src/systems/messaging/index.js'
import {
  idsPerMillisecond,
  importTephraState,
  TransactionContext,
  TransactionManager,
} from '../../src/systems/transactions/index.js'
import type { ResultRecord } from '../harness/report/record.js'
import { measure, recordOf, type Measured } from './measure.js'

const topic = { namespace: 'bench', topic: 'messages' }
const payload = 'x'.repeat(100)

async function roundTrips(directory: string, count: number): Promise<Measured> {
  const database = await Database.open(directory)
  const durability = 'FSYNC_WAL'
  const manager = await TransactionManager.open(database, { durability })
  const service = await MessagingService.open(database, { durability })
  await service.createTopic(topic)
  const measured = await measure('start-publish-commit', count, 1, 64, async () => {
    const publisher = new MessagePublisher(service)
    const context = new TransactionContext(manager, [publisher])
    await context.start()
    await publisher.publish(topic.namespace, topic.topic, payload)
    await context.finish()
  })
  await service.close()
  await manager.close()
  await database.close()
  return measured
}

/** A snapshot of Tephra with so many invalid transactions. */
function snapshotOf(invalid: number): Buffer {
  const bytes: number[] = []
  const write = (value: bigint): void => {
    // Zigzag varints of numbers that are not negative.
    let rest = 2n * value
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    bytes.push(Number(rest))
  }
  const first = BigInt(Date.now() - 3_600_000) * idsPerMillisecond
  const last = first + BigInt(invalid)
  const list = Array.from({ length: invalid }, (_, i) => first + BigInt(i))
  const head = [2n, BigInt(Date.now()), last, last]
  if (invalid > 0) head.push(BigInt(invalid))
  for (const value of head) write(value)
  for (const value of list) write(value)
  // The ends of the four lists.
  for (let i = 0; i < 4; i++) write(0n)
  return Buffer.from(bytes)
}

/** The cost of a start, with so many invalid transactions. In memory: nothing waits for a disk. */
async function starts(invalid: number, count: number): Promise<Measured> {
  const database = await Database.open('/starts', { fileSystem: new MemoryFileSystem() })
  await importTephraState(database, { snapshot: snapshotOf(invalid) })
  const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
  if (manager.statistics().invalid !== invalid) throw new Error('the invalid list is not whole')
  for (let i = 0; i < 1000; i++) await manager.abort(await manager.startShort())
  const measured = await measure(`start-and-abort-${invalid}-invalid`, count, 1, 1, async () => {
    await manager.abort(await manager.startShort())
  })
  await manager.close()
  await database.close()
  return measured
}

async function manyTopics(directory: string, topics: number, messages: number): Promise<Measured> {
  const database = await Database.open(directory)
  const service = await MessagingService.open(database)
  const ids = Array.from({ length: topics }, (_, i) => ({ namespace: 'bench', topic: `t${i}` }))
  for (const id of ids) await service.createTopic(id)
  let next = 0
  const measured = await measure(`publish-to-${topics}-topics`, messages, 1, 64, () =>
    service.publish(ids[next++ % topics], { messages: [payload] }),
  )
  await service.close()
  await database.close()
  return measured
}

/** A major compaction that drops half of the messages, because their TTL is over. */
async function expiry(messages: number): Promise<Measured> {
  let now = 1_489_707_864_000
  const clock = { now: () => now }
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/ttl', { clock, fileSystem, compactionEnabled: false })
  const service = await MessagingService.open(database, {
    clock,
    register: (coprocessor) => database.registerCoprocessor(coprocessor),
  })
  await service.createTopic(topic, { ttl: '10' })
  const half = Array.from({ length: Math.floor(messages / 2) }, () => payload)
  await service.publish(topic, { messages: half })
  now += 11_000
  await service.publish(topic, { messages: half })
  const measured = await measure('compact-half-expired', 1, 2 * half.length, 1, async () => {
    await database.flush()
    await database.compact('tms.message', { major: true })
  })
  await service.close()
  await database.close()
  return measured
}

/** All of them, one behind the other. */
export async function ownWorkloads(
  directory: string,
  messages: number,
  isQuick: boolean,
): Promise<ResultRecord[]> {
  const invalid = isQuick ? 1000 : 1_000_000
  const count = isQuick ? 200 : 20_000
  const measured = [
    await roundTrips(`${directory}-transactions`, isQuick ? 100 : 5000),
    await starts(0, count),
    await starts(invalid, count),
    await manyTopics(`${directory}-topics`, isQuick ? 100 : 10_000, messages),
    await expiry(messages),
  ]
  return measured.map((each) => {
    const durability = each.workload === 'start-publish-commit' ? 'sync' : 'buffered'
    return recordOf('cellar', durability, messages, each)
  })
}
