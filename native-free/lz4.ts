/**
 * The LZ4 block compressor in plain TypeScript, in the size-prefixed form that lz4-napi's
 * `compressSync` writes: the uncompressed length as four little-endian bytes, then one raw block.
 *
 * Each block stands alone. The search is greedy with one candidate per hash, as in the reference
 * implementation's fast mode, so ratio and output size are close to the native ones; the bytes need
 * not be the same, both sides decompress both.
 *
 * Invariants: reads only `source[start, end)`, writes only `target[targetStart, targetEnd)`; the
 * output depends on the input alone, not on earlier calls. Nothing is kept of the buffers, and
 * nothing is allocated per call but two DataViews: their unaligned 32-bit loads and stores halve
 * the time.
 */
import { assert } from '../src/base/assert.js'

/** Bytes of the length in front of the block. */
export const lz4PrefixLength = 4

/** Longest input in bytes; positions have to fit the hash table's 32-bit entries. */
export const lz4InputBytesMax = 0x3fff_ffff

/** Shortest match that the format can express. */
export const matchLengthMin = 4
/** Farthest match that the format can express. */
export const distanceMax = 0xffff
/** The format wants the last five bytes as literals and no match starting in the last twelve. */
export const lastLiterals = 5
/** See {@link lastLiterals}. */
export const matchStartMargin = 12
/** A block's last sequence takes at least a token and the last literals. */
export const lastSequenceLengthMin = 1 + lastLiterals
/**
 * 16 probes without a match before the step over the input grows by one. The reference takes 64;
 * so few cost 0.2 % of the size of source text and JSON and save a fifth of the time on sorted
 * keys with random values.
 */
export const skipShift = 4
/** From here on one `Buffer.copy` beats a loop over words. */
const LONG_COPY = 256

const HASH_BITS = 12
/** Leaves the bits of a hash that number a pair of the table. */
export const hashShift = 32 - HASH_BITS
/** 2654435761, the multiplier of Fibonacci hashing, as a signed number. */
export const hashMultiplier = -1640531535

/**
 * Two numbers a hash: the last position + `epoch` at which it was seen, and the four bytes there.
 * Comparing those first makes a branch that predicts well and spares a load from the input, a third
 * of the time on values that do not compress. `epoch` grows by more than the farthest distance with
 * every call, so entries of earlier inputs are out of reach without clearing the table.
 */
const table = new Int32Array(2 << HASH_BITS)
let epoch = distanceMax + 1

/** Most bytes that compressing `length` bytes can take, prefix included. */
export function lz4CompressBound(length: number): number {
  return lz4PrefixLength + length + Math.ceil(length / 255) + 16
}

/**
 * Compresses `source[start, end)` into `target` from `targetStart` on and returns the offset behind
 * the last byte written, or -1 if the result does not end at or before `targetEnd` (the bytes in
 * between are then undefined). The two ranges must not overlap.
 */
export function lz4Compress(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  targetStart: number,
  targetEnd: number = target.length,
): number {
  const length = end - start
  assert(start >= 0 && length >= 0 && end <= source.length, 'lz4: source range out of bounds')
  assert(targetStart >= 0 && targetEnd <= target.length, 'lz4: target range out of bounds')
  assert(length <= lz4InputBytesMax, 'lz4: input too long')
  if (targetEnd - targetStart < lz4PrefixLength + 1) return -1
  target.writeUInt32LE(length, targetStart)
  const out = targetStart + lz4PrefixLength
  if (length < matchStartMargin + 1) {
    return writeLastLiterals(source, start, end, target, out, targetEnd)
  }
  if (epoch > 0x7fff_ffff - distanceMax - 1 - length) {
    table.fill(0)
    epoch = distanceMax + 1
  }
  const base = epoch - start
  epoch += length + distanceMax + 1
  return compressBlock(source, start, end, target, out, targetEnd, base)
}

/** REQUIRES end - start > matchStartMargin. `base` + position is what goes into the table. */
function compressBlock(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  targetStart: number,
  targetEnd: number,
  base: number,
): number {
  const words = new DataView(source.buffer, source.byteOffset, source.length)
  const targetWords = new DataView(target.buffer, target.byteOffset, target.length)
  const matchStartLimit = end - matchStartMargin
  const matchEndLimit = end - lastLiterals
  let anchor = start
  let at = start
  let out = targetStart
  let probes = 1 << skipShift
  while (at <= matchStartLimit) {
    const sequence = words.getInt32(at, true)
    const slot = (Math.imul(sequence, hashMultiplier) >>> hashShift) << 1
    const distance = at + base - table[slot]
    const candidate = table[slot + 1]
    table[slot] = at + base
    table[slot + 1] = sequence
    if (candidate !== sequence || distance > distanceMax) {
      at += probes++ >>> skipShift
      continue
    }
    while (at > anchor && at - distance > start && source[at - 1] === source[at - distance - 1]) {
      at--
    }
    const matchEnd = matchedUntil(words, at + matchLengthMin, distance, matchEndLimit)

    const literals = at - anchor
    const matchRest = matchEnd - at - matchLengthMin
    const needed =
      literals + 3 + lengthBytes(literals) + lengthBytes(matchRest) + lastSequenceLengthMin
    if (needed > targetEnd - out) return -1
    target[out++] = ((literals < 15 ? literals : 15) << 4) | (matchRest < 15 ? matchRest : 15)
    if (literals >= 15) out = writeLength(target, out, literals - 15)
    if (literals > LONG_COPY) {
      source.copy(target, out, anchor, at)
    } else {
      // Up to three bytes too many; what still has to follow a match has room for them.
      for (let from = anchor, to = out; from < at; from += 4, to += 4) {
        targetWords.setInt32(to, words.getInt32(from, true), true)
      }
    }
    out += literals
    target[out++] = distance
    target[out++] = distance >>> 8
    if (matchRest >= 15) out = writeLength(target, out, matchRest - 15)

    at = anchor = matchEnd
    probes = 1 << skipShift
    // One more entry near the end of the match finds repetitions that begin inside it.
    const innerSequence = words.getInt32(at - 2, true)
    const inner = (Math.imul(innerSequence, hashMultiplier) >>> hashShift) << 1
    table[inner] = at - 2 + base
    table[inner + 1] = innerSequence
  }
  return writeLastLiterals(source, anchor, end, target, out, targetEnd)
}

/** The first position in `[at, limit)` that differs from the one `distance` before, or `limit`. */
function matchedUntil(words: DataView, at: number, distance: number, limit: number): number {
  let position = at
  for (; position + 4 <= limit; position += 4) {
    const difference = words.getInt32(position, true) ^ words.getInt32(position - distance, true)
    if (difference !== 0) {
      return position + ((31 - Math.clz32(difference & -difference)) >>> 3)
    }
  }
  while (position < limit && words.getUint8(position) === words.getUint8(position - distance)) {
    position++
  }
  return position
}

/** The last sequence: literals only. Returns the offset behind it or -1. */
function writeLastLiterals(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  targetStart: number,
  targetEnd: number,
): number {
  const literals = end - start
  if (1 + lengthBytes(literals) + literals > targetEnd - targetStart) return -1
  let out = targetStart
  target[out++] = (literals < 15 ? literals : 15) << 4
  if (literals >= 15) out = writeLength(target, out, literals - 15)
  source.copy(target, out, start, end)
  return out + literals
}

/** Bytes that a length takes beside its four bits in the token. */
function lengthBytes(length: number): number {
  return length < 15 ? 0 : 1 + (((length - 15) / 255) | 0)
}

function writeLength(target: Buffer, targetStart: number, length: number): number {
  let out = targetStart
  let rest = length
  for (; rest >= 255; rest -= 255) target[out++] = 255
  target[out++] = rest
  return out
}
