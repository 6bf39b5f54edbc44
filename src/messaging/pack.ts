/** Packs what the system knows into the form in which jobs are told: prune-job/prune-context.ts. */
import type { PackedPointers, PackedTopics } from './prune-job/prune-context.js'
import { topicPrefix, type TopicRecord } from './topic.js'

/** Packs topics, in any order; of two records of one topic the last counts. */
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

/** Packs write pointers, in any order; those that are not positive are left out. */
export function packPointers(pointers: Iterable<bigint>): PackedPointers {
  if (pointers instanceof BigUint64Array || pointers instanceof BigInt64Array) {
    const packed = splitHalves(pointers)
    if (isAscending(packed)) return packed
  }
  const sorted = BigUint64Array.from(new Set([...pointers].filter((pointer) => pointer > 0n)))
  return splitHalves(sorted.sort())
}

/** The largest of some packed pointers, or undefined if there are none. */
export function largestPointer({ count, high, low }: PackedPointers): bigint | undefined {
  return count === 0 ? undefined : (BigInt(high[count - 1]) << 32n) | BigInt(low[count - 1])
}

/** Without a bigint for each: there may be a million, and the event loop waits. */
function splitHalves(pointers: BigUint64Array | BigInt64Array): PackedPointers {
  const count = pointers.length
  const words = new Uint32Array(pointers.buffer, pointers.byteOffset, 2 * count)
  const lowWord = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1
  const high = new Uint32Array(count)
  const low = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    low[i] = words[2 * i + lowWord]
    high[i] = words[2 * i + 1 - lowWord]
  }
  return { count, high, low }
}

/** Whether pointers ascend, none comes twice, and all are positive as signed numbers. */
function isAscending({ count, high, low }: PackedPointers): boolean {
  for (let i = 0; i < count; i++) {
    if (high[i] > 0x7fff_ffff) return false
    const previousHigh = i === 0 ? 0 : high[i - 1]
    const previousLow = i === 0 ? 0 : low[i - 1]
    if (high[i] < previousHigh || (high[i] === previousHigh && low[i] <= previousLow)) return false
  }
  return true
}
