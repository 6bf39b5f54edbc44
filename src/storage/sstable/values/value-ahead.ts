/**
 * Stored bytes of a value file that were read beyond the value that was asked for, because values
 * have been asked for one after the other: a scan then pays for one read instead of dozens.
 *
 * All value files of a database, or of a job, share one window, so it holds 256 KiB at most. Values
 * that come from several files in turn are read one by one.
 *
 * Ownership: the bytes of a window are never written again; contents may refer to them.
 */
import { emptyBytes } from '../../../base/bytes.js'

/** Most bytes that one read fetches, unless one value is longer. */
const aheadBytesMax = 256 * 1024
/** Values that have to follow each other before more is read than was asked for. */
const runMin = 2

/** The window, and whether values follow each other; see the file header. */
export class ValueAhead {
  private owner: unknown = undefined
  private lastOffset = -1
  private nextOffset = -1
  /** Values handed out one after the other. */
  private run = 0
  private windowOwner: unknown = undefined
  private window: Buffer = emptyBytes
  private windowStart = 0

  /** The stored bytes at an offset of a file, if they are in the window. */
  find(owner: unknown, offset: number, storedBytes: number): Buffer | undefined {
    const start = offset - this.windowStart
    if (owner !== this.windowOwner || start < 0) return undefined
    const end = start + storedBytes
    return end <= this.window.length ? this.window.subarray(start, end) : undefined
  }

  /** How many bytes to read for a value that is not there. */
  bytesToRead(owner: unknown, offset: number, storedBytes: number): number {
    const follows = owner === this.owner && offset === this.nextOffset
    if (!follows || this.run < runMin) return storedBytes
    return Math.max(storedBytes, Math.min(aheadBytesMax, storedBytes * 2 ** Math.min(this.run, 16)))
  }

  /** Keeps the bytes that were read; a single value leaves nothing to keep. */
  keep(owner: unknown, offset: number, stored: Buffer, storedBytes: number): void {
    if (stored.length <= storedBytes) return
    this.windowOwner = owner
    this.window = stored
    this.windowStart = offset
  }

  /** A value was handed out. A scan that repeats a step may ask for one again. */
  handedOut(owner: unknown, offset: number, storedBytes: number): void {
    if (owner === this.owner && offset === this.lastOffset) return
    this.run = owner === this.owner && offset === this.nextOffset ? this.run + 1 : 0
    this.owner = owner
    this.lastOffset = offset
    this.nextOffset = offset + storedBytes
  }

  /** Lets go of the bytes of a file. */
  forget(owner: unknown): void {
    if (owner === this.owner) this.owner = undefined
    if (owner !== this.windowOwner) return
    this.windowOwner = undefined
    this.window = emptyBytes
  }
}
