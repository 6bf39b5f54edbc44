/**
 * Read-ahead for value files: stored bytes after the requested value, read because requests were
 * consecutive. So a scan needs one read instead of dozens.
 *
 * All value files of a database, or of a job, share one window, which has at most 256 KiB. Values
 * that alternate between files are read one by one.
 *
 * Ownership: the bytes of a window are never overwritten; contents may refer to them.
 */
import { emptyBytes } from '../../../base/bytes.js'

/** Maximum size of a read in bytes, unless one value is longer. */
const aheadBytesMax = 256 * 1024
/** Number of consecutive values before more than the requested one is read. */
const runMin = 2

export class ValueAhead {
  private owner: unknown = undefined
  private lastOffset = -1
  private nextOffset = -1
  /** Number of consecutive values returned. */
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

  /** The number of bytes to read for a value that is not in the window. */
  bytesToRead(owner: unknown, offset: number, storedBytes: number): number {
    const follows = owner === this.owner && offset === this.nextOffset
    if (!follows || this.run < runMin) return storedBytes
    return Math.max(storedBytes, Math.min(aheadBytesMax, storedBytes * 2 ** Math.min(this.run, 16)))
  }

  /** Keeps the bytes of a read, unless they are a single value. */
  keep(owner: unknown, offset: number, stored: Buffer, storedBytes: number): void {
    if (stored.length <= storedBytes) return
    this.windowOwner = owner
    this.window = stored
    this.windowStart = offset
  }

  /** Counts a returned value. A scan that repeats a step may request a value again. */
  handedOut(owner: unknown, offset: number, storedBytes: number): void {
    if (owner === this.owner && offset === this.lastOffset) return
    this.run = owner === this.owner && offset === this.nextOffset ? this.run + 1 : 0
    this.owner = owner
    this.lastOffset = offset
    this.nextOffset = offset + storedBytes
  }

  /** Drops the bytes of a file. */
  forget(owner: unknown): void {
    if (owner === this.owner) this.owner = undefined
    if (owner !== this.windowOwner) return
    this.windowOwner = undefined
    this.window = emptyBytes
  }
}
