/**
 * The cell hook of the rows of producers and consumers. A row is dropped with the generation of its
 * topic. A producer's row is also dropped after its last message has expired; that time is in the
 * value (systems/messaging/FORMAT.md), not in the row. Malformed rows and rows of unknown topics
 * are kept.
 */
import type { CellView } from '../../../storage/cell/cell-view.js'
import { unescapeInto } from '../../../storage/cell/cell-key.js'
import { CellDecision, type CellHook } from '../../../storage/coprocessor/cell-hook.js'
import { NoTopic, TopicIndex, type PruneContext } from './prune-context.js'
import type { PruneReport } from './prune-hook.js'
import { judgeRow, RowFate } from './prune-rules.js'
import { producerOutcomeBytes, producerTimeOffset } from './row-layout.js'

const generationBytes = 4
/** An upper bound of generation and producer id, unescaped. */
const tailBytesMax = 512

/** See the file header. */
export class OwnerHook implements CellHook {
  readonly #context: PruneContext
  readonly #index: TopicIndex
  readonly #now: number | undefined
  readonly #tail = Buffer.alloc(tailBytesMax)
  #topic: number = NoTopic.foreign
  #generation = 0
  #expired = 0
  #ended = 0
  #unknownTopic = 0
  #foreignRow = 0

  /** Without `now` no row expires. */
  constructor(context: PruneContext, now: number | undefined) {
    this.#context = context
    this.#index = new TopicIndex(context.topics)
    this.#now = now
  }

  startRow({ buffer, keyStart, rowEnd }: CellView): void {
    this.#topic = this.#index.find(buffer, keyStart, rowEnd)
    if (this.#topic === NoTopic.foreign) return
    const length = unescapeInto(buffer, this.#index.prefixEnd, rowEnd, this.#tail)
    this.#generation = length > generationBytes ? this.#tail.readInt32BE(0) : 0
    if (this.#generation < 1) this.#topic = NoTopic.foreign
  }

  decide({ buffer, contentStart, valueEnd }: CellView): CellDecision {
    const topic = this.#topic
    const bytes = valueEnd - contentStart
    if (topic === NoTopic.unknown) {
      this.#unknownTopic++
      return CellDecision.keep
    }
    const now = this.#now
    const hasTime = bytes > 0 && bytes % producerOutcomeBytes === 0
    if (topic === NoTopic.foreign || (now !== undefined && !hasTime)) {
      this.#foreignRow++
      return CellDecision.keep
    }
    const { generations, ttlMilliseconds } = this.#context.topics
    const oldest = now === undefined ? 0 : now - ttlMilliseconds[topic]
    const at = valueEnd - producerOutcomeBytes + producerTimeOffset
    const time = now === undefined ? 0 : Number(buffer.readBigInt64BE(at))
    const fate = judgeRow(generations[topic], oldest, this.#generation, time)
    if (fate === RowFate.keep) return CellDecision.keep
    if (fate === RowFate.ended) this.#ended++
    else this.#expired++
    return CellDecision.drop
  }

  finish(): PruneReport {
    const { pruneBound, epoch } = this.#context
    const counts = {
      expired: this.#expired,
      ended: this.#ended,
      negated: 0,
      unknownTopic: this.#unknownTopic,
      foreignRow: this.#foreignRow,
    }
    return { counts, pruneBound, epoch, pointerLeft: undefined }
  }
}
