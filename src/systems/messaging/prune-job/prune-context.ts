/**
 * The context of a pruning job, as plain data for a worker thread: the topics, and the invalid
 * transactions if a snapshot of them exists.
 *
 * Both are sorted and packed into typed arrays, so a transfer is one copy and a lookup
 * allocates nothing. A context is made for each job and never changed.
 */
import { compareBytes } from '../../../base/bytes.js'
import type { PruneBounds } from '../../transactions/prune-job/job-data.js'

/** Topics by the bytes of their prefix, ascending and unique. */
export interface PackedTopics {
  readonly count: number
  /** The concatenated prefixes. */
  readonly prefixes: Uint8Array
  /** Topic `i` has `prefixes[starts[i], starts[i + 1])`; `count + 1` numbers. */
  readonly starts: Uint32Array
  /** See `TopicState.generation`. */
  readonly generations: Int32Array
  /** See `TopicState.ttlMilliseconds`. */
  readonly ttlMilliseconds: Float64Array
}

/** The context of one pruning job. Structured-cloneable. */
export interface PruneContext extends PruneBounds {
  readonly topics: PackedTopics
  /**
   * Ascending. Undefined: no snapshot of the transactions is known, so no message is marked as
   * rolled back, by a negative pointer.
   */
  readonly invalid: BigInt64Array | undefined
}

/** The context of a job without metadata, which keeps every cell. */
export function emptyPruneContext(): PruneContext {
  const topics: PackedTopics = {
    count: 0,
    prefixes: new Uint8Array(0),
    starts: new Uint32Array(1),
    generations: new Int32Array(0),
    ttlMilliseconds: new Float64Array(0),
  }
  return { topics, invalid: undefined, pruneBound: undefined, epoch: 0 }
}

/** Results of {@link TopicIndex.find} without a position. */
export const NoTopic = {
  /** The row begins with a topic that is not in the index. */
  unknown: -1,
  /** The row does not begin with `namespace:topic:`. */
  foreign: -2,
} as const

const colon = 0x3a

/** Finds the topics of rows; remembers the last one. */
export class TopicIndex {
  /** End of `namespace:topic:` in the searched buffer; set by {@link find}. */
  prefixEnd = 0
  readonly #topics: PackedTopics
  /** The prefix found last, copied, with its second colon at the end; and its position. */
  #lastPrefix: Uint8Array = new Uint8Array(64)
  #lastLength = 0
  #lastFound: number = NoTopic.unknown

  constructor(topics: PackedTopics) {
    this.#topics = topics
  }

  /**
   * The position of the topic of the row `source[start, end)`, or one of {@link NoTopic}. The
   * result is correct for any sequence of calls: it is never the topic of another row. A topic has
   * no byte 00, so rows may be escaped or not.
   */
  find(source: Uint8Array, start: number, end: number): number {
    const lastPrefix = this.#lastPrefix
    const lastLength = this.#lastLength
    if (lastLength > 0 && lastLength <= end - start) {
      // From the end: the topics of one table usually share their first bytes.
      let at = lastLength - 1
      while (at >= 0 && source[start + at] === lastPrefix[at]) at--
      if (at < 0) {
        this.prefixEnd = start + lastLength
        return this.#lastFound
      }
    }
    let prefixEnd = start
    for (let colons = 0; colons < 2; prefixEnd++) {
      if (prefixEnd >= end) return NoTopic.foreign
      if (source[prefixEnd] === colon) colons++
    }
    this.prefixEnd = prefixEnd
    this.#lastFound = this.#search(source, start, prefixEnd)
    this.#lastLength = prefixEnd - start
    if (lastPrefix.length < this.#lastLength)
      this.#lastPrefix = new Uint8Array(2 * this.#lastLength)
    for (let i = start; i < prefixEnd; i++) this.#lastPrefix[i - start] = source[i]
    return this.#lastFound
  }

  #search(source: Uint8Array, start: number, prefixEnd: number): number {
    const { prefixes, starts } = this.#topics
    let low = 0
    let high = this.#topics.count - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const order = compareBytes(
        prefixes,
        starts[middle],
        starts[middle + 1],
        source,
        start,
        prefixEnd,
      )
      if (order === 0) return middle
      if (order < 0) low = middle + 1
      else high = middle - 1
    }
    return NoTopic.unknown
  }
}
