/**
 * The events of a group of commits, in flat lists: a group may have ten thousand commits of one
 * event each, which all wait for the same sync.
 */
import { writeUint64, type StoredRecord } from './record-format.js'
import type { FeedCommit, Notification, NotificationType } from './types.js'

/** The types of events by their byte in the stored form. On disk: never change the order. */
export const eventTypes: readonly NotificationType[] = [
  'Created',
  'Modified',
  'Deleted',
  'ChildrenChanged',
]

/** Told of one commit and its events: the records by position, undefined = removed or none. */
type TellCommit = (
  sequence: number,
  events: readonly Notification[],
  records: readonly (StoredRecord | undefined)[],
) => void

/** See the file header. Events are added to the open commit, which `endCommit` ends. */
export class GroupEvents {
  readonly #types: NotificationType[] = []
  readonly #paths: string[] = []
  readonly #records: (StoredRecord | undefined)[] = []
  /** Of each commit: its sequence, and where its events end. */
  readonly #sequences: number[] = []
  readonly #ends: number[] = []

  /** Number of commits that have ended. */
  get commitCount(): number {
    return this.#sequences.length
  }

  /** Whether the open commit has events. */
  get hasOpen(): boolean {
    return this.#paths.length > this.#end
  }

  /** Adds an event to the open commit, with the record that it leaves. */
  add(type: NotificationType, path: string, record: StoredRecord | undefined): void {
    this.#types.push(type)
    this.#paths.push(path)
    this.#records.push(record)
  }

  /** Ends the open commit. */
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

  /** Tells of each commit, in order. */
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

  /** The stored form. Of a commit: sequence and number of events; of each: type, length, path. */
  encode(): Buffer {
    let length = 12 * this.#sequences.length
    for (const path of this.#paths) length += 5 + Buffer.byteLength(path)
    const bytes = Buffer.allocUnsafe(length)
    let at = 0
    let next = 0
    for (let i = 0; i < this.#sequences.length; i++) {
      const end = this.#ends[i]
      writeUint64(bytes, this.#sequences[i], at)
      bytes.writeUInt32BE(end - next, at + 8)
      at += 12
      for (; next < end; next++) {
        bytes[at] = eventTypes.indexOf(this.#types[next])
        const written = bytes.write(this.#paths[next], at + 5)
        bytes.writeUInt32BE(written, at + 1)
        at += 5 + written
      }
    }
    return bytes
  }

  /** Where the events of the last ended commit end. */
  get #end(): number {
    const ends = this.#ends
    return ends.length === 0 ? 0 : ends[ends.length - 1]
  }
}

/** The events of commits, each with the records that it left by position. */
export function groupOf(
  commits: readonly {
    readonly commit: FeedCommit
    readonly records: readonly (StoredRecord | undefined)[]
  }[],
): GroupEvents {
  const group = new GroupEvents()
  for (const { commit, records } of commits) {
    commit.events.forEach(({ type, path }, i) => group.add(type, path, records[i]))
    group.endCommit(commit.sequence)
  }
  return group
}
