/**
 * Writes the requests of all topics by group commit: a group is one batch of mutations, one frame
 * of the log, and one sync.
 *
 * Order: requests get their times and sequences when their batch is made, in one turn without an
 * `await`. No batch starts before the previous one is done. Messages of a topic therefore become
 * readable in the order of their ids.
 *
 * Every batch contains the row of the clock with the largest assigned time. All times after a
 * restart are larger, for any behaviour of the system clock.
 *
 * Failure behaviour: a batch that cannot be written fails all its requests with the same cause. A
 * batch that is refused because of its content fails only the requests that cause the refusal.
 */
import {
  assert,
  CellarError,
  GroupQueue,
  isRefusal,
  type AtomicMutation,
  type Database,
  type DurabilityOption,
} from '../../../api/index.js'
import { clockMutation } from '../store/clock-row.js'
import { closed, MessagingErrorCode } from '../errors.js'
import type { MessageRange } from '../options.js'
import { PackedPayloads } from '../store/packed-payloads.js'
import type { Place, StoredBatch } from '../store/stored-batch.js'
import type { TopicState } from './topic-state.js'

/** Most bytes of payloads in one row; a larger message has a row of its own. */
export const rowBytesMax = 32 << 10

interface OpenRow {
  readonly publishTimestamp: number
  sequenceId: number
  readonly pointer: bigint | undefined
  readonly parts: PackedPayloads[]
  bytes: number
}

/**
 * The messages that one batch of the writer appends to one topic. Consecutive requests without a
 * transaction share rows: their messages have consecutive places.
 */
export class TopicAppend {
  readonly topic: TopicState
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

/** A batch that is being made. */
export class WriteBatch {
  readonly mutations: AtomicMutation[] = []
  /** Called after the batch is written: its messages are readable. */
  readonly written: (() => void)[] = []
  /** The largest assigned time; -1 = none. */
  timestampMax = -1
  readonly appends = new Map<TopicState, TopicAppend>()

  appendTo(topic: TopicState): TopicAppend {
    let append = this.appends.get(topic)
    if (append === undefined) this.appends.set(topic, (append = new TopicAppend(topic)))
    return append
  }
}

/**
 * Assigns the places of a request, and adds the request to the batch. Called when the batch is
 * made; must not wait, and must throw before it adds anything.
 */
export type Assign = (batch: WriteBatch) => void

/** A request that waits for its batch. */
interface Request {
  readonly assign: Assign
  /** Approximate bytes. */
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface WriterOptions {
  readonly clockTable: string
  readonly durability: DurabilityOption
  readonly queueBytesMax: number
}

/** Most bytes of requests in one batch; a larger request is a batch of its own. */
const batchBytesMax = 4 << 20

/** See the file header. */
export class MessageWriter {
  readonly #database: Database
  readonly #options: WriterOptions
  readonly #appended: (append: TopicAppend) => void
  readonly #requests = new GroupQueue<Request>({
    take: batchSize,
    write: (batch) => this.#write(batch),
  })
  #queueBytes = 0
  #isClosed = false
  #timestampMax: number

  constructor(
    database: Database,
    options: WriterOptions,
    timestampMax: number,
    appended: (append: TopicAppend) => void,
  ) {
    this.#database = database
    this.#options = options
    this.#timestampMax = timestampMax
    this.#appended = appended
  }

  /** Bytes of the requests that are not written yet. */
  get queueBytes(): number {
    return this.#queueBytes
  }

  /** The largest assigned time. */
  get timestampMax(): number {
    return this.#timestampMax
  }

  /**
   * Adds a request of approximately `bytes` bytes; resolves when it is written.
   * `ERR_MESSAGING_BUSY` if the queue is full, `ERR_MESSAGING_UNAVAILABLE` after `close`.
   */
  async write(bytes: number, assign: Assign): Promise<void> {
    if (this.#isClosed) throw closed()
    if (this.#queueBytes > this.#options.queueBytesMax) {
      const message = `${this.#queueBytes} bytes wait to be written`
      throw new CellarError(MessagingErrorCode.busy, message)
    }
    await new Promise<void>((resolve, reject) => {
      this.#queueBytes += bytes
      this.#requests.add({ assign, bytes, resolve, reject })
    })
  }

  /** Takes no further requests; resolves when the queue is empty. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.settled()
  }

  /** Resolves when the queue is empty. */
  settled(): Promise<void> {
    return this.#requests.settled()
  }

  async #write(batch: readonly Request[]): Promise<void> {
    try {
      await this.#writeBatch(batch)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    for (const { bytes } of batch) this.#queueBytes -= bytes
    assert(this.#queueBytes >= 0, 'no request is counted twice')
  }

  async #writeBatch(batch: readonly Request[]): Promise<void> {
    const made = new WriteBatch()
    const accepted = batch.filter(({ assign, reject }) => {
      try {
        assign(made)
        return true
      } catch (error) {
        reject(error)
        return false
      }
    })
    if (accepted.length === 0) return
    const { mutations, appends } = made
    this.#timestampMax = Math.max(this.#timestampMax, made.timestampMax)
    for (const append of appends.values()) mutations.push(...append.mutations())
    const { clockTable, durability } = this.#options
    mutations.push(clockMutation(clockTable, this.#timestampMax))
    try {
      await this.#database.atomic({ mutations, durability })
    } catch (error) {
      if (accepted.length === 1 || !isRefusal(error)) {
        for (const { reject } of accepted) reject(error)
        return
      }
      // Each request alone: the writes of one transaction do not fail the messages of others.
      for (const request of accepted) await this.#writeBatch([request])
      return
    }
    for (const append of appends.values()) this.#appended(append)
    for (const written of made.written) written()
    for (const { resolve } of accepted) resolve()
  }
}

/** Number of the waiting requests that fit into one batch. */
function batchSize(waiting: readonly Request[]): number {
  let bytes = 0
  const tooMany = waiting.findIndex(
    (request, i) => (bytes += request.bytes) > batchBytesMax && i > 0,
  )
  return tooMany < 0 ? waiting.length : tooMany
}
