/** Packs topics for jobs: prune-job/prune-context.ts. */
import type { PackedTopics } from '../prune-job/prune-context.js'
import { topicPrefix, type TopicRecord } from '../topics/topic.js'

/** Packs topics in any order; the last of several records of one topic counts. */
export function packTopics(records: Iterable<TopicRecord>): PackedTopics {
  const byName = new Map<string, { prefix: Buffer; record: TopicRecord }>()
  for (const record of records) {
    const prefix = topicPrefix(record.id)
    byName.set(prefix.toString('latin1'), { prefix, record })
  }
  const sorted = [...byName.values()].sort((a, b) => Buffer.compare(a.prefix, b.prefix))
  const starts = new Uint32Array(sorted.length + 1)
  const generations = new Int32Array(sorted.length)
  const ttlMilliseconds = new Float64Array(sorted.length)
  sorted.forEach(({ prefix, record }, index) => {
    starts[index + 1] = starts[index] + prefix.length
    generations[index] = record.generation
    ttlMilliseconds[index] = record.ttlMilliseconds
  })
  const prefixes = new Uint8Array(starts[sorted.length])
  sorted.forEach(({ prefix }, index) => prefixes.set(prefix, starts[index]))
  return { count: sorted.length, prefixes, starts, generations, ttlMilliseconds }
}
