/**
 * The messages that one batch of the writer appends to one topic. Consecutive requests without a
 * transaction share rows: their messages have consecutive places.
 */
import { assert, type AtomicMutation } from '../../../api/index.js'
import { PackedPayloads } from '../store/packed-payloads.js'
import type { Place, StoredBatch } from '../store/stored-batch.js'
import type { TopicState } from './topic-state.js'
import type { MessageRange } from '../options.js'

/** Most bytes of payloads in one row; a larger message has a row of its own. */
export const rowBytesMax = 32 << 10

/** A row to which messages can be added. */
interface OpenRow {
  readonly publishTimestamp: number
  sequenceId: number
  readonly pointer: bigint | undefined
  readonly parts: PackedPayloads[]
  bytes: number
}

/** See the file header. */
export class TopicAppend {
  readonly topic: TopicState
  /** The generation of the appended messages. */
  readonly generation: number
  readonly #rows: (OpenRow | StoredBatch)[] = []
  #open: OpenRow | undefined
  #sealed: readonly StoredBatch[] | undefined

  constructor(topic: TopicState) {
    this.topic = topic
    this.generation = topic.generation
  }

  /**
   * Assigns the places of a request, from the time `now` on. A request without payloads is one row
   * that refers to the stored payloads of its pointer.
   */
  add(payloads: readonly PackedPayloads[], pointer: bigint | undefined, now: number): MessageRange {
    assert(this.#sealed === undefined, 'no request joins rows that are being written')
    const clock = this.topic.publishClock
    clock.advance(now)
    const start = clock.peek()
    if (payloads.length === 0) {
      this.#open = undefined
      this.#rows.push({ ...clock.take(), pointer, payloads: undefined })
    }
    for (const each of payloads) {
      clock.assign(each, (part, last) => this.#place(part, last, pointer))
    }
    return {
      startTimestamp: start.publishTimestamp,
      startSequenceId: start.sequenceId,
      endTimestamp: clock.timestamp,
      endSequenceId: clock.sequence,
    }
  }

  /** The rows, after all requests were added. */
  rows(): readonly StoredBatch[] {
    this.#sealed ??= this.#rows.map((row) => {
      if (!('parts' in row)) return row
      const { publishTimestamp, sequenceId, pointer, parts } = row
      return { publishTimestamp, sequenceId, pointer, payloads: PackedPayloads.join(parts) }
    })
    return this.#sealed
  }

  /** The mutations that write the rows. */
  mutations(): AtomicMutation[] {
    return this.rows().map((row) => this.topic.rows.messages(row))
  }

  /** Adds messages to the open row if they belong to it, otherwise opens the next row. */
  #place(
    payloads: PackedPayloads,
    { publishTimestamp, sequenceId }: Place,
    pointer: bigint | undefined,
  ): void {
    const open = this.#open
    if (
      open !== undefined &&
      pointer === undefined &&
      open.pointer === undefined &&
      open.publishTimestamp === publishTimestamp &&
      open.bytes + payloads.bytes <= rowBytesMax
    ) {
      open.parts.push(payloads)
      open.bytes += payloads.bytes
      open.sequenceId = sequenceId
      return
    }
    const { bytes } = payloads
    this.#open = { publishTimestamp, sequenceId, pointer, parts: [payloads], bytes }
    this.#rows.push(this.#open)
  }
}
