/**
 * The stored and the live form of the feed: the events of all commits, in commit order.
 *
 * Every group of commits writes its rows of the feed in the same atomic batch as its records. The
 * newest rows are also kept in memory. A subscriber is a position. It reads from memory or, if its
 * position is older, from the table, so a slow subscriber occupies no memory.
 */
import { assert, CellarError, lowerBound, Waiters, type Table } from '../../../../api/index.js'
import { MetadataErrorCode } from '../../metadata/errors.js'
import { damagedFeed, FeedDecoder, type FeedRow } from './feed-rows.js'
import { isWithin } from '../../metadata/paths.js'
import { uint64 } from '../../kernel/numbers.js'
import { feedPlace, plainColumn } from './rows.js'
import type { FeedCommit } from '../../metadata/types.js'

/** Most bytes of the rows in memory. */
const recentBytesMax = 2 * 1024 * 1024
/** Rows of one read of the table, and the bytes after which a page ends. */
const pageRows = 4
const pageBytes = 256 * 1024

/** Rows in memory: one row of whole commits, or all rows of one commit. */
interface RecentRows {
  readonly first: number
  readonly rows: Buffer[]
}

/** The feed of one store. */
export class ChangeLog {
  readonly #table: Table
  /**
   * The newest rows, oldest first, in their stored form. Each subscriber decodes the rows it reads.
   */
  #recent: RecentRows[] = []
  #recentBytes = 0
  /** All commits from this sequence on are in memory. */
  #recentFrom: number
  /** The newest durable sequence. */
  #last: number
  #isClosed = false
  readonly #waiting = new Waiters()

  /** `last` is the newest sequence of the store. */
  constructor(table: Table, last: number) {
    this.#table = table
    this.#last = last
    this.#recentFrom = last + 1
  }

  /** The newest sequence that subscribers can see. */
  get last(): number {
    return this.#last
  }

  /** Adds the rows of a durable group and wakes subscribers. */
  append(last: number, rows: readonly FeedRow[]): void {
    assert(last >= this.#last, 'the feed only grows')
    this.#last = last
    for (const { sequence, part, bytes } of rows) {
      if (part === 0) this.#recent.push({ first: sequence, rows: [bytes] })
      else this.#recent.at(-1)!.rows.push(bytes)
      this.#recentBytes += bytes.length
    }
    while (this.#recentBytes > recentBytesMax) {
      for (const bytes of this.#recent.shift()!.rows) this.#recentBytes -= bytes.length
    }
    this.#recentFrom = this.#recent.length === 0 ? last + 1 : this.#recent[0].first
    this.wake()
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#isClosed = true
    this.wake()
  }

  /** Wakes subscribers, so that those of a closed handle end. */
  wake(): void {
    this.#waiting.wake()
  }

  /** Commits from a sequence on with events within `prefix`; see `MetadataStore.subscribe`. */
  async *subscribe(
    prefix: string,
    fromSequence: number,
    signal: AbortSignal | undefined,
    isOpen: () => boolean,
  ): AsyncGenerator<FeedCommit, void> {
    let next = fromSequence
    if (next <= this.#last) await this.#checkRetained(next)
    while (!this.#isClosed && !isAborted(signal) && isOpen()) {
      if (next > this.#last) {
        await this.#waiting.wait(signal)
        continue
      }
      const commits = next >= this.#recentFrom ? this.#recentCommits(next) : await this.#page(next)
      const first = next
      for (const commit of commits) {
        if (commit.sequence < next) continue
        // Every sequence has a commit: the next one is missing.
        if (commit.sequence > next) break
        next++
        const events = commit.events.filter(({ path }) => isWithin(path, prefix))
        if (events.length === 0) continue
        if (isAborted(signal) || !isOpen()) return
        yield { sequence: commit.sequence, events }
      }
      if (next > first) continue
      // The rows expired while the subscriber waited or was slow.
      await this.#checkRetained(next)
      throw damagedFeed()
    }
  }

  /** The commits of the row in memory that contains a sequence. */
  #recentCommits(sequence: number): FeedCommit[] {
    const recent = this.#recent
    const after = lowerBound(1, recent.length, (at) => recent[at].first <= sequence)
    const decoder = new FeedDecoder()
    for (const bytes of recent[after - 1].rows) decoder.add(bytes)
    return decoder.commits
  }

  /** A page of the table, from the row that contains a sequence. */
  async #page(sequence: number): Promise<FeedCommit[]> {
    const scanner = this.#table.scan({ startRow: await this.#rowWith(sequence) })
    const decoder = new FeedDecoder()
    let bytes = 0
    try {
      while (bytes < pageBytes || decoder.isInside) {
        const results = await scanner.nextBatch(pageRows)
        if (results.length === 0) break
        for (const result of results) {
          const { sequence: first, part } = feedPlace(result.row!)
          // Commits that are written but not yet durable are not delivered.
          if (first > this.#last) return decoder.commits
          const row = result.value(plainColumn)!
          bytes += row.length
          decoder.add(row, part)
        }
      }
    } finally {
      scanner.close()
    }
    return decoder.commits
  }

  /** All stored commits after a sequence, including commits that were never published. */
  async storedAfter(sequence: number): Promise<FeedCommit[]> {
    const decoder = new FeedDecoder()
    for await (const result of this.#table.scan({ startRow: uint64(sequence + 1) })) {
      decoder.add(result.value(plainColumn)!, feedPlace(result.row!).part)
    }
    return decoder.commits
  }

  /** The row that contains a sequence: the last row that begins at or before the sequence. */
  async #rowWith(sequence: number): Promise<Buffer> {
    const startRow = uint64(sequence)
    const [found] = await this.#table.scan({ startRow, reversed: true, limit: 1 }).toArray()
    return found?.row ?? startRow
  }

  /** Throws `ERR_METADATA_FEED_GAP` if commits from a sequence on have expired. */
  async #checkRetained(sequence: number): Promise<void> {
    if (sequence >= this.#recentFrom) return
    const [oldest] = await this.#table.scan({ limit: 1 }).toArray()
    const first = oldest === undefined ? this.#last + 1 : feedPlace(oldest.row!).sequence
    if (sequence >= first) return
    const message = `the feed begins at sequence ${first}, ${sequence} was asked for`
    throw new CellarError(MetadataErrorCode.feedGap, message, { details: { firstSequence: first } })
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}
