/**
 * The stored and the live form of the feed: the events of every commit, in the order of commits.
 *
 * Every group of commits writes one row, in the same atomic batch as its records. The rows of the
 * last groups also stay in memory. A subscriber is a position: it pulls from memory or, when it is
 * further back, from the table. So a slow subscriber costs nothing.
 */
import type { Table } from '../../api/index.js'
import { FeedGapError, MetadataErrorCode, MetadataStoreError } from './errors.js'
import { eventTypes } from './group-events.js'
import { isWithin } from './paths.js'
import { readUint64, uint64 } from './record-format.js'
import { plainColumn } from './rows.js'
import type { FeedCommit, Notification } from './types.js'

/** Bytes of the groups that are kept in memory. */
const recentBytesMax = 2 * 1024 * 1024
/** Rows of the feed that one step of a subscriber reads. */
const pageRows = 16

/** The commits of a group. `ERR_METADATA_STORE_FAILURE` for bytes that are none. */
export function decodeCommits(bytes: Buffer): FeedCommit[] {
  const commits: FeedCommit[] = []
  let at = 0
  try {
    while (at < bytes.length) {
      const sequence = readUint64(bytes, at)
      const count = bytes.readUInt32BE(at + 8)
      at += 12
      const events: Notification[] = []
      for (let i = 0; i < count; i++) {
        const type = eventTypes[bytes.readUInt8(at)]
        const length = bytes.readUInt32BE(at + 1)
        if (type === undefined || at + 5 + length > bytes.length) throw new RangeError('damaged')
        events.push({ type, path: bytes.toString('utf8', at + 5, at + 5 + length) })
        at += 5 + length
      }
      commits.push({ sequence, events })
    }
  } catch (cause) {
    throw new MetadataStoreError(MetadataErrorCode.storeFailure, 'the feed is damaged', cause)
  }
  return commits
}

/** A group that is kept in memory. */
interface RecentGroup {
  readonly first: number
  readonly bytes: Buffer
}

/** The feed of one store. */
export class ChangeLog {
  readonly #table: Table
  /** The last groups, oldest first, in their stored form: a subscriber decodes what it reads. */
  #recent: RecentGroup[] = []
  #recentBytes = 0
  /** Everything from here on is in memory. */
  #recentFrom: number
  /** The newest sequence that is durable. */
  #last: number
  #isClosed = false
  readonly #waiting = new Set<() => void>()

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

  /** Adds a group that is durable, in the form of `GroupEvents.encode`, and wakes subscribers. */
  append(first: number, last: number, bytes: Buffer): void {
    this.#last = last
    this.#recent.push({ first, bytes })
    this.#recentBytes += bytes.length
    while (this.#recentBytes > recentBytesMax && this.#recent.length > 1) {
      this.#recentBytes -= this.#recent.shift()!.bytes.length
      this.#recentFrom = this.#recent[0].first
    }
    if (this.#waiting.size > 0) this.#wake()
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#isClosed = true
    this.#wake()
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
  }

  /** Commits from a sequence on that touch `prefix`; see `MetadataStore.subscribe`. */
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
        await this.#more(signal)
        continue
      }
      const groups = next >= this.#recentFrom ? [this.#recentGroup(next)] : await this.#page(next)
      let seen = 0
      for (const commit of groups.flat()) {
        seen = commit.sequence
        if (commit.sequence < next) continue
        const events = commit.events.filter(({ path }) => isWithin(path, prefix))
        if (events.length === 0) continue
        if (isAborted(signal) || !isOpen()) return
        yield { sequence: commit.sequence, events }
      }
      // Nothing found below the last sequence: the rows expired while the subscriber waited.
      if (seen < next) await this.#checkRetained(next)
      next = Math.max(next, seen + 1)
    }
  }

  /** The group in memory that has a sequence, or the one behind it. */
  #recentGroup(sequence: number): FeedCommit[] {
    let low = 0
    let high = this.#recent.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#recent[middle].first <= sequence) low = middle
      else high = middle - 1
    }
    return decodeCommits(this.#recent[low].bytes)
  }

  /** The groups in the table from the one with a sequence on. */
  async #page(sequence: number): Promise<FeedCommit[][]> {
    const startRow = await this.#groupRow(sequence)
    const scanner = this.#table.scan({ startRow, limit: pageRows })
    try {
      const results = await scanner.nextBatch(pageRows)
      const groups = results.map((result) => decodeCommits(result.value(plainColumn)!))
      // What is written and not durable is not shown.
      return groups.filter((group) => group.at(-1)!.sequence <= this.#last)
    } finally {
      scanner.close()
    }
  }

  /** Row of the group that has a sequence: the last one that begins at or before it. */
  async #groupRow(sequence: number): Promise<Buffer> {
    const scanner = this.#table.scan({ startRow: uint64(sequence), reversed: true, limit: 1 })
    try {
      const [result] = await scanner.nextBatch(1)
      return result?.row ?? uint64(sequence)
    } finally {
      scanner.close()
    }
  }

  /** `ERR_METADATA_FEED_GAP` if commits from a sequence on have expired. */
  async #checkRetained(sequence: number): Promise<void> {
    if (sequence >= this.#recentFrom) return
    const scanner = this.#table.scan({ limit: 1 })
    try {
      const [oldest] = await scanner.nextBatch(1)
      const first = oldest === undefined ? this.#last + 1 : readUint64(oldest.row!, 0)
      if (sequence < first) throw new FeedGapError(sequence, first)
    } finally {
      scanner.close()
    }
  }

  #more(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }

  /** Wakes subscribers so that they notice that their handle was closed. */
  wake(): void {
    this.#wake()
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}
