/**
 * The stored form of the feed: rows of bounded size. A row holds whole commits, or one part of a
 * commit that spans several rows. `GroupEvents.rows` encodes the rows.
 */
import type { CellarError } from '../../../../api/index.js'
import { metadataError } from '../../metadata/errors.js'
import { readUint64 } from '../../kernel/numbers.js'
import type { FeedCommit, Notification, NotificationType } from '../../metadata/types.js'

/** Event types by their byte in the stored form. Stored on disk: the order must never change. */
export const eventTypes: readonly NotificationType[] = [
  'Created',
  'Modified',
  'Deleted',
  'ChildrenChanged',
]

/** A row of the feed: whole commits, or one part of a commit that spans several rows. */
export interface FeedRow {
  readonly sequence: number
  /** 0 for whole commits and for the first part. */
  readonly part: number
  readonly bytes: Buffer
}

/** Length of the header of a commit: sequence and number of events. */
export const commitHeaderBytes = 12
/** Length of the header of an event: type and length of the path. */
export const eventHeaderBytes = 5
/** Set in the number of events if the commit continues in the next row. */
export const goesOnFlag = 0x8000_0000

/** Decodes rows in order. `ERR_METADATA_STORE_FAILURE` for damaged rows. */
export class FeedDecoder {
  /** The commits that are complete. */
  readonly commits: FeedCommit[] = []
  /** A commit that continues in the next row. */
  #open: { readonly sequence: number; readonly events: Notification[] } | undefined = undefined

  /** Whether the last row ended within a commit. */
  get isInside(): boolean {
    return this.#open !== undefined
  }

  /** Decodes a row. A part is skipped if its preceding parts were not added. */
  add(bytes: Buffer, part = 0): void {
    if (part > 0 && this.#open === undefined) return
    let at = 0
    try {
      while (at < bytes.length) {
        const sequence = readUint64(bytes, at)
        const head = bytes.readUInt32BE(at + 8)
        const goesOn = head >= goesOnFlag
        const count = goesOn ? head - goesOnFlag : head
        at += commitHeaderBytes
        const open = this.#open?.sequence === sequence ? this.#open : { sequence, events: [] }
        for (let i = 0; i < count; i++) {
          const type = eventTypes[bytes.readUInt8(at)]
          const length = bytes.readUInt32BE(at + 1)
          const end = at + eventHeaderBytes + length
          if (type === undefined || end > bytes.length) throw new RangeError('damaged')
          open.events.push({ type, path: bytes.toString('utf8', at + eventHeaderBytes, end) })
          at = end
        }
        this.#open = goesOn ? open : undefined
        if (!goesOn) this.commits.push(open)
      }
    } catch (cause) {
      throw damagedFeed(cause)
    }
  }
}

/** The error for a damaged or missing row of the feed. */
export function damagedFeed(cause?: unknown): CellarError {
  return metadataError('storeFailure', 'the feed is damaged', cause)
}
