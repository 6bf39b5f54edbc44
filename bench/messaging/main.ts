/**
 * `npm run bench -- messaging`: publishing and polling, in process and over HTTP, beside Redis
 * Streams, an lmdb queue and a better-sqlite3 queue; then what only Cellar has: transactions,
 * invalid transactions, topics, TTL.
 * Parts: queues, transactions. `--records` is the number of messages of 100 bytes.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { preparePeers } from '../engines/peers.js'
import type { LeftOut, ResultRecord } from '../harness/report/record.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import { measure, recordOf, type Measured } from './measure.js'
import { queueKinds, type Queue, type QueueKind } from './queues.js'
import type { QueueDurability } from './topic.js'
import { ownWorkloads } from './own.js'

const payload = 'x'.repeat(100)
/** How much of everything: a request over HTTP or with a sync costs so much that less is enough. */
interface Counts {
  /** Requests before anything is measured, each of one message and of a hundred in turn. */
  readonly warm: number
  readonly single: number
  readonly batches: number
  /** Times that all messages are polled, and before that without being measured. */
  readonly passes: number
  readonly tails: number
}

function countsOf(kind: QueueKind, durability: QueueDurability, messages: number): Counts {
  const isSlow = kind.isRemote || durability === 'sync'
  const least = (count: number): number => Math.max(64, Math.floor(count))
  return {
    warm: isSlow ? 400 : Math.min(4000, messages),
    single: least(messages / (isSlow ? 100 : 2)),
    batches: least(messages / 100),
    passes: kind.isRemote ? 2 : 5,
    tails: Math.min(isSlow ? 1000 : 10_000, least(messages / 2)),
  }
}

/** Polls before which the position is behind everything. */
async function endOf(queue: Queue): Promise<string | null> {
  let position: string | null = null
  for (;;) {
    const polled = await queue.poll(position, 10_000)
    if (polled.count === 0) return position
    position = polled.position
  }
}

/** Polls everything; fails unless all messages come with all their bytes. */
async function pollAll(queue: Queue, limit: number, wanted: number): Promise<void> {
  let position: string | null = null
  let count = 0
  let bytes = 0
  for (;;) {
    const polled = await queue.poll(position, limit)
    if (polled.count === 0) break
    position = polled.position
    count += polled.count
    bytes += polled.bytes
  }
  if (count !== wanted) throw new Error(`${count} messages of ${wanted} were polled`)
  if (bytes !== wanted * payload.length) throw new Error(`${bytes} bytes were polled`)
}

async function runQueue(
  kind: QueueKind,
  directory: string,
  durability: QueueDurability,
  messages: number,
): Promise<ResultRecord[]> {
  mkdirSync(directory, { recursive: true })
  const queue = await kind.open(directory, durability)
  const measured: Measured[] = []
  const batch = Array.from({ length: 100 }, () => payload)
  const { warm, single, batches, passes, tails } = countsOf(kind, durability, messages)
  try {
    // What is measured is the steady state: code that was run before.
    let all = 0
    for (let i = 0; i < warm; i++) {
      const request = i % 2 === 0 ? batch : [payload]
      await queue.publish(request)
      all += request.length
    }
    for (let i = 0; i < passes; i++) await pollAll(queue, 1000, all)
    const one = (): Promise<void> => queue.publish([payload])
    const many = (): Promise<void> => queue.publish(batch)
    measured.push(await measure('publish-1', single, 1, 1, one))
    measured.push(await measure('publish-1-of-64-publishers', single, 1, 64, one))
    measured.push(await measure('publish-100', batches, 100, 1, many))
    measured.push(await measure('publish-100-of-64-publishers', batches, 100, 64, many))
    all += 2 * single + 200 * batches
    for (let i = 0; i < passes; i++) await pollAll(queue, 1000, all)
    measured.push(
      await measure('poll-from-the-beginning', passes, all, 1, () => pollAll(queue, 1000, all)),
    )
    let position = await endOf(queue)
    const tail = async (): Promise<void> => {
      await queue.publish([payload])
      const polled = await queue.poll(position, 10)
      if (polled.count !== 1) throw new Error('the tail has one message')
      position = polled.position
    }
    for (let i = 0; i < tails / 10; i++) await tail()
    measured.push(await measure('publish-and-poll-the-tail', tails, 1, 1, tail))
    if (queue.next !== undefined) {
      // From the start of the publish until the reader that waits has the message.
      const wake = async (): Promise<void> => {
        const next = queue.next!(position)
        await queue.publish([payload])
        position = await next
      }
      for (let i = 0; i < tails / 10; i++) await wake()
      measured.push(await measure('publish-to-a-waiting-reader', tails, 1, 1, wake))
    }
    return measured.map((each) => recordOf(kind.name, durability, messages, each))
  } finally {
    await queue.close()
  }
}

async function run({ options, directory, progress }: SuiteContext): Promise<SuiteOutcome> {
  const messages = options.isQuick ? 2000 : (options.records ?? 100_000)
  const parts = options.parts.length === 0 ? ['queues', 'transactions'] : options.parts
  const results: ResultRecord[] = []
  const leftOut: LeftOut[] = []
  if (parts.includes('queues')) {
    await preparePeers((text) => progress.note(text))
    const durabilities: QueueDurability[] =
      options.durability === undefined || options.durability === 'none'
        ? ['buffered', 'sync']
        : [options.durability]
    for (const kind of queueKinds) {
      if (options.engines.length > 0 && !options.engines.includes(kind.name)) continue
      for (const durability of durabilities) {
        const path = join(directory, `${kind.name}-${durability}`)
        try {
          results.push(...(await runQueue(kind, path, durability, messages)))
        } catch (error) {
          if (kind.name.startsWith('cellar')) throw error
          leftOut.push({ engine: kind.name, reason: (error as Error).message })
          break
        }
      }
    }
  }
  if (parts.includes('transactions')) {
    results.push(...(await ownWorkloads(join(directory, 'own'), messages, options.isQuick)))
  }
  return { results, engines: {}, leftOut, failures: [] }
}

/** The suite. */
export const suite: Suite = {
  name: 'messaging',
  summary: 'publish and poll beside Redis Streams, lmdb and SQLite; transactions',
  run,
}
