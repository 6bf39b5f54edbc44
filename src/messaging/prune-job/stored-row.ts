/**
 * Takes stored rows apart without making objects: where the topic ends, and the numbers behind it.
 *
 * Rows are as keys hold them, with each byte 00 escaped (cell/FORMAT.md). A topic holds no 00, so
 * its bytes stand in the key as they are; the numbers behind it are unescaped into a few bytes of
 * this object. One object serves a whole job.
 */
import { unescapeInto } from '../../cell/cell-key.js'

const colon = 0x3a
const generationBytes = 4
/** High half of 2^53-1. */
const safeHighMax = 0x1f_ffff

export class StoredRow {
  /** End of `namespace:topic:` in the buffer that was parsed. */
  prefixEnd = 0
  generation = 0
  /** The time of the message or payload in milliseconds, as a double: exact below 2^53. */
  time = 0
  private readonly tail: Uint8Array
  private readonly timeOffset: number

  /**
   * Rows have `tailBytes` bytes behind the topic: generation(4), a write pointer(8) unless
   * `timeOffset` is 4, and time(8) at `timeOffset` of them.
   */
  constructor(tailBytes: number, timeOffset: number) {
    this.tail = new Uint8Array(tailBytes)
    this.timeOffset = timeOffset
  }

  /**
   * Parses the escaped row `source[start, end)`. False, with the fields undefined, if it is no row
   * of that form: less than two colons, another length behind them, or a number that no writer
   * gives (`encodeMessageRow`, `encodePayloadRow`).
   */
  parse(source: Buffer, start: number, end: number): boolean {
    let at = start
    for (let colons = 0; colons < 2; at++) {
      if (at >= end) return false
      if (source[at] === colon) colons++
    }
    const { tail, timeOffset } = this
    if (unescapeInto(source, at, end, tail) !== tail.length) return false
    this.prefixEnd = at
    this.generation = readInt32(tail, 0)
    const timeHigh = readInt32(tail, timeOffset)
    this.time = timeHigh * 0x1_0000_0000 + (readInt32(tail, timeOffset + 4) >>> 0)
    const timeIsGood = timeHigh >= 0 && timeHigh <= safeHighMax
    return (
      this.generation > 0 && timeIsGood && (timeOffset === generationBytes || this.hasPointer())
    )
  }

  /** Whether the number between generation and time is positive. */
  private hasPointer(): boolean {
    const high = readInt32(this.tail, generationBytes)
    return high > 0 || (high === 0 && readInt32(this.tail, generationBytes + 4) !== 0)
  }
}

function readInt32(source: Uint8Array, offset: number): number {
  return (
    (source[offset] << 24) |
    (source[offset + 1] << 16) |
    (source[offset + 2] << 8) |
    source[offset + 3]
  )
}
