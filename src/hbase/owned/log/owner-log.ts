/**
 * The log of an owner: batches are appended in groups, applied in order, and acknowledged.
 *
 * - One append is under way at a time. It compares the state of the chunk, so it fails as soon as
 *   another owner has sealed the chunk. Batches that arrive meanwhile form the next group.
 * - One round of applying is under way at a time, after the appends. A round has all batches that
 *   are in the log and not applied.
 * - A batch is acknowledged when it is in the log and applied.
 * - `beat` writes how far the log is applied, removes chunks that no reader needs, and shows
 *   standbys that the owner lives.
 *
 * A failure poisons the log: nothing is appended or applied any more.
 */
import { deferred, type Deferred } from '../../../base/deferred.js'
import { CellarError, ErrorCode, poisonedError } from '../../../base/errors.js'
import {
  changeRow,
  chunkRow,
  ownerRow,
  repeated,
  stored,
  type LogPlace,
  type Stored,
  type StoredBatch,
} from './log-store.js'
import { encodeBatch, type BatchContent, type LoggedBatch } from './logged-batch.js'
import type { OwnerState } from './states.js'
import { deposed, makeChunk, readChunk, type Chunk, type RecoveredLog } from './takeover.js'

/** Applied batches that stay in memory. */
const tailBatchesMax = 64

/** What the log needs of its owner, and its limits. */
export interface OwnerLogSettings {
  /** Applies batches that are in the log, in order; repeats what fails. */
  readonly apply: (batches: readonly LoggedBatch[]) => Promise<void>
  /** First sequence that a feed has not read; Infinity without feeds. */
  readonly neededFrom: () => number
  /** Bytes of the log that are kept although they are applied. */
  readonly retentionBytes: number
  /** Batches of a group, and of a chunk. */
  readonly batchesMax: number
  /** Bytes of a group, and of a chunk, unless a single batch is larger. */
  readonly bytesMax: number
  /** Called once when the log is poisoned. */
  readonly onFailure: (error: CellarError) => void
}

interface Waiting extends StoredBatch {
  readonly batch: LoggedBatch
  readonly done: Deferred<void>
}

/** An appended batch: its place at once, and a promise for the time when it is applied. */
export interface Appended {
  readonly sequence: number
  readonly done: Promise<void>
}

export class OwnerLog {
  readonly #place: LogPlace
  readonly #settings: OwnerLogSettings
  #owner: Stored<OwnerState>
  #chunks: Chunk[]
  /** Sequence of the last batch that was handed in. */
  #last: number
  #applied: number
  /** Last batch of the round that is being applied, or was. */
  #started: number
  #timestamp: number
  /** Batches that are not in the log. */
  #queue: Waiting[] = []
  /** Batches of the append under way. */
  #appending: Waiting[] = []
  /** Batches in the log that are not applied. */
  #logged: Waiting[] = []
  /** The batches that were applied last, for feeds. */
  #tail: LoggedBatch[] = []
  #writing = false
  #applying = false
  #failure: CellarError | undefined = undefined
  /** Resolves when more is applied, or the log fails. */
  #progress = deferred<void>()
  #beats: Promise<void> = Promise.resolve()

  constructor(place: LogPlace, recovered: RecoveredLog, settings: OwnerLogSettings) {
    this.#place = place
    this.#settings = settings
    this.#owner = recovered.owner
    this.#chunks = [...recovered.chunks]
    this.#last = this.#applied = this.#started = recovered.applied
    this.#timestamp = recovered.timestamp
  }

  get failure(): CellarError | undefined {
    return this.#failure
  }

  get epoch(): number {
    return this.#owner.state.epoch
  }

  /** Sequence of the last batch that was handed in. */
  get last(): number {
    return this.#last
  }

  /** All batches up to this sequence are applied. */
  get applied(): number {
    return this.#applied
  }

  /** The state up to this sequence is or will be shown: the last batch of the last round. */
  get started(): number {
    return this.#started
  }

  /** No batch that was handed in has a greater timestamp. */
  get timestamp(): number {
    return this.#timestamp
  }

  /** Resolves when more batches are applied, or the log has failed. */
  get progress(): Promise<void> {
    return this.#progress.promise
  }

  get oldest(): number {
    return this.#chunks[0].state.first
  }

  /** Puts a batch into the log. Throws `ERR_POISONED`. */
  append(content: BatchContent): Appended {
    if (this.#failure !== undefined) throw poisonedError(this.#failure)
    const sequence = this.#last + 1
    const bytes = encodeBatch(sequence, content)
    const done = deferred<void>()
    // The caller learns the place of the batch before it waits for the outcome.
    done.promise.catch(() => undefined)
    this.#last = sequence
    this.#timestamp = Math.max(this.#timestamp, content.timestamp)
    this.#queue.push({ sequence, bytes, batch: { ...content, sequence }, done })
    void this.#write()
    return { sequence, done: done.promise }
  }

  /** Resolves when all batches up to a sequence are applied. Rejects with the failure. */
  async whenApplied(sequence: number): Promise<void> {
    while (this.#applied < sequence) {
      if (this.#failure !== undefined) throw poisonedError(this.#failure)
      await this.#progress.promise
    }
  }

  /** Applied batches from a sequence on: the last ones, or those of the chunk of the sequence. */
  async read(from: number): Promise<LoggedBatch[]> {
    if (this.#tail.length > 0 && from >= this.#tail[0].sequence) {
      return this.#tail.slice(from - this.#tail[0].sequence)
    }
    const chunk = this.#chunks.findLast(({ state }) => state.first <= from)
    if (chunk === undefined) throw changesGone(from, this.oldest)
    const applied = this.#applied
    const batches = await readChunk(this.#place, chunk.number, this.epoch).catch(
      (error: unknown) => {
        // The chunk may have been cut meanwhile.
        if (this.#chunks[0].number > chunk.number) throw changesGone(from, this.oldest)
        throw error
      },
    )
    return batches.filter(({ sequence }) => sequence >= from && sequence <= applied)
  }

  /** Writes how far the log is applied, and removes old chunks. With `release` gives up the log. */
  beat(release = false): Promise<void> {
    this.#beats = this.#beats.then(() => this.#beat(release)).catch((error) => this.fail(error))
    return this.#beats
  }

  /** Poisons the log: rejects all batches that are not acknowledged. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return
    const failure = this.#asFailure(error)
    this.#failure = failure
    const unknown = [...this.#logged, ...this.#appending]
    for (const { done, sequence } of unknown) done.reject(unknownOutcome(sequence, failure))
    for (const { done } of this.#queue) done.reject(poisonedError(failure))
    this.#logged = []
    this.#queue = []
    this.#progress.resolve()
    this.#settings.onFailure(failure)
  }

  /** Wakes those who wait for progress, after the last batch. */
  end(): void {
    this.#progress.resolve()
  }

  #asFailure(error: unknown): CellarError {
    if (error instanceof CellarError) return error
    return new CellarError(ErrorCode.io, String(error), { cause: error })
  }

  async #write(): Promise<void> {
    if (this.#writing) return
    this.#writing = true
    try {
      // The calls of one turn share a group.
      await Promise.resolve()
      while (this.#queue.length > 0 && this.#failure === undefined) {
        if (this.#isFull(this.#chunks.at(-1)!)) await this.#roll()
        else await this.#appendGroup()
      }
    } catch (error) {
      this.fail(error)
    } finally {
      this.#writing = false
    }
  }

  #isFull({ state }: Chunk): boolean {
    const { batchesMax, bytesMax } = this.#settings
    return state.count >= batchesMax || state.bytes >= bytesMax
  }

  async #roll(): Promise<void> {
    const { number, state } = this.#chunks.at(-1)!
    const first = state.first + state.count
    const own = await makeChunk(this.#place, number + 1, { epoch: this.epoch, first })
    if (own === undefined) throw deposed(this.#place)
    this.#chunks.push(own)
  }

  async #appendGroup(): Promise<void> {
    const { number, state, bytes } = this.#chunks.at(-1)!
    const group = this.#takeGroup(state.count)
    this.#appending = group
    const next = stored({
      ...state,
      version: state.version + 1,
      count: state.count + group.length,
      bytes: group.reduce((sum, each) => sum + each.bytes.length, state.bytes),
    })
    const row = chunkRow(this.#place, number)
    const isDone = await changeRow(this.#place, row, bytes, next, group)
    if (this.#failure !== undefined) return
    if (!isDone) throw deposed(this.#place)
    this.#chunks[this.#chunks.length - 1] = { ...next, number }
    this.#appending = []
    this.#logged.push(...group)
    void this.#apply()
  }

  #takeGroup(stored: number): Waiting[] {
    const { batchesMax, bytesMax } = this.#settings
    let count = 0
    let bytes = 0
    while (count < this.#queue.length && stored + count < batchesMax) {
      bytes += this.#queue[count].bytes.length
      if (count > 0 && bytes > bytesMax) break
      count++
    }
    return this.#queue.splice(0, count)
  }

  async #apply(): Promise<void> {
    if (this.#applying) return
    this.#applying = true
    try {
      while (this.#logged.length > 0 && this.#failure === undefined) {
        const round = [...this.#logged]
        const last = round.at(-1)!.sequence
        this.#started = last
        await this.#settings.apply(round.map(({ batch }) => batch))
        // A failure has answered the round.
        if (this.#failure !== undefined) return
        this.#logged = this.#logged.slice(round.length)
        this.#applied = last
        this.#tail = [...this.#tail, ...round.map(({ batch }) => batch)].slice(-tailBatchesMax)
        for (const { done } of round) done.resolve()
        this.#progress.resolve()
        this.#progress = deferred()
      }
    } catch (error) {
      this.fail(error)
    } finally {
      this.#applying = false
    }
  }

  async #beat(release: boolean): Promise<void> {
    if (this.#failure !== undefined) return
    const { state, bytes } = this.#owner
    const { number } = this.#chunks.findLast((each) => each.state.first <= this.#applied + 1)!
    const next = stored({
      ...state,
      version: state.version + 1,
      owner: release ? '' : state.owner,
      chunk: number,
      applied: this.#applied,
      timestamp: this.#timestamp,
      cut: this.#cutBefore(number),
    })
    const row = ownerRow(this.#place)
    if (!(await changeRow(this.#place, row, bytes, next))) throw deposed(this.#place)
    this.#owner = next
    this.#chunks = this.#chunks.filter((chunk) => chunk.number >= next.state.cut)
    if (!release) await this.#removeChunks()
  }

  /** The first chunk to keep: no feed needs those before, and the retention does not cover them. */
  #cutBefore(marked: number): number {
    const needed = this.#settings.neededFrom()
    let kept = this.#chunks.reduce((sum, { state }) => sum + state.bytes, 0)
    for (const { number, state } of this.#chunks) {
      kept -= state.bytes
      const end = state.first + state.count
      if (number >= marked || end > needed || kept < this.#settings.retentionBytes) return number
    }
    return marked
  }

  /** Removes the chunks before the cut. The next state says how far that has gone. */
  async #removeChunks(): Promise<void> {
    const { state } = this.#owner
    for (let number = state.removed; number < state.cut; number++) {
      await this.#remove(chunkRow(this.#place, number))
    }
    this.#owner = { ...this.#owner, state: { ...state, removed: state.cut } }
  }

  #remove(row: string): Promise<void> {
    const { store, patience } = this.#place
    return repeated(patience, () => store.remove(row))
  }
}

/** The error of a feed that begins before the log. */
export function changesGone(from: number, oldest: number): CellarError {
  const message = `the log begins with sequence ${oldest}; changes from ${from} on are gone`
  return new CellarError(ErrorCode.changesGone, message)
}

function unknownOutcome(sequence: number, cause: CellarError): CellarError {
  const message =
    `batch ${sequence} may have been applied, or may be applied by the next owner: ` + cause.message
  return new CellarError(ErrorCode.poisoned, message, { cause })
}
