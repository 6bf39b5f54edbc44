/**
 * The LZ4 block decompressor in plain TypeScript, for the size-prefixed form of lz4-napi's
 * `compressSync` (see lz4.ts).
 *
 * Invariants, for any input: reads only `source[start, end)`, reads and writes only
 * `target[targetStart, targetEnd)`, and ends after at most as many steps as both ranges have bytes.
 * It fills the target range exactly, or throws {@link Lz4Error} and leaves the range undefined. The
 * source range may be shared memory. A byte that another thread changes meanwhile can change the
 * result, but never the bounds.
 */
import { assert } from '../src/base/assert.js'

/** Thrown for bytes that are not a size-prefixed LZ4 block of the expected length. */
export class Lz4Error extends Error {
  override readonly name = 'Lz4Error'
}

const PREFIX_LENGTH = 4
const MATCH_LENGTH_MIN = 4
/** From this length on, one `Buffer.copy` is faster than a loop over words. */
const LONG_COPY = 256
/** Bytes that a loop over words may touch after the end of its range. */
const OVERSHOOT = 3

/** Decompresses `source[start, end)` so that it fills `target[targetStart, targetEnd)` exactly. */
export function lz4Decompress(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  targetStart: number,
  targetEnd: number,
): void {
  assert(start >= 0 && start <= end && end <= source.length, 'lz4: source range out of bounds')
  assert(
    targetStart >= 0 && targetStart <= targetEnd && targetEnd <= target.length,
    'lz4: target range out of bounds',
  )
  if (end - start < PREFIX_LENGTH) malformed('no length in front')
  if (source.readUInt32LE(start) !== targetEnd - targetStart) {
    malformed('the length in front is not the expected one')
  }
  decompressBlock(source, start + PREFIX_LENGTH, end, target, targetStart, targetEnd)
}

function decompressBlock(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  targetStart: number,
  targetEnd: number,
): void {
  const words = new DataView(source.buffer, source.byteOffset, source.length)
  const targetWords = new DataView(target.buffer, target.byteOffset, target.length)
  let at = start
  let out = targetStart
  for (;;) {
    if (at >= end) malformed('it ends before a token')
    const token = source[at++]

    let length = token >>> 4
    if (length === 15) {
      let byte: number
      do {
        if (at >= end) malformed('it ends within a literal length')
        byte = source[at++]
        length += byte
      } while (byte === 255)
    }
    const literalEnd = at + length
    const literalOut = out + length
    if (literalEnd > end) malformed('literals run past its end')
    if (literalOut > targetEnd) malformed('literals run past the output')
    if (length > LONG_COPY || literalEnd > end - OVERSHOOT || literalOut > targetEnd - OVERSHOOT) {
      source.copy(target, out, at, literalEnd)
    } else {
      for (let from = at, to = out; from < literalEnd; from += 4, to += 4) {
        targetWords.setInt32(to, words.getInt32(from, true), true)
      }
    }
    at = literalEnd
    out = literalOut
    if (at === end) break

    if (at + 2 > end) malformed('it ends within a distance')
    const distance = source[at] | (source[at + 1] << 8)
    at += 2
    if (distance === 0 || distance > out - targetStart) malformed('a distance is out of range')

    length = token & 15
    if (length === 15) {
      let byte: number
      do {
        if (at >= end) malformed('it ends within a match length')
        byte = source[at++]
        length += byte
      } while (byte === 255)
    }
    const matchEnd = out + length + MATCH_LENGTH_MIN
    if (matchEnd > targetEnd) malformed('a match runs past the output')
    if (distance < 4 || matchEnd > targetEnd - OVERSHOOT || length > LONG_COPY) {
      copyMatch(target, targetWords, out, matchEnd, distance)
    } else {
      for (let from = out - distance; out < matchEnd; from += 4, out += 4) {
        targetWords.setInt32(out, targetWords.getInt32(from, true), true)
      }
    }
    out = matchEnd
  }
  // Only the last sequence has no match.
  if (out !== targetEnd) malformed('it ends before the output is full')
}

/** Copies a match of any length and distance without touching bytes from `matchEnd` on. */
function copyMatch(
  target: Buffer,
  targetWords: DataView,
  start: number,
  matchEnd: number,
  distance: number,
): void {
  let out = start
  if (distance >= matchEnd - start) {
    target.copy(target, out, out - distance, matchEnd - distance)
    return
  }
  // Copy single bytes up to a multiple of the distance that is at least a word long.
  const period = distance >= 4 ? distance : distance === 3 ? 6 : 4
  for (const end = Math.min(out + period, matchEnd); out < end; out++) {
    target[out] = target[out - distance]
  }
  for (; out + 4 <= matchEnd; out += 4) {
    targetWords.setInt32(out, targetWords.getInt32(out - period, true), true)
  }
  for (; out < matchEnd; out++) target[out] = target[out - period]
}

function malformed(what: string): never {
  throw new Lz4Error(`malformed LZ4 block: ${what}`)
}
