/**
 * What is measured on every store, through Hedwig's managers and the ledger manager: the load of
 * subscriptions, conditional puts, all subscriptions of one topic, one listing of all ledgers.
 * Answers are folded into a checksum that has to be equal for all stores.
 */
import { createHash, type Hash } from 'node:crypto'
import {
  LedgerManager,
  SubscriptionDataManager,
  type MetaStore,
  type SubscriptionData,
  type Version,
} from '../../src/metastore/index.js'

/** How much of everything. */
export interface Sizes {
  /** Topics with three subscriptions each. */
  readonly topics: number
  /** Subscribers of the one large topic. */
  readonly subscribers: number
  readonly ledgers: number
  /** Conditional puts one after the other. */
  readonly singlePuts: number
  /** Rounds of 1000 conditional puts at once. */
  readonly rounds: number
  /** Times that the large topic is read. */
  readonly reads: number
}

/** One workload on one store. */
export interface Measurement {
  readonly workload: string
  readonly operations: number
  readonly seconds: number
  /** Median of the single calls, microseconds. */
  readonly p50us?: number
  readonly p99us?: number
  readonly checksum: string
}

const atOnce = 1000
/** Rows per read of a scan; the default of 50 is for stores behind a network. */
const pageSize = 1000

/** Runs `count` calls, never more than 1000 at once. */
async function inGroups(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, work))
}

const stateOf = (seq: number): SubscriptionData => ({
  state: { msgId: { localComponent: BigInt(seq) } },
  preferences: { messageBound: 100 },
})

function quantile(sorted: Float64Array, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
}

/** Measures one workload; `run` returns the number of its operations. */
async function measure(
  workload: string,
  run: (latency: (startedAt: number) => void, hash: Hash) => Promise<number>,
): Promise<Measurement> {
  const times: number[] = []
  const hash = createHash('sha1')
  globalThis.gc?.()
  const startedAt = performance.now()
  const operations = await run((callStartedAt) => {
    times.push((performance.now() - callStartedAt) * 1000)
  }, hash)
  const seconds = (performance.now() - startedAt) / 1000
  const checksum = hash.digest('hex').slice(0, 16)
  if (times.length === 0) return { workload, operations, seconds, checksum }
  const sorted = Float64Array.from(times).sort()
  const [p50us, p99us] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
  return { workload, operations, seconds, p50us, p99us, checksum }
}

/** The workloads on one store, in order. Told each measurement as soon as it is there. */
export async function runWorkloads(
  store: MetaStore,
  sizes: Sizes,
  tell: (measurement: Measurement) => void,
): Promise<void> {
  const subscriptions = await SubscriptionDataManager.open(store, 'text', pageSize)
  tell(await loadTopics(subscriptions, sizes))
  const versions = new Map<number, Version>()
  await inGroups(atOnce, async (i) => {
    versions.set(i, await subscriptions.createSubscriptionData('hot', `s${i}`, stateOf(0)))
  })
  tell(await putOneByOne(subscriptions, sizes, versions))
  tell(await putAtOnce(subscriptions, sizes, versions))
  await inGroups(sizes.subscribers, (i) =>
    subscriptions.createSubscriptionData('large', `subscriber-${i}`, stateOf(i)),
  )
  tell(await readLargeTopic(subscriptions, sizes))
  const ledgers = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: pageSize })
  await inGroups(sizes.ledgers, (i) => ledgers.createLedger(ledgerId(i), ledgerMetadata))
  tell(await listLedgers(ledgers))
}

const topicName = (i: number): string => `topic-${String(i).padStart(8, '0')}`

function loadTopics(subscriptions: SubscriptionDataManager, sizes: Sizes): Promise<Measurement> {
  const count = sizes.topics * 3
  return measure('load', async () => {
    await inGroups(count, (i) => {
      const topic = topicName(Math.floor(i / 3))
      return subscriptions.createSubscriptionData(topic, `subscriber-${i % 3}`, stateOf(i))
    })
    return count
  })
}

function putOneByOne(
  subscriptions: SubscriptionDataManager,
  sizes: Sizes,
  versions: Map<number, Version>,
): Promise<Measurement> {
  return measure('conditional-put', async (latency, hash) => {
    for (let i = 0; i < sizes.singlePuts; i++) {
      const at = i % atOnce
      const startedAt = performance.now()
      const data = { state: stateOf(i).state }
      const version = versions.get(at)!
      versions.set(at, await subscriptions.updateSubscriptionData('hot', `s${at}`, data, version))
      latency(startedAt)
    }
    await hashTopic(subscriptions, 'hot', hash)
    return sizes.singlePuts
  })
}

function putAtOnce(
  subscriptions: SubscriptionDataManager,
  sizes: Sizes,
  versions: Map<number, Version>,
): Promise<Measurement> {
  return measure('conditional-put-1000', async (latency, hash) => {
    for (let round = 0; round < sizes.rounds; round++) {
      const startedAt = performance.now()
      const data = { state: stateOf(round).state }
      await inGroups(atOnce, async (at) => {
        const version = versions.get(at)!
        versions.set(at, await subscriptions.updateSubscriptionData('hot', `s${at}`, data, version))
        latency(startedAt)
      })
    }
    await hashTopic(subscriptions, 'hot', hash)
    return sizes.rounds * atOnce
  })
}

/** Operations are subscriptions. */
function readLargeTopic(
  subscriptions: SubscriptionDataManager,
  sizes: Sizes,
): Promise<Measurement> {
  return measure('read-subscriptions', async (latency, hash) => {
    let operations = 0
    for (let i = 0; i < sizes.reads; i++) {
      const startedAt = performance.now()
      const found = await subscriptions.readSubscriptions('large')
      latency(startedAt)
      operations += found.size
      let sum = 0n
      for (const { value } of found.values()) sum += value.state!.msgId.localComponent!
      hash.update(`${found.size} ${sum} `)
    }
    return operations
  })
}

/** Spread over all ids of 63 bits, in no order. */
const ledgerId = (i: number): bigint => BigInt.asUintN(63, BigInt(i) * 0x9e3779b97f4a7c15n)

const ledgerMetadata = {
  quorumSize: 3,
  ensembleSize: 3,
  ackQuorumSize: 2,
  length: 0n,
  state: 'OPEN',
  segment: [{ ensembleMember: ['a.local:3181', 'b.local:3181', 'c.local:3181'], firstEntryId: 0n }],
  digestType: 'CRC32C',
  password: Buffer.from('password'),
} as const

/** Operations are ledgers. */
function listLedgers(ledgers: LedgerManager): Promise<Measurement> {
  return measure('list-ledgers', async (_latency, hash) => {
    let operations = 0
    let sum = 0n
    for await (const { ids } of ledgers.getLedgerRanges()) {
      operations += ids.length
      for (const id of ids) sum ^= id
    }
    hash.update(`${operations} ${sum}`)
    return operations
  })
}

async function hashTopic(
  subscriptions: SubscriptionDataManager,
  topic: string,
  hash: Hash,
): Promise<void> {
  const found = await subscriptions.readSubscriptions(topic)
  const names = [...found.keys()].sort()
  for (const name of names) {
    hash.update(`${name} ${found.get(name)!.value.state!.msgId.localComponent} `)
  }
}
