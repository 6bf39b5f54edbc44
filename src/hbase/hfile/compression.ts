/**
 * The compressions of HFile blocks: none, GZ (a gzip stream a block), and LZ4 in Hadoop's block
 * framing (FORMAT.md).
 *
 * Ownership: {@link Compression.compress} returns memory that is good until its next call.
 * {@link Compression.decompress} may change the stored bytes.
 *
 * Failure behaviour: bytes that do not decompress to exactly the length are an `ERR_CORRUPTION`, to
 * which the caller adds file and offset.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import { codecError, CodecId, loadCodecs, type Codec } from '../../storage/codec/codec.js'

/** The compressions that Cellar reads and writes, by HBase's names. */
export const compressionNames = ['NONE', 'GZ', 'LZ4'] as const
/** The name of a compression. */
export type CompressionName = (typeof compressionNames)[number]

/** One compression of a file. */
export interface Compression {
  readonly name: CompressionName
  compress(source: Buffer, start: number, end: number): Buffer
  /** Decompresses `stored[start, end)` so that it fills `target`. */
  decompress(stored: Buffer, start: number, end: number, target: Buffer): void
}

const none: Compression = {
  name: 'NONE',
  compress: (source, start, end) => source.subarray(start, end),
  decompress(stored, start, end, target) {
    if (end - start !== target.length) {
      throw codecError(`stored ${end - start} bytes, expected ${target.length}`)
    }
    stored.copy(target, 0, start, end)
  },
}

const gz: Compression = {
  name: 'GZ',
  compress: (source, start, end) => gzipSync(source.subarray(start, end)),
  decompress(stored, start, end, target) {
    // A block without payload may have no stream.
    if (target.length === 0) return
    let unpacked: Buffer
    try {
      unpacked = gunzipSync(stored.subarray(start, end), { maxOutputLength: target.length })
    } catch (cause) {
      throw codecError('the gzip stream does not decompress', cause)
    }
    if (unpacked.length !== target.length) {
      throw codecError(`a gzip stream of ${unpacked.length} bytes`)
    }
    unpacked.copy(target)
  },
}

/** Most bytes that are compressed together; HBase has buffers of 256 KiB for them. */
const pieceBytesMax = 128 * 1024
/** Bytes in front of what Cellar's codec writes: the uncompressed length, little-endian. */
const prefixBytes = 4

class Lz4 implements Compression {
  readonly name = 'LZ4'
  readonly #codec: Codec = loadCodecs().byId(CodecId.lz4)!

  compress(source: Buffer, start: number, end: number): Buffer {
    const whole = Buffer.allocUnsafe(4)
    whole.writeInt32BE(end - start)
    const parts: Buffer[] = [whole]
    for (let at = start; at < end; at += pieceBytesMax) {
      const pieceEnd = Math.min(end, at + pieceBytesMax)
      const packed = this.#codec.compress(source, at, pieceEnd)
      const piece =
        packed === undefined
          ? literals(source, at, pieceEnd)
          : Buffer.from(packed.subarray(prefixBytes))
      const length = Buffer.allocUnsafe(4)
      length.writeInt32BE(piece.length)
      parts.push(length, piece)
    }
    return Buffer.concat(parts)
  }

  decompress(stored: Buffer, start: number, end: number, target: Buffer): void {
    let at = start
    let written = 0
    while (written < target.length) {
      const sequenceEnd = written + this.#lengthAt(stored, at, end, target.length - written)
      at += 4
      while (written < sequenceEnd) {
        const piece = this.#lengthAt(stored, at, end, end - at - 4)
        const pieceEnd = at + 4 + piece
        const isLast = pieceEnd === end
        const length = isLast ? sequenceEnd - written : decodedLength(stored, at + 4, pieceEnd)
        if (length <= 0 || length > sequenceEnd - written) throw codecError('a piece too long')
        // The codec wants the length where HBase has that of the piece.
        stored.writeUInt32LE(length, at)
        const into = target.subarray(written, written + length)
        this.#codec.decompress(stored, at, pieceEnd, into, length)
        written += length
        at = pieceEnd
      }
    }
    if (at !== end && target.length > 0) throw codecError(`${end - at} bytes too many`)
  }

  #lengthAt(stored: Buffer, at: number, end: number, max: number): number {
    const length = at + 4 <= end ? stored.readInt32BE(at) : -1
    if (length <= 0 || length > max) throw codecError(`a length of ${length}, at most ${max}`)
    return length
  }
}

/** An LZ4 block without matches, for bytes that compression would make longer. */
function literals(source: Buffer, start: number, end: number): Buffer {
  const length = end - start
  const extension = length < 15 ? 0 : Math.floor((length - 15) / 255) + 1
  const block = Buffer.alloc(1 + extension + length, 255)
  block[0] = Math.min(15, length) << 4
  if (extension > 0) block[extension] = (length - 15) % 255
  source.copy(block, 1 + extension, start, end)
  return block
}

/** The length of what an LZ4 block decompresses to; -1 for a malformed one. */
function decodedLength(block: Buffer, start: number, end: number): number {
  let at = start
  let length = 0
  const read = (nibble: number): number => {
    let sum = nibble
    if (nibble < 15) return sum
    for (;;) {
      if (at >= end) return end - start + 1
      const byte = block[at++]
      sum += byte
      if (byte < 255) return sum
    }
  }
  while (at < end) {
    const token = block[at++]
    const literalBytes = read(token >>> 4)
    at += literalBytes
    length += literalBytes
    if (at >= end) return at === end ? length : -1
    at += 2
    length += read(token & 15) + 4
  }
  return -1
}

/** Names of HBase's compressions: a trailer has their positions. */
export const hbaseNames = ['LZO', 'GZ', 'NONE', 'SNAPPY', 'LZ4', 'BZIP2', 'ZSTD', 'LZMA', 'BROTLI']

/** The compression of a name. */
export function compressionOf(name: CompressionName): Compression {
  return name === 'NONE' ? none : name === 'GZ' ? gz : new Lz4()
}
