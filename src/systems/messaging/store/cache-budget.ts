/** Divides the memory for newest messages among the topics of a service. */
import type { TopicState } from '../topics/topic-state.js'

/** See the file header. */
export class CacheBudget {
  readonly #bytesMax: number
  /** Weight of each topic with messages in memory; the one written longest ago comes first. */
  readonly #weights = new Map<TopicState, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes of all topics, about. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes the weight of a topic that was written just now; others may have to go for it. */
  written(topic: TopicState): void {
    this.#bytes += topic.cache.weight - (this.#weights.get(topic) ?? 0)
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
