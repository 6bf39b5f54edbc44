/**
 * The index: for each data block its stored length and a separator. A separator is a short key that
 * is >= every key of the block and < every key of the next one. The last separator is the last key
 * of the SSTable.
 *
 * The index is in memory as a whole, as numbers and one packed buffer. A search compares as numbers
 * the six key bytes after the common prefix of all separators, and whole keys only on ties. A
 * search starts with a copy of every 32nd number. These copies of all SSTables fit the processor's
 * cache, and the rest of the search touches a few adjacent cache lines.
 */
import { assert } from '../../../base/assert.js'
import { commonPrefixLength, compareBytes, readPrefix48 } from '../../../base/bytes.js'
import { growBuffer, growNumbers } from '../grow.js'

/**
 * Writes a short key s with last <= s < next into `target` at `at`. Returns its length, at most
 * that of `last`. REQUIRES last < next and space for `last.length` bytes.
 */
export function writeSeparator(
  target: Buffer,
  at: number,
  last: Buffer,
  next: Buffer,
  nextStart: number,
  nextEnd: number,
): number {
  const shared = commonPrefixLength(last, 0, last.length, next, nextStart, nextEnd)
  // The shared bytes and one more byte of the next key, if they are not the whole key.
  if (shared < last.length && nextStart + shared + 1 < nextEnd) {
    return next.copy(target, at, nextStart, nextStart + shared + 1)
  }
  return last.copy(target, at, 0, last.length)
}

/** Collects the index of an SSTable that is being written. */
export class IndexBuilder {
  private lengths = new Uint32Array(256)
  private separatorLengths = new Uint32Array(256)
  private separators: Buffer = Buffer.allocUnsafeSlow(4096)
  private separatorBytes = 0
  /** Number of blocks so far. */
  blockCount = 0

  /** Adds a block by its stored length and the separator before the next key. */
  add(
    storedLength: number,
    lastKey: Buffer,
    next: Buffer,
    nextStart: number,
    nextEnd: number,
  ): void {
    this.reserve(lastKey.length)
    const at = this.separatorBytes
    const length = writeSeparator(this.separators, at, lastKey, next, nextStart, nextEnd)
    this.append(storedLength, length)
  }

  /** Adds the last block; its separator is its last key. */
  addLast(storedLength: number, lastKey: Buffer): void {
    this.reserve(lastKey.length)
    lastKey.copy(this.separators, this.separatorBytes)
    this.append(storedLength, lastKey.length)
  }

  /** Encodes the payload of the section. */
  finish(): Buffer {
    const { blockCount } = this
    const payload = Buffer.allocUnsafeSlow(4 + blockCount * 8 + this.separatorBytes)
    payload.writeUInt32LE(blockCount, 0)
    for (let i = 0; i < blockCount; i++) {
      payload.writeUInt32LE(this.lengths[i], 4 + i * 4)
      payload.writeUInt32LE(this.separatorLengths[i], 4 + (blockCount + i) * 4)
    }
    this.separators.copy(payload, 4 + blockCount * 8, 0, this.separatorBytes)
    return payload
  }

  private reserve(bytes: number): void {
    const used = this.separatorBytes
    this.separators = growBuffer(this.separators, used, used + bytes)
    this.lengths = growNumbers(this.lengths, this.blockCount + 1)
    this.separatorLengths = growNumbers(this.separatorLengths, this.blockCount + 1)
  }

  private append(storedLength: number, separatorLength: number): void {
    assert(storedLength > 0 && storedLength <= 0xffff_ffff, 'index: stored length')
    this.lengths[this.blockCount] = storedLength
    this.separatorLengths[this.blockCount] = separatorLength
    this.separatorBytes += separatorLength
    this.blockCount++
  }
}

/** Number of blocks per number of {@link BlockIndex.samples}: a power of two. */
const sampleBlocks = 32

/** The index of an open SSTable. */
export class BlockIndex {
  /** Number of data blocks. */
  readonly blockCount: number
  /** File offset of each block, and after the last the end of the blocks. */
  readonly offsets: Float64Array
  /** All separators, packed. */
  readonly separators: Buffer
  /** Offset of each separator in {@link separators}, and after the last their end. */
  readonly separatorOffsets: Uint32Array
  private readonly prefixes: Float64Array
  /** The prefix of the last block of each complete run of {@link sampleBlocks}. */
  private readonly samples: Float64Array
  private readonly prefixLength: number

  private constructor(
    offsets: Float64Array,
    separators: Buffer,
    separatorOffsets: Uint32Array,
    prefixes: Float64Array,
    prefixLength: number,
  ) {
    this.blockCount = prefixes.length
    this.offsets = offsets
    this.separators = separators
    this.separatorOffsets = separatorOffsets
    this.prefixes = prefixes
    this.samples = new Float64Array(Math.floor(prefixes.length / sampleBlocks))
    for (let i = 0; i < this.samples.length; i++) {
      this.samples[i] = prefixes[(i + 1) * sampleBlocks - 1]
    }
    this.prefixLength = prefixLength
  }

  /**
   * Decodes a payload of {@link IndexBuilder.finish} and refers to its memory. Returns the fault as
   * a string if the payload is inconsistent or does not add up to `dataBytes`.
   */
  static decode(payload: Buffer, dataBytes: number): BlockIndex | string {
    const blockCount = payload.length < 4 ? 0 : payload.readUInt32LE(0)
    const keysStart = 4 + blockCount * 8
    if (payload.length < keysStart) return `${blockCount} blocks in ${payload.length} bytes`
    const offsets = new Float64Array(blockCount + 1)
    const separatorOffsets = new Uint32Array(blockCount + 1)
    const separators = payload.subarray(keysStart)
    let offset = 0
    let keyOffset = 0
    for (let i = 0; i < blockCount; i++) {
      const length = payload.readUInt32LE(4 + i * 4)
      const keyLength = payload.readUInt32LE(4 + (blockCount + i) * 4)
      if (length === 0 || keyLength > separators.length - keyOffset)
        return `bad lengths of block ${i}`
      offset += length
      keyOffset += keyLength
      offsets[i + 1] = offset
      separatorOffsets[i + 1] = keyOffset
    }
    if (offset !== dataBytes) return `blocks of ${offset} bytes`
    if (keyOffset !== separators.length) return `separators of ${keyOffset} bytes`
    const prefixLength = sharedLength(separators, separatorOffsets, blockCount)
    const prefixes = new Float64Array(blockCount)
    for (let i = 0; i < blockCount; i++) {
      const start = separatorOffsets[i] + prefixLength
      const end = separatorOffsets[i + 1]
      prefixes[i] = end < start ? -1 : readPrefix48(separators, start, end)
      if (prefixes[i] < (i === 0 ? 0 : prefixes[i - 1])) return `separator ${i} out of order`
    }
    return new BlockIndex(offsets, separators, separatorOffsets, prefixes, prefixLength)
  }

  /** Size of the numbers in memory; the separators are in the section's memory. */
  get arrayBytes(): number {
    const { offsets, separatorOffsets, prefixes, samples } = this
    const numbers = prefixes.byteLength + samples.byteLength
    return offsets.byteLength + separatorOffsets.byteLength + numbers
  }

  /**
   * Index of the only block that can hold the first key >= `key[0, length)`, or of the block before
   * it; `blockCount` if all keys are smaller.
   */
  find(key: Uint8Array, length: number): number {
    const { blockCount, prefixes, separators, separatorOffsets, prefixLength } = this
    if (blockCount === 0) return 0
    if (prefixLength > 0) {
      const head = length < prefixLength ? length : prefixLength
      const order = compareBytes(key, 0, head, separators, 0, prefixLength)
      if (order !== 0) return order < 0 ? 0 : blockCount
    }
    const target = readPrefix48(key, prefixLength, length)
    let low = this.findRun(target) * sampleBlocks
    let high = blockCount
    // Unless the next sample has the same number, the block is in this run.
    if (low + sampleBlocks <= blockCount && prefixes[low + sampleBlocks - 1] > target) {
      high = low + sampleBlocks
    }
    while (low < high) {
      const middle = (low + high) >>> 1
      const prefix = prefixes[middle]
      if (prefix < target) low = middle + 1
      else if (prefix > target) high = middle
      else if (
        compareBytes(
          separators,
          separatorOffsets[middle] + prefixLength,
          separatorOffsets[middle + 1],
          key,
          prefixLength,
          length,
        ) < 0
      ) {
        low = middle + 1
      } else high = middle
    }
    return low
  }

  /** The number of samples below `target`; all separators of their runs are below, too. */
  private findRun(target: number): number {
    const { samples } = this
    let low = 0
    let high = samples.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (samples[middle] < target) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Separator `index`; borrowed. */
  separatorAt(index: number): Buffer {
    const { separators, separatorOffsets } = this
    return separators.subarray(separatorOffsets[index], separatorOffsets[index + 1])
  }

  /** Compares separator `index` with `key[start, end)`. */
  compareSeparator(index: number, key: Uint8Array, start: number, end: number): number {
    const { separators, separatorOffsets } = this
    const from = separatorOffsets[index]
    return compareBytes(separators, from, separatorOffsets[index + 1], key, start, end)
  }
}

/** Separators ascend, so the common prefix of the first and the last is common to all. */
function sharedLength(separators: Buffer, offsets: Uint32Array, count: number): number {
  if (count === 0) return 0
  const lastStart = offsets[count - 1]
  return commonPrefixLength(separators, 0, offsets[1], separators, lastStart, offsets[count])
}
