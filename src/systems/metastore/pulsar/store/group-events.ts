/**
 * The events of a group of commits, in flat arrays: ten thousand commits of one event each may wait
 * for the same sync.
 */
import {
  commitHeaderBytes,
  eventHeaderBytes,
  eventTypes,
  goesOnFlag,
  type FeedRow,
} from './feed-rows.js'
import { writeUint64 } from '../../kernel/numbers.js'
import type { StoredRecord } from './record-format.js'
import type { Notification, NotificationType } from '../../metadata/types.js'

/** Receives one commit with its events, and the new records by position; undefined = no record. */
type TellCommit = (
  sequence: number,
  events: readonly Notification[],
  records: readonly (StoredRecord | undefined)[],
) => void

/** The events of a group; see the file header. `endCommit` closes the open commit. */
export class GroupEvents {
  readonly #types: NotificationType[] = []
  readonly #paths: string[] = []
  readonly #records: (StoredRecord | undefined)[] = []
  /** The sequence of each commit, and the end of its events. */
  readonly #sequences: number[] = []
  readonly #ends: number[] = []

  /** Number of closed commits. */
  get commitCount(): number {
    return this.#sequences.length
  }

  /** Number of events of the closed commits. */
  get eventCount(): number {
    return this.#end
  }

  /** Whether the open commit has events. */
  get hasOpen(): boolean {
    return this.#paths.length > this.#end
  }

  /** Adds an event to the open commit, with the record after the event. */
  add(type: NotificationType, path: string, record: StoredRecord | undefined): void {
    this.#types.push(type)
    this.#paths.push(path)
    this.#records.push(record)
  }

  /** Closes the open commit. */
  endCommit(sequence: number): void {
    this.#sequences.push(sequence)
    this.#ends.push(this.#paths.length)
  }

  /** Removes the events of the open commit. */
  dropOpen(): void {
    const end = this.#end
    if (this.#paths.length === end) return
    this.#types.length = end
    this.#paths.length = end
    this.#records.length = end
  }

  /** Calls a function with each commit, in order. */
  each(tell: TellCommit): void {
    let at = 0
    for (let i = 0; i < this.#sequences.length; i++) {
      const end = this.#ends[i]
      const events: Notification[] = []
      const records = this.#records.slice(at, end)
      for (; at < end; at++) events.push({ type: this.#types[at], path: this.#paths[at] })
      tell(this.#sequences[i], events, records)
    }
  }

  /**
   * Encodes the stored form, in rows of at most `bytesMax` bytes; only a row with a single longer
   * path exceeds the limit. Each commit has its sequence and number of events, and for each event:
   * type, length, path. A commit larger than a row has rows of its own. All but the last of these
   * rows mark that the commit continues.
   */
  rows(bytesMax: number): FeedRow[] {
    const rows: FeedRow[] = []
    /** The first commit of the current row, and the bytes of its commits. */
    let first = 0
    let bytes = 0
    let from = 0
    for (let i = 0; i < this.#sequences.length; i++) {
      const end = this.#ends[i]
      const length = commitHeaderBytes + this.#bytesOf(from, end)
      if (bytes > 0 && bytes + length > bytesMax) {
        rows.push(this.#rowOf(first, i, bytes))
        bytes = 0
      }
      if (bytes === 0) first = i
      if (length > bytesMax) this.#cut(i, from, bytesMax, rows)
      else bytes += length
      from = end
    }
    if (bytes > 0) rows.push(this.#rowOf(first, this.#sequences.length, bytes))
    return rows
  }

  /** A row of whole commits. */
  #rowOf(first: number, end: number, length: number): FeedRow {
    const bytes = Buffer.allocUnsafe(length)
    let at = 0
    for (let i = first; i < end; i++) {
      at = this.#write(bytes, at, i, i === 0 ? 0 : this.#ends[i - 1], this.#ends[i], false)
    }
    return { sequence: this.#sequences[first], part: 0, bytes }
  }

  /** Splits a commit that is larger than a row. */
  #cut(commit: number, from: number, bytesMax: number, rows: FeedRow[]): void {
    const sequence = this.#sequences[commit]
    const end = this.#ends[commit]
    for (let part = 0; from < end; part++) {
      let length = commitHeaderBytes
      let to = from
      while (to < end) {
        const more = this.#bytesOf(to, to + 1)
        if (to > from && length + more > bytesMax) break
        length += more
        to++
      }
      const bytes = Buffer.allocUnsafe(length)
      this.#write(bytes, 0, commit, from, to, to < end)
      rows.push({ sequence, part, bytes })
      from = to
    }
  }

  #bytesOf(from: number, to: number): number {
    let length = 0
    for (let i = from; i < to; i++) length += eventHeaderBytes + Buffer.byteLength(this.#paths[i])
    return length
  }

  /** Encodes events of a commit and returns their end. */
  #write(
    bytes: Buffer,
    at: number,
    commit: number,
    from: number,
    to: number,
    goesOn: boolean,
  ): number {
    writeUint64(bytes, this.#sequences[commit], at)
    bytes.writeUInt32BE(to - from + (goesOn ? goesOnFlag : 0), at + 8)
    at += commitHeaderBytes
    for (let i = from; i < to; i++) {
      bytes[at] = eventTypes.indexOf(this.#types[i])
      const written = bytes.write(this.#paths[i], at + eventHeaderBytes)
      bytes.writeUInt32BE(written, at + 1)
      at += eventHeaderBytes + written
    }
    return at
  }

  /** The end of the events of the last closed commit. */
  get #end(): number {
    const ends = this.#ends
    return ends.length === 0 ? 0 : ends[ends.length - 1]
  }
}
