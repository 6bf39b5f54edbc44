/** Divides the memory for the newest messages among the topics of a service. */
import { assert } from '../../../api/index.js'
import type { TopicState } from './topic-state.js'

/** See the file header. */
export class CacheBudget {
  readonly #bytesMax: number
  /** Weight of each topic with messages in memory, least recently written first. */
  readonly #weights = new Map<TopicState, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Approximate bytes of all topics. */
  get bytes(): number {
    return this.#bytes
  }

  /** Updates the weight of a topic after a write; may evict the messages of other topics. */
  written(topic: TopicState): void {
    this.#bytes += topic.cache.weight - (this.#weights.get(topic) ?? 0)
    assert(this.#bytes >= 0, 'the weight of all caches is never negative')
    this.#weights.delete(topic)
    this.#weights.set(topic, topic.cache.weight)
    for (const [oldest, weight] of this.#weights) {
      if (this.#bytes <= this.#bytesMax || oldest === topic) return
      this.#bytes -= weight
      this.#weights.delete(oldest)
      oldest.cache.clear()
    }
  }
}
