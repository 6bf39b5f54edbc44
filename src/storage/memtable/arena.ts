/**
 * The arena of a memtable: entries, one after the other, in one shared buffer.
 *
 * An entry is `[u32 key length][u32 value length][key][value]` in the machine's byte order, padded
 * to four bytes. It is identified by its offset divided by four (its *entry number*).
 *
 * Invariants
 * 1. An entry is immutable, and keeps its offset. The exception is `replace`, whose caller knows
 *    that the entry has no readers.
 * 2. A full arena is replaced by a larger copy; `buffer`, `lengths` and `shared` change together. A
 *    holder of the old ones can still read every entry that existed at that time.
 * 3. A failed allocation changes nothing.
 *
 * Ownership: the arena owns its memory and only lends views. Memory after `bytesUsed` is zero. On
 * systems that commit pages on first use it costs no physical memory; hence the generous growth
 * factor.
 */
import { assert } from '../../base/assert.js'
import { commonPrefixLength, copySharedBytes, readPrefix48 } from '../../base/bytes.js'
import { CellarError, ErrorCode } from '../../base/errors.js'

/** Bytes of the header before the key: the two lengths. */
export const entryHeaderBytes = 8

/** Maximum size of an arena; keeps every offset below 2^32 and every entry number below 2^30. */
export const arenaBytesMax = 0xffff_0000

/**
 * Maximum number of bytes of an entry in addition to key and value: both lengths and the padding.
 */
export const entryOverheadBytesMax = entryHeaderBytes + 3

/** Size from which {@link copySharedBytes} is faster than a loop over words. */
const wordCopyBytesMax = 512

const littleEndian = new Uint8Array(Int32Array.of(1).buffer)[0] === 1

const growthFactor = 4
const arenaBytesMin = 256

/**
 * Arenas above this size grow to their large size at once. They will probably be filled until the
 * flush, and this avoids repeated copies. The default of the large size fits the default of
 * `flushBytes`.
 */
const arenaBytesSmallMax = 1024 * 1024
const arenaBytesLargeDefault = 40 * 1024 * 1024

/** Size of an entry in bytes, including the padding. */
export function entryBytes(keyBytes: number, valueBytes: number): number {
  return (entryHeaderBytes + keyBytes + valueBytes + 3) & ~3
}

/** Makes the error of a failed allocation; `cause` is always a RangeError. */
export function memoryError(bytes: number, cause: unknown): CellarError {
  const message = `memtable cannot grow to ${bytes} bytes`
  const reason = cause instanceof RangeError ? cause : new RangeError(message, { cause })
  return new CellarError(ErrorCode.tooLarge, message, { cause: reason })
}

/** A bump allocator for entries. */
export class EntryArena {
  /** The whole memory as bytes. */
  buffer: Buffer
  /**
   * The same memory as 32-bit numbers: the index of an entry's key length is its entry number, and
   * the value length follows.
   */
  lengths: Int32Array
  /** The same memory, as passed to another thread. */
  shared: SharedArrayBuffer
  /** Bytes used by entries, a multiple of four. */
  bytesUsed = 0
  /** Entries before this offset are known to `MemtableRows`, which moves it. */
  bytesNoted = 0
  private readonly bytesLarge: number
  private readonly reader = new WordReader()
  /** Numbers of replaced entries, by their size in bytes. */
  private readonly free = new Map<number, number[]>()

  /**
   * Uses `recycled` memory, with any content, or allocates. An arena that outgrows 1 MiB gets
   * `bytesLarge` bytes. Throws `ERR_TOO_LARGE` if the allocation fails.
   */
  constructor(
    bytesInitial: number,
    recycled?: SharedArrayBuffer,
    bytesLarge = arenaBytesLargeDefault,
  ) {
    this.bytesLarge = bytesLarge
    const capacity = Math.min(
      Math.max(arenaBytesMin, Math.ceil(bytesInitial / 4) * 4),
      arenaBytesMax,
    )
    this.shared = recycled ?? allocateShared(capacity, capacity)
    this.buffer = Buffer.from(this.shared)
    this.lengths = new Int32Array(this.shared)
  }

  /** Reserves `bytes` more bytes (headers and padding included) or throws `ERR_TOO_LARGE`. */
  reserve(bytes: number): void {
    const needed = this.bytesUsed + bytes
    if (needed > this.buffer.length) this.grow(needed)
  }

  /** Copies an entry to the end and returns its number. REQUIRES reserved memory. */
  append(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
  ): number {
    const offset = this.bytesUsed
    const bytes = entryBytes(keyEnd - keyStart, valueEnd - valueStart)
    assert(offset + bytes <= this.buffer.length, 'room for an entry must be reserved')
    this.bytesUsed = offset + bytes
    this.write(offset / 4, source, keyStart, keyEnd, valueStart, valueEnd)
    return offset / 4
  }

  /**
   * As {@link append}, but reuses the memory of replaced entries of the right size. `gone` is added
   * to these. REQUIRES reserved memory, and that `gone` has no readers.
   */
  replace(
    gone: number,
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
  ): number {
    const { lengths, free } = this
    const bytes = entryBytes(keyEnd - keyStart, valueEnd - valueStart)
    const bytesGone = entryBytes(lengths[gone], lengths[gone + 1])
    let entry: number | undefined = gone
    if (bytes !== bytesGone) {
      const same = free.get(bytesGone)
      if (same === undefined) free.set(bytesGone, [gone])
      else same.push(gone)
      entry = free.get(bytes)?.pop()
      if (entry === undefined) return this.append(source, keyStart, keyEnd, valueStart, valueEnd)
      if (entry * 4 < this.bytesNoted) this.bytesNoted = entry * 4
    }
    this.write(entry, source, keyStart, keyEnd, valueStart, valueEnd)
    return entry
  }

  private write(
    entry: number,
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
  ): void {
    const keyLength = keyEnd - keyStart
    const target = entry * 4 + entryHeaderBytes
    this.lengths[entry] = keyLength
    this.lengths[entry + 1] = valueEnd - valueStart
    if (keyEnd === valueStart) {
      this.copy(source, keyStart, valueEnd, target)
    } else {
      this.copy(source, keyStart, keyEnd, target)
      copySharedBytes(source, valueStart, valueEnd, this.buffer, target + keyLength)
    }
  }

  /** Length of the common prefix of the keys of two entries. */
  sharedKeyLength(a: number, b: number): number {
    const { buffer, lengths } = this
    const aStart = a * 4 + entryHeaderBytes
    const bStart = b * 4 + entryHeaderBytes
    const aEnd = aStart + lengths[a]
    return commonPrefixLength(buffer, aStart, aEnd, buffer, bStart, bStart + lengths[b])
  }

  /** The six key bytes of an entry after a prefix, as a number. */
  numberOf(entry: number, prefixLength: number): number {
    const start = entry * 4 + entryHeaderBytes
    return readPrefix48(this.buffer, start + prefixLength, start + this.lengths[entry])
  }

  /** Removes and returns the memory. The arena must not be used afterwards. */
  take(): SharedArrayBuffer {
    const taken = this.shared
    this.reader.release()
    this.shared = new SharedArrayBuffer(0)
    this.buffer = Buffer.from(this.shared)
    this.lengths = new Int32Array(this.shared)
    return taken
  }

  /** Copies `source[start, end)` to `target`, a multiple of four. */
  private copy(source: Buffer, start: number, end: number, target: number): void {
    const length = end - start
    if (length >= wordCopyBytesMax) {
      copySharedBytes(source, start, end, this.buffer, target)
      return
    }
    const { buffer } = this
    const copied = littleEndian ? this.reader.copy(source, start, length, this.lengths, target) : 0
    const shift = target - start
    for (let i = start + copied; i < end; i++) buffer[shift + i] = source[i]
  }

  private grow(needed: number): void {
    if (needed > arenaBytesMax) throw memoryError(needed, undefined)
    const { bytesLarge } = this
    const { length } = this.buffer
    const grown = length * (length < bytesLarge ? growthFactor : 2)
    const larger = grown > arenaBytesSmallMax && length < bytesLarge ? bytesLarge : grown
    const wanted = Math.min(Math.max(needed, larger), arenaBytesMax)
    const shared = allocateShared(Math.ceil(wanted / 4) * 4, Math.ceil(needed / 4) * 4)
    const buffer = Buffer.from(shared)
    this.buffer.copy(buffer, 0, 0, this.bytesUsed)
    this.shared = shared
    this.buffer = buffer
    this.lengths = new Int32Array(shared)
  }
}

/**
 * Copies bytes from any offset to an aligned one, word by word. Into shared memory this is faster
 * than `Buffer.copy`, which copies byte by byte and allocates a view of the source.
 */
class WordReader {
  /** The last source and its memory as words: all mutations come from one buffer. */
  private source: Buffer | undefined = undefined
  private words: Int32Array = new Int32Array(0)

  /**
   * Copies a multiple of four bytes and returns the number of bytes. At most 7 bytes are left to
   * copy.
   */
  copy(source: Buffer, start: number, length: number, target: Int32Array, offset: number): number {
    if (length < 8) return 0
    if (source !== this.source) this.use(source)
    const { words } = this
    const from = source.byteOffset + start
    // Leaves out one word, so that the read of the word after the last stays within the source.
    const count = (length >>> 2) - 1
    const to = offset / 4
    let at = Math.floor(from / 4)
    const low = (from & 3) * 8
    if (low === 0) {
      for (let i = 0; i < count; i++) target[to + i] = words[at + i]
      return count * 4
    }
    const high = 32 - low
    let word = words[at]
    for (let i = 0; i < count; i++) {
      const next = words[++at]
      target[to + i] = (word >>> low) | (next << high)
      word = next
    }
    return count * 4
  }

  /** Drops the source, so that its memory can be freed. */
  release(): void {
    this.source = undefined
    this.words = new Int32Array(0)
  }

  private use(source: Buffer): void {
    this.source = source
    this.words = new Int32Array(source.buffer, 0, Math.floor(source.buffer.byteLength / 4))
  }
}

/** Tries the generous size first, then the size that is needed. */
function allocateShared(bytesWanted: number, bytesNeeded: number): SharedArrayBuffer {
  try {
    return new SharedArrayBuffer(bytesWanted)
  } catch (error) {
    if (bytesNeeded < bytesWanted) return allocateShared(bytesNeeded, bytesNeeded)
    throw memoryError(bytesNeeded, error)
  }
}
