/**
 * The stored form of the feed: rows of bounded size, each of whole commits or of one part of a
 * commit that fills several rows. `GroupEvents.rows` writes them.
 */
import { MetadataErrorCode, MetadataStoreError } from '../errors.js'
import { readUint64 } from './record-format.js'
import type { FeedCommit, Notification, NotificationType } from '../types.js'

/** The types of events by their byte in the stored form. On disk: never change the order. */
export const eventTypes: readonly NotificationType[] = [
  'Created',
  'Modified',
  'Deleted',
  'ChildrenChanged',
]

/** A row of the feed: commits from a sequence on, or one part of a commit that fills several. */
export interface FeedRow {
  readonly sequence: number
  /** 0 for whole commits and for the first part. */
  readonly part: number
  readonly bytes: Buffer
}

/** Sequence and number of events. */
export const commitHeaderBytes = 12
/** Type and length of the path. */
export const eventHeaderBytes = 5
/** In the number of events: the next row has more of the commit. */
export const goesOnFlag = 0x8000_0000

/** The commits of rows in their order. `ERR_METADATA_STORE_FAILURE` for bytes that are none. */
export function decodeRows(rows: readonly Buffer[]): FeedCommit[] {
  const decoder = new FeedDecoder()
  for (const bytes of rows) decoder.add(bytes)
  return decoder.commits
}

/** Decodes rows one after the other. */
export class FeedDecoder {
  /** The commits that are complete. */
  readonly commits: FeedCommit[] = []
  /** Sequence and events of a commit that goes on in the next row. */
  #open: { readonly sequence: number; readonly events: Notification[] } | undefined = undefined

  /** Whether the last row has left a commit that goes on. */
  get isInside(): boolean {
    return this.#open !== undefined
  }

  /** Takes a row. A part whose first parts were not there is left out. */
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

/** The feed holds bytes that are none of its rows, or lacks a row. */
export function damagedFeed(cause?: unknown): MetadataStoreError {
  return new MetadataStoreError(MetadataErrorCode.storeFailure, 'the feed is damaged', cause)
}
