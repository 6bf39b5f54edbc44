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
} from '../../src/systems/metastore/index.js'
import { observeProcess } from '../harness/processes/process-counters.js'
import type { Measurement, Tell } from '../harness/processes/subject-process.js'

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

/** What a workload tells while it runs. */
interface Run {
  /** Measures a part; what lies between the parts is not. */
  readonly time: <T>(part: () => Promise<T>) => Promise<T>
  /** Notes one call that began then. */
  readonly latency: (startedAt: number) => void
  /** Takes the answers. */
  readonly hash: Hash
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
  directory: string,
  run: (run: Run) => Promise<number>,
): Promise<Measurement> {
  const times: number[] = []
  const hash = createHash('sha1')
  let milliseconds = 0
  const cpuOfParts: number[] = []
  globalThis.gc?.()
  const observed = observeProcess(directory)
  const operations = await run({
    time: async (part) => {
      const cpuBefore = process.cpuUsage()
      const startedAt = performance.now()
      const value = await part()
      milliseconds += performance.now() - startedAt
      const { user, system } = process.cpuUsage(cpuBefore)
      cpuOfParts.push(user + system)
      return value
    },
    latency: (startedAt) => void times.push((performance.now() - startedAt) * 1000),
    hash,
  })
  const cpuMicroseconds = cpuOfParts.reduce((sum, part) => sum + part, 0)
  const counters = { ...observed.end(), cpuSeconds: cpuMicroseconds / 1e6 }
  const cpuSorted = Float64Array.from(cpuOfParts).sort()
  // CPU time of an operation, tenth percentile of the rounds, so that neither the rounds before the
  // code was compiled nor those with background work count.
  const extra = { cpuP10us: (quantile(cpuSorted, 0.1) * cpuOfParts.length) / operations }
  const seconds = milliseconds / 1000
  const checksum = hash.digest('hex').slice(0, 16)
  if (times.length === 0) return { workload, operations, seconds, extra, checksum, counters }
  const sorted = Float64Array.from(times).sort()
  const [p50us, p99us] = [quantile(sorted, 0.5), quantile(sorted, 0.99)]
  return { workload, operations, seconds, p50us, p99us, extra, checksum, counters }
}

/** A store that is measured, and what it was given. */
interface Subject {
  readonly directory: string
  readonly sizes: Sizes
  readonly subscriptions: SubscriptionDataManager
}

/** The workloads on one store, in order. Told each measurement as soon as it is there. */
export async function runWorkloads(
  store: MetaStore,
  directory: string,
  sizes: Sizes,
  tell: Tell,
): Promise<void> {
  const subscriptions = await SubscriptionDataManager.open(store, 'text', pageSize)
  const subject: Subject = { directory, sizes, subscriptions }
  tell(await loadTopics(subject))
  const versions = new Map<number, Version>()
  await inGroups(atOnce, async (i) => {
    versions.set(i, await subscriptions.createSubscriptionData('hot', `s${i}`, stateOf(0)))
  })
  tell(await putOneByOne(subject, versions))
  tell(await putAtOnce(subject, versions))
  tell(await putSpread(subject))
  await inGroups(sizes.subscribers, (i) =>
    subscriptions.createSubscriptionData('large', `subscriber-${i}`, stateOf(i)),
  )
  tell(await readLargeTopic(subject))
  const ledgers = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: pageSize })
  tell(await createLedgers(subject, ledgers))
  tell(await listLedgers(subject, ledgers))
}

const topicName = (i: number): string => `topic-${String(i).padStart(8, '0')}`

function loadTopics({ subscriptions, sizes, directory }: Subject): Promise<Measurement> {
  const count = sizes.topics * 3
  return measure('load', directory, async ({ time }) => {
    await time(() =>
      inGroups(count, (i) => {
        const topic = topicName(Math.floor(i / 3))
        return subscriptions.createSubscriptionData(topic, `subscriber-${i % 3}`, stateOf(i))
      }),
    )
    return count
  })
}

function putOneByOne(subject: Subject, versions: Map<number, Version>): Promise<Measurement> {
  const { subscriptions, sizes, directory } = subject
  return measure('conditional-put', directory, async ({ time, latency, hash }) => {
    await time(async () => {
      for (let i = 0; i < sizes.singlePuts; i++) {
        const at = i % atOnce
        const startedAt = performance.now()
        const { state } = stateOf(i)
        const version = versions.get(at)!
        const next = await subscriptions.updateSubscriptionData('hot', `s${at}`, { state }, version)
        versions.set(at, next)
        latency(startedAt)
      }
    })
    await hashTopic(subscriptions, 'hot', hash)
    return sizes.singlePuts
  })
}

/** Always the same thousand rows, which are neighbours. */
function putAtOnce(subject: Subject, versions: Map<number, Version>): Promise<Measurement> {
  const { subscriptions, sizes, directory } = subject
  return measure('conditional-put-1000', directory, async ({ time, latency, hash }) => {
    for (let round = 0; round < sizes.rounds; round++) {
      const { state } = stateOf(round)
      await time(() => {
        const startedAt = performance.now()
        return inGroups(atOnce, async (at) => {
          const key = `s${at}`
          const version = versions.get(at)!
          const next = await subscriptions.updateSubscriptionData('hot', key, { state }, version)
          versions.set(at, next)
          latency(startedAt)
        })
      })
    }
    await hashTopic(subscriptions, 'hot', hash)
    return sizes.rounds * atOnce
  })
}

/** A thousand topics that lie apart, others each time; their versions are read before. */
function putSpread({ subscriptions, sizes, directory }: Subject): Promise<Measurement> {
  return measure('conditional-put-spread', directory, async ({ time, latency, hash }) => {
    const count = Math.min(atOnce, sizes.topics)
    const versions: Version[] = []
    for (let round = 0; round < sizes.rounds; round++) {
      const topicOf = (at: number): string =>
        topicName(((round * count + at) * 7919) % sizes.topics)
      const { state } = stateOf(round)
      let sum = 0n
      await inGroups(count, async (at) => {
        const found = await subscriptions.readSubscriptionData(topicOf(at), 'subscriber-1')
        versions[at] = found!.version
        sum += found!.value.state!.msgId.localComponent!
      })
      hash.update(`${sum} `)
      await time(() => {
        const startedAt = performance.now()
        return inGroups(count, async (at) => {
          const topic = topicOf(at)
          const version = versions[at]
          await subscriptions.updateSubscriptionData(topic, 'subscriber-1', { state }, version)
          latency(startedAt)
        })
      })
    }
    return sizes.rounds * count
  })
}

/** Operations are subscriptions. */
function readLargeTopic({ subscriptions, sizes, directory }: Subject): Promise<Measurement> {
  return measure('read-subscriptions', directory, async ({ time, latency, hash }) => {
    let operations = 0
    for (let i = 0; i < sizes.reads; i++) {
      const startedAt = performance.now()
      const found = await time(() => subscriptions.readSubscriptions('large'))
      latency(startedAt)
      operations += found.length
      let sum = 0n
      for (const { value } of found) sum += value.state!.msgId.localComponent!
      hash.update(`${found.length} ${sum} `)
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

function createLedgers(
  { sizes, directory }: Subject,
  ledgers: LedgerManager,
): Promise<Measurement> {
  return measure('create-ledgers', directory, async ({ time }) => {
    await time(() =>
      inGroups(sizes.ledgers, (i) => ledgers.createLedger(ledgerId(i), ledgerMetadata)),
    )
    return sizes.ledgers
  })
}

/** Operations are ledgers. */
function listLedgers({ directory }: Subject, ledgers: LedgerManager): Promise<Measurement> {
  return measure('list-ledgers', directory, async ({ time, hash }) => {
    let operations = 0
    let sum = 0n
    await time(async () => {
      for await (const { ids } of ledgers.getLedgerRanges()) {
        operations += ids.length
        for (const id of ids) sum ^= id
      }
    })
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
  for (const { subscriber, value } of found) {
    hash.update(`${subscriber.toString()} ${value.state!.msgId.localComponent} `)
  }
}
